//! Spans as nearly all of them are: with a parent, a name, times and flags, and nothing that was dropped or went wrong.
//! They are written in pieces whose sizes the compiler knows, behind a length that is known before. All others take the
//! general way, in `encode`, which would write the same.

use crate::SpanHead;

/// Tag and length of the span, then of the ids, which are filled in; up to the name's length.
const FRONT: [u8; 43] = {
    let mut front = [0; 43];
    (front[0], front[3], front[4], front[21], front[22]) = (0x12, 0x0a, 16, 0x12, 8);
    (front[31], front[32], front[41]) = (0x22, 8, 0x2a);
    front
};

/// Kind and times, which are filled in.
const MIDDLE: [u8; 20] = {
    let mut middle = [0; 20];
    (middle[0], middle[2], middle[11]) = (0x30, 0x39, 0x41);
    middle
};

/// Bytes of the span's tag and length.
const HEAD: usize = 3;

/// Bytes of the flags.
const FLAGS: usize = 6;

/// Writes a span with its encoded attributes, events and links, if it is a usual one.
#[inline(always)]
pub(super) fn span(out: &mut Vec<u8>, head: &SpanHead<'_>, content: [&[u8]; 3]) -> bool {
    write(out, head, content).is_some()
}

#[inline(always)]
fn write(out: &mut Vec<u8>, head: &SpanHead<'_>, content: [&[u8]; 3]) -> Option<()> {
    let trace_id = <&[u8; 16]>::try_from(head.trace_id).ok()?;
    let span_id = <&[u8; 8]>::try_from(head.span_id).ok()?;
    let parent_id = <&[u8; 8]>::try_from(head.parent_span_id).ok()?;
    let dropped = head.dropped_attributes_count | head.dropped_events_count | head.dropped_links_count;
    let is_fine = head.status.0 == 0 && head.status_message.is_empty() && head.trace_state.is_empty();
    let is_there = head.start_unix_ns != 0 && head.end_unix_ns != 0 && head.flags != 0;
    if dropped != 0 || !is_fine || !is_there {
        return None;
    }
    let is_short = |len| matches!(len, 1..0x80);
    let kind = u8::try_from(head.kind.0).ok().filter(|&kind| is_short(kind.into()))?;
    let name = Some(head.name).filter(|name| is_short(name.len()))?;
    let content_len = content.iter().map(|part| part.len()).sum::<usize>();
    let len = FRONT.len() - HEAD + name.len() + MIDDLE.len() + content_len + FLAGS;
    if !matches!(len, 0x80..0x4000) {
        return None;
    }

    let start = out.len();
    out.extend_from_slice(&FRONT);
    let front = out.get_mut(start..)?.first_chunk_mut::<{ FRONT.len() }>()?;
    (front[1], front[2]) = (len as u8 | 0x80, (len >> 7) as u8);
    front[5..21].copy_from_slice(trace_id);
    front[23..31].copy_from_slice(span_id);
    front[33..41].copy_from_slice(parent_id);
    front[42] = name.len() as u8;
    out.extend_from_slice(name.as_bytes());
    let start = out.len();
    out.extend_from_slice(&MIDDLE);
    let middle = out.get_mut(start..)?.first_chunk_mut::<{ MIDDLE.len() }>()?;
    middle[1] = kind;
    middle[3..11].copy_from_slice(&head.start_unix_ns.to_le_bytes());
    middle[12..].copy_from_slice(&head.end_unix_ns.to_le_bytes());
    let [attributes, events, links] = content;
    out.extend_from_slice(attributes);
    if !events.is_empty() {
        out.extend_from_slice(events);
    }
    if !links.is_empty() {
        out.extend_from_slice(links);
    }
    let [a, b, c, d] = head.flags.to_le_bytes();
    out.extend_from_slice(&[0x85, 0x01, a, b, c, d]);
    Some(())
}
