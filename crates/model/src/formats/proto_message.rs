//! One bare protobuf message, without any framing: the body of an export request.

use super::Format;
use crate::fragments::Place;
use crate::input::Input;
use crate::reading::Reading;

pub(crate) static FORMAT: Format = Format {
    name: "OTLP protobuf message",
    doc: "One bare message, as the body of an OTLP/HTTP request.",
    sniff,
    read,
};

/// Such a file has no other mark than that all of it is valid.
fn sniff(input: &mut Input<'_>, reading: &mut Reading<'_>) -> bool {
    input.fill(1);
    if input.data().first() != Some(&0x0a) {
        return false;
    }
    let max = reading.max_message_bytes;
    input.fill(max.saturating_add(1)) <= max && reading.intake.judge(input.data()).0
}

fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let offset = input.offset();
    if let Err(bad) = reading.message(input.data(), offset) {
        reading.bad_record(bad, offset, input.data(), 0);
    }
    // The file may have been cut off from its length.
    if let Ok(len) = u32::try_from(input.data().len()) {
        reading.fragment(Place::Length, offset, &len.to_be_bytes());
    }
    input.consume(input.data().len());
}
