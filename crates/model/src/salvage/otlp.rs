//! An OTLP message in JSON that is damaged: what is whole behind the damage, resource by resource, and span by span where
//! whose they are is known.

use crate::IssueKind;
use crate::elements::{Stop, Walk, begins_message, expect, peek, skip, walk};
use crate::input::Input;
use crate::intake::BadMessage;
use crate::json_cursor::Cursor;
use crate::reading::{COPY_AGAIN, Reading, bytes};
use crate::structure::{JsonScan, Scanned, Strict};

use super::{Judged, step_over, whole_object};

/// What stands once in every span.
const MARK: &[u8] = b"\"startTimeUnixNano\"";
/// Bytes of an object that are looked at to know what it is.
const LOOK: usize = 64 << 10;
/// Brackets that are open around a span.
const AROUND_SPAN: usize = 6;
/// The head of another resource may be shorter than the last by so many bytes.
const HEAD_SLACK: u64 = 64;
/// The same in the spelling of protobuf.
const OTHER_MARK: &[u8] = b"\"start_time_unix_nano\"";

/// What an object behind the damage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Resource,
    Scope,
    Span,
    Other,
}

fn kind(object: &[u8]) -> Kind {
    let (mut ids, mut kind) = (0, Kind::Other);
    let _ = Cursor::new(object).members(|cursor, key| {
        match key {
            b"scopeSpans" | b"scope_spans" | b"instrumentationLibrarySpans" => kind = Kind::Resource,
            b"spans" if cursor.peek() == Some(b'[') => kind = Kind::Scope,
            b"traceId" | b"trace_id" | b"spanId" | b"span_id" => ids += 1,
            _ => {}
        }
        if kind == Kind::Other { cursor.value().map(drop) } else { None }
    });
    // Links have both ids, but no times; what they stand in is met first.
    if kind == Kind::Other && ids >= 2 && has_times(object) { Kind::Span } else { kind }
}

/// Whether a span, or something of one, is among bytes.
fn has_times(bytes: &[u8]) -> bool {
    let has = |mark: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
    has(MARK) || has(OTHER_MARK)
}

/// What surrounds the spans at hand, as far as it is known: a message without other spans, up to where they stand.
#[derive(Debug, Default)]
struct Around {
    /// Up to the scopes of the resource.
    resource: Option<Vec<u8>>,
    /// Up to the spans of the scope.
    scope: Option<Vec<u8>>,
}

/// Whether an object holds the spans of a resource.
pub(crate) fn is_resource(object: &[u8]) -> bool {
    kind(object) == Kind::Resource
}

/// Takes what is whole in the message that begins here and is damaged at `at`, and tells what is not. The input stands at
/// the next message then, or at its end.
pub(crate) fn damaged(input: &mut Input<'_>, reading: &mut Reading<'_>, at: usize) {
    let offset = input.offset();
    let text = input.data().get(..at).unwrap_or_default();
    let around = around(text);
    // It ends early, which is told with what follows.
    let whole = reading.message(text, offset).err().map_or(at, |bad| bad.whole_bytes);
    let torn = torn(text, whole);
    input.consume(at);
    behind(input, reading, around, torn);
}

/// Bytes of the span that the damage is in, before it: at the end of `text`, of which so many bytes hold whole spans.
fn torn(text: &[u8], whole: usize) -> u64 {
    let first = || opened(text).get(AROUND_SPAN).map_or(text.len(), |(_, at)| *at);
    let begin = if whole > 0 { whole } else { first() };
    text.len().saturating_sub(begin) as u64
}

/// Takes what is whole behind the damage of a message that was read as far as it goes, `text`, which begins at `offset` of the
/// input, and tells what is not. Whether it is damaged rather than cut off.
pub(crate) fn line(text: &[u8], bad: &BadMessage, offset: u64, reading: &mut Reading<'_>) -> bool {
    let (read, whole) = (bad.read_bytes, bad.whole_bytes);
    let Scanned::Damage(damage) = Strict::default().walk(text) else { return false };
    // Where nothing was read, nothing is known of how far that went.
    let at = if read == 0 { damage } else { damage.min(read) };
    let before = text.get(..at).unwrap_or(text);
    let (around, torn) = (around(before), torn(before, whole));
    let begin = whole.min(at);
    let mut input = Input::new(text.get(begin..).unwrap_or_default(), Vec::new());
    input.fill(at - begin);
    input.consume(at - begin);
    reading.base_offset += offset + begin as u64;
    behind(&mut input, reading, around, torn);
    reading.base_offset -= offset + begin as u64;
    true
}

/// The same from the damage on, before which `torn` bytes of a span stand.
fn behind(input: &mut Input<'_>, reading: &mut Reading<'_>, mut around: Around, mut torn: u64) {
    while peek(input).is_some() {
        let begin = input.offset().saturating_sub(torn);
        let (has_resource, has_scope) = (around.resource.is_some(), around.scope.is_some());
        let mut passed = step_over(input, 0, MARK, |data, is_all| match data.first() {
            Some(b'{') if data.len() < LOOK && !is_all => Judged::More,
            Some(b'{') if begins_message(data) => Judged::Here,
            Some(b'{') => whole_object(data, is_all, |object| match kind(object) {
                Kind::Resource => true,
                Kind::Scope => has_resource,
                Kind::Span => has_scope,
                Kind::Other => false,
            }),
            _ => Judged::No(1),
        });
        passed.bytes += std::mem::take(&mut torn);
        // A hole may have held the beginning of another resource, if that fits: whose the spans behind it are is not known.
        let head_bytes = around.resource.as_ref().map_or(0, Vec::len) as u64;
        let is_unknown =
            passed.zeros > 0 && (passed.has_list || passed.zeros.saturating_add(HEAD_SLACK) >= head_bytes);
        if passed.bytes > 0 {
            let goes_on = match passed.is_found {
                true if is_unknown => "reading went on at the next resource",
                true => "reading went on at the next span",
                false => "no span follows",
            };
            reading.loss(IssueKind::Corrupt, begin, passed.bytes, || {
                format!("{}; {goes_on}; {COPY_AGAIN}", passed.cost(("span", "spans")))
            });
        }
        if is_unknown {
            around = Around::default();
        }
        if run(input, reading, &mut around).is_ok() {
            return;
        }
    }
}

/// Takes whole objects, one after the other, up to the next message; an error where something else stands.
fn run(input: &mut Input<'_>, reading: &mut Reading<'_>, around: &mut Around) -> Walk {
    while let Some(next) = peek(input) {
        match next {
            b',' | b'}' => input.consume(1),
            b']' => {
                // The list of spans ends, or that of scopes.
                if around.scope.take().is_none() {
                    around.resource = None;
                }
                input.consume(1);
            }
            b'"' => {
                skip(input)?;
                expect(input, b':')?;
                skip(input)?;
            }
            b'{' => {
                input.fill(LOOK);
                let data = input.data();
                if begins_message(data) {
                    return Ok(());
                }
                object(input, reading, around)?;
            }
            _ => return Err(Stop::Damage),
        }
    }
    Ok(())
}

fn object(input: &mut Input<'_>, reading: &mut Reading<'_>, around: &Around) -> Walk {
    let offset = input.offset();
    let Scanned::End(end) = walk(input, reading.max_message_bytes) else {
        return Err(Stop::Damage);
    };
    let object = input.data().get(..end).unwrap_or_default();
    let wrapped = match (kind(object), around) {
        (Kind::Resource, _) => [&b"{\"resourceSpans\":["[..], object, b"]}"].concat(),
        (Kind::Scope, Around { resource: Some(resource), .. }) => {
            [resource.as_slice(), object, b"]}]}"].concat()
        }
        (Kind::Span, Around { scope: Some(scope), .. }) => [scope.as_slice(), object, b"]}]}]}"].concat(),
        _ => {
            if has_times(object) {
                reading.loss(IssueKind::Corrupt, offset, end as u64, || {
                    let size = bytes(end as u64);
                    format!("{size} with spans are behind damage that hides whose they are, and were left out; {COPY_AGAIN}")
                });
            }
            input.consume(end);
            return Ok(());
        }
    };
    if let Err(bad) = reading.message(&wrapped, offset) {
        reading.bad_message(bad, offset, wrapped.len());
    }
    input.consume(end);
    Ok(())
}

/// What surrounds the place at which `text`, a message, ends.
fn around(text: &[u8]) -> Around {
    let opened = opened(text);
    // An envelope around the message says nothing.
    let opened = match opened.as_slice() {
        [(b'{', _), rest @ ..] if rest.first().is_some_and(|(byte, _)| *byte == b'{') => rest,
        all => all,
    };
    let up_to = |pairs: usize, names: &[&[u8]]| {
        let mut around = Vec::new();
        let mut last = 0;
        for pair in opened.get(..2 * pairs)?.chunks_exact(2) {
            let [(b'{', from), (b'[', to)] = pair else { return None };
            around.extend_from_slice(text.get(*from..=*to)?);
            last = *to;
        }
        let name = text.get(..last)?.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
        names.iter().any(|known| name.ends_with(known)).then_some(around)
    };
    Around {
        resource: up_to(2, &[b"\"scopeSpans\"", b"\"scope_spans\"", b"\"instrumentationLibrarySpans\""]),
        scope: up_to(3, &[b"\"spans\""]),
    }
}

/// The brackets that are open at the end of `text`, and where they stand.
fn opened(text: &[u8]) -> Vec<(u8, usize)> {
    let mut opened = Vec::new();
    let mut scan = JsonScan::default();
    for (at, byte) in text.iter().enumerate() {
        let is_text = scan.is_in_string();
        let _ = scan.feed(std::slice::from_ref(byte));
        match byte {
            b'{' | b'[' if !is_text => opened.push((*byte, at)),
            b'}' | b']' if !is_text => drop(opened.pop()),
            _ => {}
        }
    }
    opened
}
