//! The Trace Event Format as a document (`{"traceEvents":[…]}`) or as a bare list of events, which may lack its end;
//! several may follow each other. Behind damage the next whole event is looked for.

use super::{Format, LONG_LOOK, LOOK, begins_as, jaeger};
use crate::IssueKind;
use crate::chrome::{Document, Gather, is_event};
use crate::elements::{Stop, Walk, expect, is_message, peek, skip, walk};
use crate::input::Input;
use crate::json_cursor::Cursor;
use crate::reading::{Reading, bytes};
use crate::salvage::events;
use crate::structure::{JsonScan, Scanned, Strict, blank_prefix};

/// What this format is called.
pub const CHROME: &str = "Chrome trace events";

pub(crate) static FORMAT: Format = Format {
    name: CHROME,
    doc: "The Trace Event Format, as `chrome://tracing`, Perfetto, PyTorch's profiler (Kineto) and `stepscope convert` \
          write it. The slice over all of a recording that Kineto adds (category `Trace`) is no span.",
    sniff,
    read,
};

/// Members of the document around the events, other than these, that are read are at most so large.
const MAX_MEMBER: usize = LONG_LOOK;

fn sniff(input: &mut Input<'_>, _: &mut Reading<'_>) -> bool {
    begins_as(input, judge) || is_cut_off(input)
}

/// Names of members before the events that no other writer's documents begin with.
const BEFORE_EVENTS: [&[u8]; 5] =
    [b"deviceProperties", b"distributedInfo", b"baseTimeNanoseconds", b"displayTimeUnit", b"traceEvents"];
/// Whether all of an input is the beginning of a document, cut off before its events.
fn is_cut_off(input: &mut Input<'_>) -> bool {
    let begin = input.data().get(blank_prefix(input.data())..).unwrap_or_default();
    if !input.has_ended() || begin.first() != Some(&b'{') || JsonScan::default().feed(begin).is_some() {
        return false;
    }
    let mut found = false;
    let _ = Cursor::new(begin).members(|cursor, key| {
        found |= BEFORE_EVENTS.contains(&key);
        if found { None } else { cursor.value().map(drop) }
    });
    found
}

/// Whether the beginning of an input is that of events; nothing where they may come behind it.
fn judge(begin: &[u8]) -> Option<bool> {
    let mut found = false;
    // That a beginning ends early is expected.
    match begin.first() {
        Some(b'[') => {
            let _ = Cursor::new(begin).elements(|cursor| {
                let first = begin.get(cursor.pos()..).unwrap_or_default();
                found = is_event(first) || first.first() == Some(&b'{') && judge(first) == Some(true);
                None
            });
        }
        Some(b'{') => {
            let _ = Cursor::new(begin).members(|cursor, key| {
                found = key == b"traceEvents" && cursor.peek() == Some(b'[');
                if found { None } else { cursor.value().map(drop) }
            });
        }
        _ => {}
    }
    found.then_some(true)
}

fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let (memory_bytes, dir) = reading.intake.state.assembler.room();
    let (begin, mut is_listed) = (input.offset(), false);
    while peek(input).is_some() {
        if input.offset() > begin && is_foreign(input) {
            return;
        }
        // Documents may stand in a list.
        match peek(input) {
            Some(b'[') if is_list_of_documents(input) => {
                input.consume(1);
                is_listed = true;
            }
            Some(b',' | b']') if is_listed => input.consume(1),
            _ => {}
        }
        if is_listed && matches!(peek(input), Some(b',' | b']') | None) {
            continue;
        }
        let mut gather = Gather::new(memory_bytes, dir.clone());
        document(input, reading, &mut gather);
        let base_offset = reading.base_offset;
        reading.intake.chrome(gather, reading.file, base_offset, reading.sink);
    }
}

/// Whether what begins here, a list, is one of documents rather than of events.
fn is_list_of_documents(input: &mut Input<'_>) -> bool {
    input.fill(LOOK);
    let rest = input.data().get(1..).unwrap_or_default().trim_ascii_start();
    rest.first() == Some(&b'{') && judge(rest) == Some(true)
}

/// Whether a document begins here that is another kind's.
fn is_foreign(input: &mut Input<'_>) -> bool {
    input.fill(LOOK);
    let begin = input.data();
    judge(begin).is_none() && !is_event(begin) && (is_message(begin) || jaeger::is_here(begin))
}

/// Whether events, or a document of such, begin here, as far as the beginning tells.
pub(super) fn is_here(begin: &[u8]) -> bool {
    judge(begin) == Some(true)
}

/// Where reading goes on.
#[derive(Clone, Copy)]
enum At {
    List,
    Document,
    /// Among the events: what stood before is damaged.
    Events,
}

/// Takes one document.
fn document(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) {
    let is_list = peek(input) == Some(b'[');
    input.fill(LOOK);
    let mut at = match is_list {
        true => At::List,
        false if is_event(input.data()) => At::Events,
        false => At::Document,
    };
    loop {
        let walked = match at {
            At::List => expect(input, b'[').and_then(|()| list(input, reading, gather)),
            At::Document => members(input, reading, gather, true),
            At::Events => list(input, reading, gather).and_then(|()| rest(input, reading, gather, is_list)),
        };
        match walked {
            Ok(()) | Err(Stop::Done) => return,
            Err(Stop::End) => {
                // A list may be written until its writer dies: its end says nothing.
                if input.damage().is_none() && !is_list {
                    reading.issue(IssueKind::Truncated, input.offset(), || {
                        "the document is cut off; everything in it so far was read".into()
                    });
                }
                input.consume(input.data().len());
                return;
            }
            Err(Stop::Damage) => {
                if !events::go_on(input, reading, gather) {
                    return;
                }
                at = At::Events;
            }
        }
    }
}

/// What follows the events: the end of a list, or the other members of a document.
fn rest(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather, is_list: bool) -> Walk {
    match peek(input) {
        Some(b',' | b'}') => members(input, reading, gather, false),
        _ if is_list => Ok(()),
        None => Err(Stop::End),
        Some(_) => Err(Stop::Damage),
    }
}

/// Takes the members of the document, all of them or those that follow one.
fn members(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather, is_begin: bool) -> Walk {
    if is_begin {
        expect(input, b'{')?;
    }
    loop {
        match peek(input) {
            Some(b'}') => return expect(input, b'}'),
            Some(b',') => expect(input, b',')?,
            _ => {}
        }
        if peek(input) == Some(b'}') {
            continue;
        }
        let name = name(input)?;
        expect(input, b':')?;
        match name.as_slice() {
            b"traceEvents" if peek(input) == Some(b'[') => {
                input.consume(1);
                list(input, reading, gather)?;
            }
            name if Document::wants(name) => member(name, input, gather)?,
            _ => skip(input)?,
        }
        if !matches!(peek(input), Some(b',' | b'}') | None) {
            return Err(Stop::Damage);
        }
    }
}

/// Steps over a member's name, and gives it.
fn name(input: &mut Input<'_>) -> Result<Vec<u8>, Stop> {
    if peek(input).is_none() {
        return Err(Stop::End);
    }
    input.fill(LOOK);
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

/// Takes a small member; larger ones are stepped over.
fn member(name: &[u8], input: &mut Input<'_>, gather: &mut Gather) -> Walk {
    if peek(input) == Some(b'{') {
        match walk(input, MAX_MEMBER) {
            Scanned::End(end) => {
                gather.document.member(name, input.data().get(..end).unwrap_or_default());
                input.consume(end);
                return Ok(());
            }
            Scanned::Damage(_) => return Err(Stop::Damage),
            Scanned::Short => {}
        }
    } else {
        input.fill(1 << 10);
        let mut cursor = Cursor::at(input.data(), 0);
        if let Some(range) = cursor.value() {
            gather.document.member(name, input.data().get(range).unwrap_or_default());
        }
    }
    skip(input)
}

/// Takes the events of a list, and its end.
fn list(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) -> Walk {
    let mut walk = Strict::default();
    // Whether a comma is due.
    let mut is_behind = false;
    loop {
        let next = peek(input).ok_or(Stop::End)?;
        let offset = input.offset();
        match next {
            b']' => return expect(input, b']'),
            b',' => {
                if !is_behind {
                    reading.issue(IssueKind::Corrupt, offset, || {
                        "a comma too many; nothing was lost by it".into()
                    });
                }
                input.consume(1);
                is_behind = false;
            }
            b'{' => {
                if is_behind {
                    reading.issue(IssueKind::Corrupt, offset, || {
                        "a comma is missing between events; nothing was lost by it".into()
                    });
                }
                event(input, reading, gather, &mut walk)?;
                is_behind = true;
            }
            b'[' if !is_behind || begins_as(input, judge) => {
                if !begins_as(input, judge) {
                    gather.bad_event(offset, 1);
                    skip(input)?;
                    is_behind = true;
                    continue;
                }
                reading.issue(IssueKind::Corrupt, offset, || {
                    "the list of events begins again; nothing was lost by it".into()
                });
                input.consume(1);
                is_behind = false;
            }
            _ => {
                let len = word(input).ok_or(Stop::Damage)?;
                gather.bad_event(offset, len as u64);
                input.consume(len);
                is_behind = true;
            }
        }
    }
}

/// The length of a string or word that stands here instead of an event.
fn word(input: &mut Input<'_>) -> Option<usize> {
    input.fill(LOOK);
    let mut cursor = Cursor::at(input.data(), 0);
    let end = cursor.value()?.end;
    let is_word = |&byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let text = input.data().get(..end)?;
    let is_whole = text.first() == Some(&b'"') && !text.contains(&0) || text.iter().all(is_word);
    (is_whole && matches!(cursor.peek(), Some(b',' | b']'))).then_some(end)
}

fn event(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather, walk: &mut Strict) -> Walk {
    let offset = input.offset();
    reading.tell_progress();
    walk.reset();
    let end = loop {
        match walk.walk(input.data()) {
            Scanned::End(end) => break end,
            Scanned::Damage(_) => return Err(Stop::Damage),
            Scanned::Short => {}
        }
        let seen = input.data().len();
        if seen > reading.max_message_bytes {
            skip(input)?;
            reading.too_large(offset, input.offset() - offset);
            return Ok(());
        }
        if input.fill(seen + 1) <= seen {
            if input.damage().is_none() {
                reading.loss(IssueKind::Truncated, offset, seen as u64, || {
                    let size = bytes(seen as u64);
                    format!("the last event is cut off: {size} were not read; everything before it was read")
                });
            }
            input.consume(seen);
            return Err(Stop::Done);
        }
    };
    let event = input.data().get(..end).unwrap_or_default();
    // Writers that do not know which event is the last one end the list with an empty one.
    if event.get(1..end - 1).is_some_and(|inner| !inner.trim_ascii().is_empty()) {
        gather.event(event, offset);
    }
    input.consume(end);
    Ok(())
}
