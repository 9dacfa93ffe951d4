//! [`Front`]: what stands before the value of a span's attribute, as it is written. It is copied with a size that the
//! compiler knows, room for a scalar included; what is too long for that goes the general way.

use super::write;
use crate::{Key, Value};

/// Bytes that are copied at once: a key, what belongs to it, and a scalar behind it.
const ROOM: usize = 64;

/// Around the key: tag and length of the attribute, of the key, and of the value.
const AROUND: usize = 6;

/// The longest scalar: its kind and a varint of ten bytes.
const SCALAR: usize = 11;

/// The longest key that is made ready.
const MAX_KEY: usize = ROOM - AROUND - SCALAR;

/// An attribute of a span up to the length of its value; both lengths that depend on the value are left open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Front {
    bytes: [u8; ROOM],
    /// How many of them stand before the length of the value; 0 where the key is too long or empty.
    len: u8,
}

impl Front {
    pub(crate) const fn new(key: &str) -> Self {
        let key = key.as_bytes();
        let mut bytes = [0; ROOM];
        if key.is_empty() || key.len() > MAX_KEY {
            return Self { bytes, len: 0 };
        }
        (bytes[0], bytes[2], bytes[3]) = (write::SPAN_ATTRIBUTE, 0x0a, key.len() as u8);
        let mut at = 0;
        while at < key.len() {
            bytes[4 + at] = key[at];
            at += 1;
        }
        bytes[4 + at] = 0x12;
        Self { bytes, len: key.len() as u8 + 5 }
    }

    /// Writes the front with `value` behind it, of which the first `len` bytes count.
    #[inline(always)]
    fn put(&self, out: &mut Vec<u8>, value: [u8; SCALAR], len: usize, text: usize) -> Option<()> {
        let (start, before) = (out.len(), usize::from(self.len));
        if before == 0 {
            return None;
        }
        out.extend_from_slice(&self.bytes);
        let room = out.get_mut(start..)?.first_chunk_mut::<ROOM>()?;
        room[1] = (before - 1 + len + text) as u8;
        let [value_len, place @ ..] = room.get_mut(before..)?.first_chunk_mut::<{ SCALAR + 1 }>()?;
        (*value_len, *place) = ((len + text) as u8, value);
        out.truncate(start + before + 1 + len);
        Some(())
    }
}

/// An attribute of a span whose key is made ready.
#[inline(always)]
pub(super) fn attribute(out: &mut Vec<u8>, key: &Key, value: Value<'_>) {
    let front = &key.proto;
    let written = match value {
        Value::Int(value) => {
            let (bytes, len) = match value {
                0..0x80 => ([value as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1),
                0x80..0x4000 => ([value as u8 | 0x80, (value >> 7) as u8, 0, 0, 0, 0, 0, 0, 0, 0], 2),
                _ => write::varint_bytes(value as u64),
            };
            front.put(out, scalar(0x18, bytes), 1 + len, 0)
        }
        Value::Double(value) => front.put(out, scalar(0x21, value.to_bits().to_le_bytes()), 9, 0),
        Value::Bool(value) => front.put(out, scalar(0x10, [u8::from(value)]), 2, 0),
        // Every length fits into one byte.
        Value::Str(text) if text.len() + ROOM < 0x80 => {
            let written = front.put(out, scalar(0x0a, [text.len() as u8]), 2, text.len());
            if written.is_some() {
                out.extend_from_slice(text.as_bytes());
            }
            written
        }
        _ => None,
    };
    if written.is_none() {
        write::attribute(out, write::SPAN_ATTRIBUTE, key.text(), value);
    }
}

#[inline(always)]
fn scalar<const N: usize>(kind: u8, value: [u8; N]) -> [u8; SCALAR] {
    let mut bytes = [0; SCALAR];
    bytes[0] = kind;
    bytes[1..=N].copy_from_slice(&value);
    bytes
}
