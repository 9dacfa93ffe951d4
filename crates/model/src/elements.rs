//! JSON documents that hold many traces, element by element: what is not a trace or a message is stepped over
//! without being held, so that memory does not grow with the document. Documents may follow each other.

use stepscope_otlp::{Encoding, detect};

use crate::IssueKind;
use crate::foreign;
use crate::formats::begins_events;
use crate::input::Input;
use crate::intake::BadMessage;
use crate::jaeger;
use crate::json_cursor::Cursor;
use crate::reading::{COPY_AGAIN, Reading, bytes};
use crate::salvage::{Judged, otlp, step_over, traces, whole_object};
use crate::structure::{JsonScan, Scanned, Strict, blank_prefix};

/// Bytes of an object that are looked at to know what it is.
pub(crate) const LOOK: usize = 64 << 10;
/// The name that tells a message comes first in it.
const FIRST_LOOK: usize = 256;
/// Such names, and those of what is around messages.
const BEGINNINGS: [&[u8]; 8] = [
    b"\"resourceSpans\"",
    b"\"resource_spans\"",
    b"\"resourceMetrics\"",
    b"\"resource_metrics\"",
    b"\"batches\"",
    b"\"trace\"",
    b"\"result\"",
    b"\"data\"",
];
/// What stands once in every span of Jaeger.
pub(crate) const MARK: &[u8] = b"\"operationName\"";
/// Names of members that are longer are not known ones.
const MAX_KEY: usize = 1_024;
/// Objects and lists around a trace, at most.
const MAX_DEPTH: u32 = 8;

/// What ended the walk before the document's end.
pub(crate) enum Stop {
    /// The input ends.
    End,
    /// What stands here is no JSON.
    Damage,
    /// What could be taken has been, and what could not is told.
    Done,
}

pub(crate) type Walk = Result<(), Stop>;

/// Whether `bytes`, an object or the beginning of one, is an OTLP message.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    detect(bytes).is_some_and(|found| found.encoding == Encoding::Json && found.signal.is_some())
}

/// Whether a message begins here, as far as its first bytes tell; for places that are many.
pub(crate) fn begins_message(bytes: &[u8]) -> bool {
    let Some([b'{', rest @ ..]) = bytes.get(..FIRST_LOOK.min(bytes.len())) else { return false };
    let name = rest.trim_ascii_start();
    BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        && is_message(bytes.get(..FIRST_LOOK).unwrap_or(bytes))
}

/// Reads documents to the end of the input.
pub(crate) fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let (begin, mut is_behind) = (input.offset(), reading.is_headless());
    while let Some(next) = peek(input) {
        if !is_behind && input.offset() > begin && matches!(next, b'{' | b'[') && is_profile(input) {
            return;
        }
        // What was around the damage goes on, and ends.
        let walked = match next {
            b',' | b']' | b'}' if is_behind => {
                input.consume(1);
                continue;
            }
            b'"' if is_behind => member(input, reading, 0),
            b'{' if is_behind && is_orphan(input) => {
                traces::damaged(input, reading, 0);
                continue;
            }
            _ => value(input, reading, 0),
        };
        let Err(stop) = walked else { continue };
        is_behind = true;
        match stop {
            Stop::End => {
                if input.damage().is_none() {
                    reading.issue(IssueKind::Truncated, input.offset(), || {
                        "the document is cut off; everything in it so far was read".into()
                    });
                }
                input.consume(input.data().len());
            }
            Stop::Damage => step_over_damage(input, reading),
            Stop::Done => {}
        }
    }
}

/// Whether a document of another kind begins here: trace events of Chrome.
fn is_profile(input: &mut Input<'_>) -> bool {
    input.fill(LOOK);
    let begin = input.data();
    !jaeger::is_trace(begin) && !is_message(begin) && begins_events(begin)
}

/// Whether a span stands here, whose trace began in what is damaged.
fn is_orphan(input: &mut Input<'_>) -> bool {
    input.fill(LOOK);
    jaeger::is_alone(input.data())
}

/// Steps over what is no JSON, to the next trace or message.
fn step_over_damage(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let offset = input.offset();
    let begin = usize::from(input.data().first() == Some(&b'{'));
    let passed = step_over(input, begin, MARK, |data, is_all| match data.first() {
        Some(b'{') if data.len() < LOOK && !is_all => Judged::More,
        Some(b'{') if jaeger::begins_trace(data) || begins_message(data) => Judged::Here,
        Some(b'{') => whole_object(data, is_all, jaeger::is_span),
        _ => Judged::No(1),
    });
    let goes_on = if passed.is_found { "reading went on at the next trace" } else { "no trace follows" };
    reading.loss(IssueKind::Corrupt, offset, passed.bytes, || {
        format!("{}; {goes_on}; {COPY_AGAIN}", passed.cost(("span", "spans")))
    });
}

/// The next byte that is not blank.
pub(crate) fn peek(input: &mut Input<'_>) -> Option<u8> {
    while input.fill(3) > 0 {
        let blank = blank_prefix(input.data());
        let next = input.data().get(blank).copied();
        input.consume(blank);
        if next.is_some() {
            return next;
        }
    }
    None
}

pub(crate) fn expect(input: &mut Input<'_>, byte: u8) -> Walk {
    match peek(input) {
        None => Err(Stop::End),
        Some(found) if found == byte => {
            input.consume(1);
            Ok(())
        }
        Some(_) => Err(Stop::Damage),
    }
}

/// Whether a comma follows rather than `end`; steps over either.
pub(crate) fn goes_on(input: &mut Input<'_>, end: u8) -> Result<bool, Stop> {
    if peek(input) == Some(b',') {
        input.consume(1);
        return Ok(true);
    }
    expect(input, end).map(|()| false)
}

/// Takes everything in the value that begins here.
fn value(input: &mut Input<'_>, reading: &mut Reading<'_>, depth: u32) -> Walk {
    match peek(input) {
        Some(b'{') => {
            input.fill(LOOK);
            let begin = input.data();
            if jaeger::is_trace(begin) || is_message(begin) {
                element(input, reading)
            } else if depth < MAX_DEPTH {
                members(input, reading, depth + 1)
            } else {
                skip(input)
            }
        }
        Some(b'[') if depth < MAX_DEPTH => elements(input, reading, depth + 1),
        Some(_) => skip(input),
        None => Err(Stop::End),
    }
}

fn elements(input: &mut Input<'_>, reading: &mut Reading<'_>, depth: u32) -> Walk {
    expect(input, b'[')?;
    if peek(input) == Some(b']') {
        return expect(input, b']');
    }
    loop {
        value(input, reading, depth)?;
        if !goes_on(input, b']')? {
            return Ok(());
        }
    }
}

fn members(input: &mut Input<'_>, reading: &mut Reading<'_>, depth: u32) -> Walk {
    expect(input, b'{')?;
    if peek(input) == Some(b'}') {
        return expect(input, b'}');
    }
    loop {
        member(input, reading, depth)?;
        if !goes_on(input, b'}')? {
            return Ok(());
        }
    }
}

fn member(input: &mut Input<'_>, reading: &mut Reading<'_>, depth: u32) -> Walk {
    let begin = input.offset();
    let name = key(input)?;
    let is_looked_into = jaeger::may_hold_traces(&name);
    expect(input, b':')?;
    if name == b"errors" && depth == 1 && peek(input) == Some(b'[') && reading.has_spans() {
        input.fill(LOOK);
        if let Some(said) = foreign::errors(input.data()) {
            reading.issue(IssueKind::IncompleteTrace, begin, || {
                format!("the server says with its answer {said:?}: there may be more than is in it")
            });
        }
    }
    if is_looked_into { value(input, reading, depth) } else { skip(input) }
}

/// Steps over a member's name, and gives it.
fn key(input: &mut Input<'_>) -> Result<Vec<u8>, Stop> {
    if peek(input).is_none() {
        return Err(Stop::End);
    }
    input.fill(MAX_KEY);
    let mut cursor = Cursor::at(input.data(), 0);
    match cursor.string() {
        Some(name) if !name.contains(&0) => {
            let (name, end) = (name.to_vec(), cursor.pos());
            input.consume(end);
            Ok(name)
        }
        None if input.data().first() == Some(&b'"') && input.has_ended() => Err(Stop::End),
        _ => Err(Stop::Damage),
    }
}

/// Takes the trace or message that begins here.
fn element(input: &mut Input<'_>, reading: &mut Reading<'_>) -> Walk {
    let offset = input.offset();
    let max = reading.max_message_bytes;
    let end = match walk(input, max) {
        Scanned::End(end) => Some(end),
        Scanned::Short => None,
        Scanned::Damage(at) if is_message(input.data()) => {
            otlp::damaged(input, reading, at);
            return Err(Stop::Done);
        }
        Scanned::Damage(at) => {
            traces::damaged(input, reading, at);
            return Err(Stop::Done);
        }
    };
    if end.is_none() && !(input.has_ended() && input.data().len() <= max) {
        skip(input)?;
        reading.too_large(offset, input.offset() - offset);
        return Ok(());
    }
    let text = input.data().get(..end.unwrap_or(usize::MAX)).unwrap_or(input.data());
    let read: Result<(), BadMessage> = if is_message(text) {
        reading.message(text, offset)
    } else if jaeger::is_alone(text) {
        let around = if end.is_some() { &b"]}"[..] } else { b"" };
        reading.jaeger_trace(&[b"{\"spans\":[", text, around].concat(), offset)
    } else {
        reading.jaeger_trace(text, offset)
    };
    let len = text.len();
    input.consume(len);
    match (read, end) {
        (Ok(()), _) => Ok(()),
        (Err(bad), Some(_)) => {
            reading.bad_message(bad, offset, len);
            Ok(())
        }
        (Err(bad), None) => {
            if input.damage().is_none() {
                let lost = len.saturating_sub(bad.read_bytes).max(1) as u64;
                reading.loss(IssueKind::Truncated, offset, lost, || {
                    let size = bytes(lost);
                    format!("the last trace is cut off: {size} of it were not read; what is whole in it was, and everything before it")
                });
            }
            Err(Stop::Done)
        }
    }
}

/// Where the value ends that begins here, within about `max` bytes, or where it is damaged.
pub(crate) fn walk(input: &mut Input<'_>, max: usize) -> Scanned {
    let mut walk = Strict::default();
    loop {
        match walk.walk(input.data()) {
            Scanned::End(end) if end > max => return Scanned::Short,
            Scanned::Short => {}
            found => return found,
        }
        let seen = input.data().len();
        if seen > max || input.fill(seen + 1) <= seen {
            return Scanned::Short;
        }
    }
}

/// Steps over the value that begins here, however large it is.
pub(crate) fn skip(input: &mut Input<'_>) -> Walk {
    match peek(input) {
        None => Err(Stop::End),
        Some(b'{' | b'[') => {
            let mut scan = JsonScan::default();
            while input.fill(1) > 0 {
                let end = scan.feed(input.data());
                pass(input, end)?;
                if end.is_some() {
                    return Ok(());
                }
            }
            Err(Stop::End)
        }
        Some(b'"') => {
            input.consume(1);
            let mut escaped = false;
            while input.fill(1) > 0 {
                let end = input.data().iter().position(|&byte| {
                    let ends = byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                    ends
                });
                pass(input, end.map(|end| end + 1))?;
                if end.is_some() {
                    return Ok(());
                }
            }
            Err(Stop::End)
        }
        Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => {
            while input.fill(1) > 0 {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                match input.data().iter().position(ends) {
                    Some(end) => {
                        input.consume(end);
                        return Ok(());
                    }
                    None => input.consume(input.data().len()),
                }
            }
            Err(Stop::End)
        }
        Some(_) => Err(Stop::Damage),
    }
}

/// Consumes what is skipped, up to `end` or all that is there, or up to a zero in it, which is none of JSON.
fn pass(input: &mut Input<'_>, end: Option<usize>) -> Walk {
    let data = input.data();
    let len = end.unwrap_or(data.len());
    match data.iter().take(len).position(|&byte| byte == 0) {
        Some(zero) => {
            input.consume(zero);
            Err(Stop::Damage)
        }
        None => {
            input.consume(len);
            Ok(())
        }
    }
}
