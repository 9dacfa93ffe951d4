//! A recording in memory: every span and the latest point of every series, decoded by `stepscope-otlp`. Reads
//! the directory's framing itself, so that a fault of the program's reader cannot hide one of the writer.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use stepscope_core::{attr, metric};
use stepscope_otlp::{
    EventHead, KeyValue, LinkHead, MetricHead, Number, PointData, PointHead, ResourceHead, ScopeHead,
    SpanHead, Value, Visitor, json, proto,
};

/// A value of an attribute that a test may compare.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Attribute {
    Str(String),
    Bool(bool),
    Int(i64),
    Double(f64),
    Ints(Vec<i64>),
}

pub(crate) type Attributes = BTreeMap<String, Attribute>;

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) time_unix_ns: u64,
    pub(crate) level: String,
    /// All attributes, as text.
    #[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "those of alerts are looked at"))]
    pub(crate) attributes: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) trace: [u8; 16],
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) name: String,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) status: i32,
    pub(crate) status_message: String,
    pub(crate) attributes: Attributes,
    pub(crate) dropped_attributes: u32,
    pub(crate) events: Vec<Event>,
    pub(crate) links: Vec<([u8; 16], u64)>,
}

impl Span {
    pub(crate) fn int(&self, key: &str) -> Option<i64> {
        match self.attributes.get(key)? {
            Attribute::Int(value) => Some(*value),
            other => panic!("{key} is {other:?}"),
        }
    }

    pub(crate) fn ints(&self, key: &str) -> Option<&[i64]> {
        match self.attributes.get(key)? {
            Attribute::Ints(values) => Some(values),
            other => panic!("{key} is {other:?}"),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.attributes.get(key)? {
            Attribute::Str(value) => Some(value),
            other => panic!("{key} is {other:?}"),
        }
    }

    pub(crate) fn duration_ns(&self) -> u64 {
        assert!(self.end_ns >= self.start_ns, "{self:?}");
        self.end_ns - self.start_ns
    }

    pub(crate) fn kind(&self) -> &str {
        self.text(attr::SECTION_KIND).unwrap_or("section")
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }
}

/// Data of the latest point of a series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    Int(i64),
    Histogram { count: u64, zeros: u64, min: f64, max: f64, scale: i32, buckets: BTreeMap<i32, u64> },
}

/// Metric and attributes of the point, the values as text.
type Series = (String, BTreeMap<String, String>);

#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// Attributes of the resource, equal on all messages.
    pub(crate) resource: Attributes,
    pub(crate) spans: Vec<Span>,
    points: BTreeMap<Series, (u64, Data)>,
    /// Bytes behind the last whole record of a file that were left out.
    pub(crate) torn_bytes: usize,
    pending: Pending,
}

#[derive(Debug, Default)]
struct Pending {
    resource: Attributes,
    span: Attributes,
    event: Attributes,
    events: Vec<Event>,
    links: Vec<([u8; 16], u64)>,
    metric: String,
    point: BTreeMap<String, String>,
}

/// The files below `directory`, sorted.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

impl Recording {
    /// Everything below `directory` but gauges and live memory; any damage fails the test.
    pub(crate) fn read(directory: &Path) -> Self {
        let recording = Self::read_torn(directory);
        assert_eq!(recording.torn_bytes, 0, "a record is torn");
        recording
    }

    /// As [`Self::read`], but a file may end in the middle of a record.
    pub(crate) fn read_torn(directory: &Path) -> Self {
        let mut recording = Self::default();
        for path in files(directory) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.starts_with("gauges-") || name.starts_with("memory-") {
                continue;
            }
            let bytes = match std::fs::read(&path) {
                // A program that runs on removes the oldest files.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                bytes => bytes.unwrap(),
            };
            let is_traces = name.starts_with("traces-");
            assert!(is_traces || name.starts_with("metrics-"), "{name}");
            if name.ends_with(".jsonl") {
                for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                    let decoded = if is_traces {
                        json::decode_traces(line, &mut recording)
                    } else {
                        json::decode_metrics(line, &mut recording)
                    };
                    assert!(decoded.is_ok(), "{name}: {decoded:?}");
                }
                continue;
            }
            assert!(name.ends_with(".otlp"), "{name}");
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let record = rest
                    .split_first_chunk::<4>()
                    .and_then(|(len, rest)| rest.split_at_checked(u32::from_be_bytes(*len) as usize));
                let Some((message, tail)) = record else {
                    recording.torn_bytes += rest.len();
                    break;
                };
                if is_traces {
                    recording.add_traces(message)
                } else {
                    recording.add_metrics(message)
                }
                rest = tail;
            }
        }
        recording
    }

    /// Adds one protobuf message of spans.
    pub(crate) fn add_traces(&mut self, message: &[u8]) {
        assert!(proto::validate(message, stepscope_otlp::Signal::Traces));
        proto::decode_traces(message, self).unwrap();
    }

    /// Adds one protobuf message of metrics.
    pub(crate) fn add_metrics(&mut self, message: &[u8]) {
        assert!(proto::validate(message, stepscope_otlp::Signal::Metrics));
        proto::decode_metrics(message, self).unwrap();
    }

    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Span> + 'a {
        self.spans.iter().filter(move |span| span.name == name)
    }

    /// The only span of that name.
    #[track_caller]
    pub(crate) fn only(&self, name: &str) -> &Span {
        let found: Vec<&Span> = self.spans.iter().filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name}");
        found[0]
    }

    pub(crate) fn steps(&self) -> Vec<&Span> {
        let mut steps: Vec<&Span> = self.spans.iter().filter(|span| span.kind() == "step").collect();
        steps.sort_by_key(|span| span.int(attr::STEP));
        steps
    }

    pub(crate) fn by_id(&self) -> HashMap<u64, &Span> {
        self.spans.iter().map(|span| (span.id, span)).collect()
    }

    pub(crate) fn children(&self, parent: &Span) -> Vec<&Span> {
        let mut children: Vec<&Span> =
            self.spans.iter().filter(|span| span.parent == Some(parent.id)).collect();
        children.sort_by_key(|span| span.start_ns);
        children
    }

    pub(crate) fn traces(&self) -> BTreeMap<[u8; 16], Vec<&Span>> {
        let mut traces: BTreeMap<_, Vec<_>> = BTreeMap::new();
        self.spans.iter().for_each(|span| traces.entry(span.trace).or_default().push(span));
        traces
    }

    /// The latest points of `name`.
    pub(crate) fn points<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a BTreeMap<String, String>, &'a Data)> + 'a {
        self.points
            .iter()
            .filter(move |((metric, _), _)| metric == name)
            .map(|((_, attributes), (_, data))| (attributes, data))
    }

    /// The integers of `name` by call path.
    pub(crate) fn by_path(&self, name: &str) -> BTreeMap<String, i64> {
        let mut sums = BTreeMap::new();
        for (attributes, data) in self.points(name) {
            let Data::Int(value) = data else { panic!("{name}: {data:?}") };
            let before = sums.insert(attributes.get(attr::PATH).cloned().unwrap_or_default(), *value);
            assert_eq!(before, None, "{name}: two series of one path");
        }
        sums
    }

    /// The only integer of `name` with these attributes; 0 where it is not written.
    pub(crate) fn count(&self, name: &str, attributes: &[(&str, &str)]) -> u64 {
        let attributes: BTreeMap<String, String> =
            attributes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        match self.points.get(&(name.to_owned(), attributes)) {
            None => 0,
            Some((_, Data::Int(value))) => u64::try_from(*value).unwrap(),
            Some((_, data)) => panic!("{name}: {data:?}"),
        }
    }

    pub(crate) fn emitted(&self) -> u64 {
        self.count(metric::SPANS_EMITTED, &[])
    }

    pub(crate) fn exported(&self, sink: &str) -> u64 {
        self.count(metric::SPANS_EXPORTED, &[(attr::SINK, sink)])
    }

    /// Spans lost for `reason` in `sink`; with an empty sink, before any.
    pub(crate) fn dropped(&self, sink: &str, reason: &str) -> u64 {
        let both = [(attr::SINK, sink), (attr::LOSS_REASON, reason)];
        self.count(metric::SPANS_DROPPED, if sink.is_empty() { &both[1..] } else { &both })
    }

    /// Everything lost on the way to `sink`, before and in it.
    pub(crate) fn all_dropped(&self, sink: &str) -> u64 {
        self.points(metric::SPANS_DROPPED)
            .filter(|(attributes, _)| attributes.get(attr::SINK).is_none_or(|name| name == sink))
            .map(|(_, data)| match data {
                Data::Int(value) => u64::try_from(*value).unwrap(),
                Data::Histogram { .. } => panic!("{data:?}"),
            })
            .sum()
    }
}

fn owned(value: Value<'_>) -> Attribute {
    match value {
        Value::Str(text) => Attribute::Str(text.to_owned()),
        Value::Bool(value) => Attribute::Bool(value),
        Value::Int(value) => Attribute::Int(value),
        Value::Double(value) => Attribute::Double(value),
        Value::Array(items) => {
            let int = |item: &Value<'_>| match item {
                Value::Int(number) => *number,
                other => panic!("{other:?} in a list"),
            };
            Attribute::Ints(items.iter().map(int).collect())
        }
        Value::Empty | Value::Bytes(_) | Value::Map(_) => {
            panic!("{value:?} is never written")
        }
    }
}

fn keep(attributes: &mut Attributes, key: &str, value: Value<'_>) {
    let KeyValue { key, value } = KeyValue { key, value };
    let before = attributes.insert(key.to_owned(), owned(value));
    assert_eq!(before, None, "the attribute {key} is there twice");
}

fn id(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

impl Visitor for Recording {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        keep(&mut self.pending.resource, key, value);
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        assert_eq!(head.schema_url, stepscope_core::SEMCONV_URL);
        let resource = std::mem::take(&mut self.pending.resource);
        if self.resource.is_empty() {
            self.resource = resource;
        } else {
            assert_eq!(self.resource, resource);
        }
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        assert_eq!(head.name, stepscope_core::SCOPE_NAME);
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        keep(&mut self.pending.span, key, value);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        keep(&mut self.pending.event, key, value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        let attributes = std::mem::take(&mut self.pending.event);
        let mut level = String::new();
        let texts = attributes.into_iter().map(|(key, value)| {
            let text = match value {
                Attribute::Str(text) => text,
                Attribute::Double(value) if key == attr::ALERT_VALUE => value.to_string(),
                other => panic!("{key}: {other:?} on an event"),
            };
            match &*key {
                attr::LEVEL_TEXT | attr::LEVEL => level += &text,
                _ => assert!(key.starts_with(attr::ALERT), "{key} on an event"),
            }
            (key, text)
        });
        let (name, attributes) = (head.name.to_owned(), texts.collect());
        self.pending.events.push(Event { name, level, attributes, time_unix_ns: head.time_unix_ns });
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.pending.links.push((head.trace_id.try_into().unwrap(), id(head.span_id)));
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        self.spans.push(Span {
            trace: head.trace_id.try_into().unwrap(),
            id: id(head.span_id),
            parent: (!head.parent_span_id.is_empty()).then(|| id(head.parent_span_id)),
            name: head.name.to_owned(),
            start_ns: head.start_unix_ns,
            end_ns: head.end_unix_ns,
            status: head.status.0,
            status_message: head.status_message.to_owned(),
            attributes: std::mem::take(&mut self.pending.span),
            dropped_attributes: head.dropped_attributes_count,
            events: std::mem::take(&mut self.pending.events),
            links: std::mem::take(&mut self.pending.links),
        });
    }

    fn span_abandoned(&mut self) {
        panic!("a span is damaged");
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.pending.metric = head.name.to_owned();
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        let Value::Str(text) = value else { panic!("{key}: {value:?}") };
        self.pending.point.insert(key.to_owned(), text.to_owned());
    }

    fn point(&mut self, head: &PointHead<'_>) {
        let data = match head.data {
            PointData::Number(Some(Number::Int(value))) => Data::Int(value),
            PointData::ExponentialHistogram {
                count,
                min,
                max,
                scale,
                zero_count,
                positive_offset,
                positive,
                negative,
                ..
            } => {
                assert!(negative.is_empty());
                let indices = positive_offset..;
                let filled = indices.zip(positive.iter().copied()).filter(|&(_, count)| count > 0);
                Data::Histogram {
                    count,
                    zeros: zero_count,
                    min: min.unwrap(),
                    max: max.unwrap(),
                    scale,
                    buckets: filled.collect(),
                }
            }
            // Of gauges.
            PointData::Number(Some(Number::Double(_))) => {
                self.pending.point.clear();
                return;
            }
            other => panic!("{other:?} is never written"),
        };
        let series = (self.pending.metric.clone(), std::mem::take(&mut self.pending.point));
        let is_later = self.points.get(&series).is_none_or(|&(time, _)| head.time_unix_ns >= time);
        if is_later {
            self.points.insert(series, (head.time_unix_ns, data));
        }
    }
}
