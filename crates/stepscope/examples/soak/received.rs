//! The receiver in these programs: an exporter that keeps of each span what is held against the program's own account,
//! or only counts. It reads OTLP with the project's decoder, which has tests of its own.

use std::sync::{Arc, Mutex};

use stepscope::{Exported, Exporter};
use stepscope_core::attr;
use stepscope_otlp::{LinkHead, SpanHead, StatusCode, Value, Visitor, proto};

/// A span that arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span {
    pub(crate) trace: u128,
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) name: String,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) has_failed: bool,
    pub(crate) number: Option<u64>,
    pub(crate) later: Option<u64>,
    pub(crate) events: u32,
    /// Entries, where there was more than one.
    pub(crate) entries: Option<u64>,
    pub(crate) links: Vec<u64>,
    pub(crate) parent_path: Option<String>,
    /// Spans of its trace and those lost, if it announces them.
    pub(crate) announced: Option<(u64, u64)>,
}

/// What an exporter does with what it gets.
pub(crate) trait Keep: Default + std::fmt::Debug + Send + 'static {
    fn keep(&mut self, span: &mut Span);
}

impl Keep for Vec<Span> {
    fn keep(&mut self, span: &mut Span) {
        self.push(std::mem::take(span));
    }
}

/// What has arrived.
#[derive(Debug, Default)]
pub(crate) struct Received<K>(pub(crate) Arc<Mutex<K>>);

impl<K: Keep> Exporter for Received<K> {
    fn export(&mut self, request: &[u8], spans: u64) -> Exported {
        let mut kept = self.0.lock().unwrap();
        let mut reader = Reader { kept: &mut *kept, span: Span::default(), spans: 0 };
        proto::decode_traces(request, &mut reader).unwrap();
        assert_eq!(reader.spans, spans, "a message has another number of spans than it was said to have");
        Exported::Taken
    }
}

struct Reader<'a, K> {
    kept: &'a mut K,
    span: Span,
    spans: u64,
}

fn int(value: Value<'_>) -> u64 {
    match value {
        Value::Int(value) => value as u64,
        other => panic!("no whole number: {other:?}"),
    }
}

fn word(bytes: &[u8]) -> u64 {
    if bytes.is_empty() { 0 } else { u64::from_be_bytes(bytes.try_into().unwrap()) }
}

impl<K: Keep> Visitor for Reader<'_, K> {
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        let span = &mut self.span;
        match (key, value) {
            ("number", value) => span.number = Some(int(value)),
            ("later", value) => span.later = Some(int(value)),
            (attr::TRACE_SPANS, value) => span.announced.get_or_insert_default().0 = int(value),
            (attr::TRACE_DROPPED, value) => span.announced.get_or_insert_default().1 = int(value),
            (attr::PARENT_PATH, Value::Str(path)) => span.parent_path = Some(path.to_owned()),
            // Thread, start, length and entries of each.
            (attr::POLLS, Value::Array(polls)) => {
                span.entries = Some(polls.as_chunks().0.iter().map(|&[_, _, _, entries]| int(entries)).sum());
            }
            _ => {}
        }
    }

    fn event(&mut self, _: &stepscope_otlp::EventHead<'_>) {
        self.span.events += 1;
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.span.links.push(word(head.span_id));
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        let span = &mut self.span;
        span.trace = u128::from_be_bytes(head.trace_id.try_into().unwrap());
        (span.id, span.parent) = (word(head.span_id), word(head.parent_span_id));
        (span.start_ns, span.end_ns) = (head.start_unix_ns, head.end_unix_ns);
        span.has_failed = head.status == StatusCode::ERROR;
        span.name.clear();
        span.name.push_str(head.name);
        self.spans += 1;
        self.kept.keep(span);
        // Room for texts and links stays.
        let (name, mut links) = (std::mem::take(&mut span.name), std::mem::take(&mut span.links));
        links.clear();
        *span = Span { name, links, ..Span::default() };
    }
}
