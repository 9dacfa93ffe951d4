//! OTLP JSON, one message a line.

use stepscope_otlp::{Encoding, detect};

use super::{Format, LOOK};
use crate::IssueKind;
use crate::fragments::Place;
use crate::input::{Input, newlines_at_start, position_of_newline};
use crate::reading::{COPY_AGAIN, Reading};
use crate::structure::{JsonScan, blank_prefix, trim};

pub(crate) static FORMAT: Format = Format {
    name: "OTLP JSON lines",
    doc: "One OTLP JSON message a line, as the collector's file exporter writes it.",
    sniff,
    read,
};

/// How messages begin, for finding one behind the torn rest of another on the same line.
const BEGINNINGS: [&[u8]; 2] = [b"{\"resourceSpans\"", b"{\"resourceMetrics\""];

/// Messages looked for on one line; writers that are killed leave two.
const MAX_ON_A_LINE: usize = 16;

fn sniff(input: &mut Input<'_>, reading: &mut Reading<'_>) -> bool {
    input.fill(LOOK);
    let blank = blank_prefix(input.data());
    let begin = input.data().get(blank..).unwrap_or_default();
    if begin.first() != Some(&b'{') || detect(begin).is_none_or(|found| found.encoding != Encoding::Json) {
        return false;
    }
    // A first line that goes on is a document; but a torn line among others is still a line.
    let Some(end) = input.find_newline(blank, reading.max_message_bytes) else { return true };
    let mut scan = JsonScan::default();
    let line = input.data().get(blank..end).unwrap_or_default();
    if scan.feed(line).is_some() || !scan.is_between_tokens() {
        return true;
    }
    input.fill(end + LOOK);
    let next = trim(input.data().get(end..).unwrap_or_default());
    next.first() == Some(&b'{') && detect(next).is_some()
}

fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let max = reading.max_message_bytes;
    loop {
        // Blank lines can be very many.
        let blank = newlines_at_start(input.data());
        reading.pass_lines(blank as u64);
        input.consume(blank);
        reading.look_ahead(input, |bytes| {
            let blank = newlines_at_start(bytes);
            let end = blank + position_of_newline(bytes.get(blank..)?)?;
            let line = bytes.get(blank..end)?;
            let start = blank + blank_prefix(line);
            Some((start..start + trim(line).len(), end + 1))
        });
        let offset = input.offset();
        match input.find_newline(0, max.saturating_add(1)) {
            Some(end) if end <= max => {
                let line = input.data().get(..end).unwrap_or_default();
                reading.at_line(offset, end as u64);
                if let Err(Unread::NoMessage) = take(trim(line), offset, reading) {
                    if offset == 0 {
                        let head = input.data().get(..=end).unwrap_or_default();
                        reading.fragment(Place::Head, 0, head);
                    } else {
                        reading.issue(IssueKind::Corrupt, offset, || {
                            format!("not OTLP; reading went on at the next line; {COPY_AGAIN}")
                        });
                    }
                }
                input.consume(end + 1);
                reading.pass_lines(1);
            }
            None if input.has_ended() && input.data().len() <= max => {
                last_line(input, reading);
                return;
            }
            _ => {
                reading.at_line(offset, 1);
                reading.too_large(offset);
                skip_line(input);
                reading.pass_lines(1);
            }
        }
    }
}

/// A line that was not read.
enum Unread {
    /// It does not even begin like a message.
    NoMessage,
}

/// Takes the message on a line, and any that follow the torn rest of one.
fn take(line: &[u8], offset: u64, reading: &mut Reading<'_>) -> Result<(), Unread> {
    let mut at = 0;
    for attempt in 0..MAX_ON_A_LINE {
        let rest = line.get(at..).unwrap_or_default();
        let place = offset + at as u64;
        if rest.is_empty() {
            return Ok(());
        }
        let begins = rest.first() == Some(&b'{') && detect(rest).is_some();
        let bad = if begins { reading.message(rest, place).err() } else { None };
        if begins && bad.is_none() {
            return Ok(());
        }
        let next = next_beginning(rest);
        match bad {
            Some(bad) => reading.bad_message(bad, place),
            None if next.is_none() && attempt == 0 => return Err(Unread::NoMessage),
            None => reading.issue(IssueKind::Corrupt, place, || {
                format!("a record lacks its beginning; reading went on at the next record; {COPY_AGAIN}")
            }),
        }
        match next {
            Some(next) => at += next,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Where the next message on the same line may begin.
fn next_beginning(line: &[u8]) -> Option<usize> {
    (1..line.len()).find(|&at| {
        let rest = line.get(at..).unwrap_or_default();
        rest.first() == Some(&b'{') && BEGINNINGS.iter().any(|begin| rest.starts_with(begin))
    })
}

/// What follows the last newline: a whole message, or a torn one.
fn last_line(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let line = trim(input.data());
    if line.is_empty() {
        input.consume(input.data().len());
        return;
    }
    let whole = JsonScan::default().feed(line) == Some(line.len());
    if !whole || detect(line).is_none() {
        reading.tail(input);
        return;
    }
    reading.at_line(input.offset(), input.data().len() as u64);
    // A whole message on a line of its own never fails as `NoMessage`.
    let _ = take(line, input.offset(), reading);
    input.consume(input.data().len());
}

/// Moves behind the next newline, or to the end.
fn skip_line(input: &mut Input<'_>) {
    while input.fill(1) > 0 {
        if let Some(end) = position_of_newline(input.data()) {
            input.consume(end + 1);
            return;
        }
        input.consume(input.data().len());
    }
}
