//! The Trace Event Format as a document (`{"traceEvents":[…]}`) or as a bare list of events, which may lack its end.

use super::{Format, LONG_LOOK, LOOK, begins_as};
use crate::IssueKind;
use crate::chrome::{Document, Gather, is_event};
use crate::elements::{Stop, Walk, expect, goes_on, peek, skip};
use crate::formats::json_document::document_end;
use crate::input::Input;
use crate::json_cursor::Cursor;
use crate::reading::Reading;
use crate::structure::{JsonScan, blank_prefix};

pub(crate) static FORMAT: Format = Format {
    name: "Chrome trace events",
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
                found = is_event(begin.get(cursor.pos()..).unwrap_or_default());
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
    let mut gather = Gather::new(memory_bytes, dir);
    let is_list = peek(input) == Some(b'[');
    let walked =
        if is_list { events(input, reading, &mut gather) } else { document(input, reading, &mut gather) };
    let (offset, is_told) = (input.offset(), input.damage().is_some());
    match walked {
        // A list may be written until its writer dies: its end says nothing.
        Err(Stop::End) if !is_told && !is_list => reading.issue(IssueKind::Truncated, offset, || {
            "the document is cut off; everything in it so far was read".into()
        }),
        Err(Stop::Damage) => reading.issue(IssueKind::Corrupt, offset, || {
            "the document is no JSON from here on; everything before was read".into()
        }),
        Err(Stop::End | Stop::Done) => {}
        Ok(()) => {
            if peek(input).is_some() {
                reading.issue(IssueKind::Corrupt, input.offset(), || {
                    "something follows the end of the document; it was not read".into()
                });
            } else if gather.is_empty() && !is_told {
                reading.without_spans();
            }
        }
    }
    while input.fill(1) > 0 {
        input.consume(input.data().len());
    }
    let base_offset = reading.base_offset;
    reading.intake.chrome(gather, reading.file, base_offset, reading.sink);
}

/// Takes the members of the document.
fn document(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) -> Walk {
    expect(input, b'{')?;
    if peek(input) == Some(b'}') {
        return expect(input, b'}');
    }
    loop {
        let name = name(input)?;
        expect(input, b':')?;
        match name.as_slice() {
            b"traceEvents" if peek(input) == Some(b'[') => events(input, reading, gather)?,
            name if Document::wants(name) => member(name, input, gather)?,
            _ => skip(input)?,
        }
        if !goes_on(input, b'}')? {
            return Ok(());
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
        Some(name) => {
            let (name, end) = (name.to_vec(), cursor.pos());
            input.consume(end);
            Ok(name)
        }
        None if input.data().first() == Some(&b'"') && input.has_ended() => Err(Stop::End),
        None => Err(Stop::Damage),
    }
}

/// Takes a small member; larger ones are stepped over.
fn member(name: &[u8], input: &mut Input<'_>, gather: &mut Gather) -> Walk {
    if peek(input) == Some(b'{') {
        if let Some(end) = document_end(input, MAX_MEMBER) {
            gather.document.member(name, input.data().get(..end).unwrap_or_default());
            input.consume(end);
            return Ok(());
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

/// Takes the events of a list.
fn events(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) -> Walk {
    expect(input, b'[')?;
    if peek(input) == Some(b']') {
        return expect(input, b']');
    }
    loop {
        event(input, reading, gather)?;
        if !goes_on(input, b']')? {
            return Ok(());
        }
        // Writers that append leave a comma at the end.
        if peek(input) == Some(b']') {
            return expect(input, b']');
        }
    }
}

fn event(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) -> Walk {
    let next = peek(input).ok_or(Stop::End)?;
    let offset = input.offset();
    if next != b'{' {
        gather.bad_event(offset);
        return skip(input);
    }
    reading.tell_progress();
    let max = reading.max_message_bytes;
    let Some(end) = document_end(input, max) else {
        if input.has_ended() && input.data().len() <= max {
            if input.damage().is_none() {
                reading.issue(IssueKind::Truncated, offset, || {
                    "the last event is cut off; everything before it was read".into()
                });
            }
            return Err(Stop::Done);
        }
        reading.too_large(offset);
        return skip(input);
    };
    gather.event(input.data().get(..end).unwrap_or_default(), offset);
    input.consume(end);
    Ok(())
}
