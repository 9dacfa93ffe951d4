//! Messages behind a 4-byte big-endian length, each a zstd frame of its own: the file is not a zstd file.

use super::Format;
use super::length_prefixed::first_message;
use crate::framing;
use crate::input::{Input, zstd};
use crate::reading::Reading;

pub(crate) static FORMAT: Format = Format {
    name: "OTLP, length-prefixed, a zstd frame each",
    doc: "As the collector's file exporter writes it with compression.",
    sniff,
    read: framing::read,
};

fn sniff(input: &mut Input<'_>, reading: &mut Reading<'_>) -> bool {
    first_message(input, reading).is_some_and(zstd::is_frame)
}
