//! A trace of Jaeger that is damaged: the spans that are whole in it, before the damage and behind, with its processes.

use std::ops::Range;

use crate::IssueKind;
use crate::elements::{LOOK, MARK, begins_message};
use crate::input::Input;
use crate::jaeger::{begins_trace, is_span};
use crate::json_cursor::Cursor;
use crate::reading::{COPY_AGAIN, Reading, bytes};
use crate::structure::{Scanned, Strict};

use super::{EFFORT, EFFORT_PER_BYTE};

/// What is whole in a trace.
#[derive(Default)]
struct Parts {
    trace_id: Option<Range<usize>>,
    processes: Option<Range<usize>>,
    spans: Vec<Range<usize>>,
}

/// Takes what is whole in the trace that begins here and is damaged at `at`, at 0 where its beginning is missing, and tells
/// what is not. The input stands at the next trace then, or at its end.
pub(crate) fn damaged(input: &mut Input<'_>, reading: &mut Reading<'_>, at: usize) {
    let offset = input.offset();
    let mut parts = before(input.data().get(..at).unwrap_or_default());
    let begin = parts.spans.last().map_or(at.min(1), |range| range.end);
    let begin = begin.max(parts.processes.as_ref().map_or(0, |range| range.end));
    let end = behind(input, begin, reading.max_message_bytes, &mut parts);
    let data = input.data().get(..end).unwrap_or_default();
    let mut whole = parts.spans.clone();
    whole.extend(parts.processes.clone());
    whole.sort_unstable_by_key(|range| range.start);
    let (mut lost, mut spans, mut first) = (0, 0, None);
    let mut from = 0;
    for range in whole.iter().cloned().chain(std::iter::once(end..end)) {
        let gap = data.get(from..range.start).unwrap_or_default();
        // What stands between whole items otherwise are brackets and names.
        let is_damaged =
            (from..range.start).contains(&at) || from > 0 && gap.iter().any(|byte| b"{\0".contains(byte));
        if is_damaged {
            lost += gap.len() as u64;
            spans += gap.windows(MARK.len()).filter(|window| *window == MARK).count();
            first.get_or_insert(from);
        }
        from = range.end;
    }
    let text = mended(data, &parts);
    // What is wrong with single spans is told where they are read.
    let _ = reading.jaeger_trace(&text, offset);
    input.consume(end);
    if lost == 0 {
        if at > 0 {
            reading.issue(IssueKind::Corrupt, offset + at as u64, || {
                "a comma or a bracket is damaged in a trace; nothing was lost by it".into()
            });
        }
        return;
    }
    reading.loss(IssueKind::Corrupt, offset + first.unwrap_or(at) as u64, lost, || {
        let (size, many) = (bytes(lost), if spans == 1 { "span" } else { "spans" });
        format!(
            "a trace is damaged at byte {}: {size} of it could not be read, with {spans} {many}; reading went on at the next \
             span; {COPY_AGAIN}",
            offset + at as u64
        )
    });
}

/// What is whole in the beginning of a trace.
fn before(begin: &[u8]) -> Parts {
    let mut parts = Parts::default();
    let _ = Cursor::new(begin).members(|cursor, key| {
        if key == b"spans" && cursor.peek() == Some(b'[') {
            return cursor.elements(|cursor| cursor.value().map(|range| parts.spans.push(range)));
        }
        let range = cursor.value()?;
        match key {
            b"traceID" => parts.trace_id = Some(range),
            b"processes" => parts.processes = Some(range),
            _ => {}
        }
        Some(())
    });
    parts
}

/// Finds what is whole behind the damage, up to the next trace; gives where that begins.
fn behind(input: &mut Input<'_>, begin: usize, max: usize, parts: &mut Parts) -> usize {
    let (mut effort, mut at) = (0_usize, begin);
    loop {
        let data = input.data();
        let here = data.get(at..).unwrap_or_default();
        let Some(next) = here.iter().position(|&byte| byte == b'{') else {
            at = data.len();
            if at > max || input.fill(at + 1) <= at {
                return at;
            }
            continue;
        };
        at += next;
        input.fill(at + LOOK);
        let data = input.data();
        let here = data.get(at..).unwrap_or_default();
        let look = here.get(..LOOK).unwrap_or(here);
        // What begins at 0 is what is read here, whatever else it looks like.
        if at > 0 && (begins_trace(look) || begins_message(look)) {
            return at;
        }
        let is_exhausted = effort > EFFORT.saturating_add((at - begin).saturating_mul(EFFORT_PER_BYTE));
        match Strict::default().walk(here) {
            Scanned::End(len) if is_span(here.get(..len).unwrap_or_default()) => {
                parts.spans.push(at..at + len);
                at += len;
            }
            Scanned::End(len) if parts.processes.is_none() && are_processes(data.get(..at)) => {
                parts.processes = Some(at..at + len);
                at += len;
            }
            Scanned::Short if data.len() <= max && !input.has_ended() && !is_exhausted => {
                effort = effort.saturating_add(here.len());
                let seen = data.len();
                input.fill(seen.saturating_mul(2));
            }
            Scanned::End(len) | Scanned::Damage(len) => {
                effort = effort.saturating_add(len);
                at += 1;
            }
            Scanned::Short => {
                effort = effort.saturating_add(here.len());
                at += 1;
            }
        }
        if is_exhausted {
            // Bytes made to be slow.
            return input.data().len();
        }
    }
}

/// Whether the value behind `before` is a table of processes.
fn are_processes(before: Option<&[u8]>) -> bool {
    let before = before.unwrap_or_default().trim_ascii_end();
    before.strip_suffix(b":").is_some_and(|name| name.trim_ascii_end().ends_with(b"\"processes\""))
}

/// The whole parts as a trace.
fn mended(data: &[u8], parts: &Parts) -> Vec<u8> {
    let text = |range: &Range<usize>| data.get(range.clone()).unwrap_or_default();
    let mut mended = b"{\"traceID\":".to_vec();
    mended.extend_from_slice(parts.trace_id.as_ref().map_or(b"\"\"", text));
    if let Some(range) = &parts.processes {
        mended.extend_from_slice(b",\"processes\":");
        mended.extend_from_slice(text(range));
    }
    mended.extend_from_slice(b",\"spans\":[");
    for (index, range) in parts.spans.iter().enumerate() {
        if index > 0 {
            mended.push(b',');
        }
        mended.extend_from_slice(text(range));
    }
    mended.extend_from_slice(b"]}");
    mended
}
