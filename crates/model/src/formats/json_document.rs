//! OTLP JSON over several lines: one message as people and tools pretty-print it, or several in a row.

use stepscope_otlp::{Encoding, detect};

use super::{Format, LOOK, begins_other};
use crate::elements::walk;
use crate::input::Input;
use crate::reading::Reading;
use crate::salvage::otlp;
use crate::structure::{Scanned, blank_prefix};

pub(crate) static FORMAT: Format = Format {
    name: "OTLP JSON document",
    doc: "One OTLP JSON message over several lines, as pretty-printers write it.",
    sniff,
    read,
};

fn sniff(input: &mut Input<'_>, _: &mut Reading<'_>) -> bool {
    input.fill(LOOK);
    let begin = input.data().get(blank_prefix(input.data())..).unwrap_or_default();
    begin.first() == Some(&b'{') && detect(begin).is_some_and(|found| found.encoding == Encoding::Json)
}

fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let mut is_behind = reading.is_headless();
    loop {
        let blank = loop {
            if input.fill(1) == 0 {
                return;
            }
            let blank = blank_prefix(input.data());
            if blank < input.data().len() {
                break blank;
            }
            input.consume(blank);
        };
        input.consume(blank);
        let (offset, max) = (input.offset(), reading.max_message_bytes);
        if offset > 0 && !is_message_here(input) && begins_other(input) {
            return;
        }
        if is_behind && !is_message_here(input) {
            otlp::damaged(input, reading, 0);
            continue;
        }
        let end = match walk(input, max) {
            Scanned::End(end) => end,
            Scanned::Damage(at) => {
                is_behind = true;
                otlp::damaged(input, reading, at);
                continue;
            }
            Scanned::Short => {
                let len = input.data().len();
                if input.has_ended() && len <= max {
                    reading.tail(input);
                } else {
                    skip_all(input);
                    reading.too_large(offset, input.offset() - offset);
                }
                return;
            }
        };
        let document = input.data().get(..end).unwrap_or_default();
        if let Err(bad) = reading.message(document, offset) {
            reading.bad_message(bad, offset, end);
        }
        input.consume(end);
    }
}

/// Whether a message stands here, rather than what is around or in a damaged one.
fn is_message_here(input: &mut Input<'_>) -> bool {
    input.fill(LOOK);
    detect(input.data()).is_some_and(|found| found.encoding == Encoding::Json)
}

/// Moves to the end.
fn skip_all(input: &mut Input<'_>) {
    while input.fill(1) > 0 {
        input.consume(input.data().len());
    }
}
