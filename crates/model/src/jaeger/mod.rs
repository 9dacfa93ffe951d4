//! One trace in Jaeger's JSON, as calls to a visitor: what its query service, its UI and its files hold. The
//! document around it is walked elsewhere. Processes become resources, tags attributes, logs events,
//! references a parent and links; what becomes of each is in `span` and `tag`.
//!
//! A trace is walked twice, because writers put its processes behind its spans; one span at a time is decoded.

mod id;
mod span;
pub(crate) mod tag;
mod wire;

use std::collections::HashMap;
use std::ops::Range;

use stepscope_otlp::Visitor;

use crate::json_cursor::Cursor;
use wire::{Process, Span, unfold};

/// How a trace was read.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Spans handed over.
    pub(crate) spans: u64,
    /// Spans left out because they are damaged.
    pub(crate) bad_spans: u64,
    /// Byte at which the first of those begins, and what is wrong with it.
    pub(crate) first_bad: (usize, String),
    /// Bytes of all of those.
    pub(crate) bad_bytes: u64,
    /// Spans with text that is not UTF-8.
    pub(crate) invalid_utf8: u64,
    /// Byte behind the last whole span.
    pub(crate) spans_end: usize,
    /// Why not all of it was read, and where: the text ends, or is no JSON from there on.
    pub(crate) ended: Option<(usize, Ended)>,
}

/// Why a trace was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The text ends too early.
    Truncated,
    /// The text is damaged.
    Damaged,
}

/// Where the members of a trace stand.
#[derive(Debug, Default)]
struct Members<'a> {
    trace_id: &'a [u8],
    processes: Option<Range<usize>>,
    /// Where the array of spans begins.
    spans: Option<usize>,
}

/// Whether an object's member of this name may hold traces: the object is around them then.
pub(crate) fn may_hold_traces(name: &[u8]) -> bool {
    matches!(name, b"data" | b"trace" | b"traces" | b"result" | b"hits" | b"_source")
}

/// Whether `bytes`, an object or the beginning of one, is a trace.
pub(crate) fn is_trace(bytes: &[u8]) -> bool {
    let mut found = false;
    let mut cursor = Cursor::new(bytes);
    // That it ends early is expected of a beginning.
    let _ = cursor.members(|cursor, key| {
        // Behind a bracket too many in there, members of a damaged trace would look like this object's.
        if may_hold_traces(key) && matches!(cursor.peek(), Some(b'[' | b'{')) {
            return None;
        }
        found |= match key {
            b"traceID" => cursor.peek() == Some(b'"'),
            b"processes" => cursor.peek() == Some(b'{'),
            b"spans" => are_spans(*cursor),
            _ => false,
        };
        if found { None } else { cursor.value().map(drop) }
    });
    found
}

/// Whether a trace begins here, rather than a span of one.
pub(crate) fn begins_trace(bytes: &[u8]) -> bool {
    let mut found = false;
    let _ = Cursor::new(bytes).members(|cursor, key| {
        match key {
            b"spans" => found = cursor.peek() == Some(b'['),
            b"spanID" => return None,
            _ => {}
        }
        if found { None } else { cursor.value().map(drop) }
    });
    found
}

/// Whether an object stands for itself as a span, as in Jaeger's Elasticsearch: what is around it names no trace.
pub(crate) fn is_alone(bytes: &[u8]) -> bool {
    is_span(bytes) && !begins_trace(bytes)
}

/// Whether an object is a span.
pub(crate) fn is_span(bytes: &[u8]) -> bool {
    let (mut has_id, mut has_more) = (false, false);
    let _ = Cursor::new(bytes).members(|cursor, key| {
        has_id |= key == b"spanID";
        has_more |= matches!(key, b"operationName" | b"startTime" | b"processID");
        if has_id && has_more { None } else { cursor.value().map(drop) }
    });
    has_id && has_more
}

fn are_spans(mut cursor: Cursor<'_>) -> bool {
    let mut found = false;
    let _ = cursor.elements(|cursor| {
        let _ = cursor.members(|cursor, key| {
            found |= matches!(key, b"spanID" | b"operationName" | b"processID");
            cursor.value().map(drop)
        });
        None
    });
    found
}

/// Hands over the spans of the trace that `bytes` are, or of what is there of it.
pub(crate) fn decode(bytes: &[u8], visitor: &mut impl Visitor) -> Decoded {
    let mut decoded = Decoded::default();
    let mut cursor = Cursor::new(bytes);
    let (members, whole) = members(&mut cursor, bytes);
    if !whole {
        decoded.ended = Some(ended(&mut cursor));
    }
    let Some(spans) = members.spans else { return decoded };
    let mut reading = Reading {
        bytes,
        trace_id: String::from_utf8_lossy(members.trace_id).into_owned(),
        processes: processes(bytes, members.processes, &mut decoded),
        frame: None,
        decoded,
        visitor,
    };
    let mut cursor = Cursor::at(bytes, spans);
    let whole = cursor.elements(|cursor| {
        let range = cursor.value()?;
        reading.decoded.spans_end = range.end;
        reading.span(range);
        Some(())
    });
    reading.close();
    let mut decoded = reading.decoded;
    if whole.is_none() && decoded.ended.is_none_or(|(_, ended)| ended == Ended::Truncated) {
        decoded.ended = Some(ended(&mut cursor));
    }
    decoded
}

fn ended(cursor: &mut Cursor<'_>) -> (usize, Ended) {
    let why = if cursor.has_ended() { Ended::Truncated } else { Ended::Damaged };
    (cursor.pos(), why)
}

/// Finds the members, and tells whether the object was walked to its end.
fn members<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8]) -> (Members<'a>, bool) {
    let mut members = Members::default();
    let whole = cursor.members(|cursor, key| {
        if key == b"spans" && cursor.peek() == Some(b'[') {
            members.spans = Some(cursor.pos());
        }
        let range = cursor.value()?;
        match key {
            b"traceID" => {
                let text = bytes.get(range).unwrap_or_default();
                members.trace_id = text.trim_ascii().strip_prefix(b"\"").unwrap_or_default();
                members.trace_id = members.trace_id.strip_suffix(b"\"").unwrap_or_default();
            }
            b"processes" => members.processes = Some(range),
            _ => {}
        }
        Some(())
    });
    (members, whole.is_some())
}

/// The processes by their keys; one that is damaged is left out, and its spans have none.
fn processes(bytes: &[u8], range: Option<Range<usize>>, decoded: &mut Decoded) -> HashMap<String, Process> {
    let mut processes = HashMap::new();
    let Some(range) = range else { return processes };
    let _ = Cursor::at(bytes, range.start).members(|cursor, key| {
        let range = cursor.value()?;
        let text = String::from_utf8_lossy(bytes.get(range).unwrap_or_default());
        decoded.invalid_utf8 += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
        if let Ok(mut process) = serde_json::from_str::<Process>(&text) {
            unfold(&mut process.tag, &mut process.tags);
            processes.insert(String::from_utf8_lossy(key).into_owned(), process);
        }
        Some(())
    });
    processes
}

/// Who wrote the spans at hand: the key of a process, name and version of a scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Frame {
    process: String,
    scope: String,
    version: String,
}

struct Reading<'a, V> {
    bytes: &'a [u8],
    trace_id: String,
    processes: HashMap<String, Process>,
    /// The resource and scope that are open.
    frame: Option<Frame>,
    decoded: Decoded,
    visitor: &'a mut V,
}

impl<V: Visitor> Reading<'_, V> {
    fn span(&mut self, range: Range<usize>) {
        let (offset, len) = (range.start, range.len() as u64);
        let text = String::from_utf8_lossy(self.bytes.get(range).unwrap_or_default());
        let replaced = matches!(text, std::borrow::Cow::Owned(_));
        let read = serde_json::from_str::<Span>(&text).map_err(|error| error.to_string());
        let read = read.and_then(|mut span| {
            unfold(&mut span.tag, &mut span.tags);
            if let Some(process) = &mut span.process {
                unfold(&mut process.tag, &mut process.tags);
            }
            self.emit(&span)
        });
        match read {
            Ok(()) => {
                self.decoded.spans += 1;
                self.decoded.invalid_utf8 += u64::from(replaced);
            }
            Err(reason) => {
                if self.decoded.bad_spans == 0 {
                    self.decoded.first_bad = (offset, reason);
                }
                self.decoded.bad_spans += 1;
                self.decoded.bad_bytes += len;
            }
        }
    }

    fn emit(&mut self, span: &Span) -> Result<(), String> {
        let times = span::times(span)?;
        let (scope, version) = span::scope(span);
        let process = span.process_id.clone().unwrap_or_default();
        // A process of the span's own is not compared with others.
        let frame = Frame { process, scope, version };
        if self.frame.as_ref() != Some(&frame) || span.process.is_some() {
            self.close();
            let process = span.process.as_ref().or_else(|| self.processes.get(&frame.process));
            span::open(process, &frame.scope, &frame.version, self.visitor);
            self.frame = Some(frame);
        }
        span::emit(span, &self.trace_id, times, self.visitor);
        Ok(())
    }

    fn close(&mut self) {
        if self.frame.take().is_some() {
            self.visitor.scope_end();
            self.visitor.resource_end();
        }
    }
}

#[cfg(test)]
mod tests;
