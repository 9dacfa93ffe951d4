//! Messages behind a 4-byte big-endian length.

use super::{Format, LOOK};
use crate::framing::{self, PREFIX, can_begin, prefix};
use crate::input::{Input, zstd};
use crate::reading::Reading;

pub(crate) static FORMAT: Format = Format {
    name: "OTLP protobuf, length-prefixed",
    doc: "Messages behind a 4-byte length, as stepscope's directory sink and the collector's file exporter write them.",
    sniff,
    read: framing::read,
};

fn sniff(input: &mut Input<'_>, reading: &mut Reading<'_>) -> bool {
    let Some(message) = first_message(input, reading) else { return false };
    !zstd::is_frame(message) && reading.intake.identify(message).is_some()
}

/// The beginning of the first message that has content, if the input can be of this framing.
pub(super) fn first_message<'a>(input: &'a mut Input<'_>, reading: &Reading<'_>) -> Option<&'a [u8]> {
    input.fill(LOOK);
    let mut rest = input.data();
    while prefix(rest) == Some(0) {
        rest = rest.get(PREFIX..)?;
    }
    let len = prefix(rest).filter(|&len| len <= reading.max_message_bytes)?;
    let message = rest.get(PREFIX..)?;
    let message = message.get(..len).unwrap_or(message);
    (!message.is_empty() && can_begin(message)).then_some(message)
}
