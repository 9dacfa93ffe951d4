//! What the fuzz targets share: reading bytes as the program does, and what must hold of everything read,
//! whatever the bytes are; the same of conversations with the receiver. The targets only choose what stands before and around the fuzzer's bytes.

mod conversation;

use std::collections::HashSet;
use std::sync::Arc;

use stepscope_analyze::report::{Reading, build};
use stepscope_analyze::{Config, Partial, Summary, render, rules};
use stepscope_model::{
    Converter, MetricPoint, ReadOptions, ReadOutcome, Reader, Resource, Sink, Span, Target, Trace,
};
use stepscope_otlp::{
    EventHead, LinkHead, MetricHead, PointHead, ResourceHead, ScopeHead, SpanHead, Value, Visitor,
};

pub use conversation::Conversations;

/// Bounds so small that inputs of a few hundred bytes reach them.
#[must_use]
pub fn small() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.max_message_bytes = 4 << 10;
    options.max_unfinished_bytes = 64 << 10;
    options
}

/// Folds what it is given, and checks it.
#[derive(Default)]
pub struct Checked {
    partial: Option<Partial>,
    spans: u64,
    traces: u64,
}

impl Checked {
    /// One that folds.
    #[must_use]
    pub fn folding() -> Self {
        Self { partial: Some(Partial::new(Config::default())), ..Self::default() }
    }
}

impl Sink for Checked {
    fn trace(&mut self, trace: &Trace) {
        self.spans += trace.spans.len() as u64;
        self.traces += 1;
        check(trace);
        if let Some(partial) = &mut self.partial {
            partial.add(trace);
        }
    }

    fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        if let Some(partial) = &mut self.partial {
            partial.metric(resource, start_ns, time_ns, point);
        }
    }
}

/// What every trace promises.
fn check(trace: &Trace) {
    let key = |span: &Span| (span.start_ns, std::cmp::Reverse(span.end_ns), span.id);
    assert!(trace.spans.is_sorted_by_key(key), "spans are sorted");
    let mut ids = HashSet::new();
    for span in &trace.spans {
        assert!(span.end_ns >= span.start_ns, "no negative durations");
        assert!(ids.insert(span.id) && span.id != 0, "ids are unique and not 0");
        // Texts are cut between characters, or this would be empty where the length is not.
        for text in [span.name, span.thread_name, span.parent_path, span.loader] {
            assert_eq!(text.is_empty(), trace.text(text).is_empty());
        }
    }
    let parent = |id: u64| trace.spans.iter().find(|span| span.id == id).and_then(|span| span.parent);
    for span in trace.spans.iter().take(64) {
        let mut at = span.id;
        for step in 0.. {
            assert!(step <= trace.spans.len(), "parents form no cycle");
            match parent(at) {
                Some(above) => at = above,
                None => break,
            }
        }
    }
    for link in &trace.links {
        assert!(ids.contains(&link.span));
    }
}

/// Reads `bytes` as one file.
pub fn read(bytes: &[u8], options: ReadOptions, sink: &mut Checked) -> ReadOutcome {
    let mut reader = Reader::new(options);
    let read = reader.read_stream("input", bytes, sink);
    assert!(read.is_ok(), "damage is no error: {read:?}");
    let outcome = reader.finish(sink);
    assert_eq!((outcome.spans, outcome.traces), (sink.spans, sink.traces), "what is counted was delivered");
    assert!(outcome.issues.iter().all(|issue| !issue.reason.is_empty() && issue.count > 0));
    outcome
}

/// Reads `bytes` and makes a report of them.
pub fn analyse(bytes: &[u8]) {
    let mut sink = Checked::folding();
    let _ = read(bytes, small(), &mut sink);
    if let Some(partial) = sink.partial {
        let summary: Summary = partial.finish(None);
        // Rendering takes a hundred times as long as everything before it.
        if bytes.len() % 32 == 0 {
            let report = build(&summary, Reading::default(), &rules::Config::default());
            for format in render::RENDERERS {
                let _ = format.text(&report, render::Options::default());
            }
        }
        let packed = partial.to_bytes().expect("a partial has bytes");
        let again = Partial::from_bytes(&packed, Config::default()).expect("its own bytes are read");
        assert!(again.finish(None) == summary, "a partial survives its bytes");
    }
}

/// Reads `bytes` in two readers, the second of which goes on where the first stopped.
pub fn continue_reading(first: &[u8], second: &[u8]) {
    let mut sink = Checked::default();
    let mut reader = Reader::new(small());
    let _ = reader.read_stream("first", first, &mut sink);
    let Ok(unfinished) = reader.suspend() else { return };
    let packed = postcard::to_stdvec(&unfinished).expect("it has bytes");
    let again = postcard::from_bytes(&packed).expect("its own bytes are read");
    assert!(unfinished == again);
    let mut reader = Reader::new(small());
    let _ = reader.read_stream("second", second, &mut sink);
    reader.absorb(again, &mut sink);
    let _ = reader.finish(&mut sink);
}

/// Converts `bytes` to every format, and reads what was written: no span comes out of nowhere. Spans that are damaged
/// are converted as they are, and may not be read again.
pub fn convert(bytes: &[u8]) {
    for &(name, target) in Target::ALL {
        let (written, spans) = converted(bytes, target);
        let (_, again) = converted(&written, target);
        // Events of a span whose ids are damaged stand for themselves among Chrome's.
        let is_fine = again <= spans || target == Target::Chrome;
        assert!(is_fine, "{again} of {spans} spans as {name}: {}", String::from_utf8_lossy(&written));
    }
}

fn converted(bytes: &[u8], target: Target) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut options = small();
    // Of what is read back nothing may be too large.
    options.max_message_bytes = 16 << 20;
    let mut converter = Converter::new(target, &options, &mut out);
    let mut reader = Reader::new(options);
    let _ = reader.read_stream("input", bytes, &mut converter);
    let outcome = reader.finish(&mut converter);
    let written = converter.finish();
    assert!(written.is_ok(), "memory does not fail: {written:?}");
    let spans = outcome.files.iter().map(|file| file.spans).sum();
    (out, spans)
}

/// Looks at everything that a decoder hands over.
#[derive(Default)]
pub struct Look {
    seen: u64,
}

impl Look {
    fn value(&mut self, value: Value<'_>) {
        self.seen += match value {
            Value::Str(text) => text.chars().count() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::Array(items) => {
                items.iter().for_each(|&item| self.value(item));
                1
            }
            Value::Map(items) => {
                items.iter().for_each(|item| self.value(item.value));
                1
            }
            _ => 1,
        };
    }
}

impl Visitor for Look {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.seen += key.len() as u64;
        self.value(value);
    }

    fn resource(&mut self, _: &ResourceHead<'_>) {}

    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.seen += head.name.len() as u64;
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.seen += key.len() as u64;
        self.value(value);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.seen += key.len() as u64;
        self.value(value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        self.seen += head.name.len() as u64;
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.seen += key.len() as u64;
        self.value(value);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.seen += head.trace_id.len() as u64;
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        self.seen += (head.name.len() + head.status_message.len()) as u64;
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.seen += head.name.len() as u64;
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        self.seen += key.len() as u64;
        self.value(value);
    }

    fn point(&mut self, _: &PointHead<'_>) {
        self.seen += 1;
    }
}
