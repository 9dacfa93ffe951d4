//! OTLP JSON, one message a line.

use stepscope_otlp::{Encoding, detect};

use super::{Format, LOOK, begins_other, is_other};
use crate::IssueKind;
use crate::elements::begins_message;
use crate::fragments::Place;
use crate::input::{Input, newlines_at_start, position_of_newline};
use crate::reading::{COPY_AGAIN, Reading, bytes};
use crate::salvage::otlp;
use crate::structure::{JsonScan, Scanned, Strict, blank_prefix, trim};

pub(crate) static FORMAT: Format = Format {
    name: "OTLP JSON lines",
    doc: "One OTLP JSON message a line, as the collector's file exporter writes it.",
    sniff,
    read,
};

/// Damaged messages on one line behind which the next one is looked for; writers that are killed leave two.
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
                let is_message = begins_message(trim(line)) || detect(trim(line)).is_some();
                if offset > 0 && !is_message && begins_other(input) {
                    return;
                }
                let line = input.data().get(..end).unwrap_or_default();
                reading.at_line(offset, end as u64);
                let unread = take(trim(line), offset, reading).err();
                if let Some(Unread::Other(at)) = unread {
                    let blank = blank_prefix(input.data());
                    input.consume(blank + at);
                    return;
                }
                if let Some(Unread::NoMessage) = unread {
                    if offset == 0 {
                        let head = input.data().get(..=end).unwrap_or_default();
                        reading.fragment(Place::Head, 0, head);
                    } else {
                        let lost = end as u64;
                        reading.loss(IssueKind::Corrupt, offset, lost.max(1), || {
                            let size = bytes(lost);
                            format!("{size} are not OTLP; reading went on at the next line; {COPY_AGAIN}")
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
                skip_line(input);
                reading.too_large(offset, input.offset() - offset);
                reading.pass_lines(1);
            }
        }
    }
}

/// A line that was not read.
enum Unread {
    /// It does not even begin like a message.
    NoMessage,
    /// From this byte on it is a document of another kind.
    Other(usize),
}

/// Takes the message on a line, those that follow it there, and any behind the torn rest of one.
fn take(line: &[u8], offset: u64, reading: &mut Reading<'_>) -> Result<(), Unread> {
    let (mut at, mut damaged, mut is_joined) = (0, 0, false);
    loop {
        at += blank_prefix(line.get(at..).unwrap_or_default());
        // Lines of a list whose beginning is missing.
        if is_joined && matches!(line.get(at), Some(b',' | b']')) {
            at += 1;
            continue;
        }
        let rest = line.get(at..).unwrap_or_default();
        let place = offset + at as u64;
        if rest.is_empty() {
            return Ok(());
        }
        // Where several stand on the line, not all of it is looked at again for each.
        let len = Some(rest).filter(|_| is_joined).and_then(|rest| JsonScan::default().feed(rest));
        let message = rest.get(..len.unwrap_or(rest.len())).unwrap_or(rest);
        let begins = message.first() == Some(&b'{') && detect(message).is_some();
        let bad = if begins { reading.message(message, place).err() } else { None };
        if begins && bad.is_none() {
            at += message.len();
            continue;
        }
        if let Some(bad) = bad.as_ref().filter(|_| !is_joined) {
            let end = JsonScan::default().feed(rest).filter(|end| (1..=bad.read_bytes).contains(end));
            if let Some(end) = end {
                // It was whole, and something follows.
                is_joined = true;
                at += end;
                continue;
            }
        }
        if bad.is_none() && at > 0 && is_other(rest) {
            return Err(Unread::Other(at));
        }
        let next = next_beginning(rest);
        let len = next.unwrap_or(rest.len());
        match bad {
            Some(bad) => {
                let text = rest.get(..len).unwrap_or(rest);
                if bad.kind != IssueKind::Corrupt && bad.kind != IssueKind::Truncated
                    || !otlp::line(text, &bad, place, reading)
                {
                    reading.bad_message(bad, place, len);
                }
            }
            None if next.is_none() && at == 0 => return Err(Unread::NoMessage),
            None => reading.loss(IssueKind::Corrupt, place, len as u64, || {
                let size = bytes(len as u64);
                format!("{size} are no record, or lack its beginning; reading went on at the next record; {COPY_AGAIN}")
            }),
        }
        damaged += 1;
        match next {
            Some(next) if damaged < MAX_ON_A_LINE => at += next,
            Some(_) => {
                let lost = (rest.len() - len) as u64;
                reading.loss(IssueKind::Corrupt, place + len as u64, lost.max(1), || {
                    format!("too much of a line is damaged: its last {} were not read", bytes(lost))
                });
                return Ok(());
            }
            None => return Ok(()),
        }
    }
}

/// Where the next message on the same line may begin.
fn next_beginning(line: &[u8]) -> Option<usize> {
    (1..line.len()).find(|&at| line.get(at..).is_some_and(begins_message))
}

/// What follows the last newline: whole messages, and a torn one.
fn last_line(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    loop {
        let blank = blank_prefix(input.data());
        let line = trim(input.data());
        if line.is_empty() {
            input.consume(input.data().len());
            return;
        }
        let (offset, len) = (input.offset() + blank as u64, line.len());
        reading.at_line(offset, len as u64);
        let end = match Strict::default().walk(line) {
            Scanned::End(end) => end,
            Scanned::Damage(_) if detect(line).is_some() => len,
            // Cut off, or of another kind altogether.
            Scanned::Damage(_) | Scanned::Short => len + 1,
        };
        if offset > 0 && detect(line).is_none() && begins_other(input) {
            return;
        }
        let line = trim(input.data());
        let message = line.get(..end).unwrap_or_default();
        if message.is_empty() || detect(message).is_none() || take(message, offset, reading).is_err() {
            reading.tail(input);
            return;
        }
        input.consume(blank + end);
    }
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
