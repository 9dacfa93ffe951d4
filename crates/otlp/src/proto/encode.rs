//! [`Encoder`]: one message from visitor calls, resources, scopes and spans. Attributes arrive before the
//! head they belong to but follow it on the wire, so they wait, encoded, in scratch buffers. Points live in
//! `encode_metrics`, the wire format in `write`.

use super::write::{self, Open};
use super::{front, usual};
use crate::{
    Constants, EventHead, Key, LinkHead, MetricHead, PointHead, ResourceHead, ScopeHead, Signal, SpanHead,
    Value, Visitor,
};

/// Writes one message from visitor calls. Output is canonical: fields ascending, defaults omitted,
/// minimal lengths. Calls for another signal than the encoder's are ignored.
///
/// Nothing is allocated once the buffers have grown to the size of the largest message.
#[derive(Debug)]
pub struct Encoder {
    signal: Signal,
    pub(super) out: Vec<u8>,
    /// Encoded attributes of the resource, scope, span or point whose head follows.
    pub(super) attributes: Vec<u8>,
    event_attributes: Vec<u8>,
    link_attributes: Vec<u8>,
    events: Vec<u8>,
    links: Vec<u8>,
    resource: Layer,
    scope: Layer,
    pub(super) metric: Option<super::encode_metrics::OpenMetric>,
}

/// A resource's or scope's items being written.
#[derive(Debug, Default)]
struct Layer {
    open: Option<Open>,
    /// Written behind the items, where its field number puts it.
    schema_url: String,
    /// Length of the last one: the best guess for the next.
    last_len: usize,
}

impl Layer {
    fn begin(&mut self, out: &mut Vec<u8>, tag: u8, schema_url: &str) {
        self.open = Some(write::open(out, tag, self.last_len));
        self.schema_url.clear();
        self.schema_url.push_str(schema_url);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(open) = self.open.take() {
            write::some_bytes(out, 0x1a, self.schema_url.as_bytes());
            self.last_len = write::close(out, open);
        }
    }
}

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
            resource: Layer::default(),
            scope: Layer::default(),
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

    /// Bytes of the message so far, to bound batches by. Closing what is open adds the schema URLs.
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
        &self.out
    }

    /// Closes what is open, gives the message away and starts afresh.
    pub fn take(&mut self) -> Vec<u8> {
        self.resource_end();
        std::mem::take(&mut self.out)
    }

    /// Starts afresh, keeping all allocations.
    pub fn clear(&mut self) {
        (self.resource.open, self.scope.open, self.metric) = (None, None, None);
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
        self.signal == signal && self.scope.open.is_some()
    }
}

impl Visitor for Encoder {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.attributes, 0x0a, key, value);
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        let attributes = std::mem::take(&mut self.attributes);
        self.resource_end();
        let out = &mut self.out;
        self.resource.begin(out, 0x0a, head.schema_url);
        if !attributes.is_empty() || head.dropped_attributes_count != 0 {
            let open = write::open(out, 0x0a, attributes.len());
            out.extend_from_slice(&attributes);
            write::some_varint(out, 0x10, head.dropped_attributes_count.into());
            write::close(out, open);
        }
        self.attributes = attributes;
        self.attributes.clear();
    }

    fn resource_end(&mut self) {
        self.scope_end();
        self.resource.end(&mut self.out);
    }

    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.attributes, 0x1a, key, value);
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        let attributes = std::mem::take(&mut self.attributes);
        self.scope_end();
        if self.resource.open.is_none() {
            self.resource.begin(&mut self.out, 0x0a, "");
        }
        let out = &mut self.out;
        self.scope.begin(out, 0x12, head.schema_url);
        let expected = attributes.len() + head.name.len() + head.version.len();
        if expected != 0 || head.dropped_attributes_count != 0 {
            let open = write::open(out, 0x0a, expected + 4);
            write::some_bytes(out, 0x0a, head.name.as_bytes());
            write::some_bytes(out, 0x12, head.version.as_bytes());
            out.extend_from_slice(&attributes);
            write::some_varint(out, 0x20, head.dropped_attributes_count.into());
            write::close(out, open);
        }
        self.attributes = attributes;
        self.attributes.clear();
    }

    fn scope_end(&mut self) {
        self.metric_end();
        self.forget_item();
        self.scope.end(&mut self.out);
    }

    #[inline]
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        write::span_attribute(&mut self.attributes, key, value);
    }

    #[inline(always)]
    fn prepared_attribute(&mut self, key: &Key, value: Value<'_>) {
        front::attribute(&mut self.attributes, key, value);
    }

    #[inline]
    fn constant_attributes(&mut self, constants: &Constants) {
        self.attributes.extend_from_slice(&constants.proto);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.event_attributes, 0x1a, key, value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        let out = &mut self.events;
        let open = write::open(out, 0x5a, 11 + head.name.len() + self.event_attributes.len());
        write::some_fixed64(out, 0x09, head.time_unix_ns);
        write::some_bytes(out, 0x12, head.name.as_bytes());
        out.extend_from_slice(&self.event_attributes);
        write::some_varint(out, 0x20, head.dropped_attributes_count.into());
        write::close(out, open);
        self.event_attributes.clear();
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        write::attribute(&mut self.link_attributes, 0x22, key, value);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        let out = &mut self.links;
        let ids = head.trace_id.len() + head.span_id.len();
        let open = write::open(out, 0x6a, 4 + ids + head.trace_state.len() + self.link_attributes.len());
        write::some_id::<16>(out, 0x0a, head.trace_id);
        write::some_id::<8>(out, 0x12, head.span_id);
        write::some_bytes(out, 0x1a, head.trace_state.as_bytes());
        out.extend_from_slice(&self.link_attributes);
        write::some_varint(out, 0x28, head.dropped_attributes_count.into());
        if head.flags != 0 {
            out.push(0x35);
            out.extend_from_slice(&head.flags.to_le_bytes());
        }
        write::close(out, open);
        self.link_attributes.clear();
    }

    // Where the caller knows what most of a head is, no head is ever made.
    #[inline(always)]
    fn span(&mut self, head: &SpanHead<'_>) {
        if self.is_open_for(Signal::Traces) {
            let content = [&*self.attributes, &*self.events, &*self.links];
            if !usual::span(&mut self.out, head, content) {
                self.write_span(head);
            }
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
        self.write_point_attribute(key, value);
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
    #[inline(never)]
    fn write_span(&mut self, head: &SpanHead<'_>) {
        let out = &mut self.out;
        let content = self.attributes.len() + self.events.len() + self.links.len();
        // Ids, times and kind take 60 bytes.
        let open = write::open(out, 0x12, 60 + head.name.len() + content);
        write::some_id::<16>(out, 0x0a, head.trace_id);
        write::some_id::<8>(out, 0x12, head.span_id);
        write::some_bytes(out, 0x1a, head.trace_state.as_bytes());
        write::some_id::<8>(out, 0x22, head.parent_span_id);
        write::some_bytes(out, 0x2a, head.name.as_bytes());
        write::some_int32(out, 0x30, head.kind.0);
        write::some_fixed64(out, 0x39, head.start_unix_ns);
        write::some_fixed64(out, 0x41, head.end_unix_ns);
        out.extend_from_slice(&self.attributes);
        write::some_varint(out, 0x50, head.dropped_attributes_count.into());
        out.extend_from_slice(&self.events);
        write::some_varint(out, 0x60, head.dropped_events_count.into());
        out.extend_from_slice(&self.links);
        write::some_varint(out, 0x70, head.dropped_links_count.into());
        if head.status.0 != 0 || !head.status_message.is_empty() {
            let status = write::open(out, 0x7a, head.status_message.len());
            write::some_bytes(out, 0x12, head.status_message.as_bytes());
            write::some_int32(out, 0x18, head.status.0);
            write::close(out, status);
        }
        if head.flags != 0 {
            out.extend_from_slice(&[0x85, 0x01]);
            out.extend_from_slice(&head.flags.to_le_bytes());
        }
        write::close(out, open);
    }
}
