//! JSON documents that hold many traces, element by element: what is not a trace or a message is stepped over
//! without being held, so that memory does not grow with the document. Documents may follow each other.

use stepscope_otlp::{Encoding, detect};

use crate::IssueKind;
use crate::formats::json_document::document_end;
use crate::input::Input;
use crate::intake::BadMessage;
use crate::jaeger;
use crate::json_cursor::Cursor;
use crate::reading::Reading;
use crate::structure::{JsonScan, blank_prefix};

/// Bytes of an object that are looked at to know what it is.
const LOOK: usize = 64 << 10;
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
    /// Everything left has been taken, and told.
    Done,
}

pub(crate) type Walk = Result<(), Stop>;

/// Whether `bytes`, an object or the beginning of one, is an OTLP message.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    detect(bytes).is_some_and(|found| found.encoding == Encoding::Json && found.signal.is_some())
}

/// Reads documents to the end of the input.
pub(crate) fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let mut is_whole = true;
    while peek(input).is_some() {
        let stop = match value(input, reading, 0) {
            Ok(()) => continue,
            Err(stop) => stop,
        };
        is_whole = false;
        let (offset, is_told) = (input.offset(), input.damage().is_some());
        match stop {
            Stop::End if !is_told => reading.issue(IssueKind::Truncated, offset, || {
                "the document is cut off; everything in it so far was read".into()
            }),
            Stop::Damage => reading.issue(IssueKind::Corrupt, offset, || {
                "the document is no JSON from here on; everything before was read".into()
            }),
            Stop::End | Stop::Done => {}
        }
        while input.fill(1) > 0 {
            input.consume(input.data().len());
        }
    }
    if is_whole && reading.records == 0 && input.damage().is_none() {
        reading.without_spans();
    }
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
        let is_looked_into = key(input)?;
        expect(input, b':')?;
        if is_looked_into {
            value(input, reading, depth)?
        } else {
            skip(input)?
        }
        if !goes_on(input, b'}')? {
            return Ok(());
        }
    }
}

/// Steps over a member's name; whether its value is looked into.
fn key(input: &mut Input<'_>) -> Result<bool, Stop> {
    if peek(input).is_none() {
        return Err(Stop::End);
    }
    input.fill(MAX_KEY);
    let mut cursor = Cursor::at(input.data(), 0);
    match cursor.string() {
        Some(name) => {
            let is_looked_into = jaeger::may_hold_traces(name);
            let end = cursor.pos();
            input.consume(end);
            Ok(is_looked_into)
        }
        None if input.data().first() == Some(&b'"') && input.has_ended() => Err(Stop::End),
        None => Err(Stop::Damage),
    }
}

/// Takes the trace or message that begins here.
fn element(input: &mut Input<'_>, reading: &mut Reading<'_>) -> Walk {
    let offset = input.offset();
    let max = reading.max_message_bytes;
    let end = document_end(input, max);
    if end.is_none() && !(input.has_ended() && input.data().len() <= max) {
        reading.too_large(offset);
        return skip(input);
    }
    let bytes = input.data().get(..end.unwrap_or(usize::MAX)).unwrap_or(input.data());
    let read: Result<(), BadMessage> =
        if is_message(bytes) { reading.message(bytes, offset) } else { reading.jaeger_trace(bytes, offset) };
    let len = bytes.len();
    input.consume(len);
    match (read, end) {
        (Ok(()), _) => Ok(()),
        (Err(bad), Some(_)) => {
            reading.bad_message(bad, offset);
            Ok(())
        }
        (Err(_), None) => {
            if input.damage().is_none() {
                reading.issue(IssueKind::Truncated, offset, || {
                    "the last trace is cut off; what is whole in it was read, and everything before it".into()
                });
            }
            Err(Stop::Done)
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
                match scan.feed(input.data()) {
                    Some(end) => {
                        input.consume(end);
                        return Ok(());
                    }
                    None => input.consume(input.data().len()),
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
                match end {
                    Some(end) => {
                        input.consume(end + 1);
                        return Ok(());
                    }
                    None => input.consume(input.data().len()),
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
