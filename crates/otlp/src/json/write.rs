//! Writes JSON: members, strings, numbers, attributes, by OTLP's mapping (64-bit integers in quotes, ids in
//! hex, bytes in base64). Which object has which member is the business of the encoder.

use std::io::Write as _;

use crate::{KeyValue, Value};

/// The members of an object being written; an object without members is `{}`.
pub(super) struct Object<'o> {
    pub(super) out: &'o mut Vec<u8>,
    separator: u8,
}

impl<'o> Object<'o> {
    #[inline]
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, separator: b'{' }
    }

    /// Begins a member. `key` comes with its quotes and colon.
    #[inline]
    pub(super) fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.out.push(self.separator);
        self.separator = b',';
        self.out.extend_from_slice(key.as_bytes());
        self.out
    }

    #[inline]
    pub(super) fn end(self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }

    /// A text member, omitted when empty.
    #[inline]
    pub(super) fn text(&mut self, key: &'static str, text: &str) {
        if !text.is_empty() {
            string(self.key(key), text);
        }
    }

    /// An id, omitted when empty.
    #[inline]
    pub(super) fn id(&mut self, key: &'static str, id: &[u8]) {
        if !id.is_empty() {
            let out = self.key(key);
            out.push(b'"');
            out.extend(id.iter().flat_map(|byte| HEX[usize::from(*byte)]));
            out.push(b'"');
        }
    }

    /// A number of at most 32 bits, omitted when zero.
    #[inline]
    pub(super) fn number(&mut self, key: &'static str, number: impl Into<i64>) {
        let number = number.into();
        if number != 0 {
            integer(self.key(key), number < 0, number.unsigned_abs());
        }
    }

    /// A 64-bit number, in quotes, omitted when zero.
    #[inline]
    pub(super) fn long(&mut self, key: &'static str, number: u64) {
        if number != 0 {
            quoted(self.key(key), false, number);
        }
    }

    /// A double that is written where it is present.
    pub(super) fn optional_double(&mut self, key: &'static str, number: Option<f64>) {
        if let Some(number) = number {
            double(self.key(key), number);
        }
    }

    /// Items that are written already, commas between them; omitted when there is none.
    #[inline]
    pub(super) fn list(&mut self, key: &'static str, items: &[u8]) {
        if !items.is_empty() {
            let out = self.key(key);
            out.push(b'[');
            out.extend_from_slice(items);
            out.push(b']');
        }
    }
}

/// Writes `items` as an array.
pub(super) fn array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Two lower-case hex digits for each byte.
static HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let (mut table, mut i) = ([[0; 2]; 256], 0);
    while i < 256 {
        table[i] = [digits[i >> 4], digits[i & 15]];
        i += 1;
    }
    table
};

/// What each byte is written as: itself (0), a short escape (its letter), or `\u00XX` (`u`).
static ESCAPES: [u8; 256] = {
    let (mut table, mut i) = ([0; 256], 0);
    while i < 0x20 {
        table[i] = b'u';
        i += 1;
    }
    table[8] = b'b';
    table[9] = b't';
    table[10] = b'n';
    table[12] = b'f';
    table[13] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

#[inline]
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(plain) = rest.iter().position(|&byte| ESCAPES[usize::from(byte)] != 0) {
        out.extend_from_slice(&rest[..plain]);
        let byte = rest[plain];
        match ESCAPES[usize::from(byte)] {
            b'u' => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&HEX[usize::from(byte)]);
            }
            letter => out.extend_from_slice(&[b'\\', letter]),
        }
        rest = &rest[plain + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[inline]
pub(super) fn integer(out: &mut Vec<u8>, negative: bool, mut magnitude: u64) {
    if negative {
        out.push(b'-');
    }
    let (mut digits, mut at) = ([0; 20], 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (magnitude % 10) as u8;
        magnitude /= 10;
        if magnitude == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[inline]
pub(super) fn quoted(out: &mut Vec<u8>, negative: bool, magnitude: u64) {
    out.push(b'"');
    integer(out, negative, magnitude);
    out.push(b'"');
}

/// The shortest decimal that reads back as `number`; what JSON has no number for is a string.
pub(super) fn double(out: &mut Vec<u8>, number: f64) {
    let special = if number.is_nan() {
        "\"NaN\""
    } else if number == f64::INFINITY {
        "\"Infinity\""
    } else if number == f64::NEG_INFINITY {
        "\"-Infinity\""
    } else {
        // Writing into a vector cannot fail.
        let _ = write!(out, "{number:?}");
        return;
    };
    out.extend_from_slice(special.as_bytes());
}

pub(super) fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b'"');
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        let digits = [18, 12, 6, 0].map(|shift| DIGITS[(word >> shift & 63) as usize]);
        out.extend_from_slice(&digits[..=group.len()]);
        out.extend_from_slice(&b"=="[..3 - group.len()]);
    }
    out.push(b'"');
}

/// An attribute, behind a comma unless it is the first of `out`.
#[inline]
pub(crate) fn attribute(out: &mut Vec<u8>, key: &str, value: Value<'_>) {
    if !out.is_empty() {
        out.push(b',');
    }
    key_value(out, key, value);
}

#[inline]
fn key_value(out: &mut Vec<u8>, key: &str, value: Value<'_>) {
    out.extend_from_slice(br#"{"key":"#);
    string(out, key);
    out.extend_from_slice(br#","value":"#);
    any_value(out, value);
    out.push(b'}');
}

fn any_value(out: &mut Vec<u8>, value: Value<'_>) {
    let mut any = Object::new(out);
    match value {
        Value::Empty => {}
        Value::Str(text) => string(any.key(r#""stringValue":"#), text),
        Value::Bool(value) => {
            let text: &[u8] = if value { b"true" } else { b"false" };
            any.key(r#""boolValue":"#).extend_from_slice(text);
        }
        Value::Int(value) => quoted(any.key(r#""intValue":"#), value < 0, value.unsigned_abs()),
        Value::Double(value) => double(any.key(r#""doubleValue":"#), value),
        Value::Bytes(bytes) => base64(any.key(r#""bytesValue":"#), bytes),
        Value::Array(items) => {
            let out = any.key(r#""arrayValue":"#);
            out.extend_from_slice(br#"{"values":"#);
            array(out, items, |out, item| any_value(out, *item));
            out.push(b'}');
        }
        Value::Map(entries) => {
            let out = any.key(r#""kvlistValue":"#);
            out.extend_from_slice(br#"{"values":"#);
            array(out, entries, |out, KeyValue { key, value }| key_value(out, key, *value));
            out.push(b'}');
        }
    }
    any.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(f: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        f(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn strings_are_escaped_as_json_has_it() {
        let every: String = (0..0x20_u8).map(char::from).chain("\"\\/é😀\u{7f}".chars()).collect();
        for text in ["", "plain", "\"", "a\nb", &every] {
            let json = written(|out| string(out, text));
            assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
        }
    }

    #[test]
    fn numbers_read_back() {
        for number in [0, 9, 10, 1_544_712_660_000_000_000, u64::MAX] {
            assert_eq!(written(|out| integer(out, false, number)), number.to_string());
        }
        assert_eq!(written(|out| quoted(out, true, 1 << 63)), "\"-9223372036854775808\"");
        for number in [0.0, -0.0, 1.0, 0.1, -2.5e-300, 1e21, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            let json = written(|out| double(out, number));
            assert_eq!(json.parse::<f64>().expect("number").to_bits(), number.to_bits(), "{json}");
            assert!(serde_json::from_str::<f64>(&json).is_ok(), "{json}");
        }
        assert_eq!(written(|out| double(out, f64::NEG_INFINITY)), "\"-Infinity\"");
    }

    #[test]
    fn base64_is_padded() {
        // RFC 4648, section 10.
        for (bytes, text) in
            [(&b""[..], "\"\""), (b"f", "\"Zg==\""), (b"fo", "\"Zm8=\""), (b"foobar", "\"Zm9vYmFy\"")]
        {
            assert_eq!(written(|out| base64(out, bytes)), text);
        }
    }
}
