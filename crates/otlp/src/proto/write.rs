//! Writes protobuf fields: minimal varints, lengths patched in once the payload is known, attributes. Which
//! message has which field is the business of the encoder.

use crate::{KeyValue, Value};

/// Bytes `value` takes as a varint.
#[inline]
pub(super) fn varint_len(value: u64) -> usize {
    // Seven bits a byte; 9/64 is 1/7 closely enough for every bit count up to 64.
    let bits = 64 - (value | 1).leading_zeros() as usize;
    (bits * 9 + 64) / 64
}

#[inline]
pub(super) fn varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    let (bytes, len) = varint_bytes(value);
    push_part(out, &bytes, len);
}

/// Appends the first `len` bytes: all ten at once, whose number the compiler knows, and without those beyond.
#[inline]
fn push_part(out: &mut Vec<u8>, bytes: &[u8; 10], len: usize) {
    let end = out.len() + len;
    out.extend_from_slice(bytes);
    out.truncate(end);
}

/// The bytes of `value` as a varint, and how many there are.
#[inline]
pub(super) fn varint_bytes(value: u64) -> ([u8; 10], usize) {
    let len = varint_len(value);
    if len > 8 {
        return long_varint_bytes(value);
    }
    // Every byte but the last one says that another comes.
    let more = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * (len - 1)));
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&(spread(value) | more).to_le_bytes());
    (bytes, len)
}

/// The lower 56 bits, seven to a byte: halves are moved apart, quarters in them, eighths in those.
#[inline]
const fn spread(value: u64) -> u64 {
    let halves = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1
}

#[cold]
fn long_varint_bytes(mut value: u64) -> ([u8; 10], usize) {
    let (mut bytes, mut len) = ([0; 10], 0);
    while value >= 0x80 {
        bytes[len] = value as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    bytes[len] = value as u8;
    (bytes, len + 1)
}

/// A tag and a varint: both at once where one byte is enough.
#[inline]
fn tag_and_varint(out: &mut Vec<u8>, tag: u8, value: u64) {
    if value < 0x80 {
        out.extend_from_slice(&[tag, value as u8]);
    } else {
        out.push(tag);
        varint(out, value);
    }
}

/// A field of length and bytes, also when empty.
#[inline]
pub(super) fn bytes(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    tag_and_varint(out, tag, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A field of length and bytes, omitted when empty.
#[inline]
pub(super) fn some_bytes(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    if !content.is_empty() {
        bytes(out, tag, content);
    }
}

/// An id of that many bytes, or of any other length; omitted when empty.
#[inline]
pub(super) fn some_id<const LEN: usize>(out: &mut Vec<u8>, tag: u8, id: &[u8]) {
    match <&[u8; LEN]>::try_from(id) {
        // Of a length that the compiler knows.
        Ok(id) => {
            out.extend_from_slice(&[tag, LEN as u8]);
            out.extend_from_slice(id);
        }
        Err(_) => some_bytes(out, tag, id),
    }
}

/// A varint field, omitted when zero.
#[inline]
pub(super) fn some_varint(out: &mut Vec<u8>, tag: u8, value: u64) {
    if value != 0 {
        tag_and_varint(out, tag, value);
    }
}

/// An enum or `int32` field, omitted when zero; negative numbers take ten bytes, as protobuf has it.
#[inline]
pub(super) fn some_int32(out: &mut Vec<u8>, tag: u8, value: i32) {
    some_varint(out, tag, i64::from(value) as u64);
}

/// A zigzag field of 32 bits, omitted when zero.
pub(super) fn some_sint32(out: &mut Vec<u8>, tag: u8, value: i32) {
    some_varint(out, tag, u64::from((value << 1 ^ value >> 31) as u32));
}

/// A field of eight bytes.
#[inline]
pub(super) fn fixed64(out: &mut Vec<u8>, tag: u8, value: u64) {
    let mut field = [tag; 9];
    field[1..].copy_from_slice(&value.to_le_bytes());
    out.extend_from_slice(&field);
}

/// A field of eight bytes, omitted when zero.
#[inline]
pub(super) fn some_fixed64(out: &mut Vec<u8>, tag: u8, value: u64) {
    if value != 0 {
        fixed64(out, tag, value);
    }
}

/// A double that is written where it is present, be it zero.
pub(super) fn optional_double(out: &mut Vec<u8>, tag: u8, value: Option<f64>) {
    if let Some(value) = value {
        fixed64(out, tag, value.to_bits());
    }
}

/// A packed field of eight-byte words, omitted when empty.
pub(super) fn packed64(out: &mut Vec<u8>, tag: u8, words: impl ExactSizeIterator<Item = u64>) {
    if words.len() == 0 {
        return;
    }
    out.push(tag);
    varint(out, words.len() as u64 * 8);
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// A length field whose payload is being written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    at: usize,
    width: usize,
}

/// Begins a field of length and payload, expecting the payload to have about `expected` bytes.
#[inline]
pub(super) fn open(out: &mut Vec<u8>, tag: u8, expected: usize) -> Open {
    let width = varint_len(expected as u64);
    out.push(tag);
    let at = out.len();
    push_part(out, &[0; 10], width);
    Open { at, width }
}

/// Ends a field that [`open`] began: writes the length, moving the payload only where the expectation had
/// another width. Gives the payload's length.
#[inline]
pub(super) fn close(out: &mut Vec<u8>, open: Open) -> usize {
    let payload = open.at + open.width;
    let len = out.len() - payload;
    let (bytes, width) = varint_bytes(len as u64);
    if width != open.width {
        resize_gap(out, open, width);
    }
    out[open.at..open.at + width].iter_mut().zip(bytes).for_each(|(byte, new)| *byte = new);
    len
}

#[cold]
fn resize_gap(out: &mut Vec<u8>, open: Open, width: usize) {
    let (payload, end) = (open.at + open.width, out.len());
    if width > open.width {
        out.resize(end + width - open.width, 0);
    }
    out.copy_within(payload..end, open.at + width);
    out.truncate(end + width - open.width);
}

/// The tag of a span's attribute.
pub(super) const SPAN_ATTRIBUTE: u8 = 0x4a;

/// An attribute of a span.
#[inline]
pub(crate) fn span_attribute(out: &mut Vec<u8>, key: &str, value: Value<'_>) {
    attribute(out, SPAN_ATTRIBUTE, key, value);
}

/// A `KeyValue` as field `tag`.
#[inline]
pub(super) fn attribute(out: &mut Vec<u8>, tag: u8, key: &str, value: Value<'_>) {
    let Some(value_len) = scalar_len(&value) else { return nested_attribute(out, tag, key, value) };
    let len = 4 + key.len() + value_len;
    if len < 0x80 && !key.is_empty() {
        // So are both lengths in it.
        out.extend_from_slice(&[tag, len as u8, 0x0a, key.len() as u8]);
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(&[0x12, value_len as u8]);
    } else {
        let key_len = match key.len() {
            0 => 0,
            len => 1 + varint_len(len as u64) + len,
        };
        tag_and_varint(out, tag, (key_len + 1 + varint_len(value_len as u64) + value_len) as u64);
        some_bytes(out, 0x0a, key.as_bytes());
        tag_and_varint(out, 0x12, value_len as u64);
    }
    any_value(out, value);
}

/// Length of a scalar as `AnyValue`.
#[inline]
fn scalar_len(value: &Value<'_>) -> Option<usize> {
    let bytes = |len: usize| 1 + varint_len(len as u64) + len;
    Some(match value {
        Value::Empty => 0,
        Value::Str(text) => bytes(text.len()),
        Value::Bool(_) => 2,
        Value::Int(value) => 1 + varint_len(*value as u64),
        Value::Double(_) => 9,
        Value::Bytes(content) => bytes(content.len()),
        Value::Array(_) | Value::Map(_) => return None,
    })
}

#[cold]
fn nested_attribute(out: &mut Vec<u8>, tag: u8, key: &str, value: Value<'_>) {
    let whole = open(out, tag, 0);
    some_bytes(out, 0x0a, key.as_bytes());
    let content = open(out, 0x12, 0);
    any_value(out, value);
    close(out, content);
    close(out, whole);
}

/// The body of an `AnyValue`; a variant is written even where its value is a default.
#[inline]
fn any_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Empty => {}
        Value::Str(text) => bytes(out, 0x0a, text.as_bytes()),
        Value::Bool(value) => out.extend_from_slice(&[0x10, u8::from(value)]),
        Value::Int(value) => tag_and_varint(out, 0x18, value as u64),
        Value::Double(value) => fixed64(out, 0x21, value.to_bits()),
        Value::Bytes(content) => bytes(out, 0x3a, content),
        Value::Array(items) => array(out, items),
        Value::Map(entries) => map(out, entries),
    }
}

fn array(out: &mut Vec<u8>, items: &[Value<'_>]) {
    let whole = open(out, 0x2a, 0);
    for item in items {
        let content = open(out, 0x0a, 0);
        any_value(out, *item);
        close(out, content);
    }
    close(out, whole);
}

fn map(out: &mut Vec<u8>, entries: &[KeyValue<'_>]) {
    let whole = open(out, 0x32, 0);
    for entry in entries {
        attribute(out, 0x0a, entry.key, entry.value);
    }
    close(out, whole);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varint_lengths_match_what_is_written() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift, (1 << shift) + 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                varint(&mut out, value);
                assert_eq!(out.len(), varint_len(value), "{value:#x}");
            }
        }
    }

    #[test]
    fn a_gap_of_any_width_closes_to_a_minimal_length() {
        for expected in [0, 127, 128, 20_000, 3_000_000] {
            for len in [0_usize, 1, 127, 128, 16_383, 16_384, 2_097_152] {
                let mut out = vec![9];
                let gap = open(&mut out, 0x0a, expected);
                out.extend((0..len).map(|i| i as u8));
                assert_eq!(close(&mut out, gap), len);
                let mut minimal = vec![9, 0x0a];
                varint(&mut minimal, len as u64);
                minimal.extend((0..len).map(|i| i as u8));
                assert!(out == minimal, "{expected} expected, {len} written");
            }
        }
    }
}
