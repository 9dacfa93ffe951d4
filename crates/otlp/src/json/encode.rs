//! [`Encoder`]: one message from visitor calls, resources, scopes and spans. Schema URLs are written before
//! the items, which JSON allows, so that a reader need not look for them behind. Points live in
//! `encode_metrics`, the text format in `write`.

use super::write::{self, Object};
use crate::{
    Constants, EventHead, LinkHead, MetricHead, PointHead, ResourceHead, ScopeHead, Signal, SpanHead, Value,
    Visitor,
};

/// Writes one message from visitor calls, as one line without its end. Output follows OTLP/JSON:
/// lowerCamelCase, hex ids, 64-bit integers in quotes, enums as numbers, defaults omitted. Calls for
/// another signal than the encoder's are ignored.
///
/// Nothing is allocated once the buffers have grown to the size of the largest message.
#[derive(Debug)]
pub struct Encoder {
    signal: Signal,
    pub(super) out: Vec<u8>,
    /// Written attributes of the resource, scope, span or point whose head follows.
    pub(super) attributes: Vec<u8>,
    event_attributes: Vec<u8>,
    link_attributes: Vec<u8>,
    events: Vec<u8>,
    links: Vec<u8>,
    resource_open: bool,
    scope_open: bool,
    /// The message's end is written.
    finished: bool,
    pub(super) metric: Option<super::encode_metrics::OpenMetric>,
}

/// What ends a message.
const END: &[u8] = b"]}";

impl Encoder {
    fn new(signal: Signal) -> Self {
        Self {
            signal,
            out: Vec::new(),
            attributes: Vec::new(),
            event_attributes: Vec::new(),
            link_attributes: Vec::new(),
            events: Vec::new(),
            links: Vec::new(),
            resource_open: false,
            scope_open: false,
            finished: false,
            metric: None,
        }
    }

    /// An encoder of `TracesData` (equally `ExportTraceServiceRequest`).
    pub fn traces() -> Self {
        Self::new(Signal::Traces)
    }

    /// An encoder of `MetricsData` (equally `ExportMetricsServiceRequest`).
    pub fn metrics() -> Self {
        Self::new(Signal::Metrics)
    }

    /// Writes into `buffer` (cleared, its capacity kept).
    #[must_use]
    pub fn with_buffer(mut self, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        self.out = buffer;
        self
    }

    /// Bytes of the message so far, to bound batches by. Closing what is open adds a few.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Closes what is open and gives the message. It stays until [`clear`](Self::clear); calls before that
    /// add further resources to it.
    pub fn finish(&mut self) -> &[u8] {
        self.resource_end();
        if !self.finished {
            self.begin_resources();
            self.out.extend_from_slice(END);
            self.finished = true;
        }
        &self.out
    }

    /// Closes what is open, gives the message away and starts afresh.
    pub fn take(&mut self) -> Vec<u8> {
        self.finish();
        self.finished = false;
        std::mem::take(&mut self.out)
    }

    /// Starts afresh, keeping all allocations.
    pub fn clear(&mut self) {
        (self.resource_open, self.scope_open, self.finished, self.metric) = (false, false, false, None);
        self.out.clear();
        self.forget_item();
    }

    /// Drops what waits for the head of an item.
    fn forget_item(&mut self) {
        self.attributes.clear();
        self.event_attributes.clear();
        self.link_attributes.clear();
        self.events.clear();
        self.links.clear();
    }

    pub(super) fn is_open_for(&self, signal: Signal) -> bool {
        self.signal == signal && self.scope_open
    }

    /// Writes the beginning of the message, if it is not there.
    fn begin_resources(&mut self) {
        if self.out.is_empty() {
            self.out.extend_from_slice(match self.signal {
                Signal::Metrics => br#"{"resourceMetrics":["#,
                _ => br#"{"resourceSpans":["#,
            });
        }
    }

    fn begin_resource(&mut self, head: &ResourceHead<'_>, attributes: &[u8]) {
        self.begin_resources();
        if std::mem::take(&mut self.finished) {
            self.out.truncate(self.out.len() - END.len());
        }
        self.separate();
        let mut object = Object::new(&mut self.out);
        if !attributes.is_empty() || head.dropped_attributes_count != 0 {
            let mut resource = Object::new(object.key(r#""resource":"#));
            resource.list(r#""attributes":"#, attributes);
            resource.number(r#""droppedAttributesCount":"#, head.dropped_attributes_count);
            resource.end();
        }
        object.text(r#""schemaUrl":"#, head.schema_url);
        let key = match self.signal {
            Signal::Metrics => r#""scopeMetrics":["#,
            _ => r#""scopeSpans":["#,
        };
        object.key(key);
        self.resource_open = true;
    }

    /// A comma, unless a list has just begun.
    pub(super) fn separate(&mut self) {
        if self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
    }
}

impl Visitor for Encoder {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.attributes, key, value);
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        let mut attributes = std::mem::take(&mut self.attributes);
        self.resource_end();
        self.begin_resource(head, &attributes);
        attributes.clear();
        self.attributes = attributes;
    }

    fn resource_end(&mut self) {
        self.scope_end();
        if std::mem::take(&mut self.resource_open) {
            self.out.extend_from_slice(b"]}");
        }
    }

    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.attributes, key, value);
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        let mut attributes = std::mem::take(&mut self.attributes);
        self.scope_end();
        if !self.resource_open {
            self.begin_resource(&ResourceHead::default(), &[]);
        }
        self.separate();
        let mut object = Object::new(&mut self.out);
        let named = !head.name.is_empty() || !head.version.is_empty();
        if named || !attributes.is_empty() || head.dropped_attributes_count != 0 {
            let mut scope = Object::new(object.key(r#""scope":"#));
            scope.text(r#""name":"#, head.name);
            scope.text(r#""version":"#, head.version);
            scope.list(r#""attributes":"#, &attributes);
            scope.number(r#""droppedAttributesCount":"#, head.dropped_attributes_count);
            scope.end();
        }
        object.text(r#""schemaUrl":"#, head.schema_url);
        let key = match self.signal {
            Signal::Metrics => r#""metrics":["#,
            _ => r#""spans":["#,
        };
        object.key(key);
        self.scope_open = true;
        attributes.clear();
        self.attributes = attributes;
    }

    fn scope_end(&mut self) {
        self.metric_end();
        self.forget_item();
        if std::mem::take(&mut self.scope_open) {
            self.out.extend_from_slice(b"]}");
        }
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.attributes, key, value);
    }

    fn constant_attributes(&mut self, constants: &Constants) {
        if constants.json.is_empty() {
            return;
        }
        if !self.attributes.is_empty() {
            self.attributes.push(b',');
        }
        self.attributes.extend_from_slice(&constants.json);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.event_attributes, key, value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        if !self.events.is_empty() {
            self.events.push(b',');
        }
        let mut event = Object::new(&mut self.events);
        event.long(r#""timeUnixNano":"#, head.time_unix_ns);
        event.text(r#""name":"#, head.name);
        event.list(r#""attributes":"#, &self.event_attributes);
        event.number(r#""droppedAttributesCount":"#, head.dropped_attributes_count);
        event.end();
        self.event_attributes.clear();
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.link_attributes, key, value);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        if !self.links.is_empty() {
            self.links.push(b',');
        }
        let mut link = Object::new(&mut self.links);
        link.id(r#""traceId":"#, head.trace_id);
        link.id(r#""spanId":"#, head.span_id);
        link.text(r#""traceState":"#, head.trace_state);
        link.list(r#""attributes":"#, &self.link_attributes);
        link.number(r#""droppedAttributesCount":"#, head.dropped_attributes_count);
        link.number(r#""flags":"#, head.flags);
        link.end();
        self.link_attributes.clear();
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        if self.is_open_for(Signal::Traces) {
            self.write_span(head);
        }
        self.forget_item();
    }

    fn span_abandoned(&mut self) {
        self.forget_item();
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.begin_metric(head);
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.attributes, key, value);
    }

    fn point(&mut self, head: &PointHead<'_>) {
        self.write_point(head);
        self.attributes.clear();
    }

    fn metric_end(&mut self) {
        self.end_metric();
    }
}

impl Encoder {
    fn write_span(&mut self, head: &SpanHead<'_>) {
        self.separate();
        let mut span = Object::new(&mut self.out);
        span.id(r#""traceId":"#, head.trace_id);
        span.id(r#""spanId":"#, head.span_id);
        span.text(r#""traceState":"#, head.trace_state);
        span.id(r#""parentSpanId":"#, head.parent_span_id);
        span.number(r#""flags":"#, head.flags);
        span.text(r#""name":"#, head.name);
        span.number(r#""kind":"#, head.kind.0);
        span.long(r#""startTimeUnixNano":"#, head.start_unix_ns);
        span.long(r#""endTimeUnixNano":"#, head.end_unix_ns);
        span.list(r#""attributes":"#, &self.attributes);
        span.number(r#""droppedAttributesCount":"#, head.dropped_attributes_count);
        span.list(r#""events":"#, &self.events);
        span.number(r#""droppedEventsCount":"#, head.dropped_events_count);
        span.list(r#""links":"#, &self.links);
        span.number(r#""droppedLinksCount":"#, head.dropped_links_count);
        if head.status.0 != 0 || !head.status_message.is_empty() {
            let mut status = Object::new(span.key(r#""status":"#));
            status.text(r#""message":"#, head.status_message);
            status.number(r#""code":"#, head.status.0);
            status.end();
        }
        span.end();
    }
}
