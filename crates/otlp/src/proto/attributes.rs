//! Attributes and their values. The usual shape (a key, then one scalar) is handed over straight from the
//! bytes; everything else (nested, repeated, out of order) goes through a tree that is merged as protobuf
//! demands.

use std::borrow::Cow;

use super::decode::{Decoder, Result};
use super::wire::Reader;
use crate::keys::Key;
use crate::node::{MAX_DEPTH, MAX_NODES, Node};
use crate::{DecodeError, DecodeErrorKind, Value};

/// The tag of an attribute's value.
const VALUE: u8 = 0x12;

/// The tag of an integer in it.
const INT: u8 = 0x18;

/// Receives one attribute.
pub(super) type Emit<'e> = &'e mut dyn FnMut(Key<'_>, Value<'_>);

impl Decoder {
    /// `bytes` as text; invalid UTF-8 is replaced and counted.
    #[inline]
    pub(super) fn text<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        if bytes.is_empty() {
            return Cow::Borrowed("");
        }
        match str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => self.lossy(bytes),
        }
    }

    #[cold]
    fn lossy<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        self.stats.invalid_utf8 += 1;
        String::from_utf8_lossy(bytes)
    }

    /// Hands one `KeyValue` to `emit`.
    #[inline]
    pub(super) fn key_value(
        &mut self,
        r: Reader<'_>,
        emit: &mut impl FnMut(Key<'_>, Value<'_>),
    ) -> Result<()> {
        if self.short(r.rest(), emit) {
            return Ok(());
        }
        self.long(r, emit)
    }

    /// Hands over a row of attributes, up to the first that is not [`short`](Self::short). `bytes` begins behind the first
    /// one's tag. Gives what is left, and whether that is behind the row; else it begins behind the tag of that one.
    #[inline(always)]
    pub(super) fn row<'m>(
        &mut self,
        mut bytes: &'m [u8],
        tag: u8,
        emit: &mut impl FnMut(Key<'_>, Value<'_>),
    ) -> (&'m [u8], bool) {
        loop {
            let [len @ ..0x80, rest @ ..] = bytes else { return (bytes, false) };
            let Some((attribute, rest)) = rest.split_at_checked(usize::from(*len)) else {
                return (bytes, false);
            };
            if !self.short(attribute, emit) {
                return (bytes, false);
            }
            match rest {
                [next, rest @ ..] if *next == tag => bytes = rest,
                _ => return (rest, true),
            }
        }
    }

    /// Hands over a `KeyValue` of the shape that nearly all have: a key, then one scalar, every length in one
    /// byte. `false` for any other shape, damage included.
    #[inline(always)]
    pub(super) fn short(&mut self, bytes: &[u8], emit: &mut impl FnMut(Key<'_>, Value<'_>)) -> bool {
        let Some((at, rest)) = self.keys.expected(bytes) else { return self.unexpected(bytes, emit) };
        // Apart from the others: nearly all are integers, most of them in one byte.
        if let [len, INT, value @ ..] = rest {
            if usize::from(*len) != value.len() + 1 {
                return false;
            }
            let number = match value {
                &[byte @ ..0x80] => byte.into(),
                &[low @ 0x80..=0xff, high @ ..0x80] => u64::from(low & 0x7f) | u64::from(high) << 7,
                value => match whole_varint(value) {
                    Some(number) => number,
                    None => return false,
                },
            };
            emit(self.keys.key(at), Value::Int(number as i64));
            return true;
        }
        match short_value(rest) {
            Some(Usual::Other(value)) => emit(self.keys.key(at), value),
            Some(Usual::Str(text)) => {
                emit(self.keys.key(at), Value::Str(self.values.check(text, &mut self.stats)));
            }
            None => return false,
        }
        true
    }

    /// The same where another key was expected.
    #[inline(never)]
    fn unexpected(&mut self, bytes: &[u8], emit: Emit<'_>) -> bool {
        let [0x0a, key_len @ ..0x80, rest @ ..] = bytes else { return false };
        let Some((key, rest)) = rest.split_at_checked(usize::from(*key_len)) else { return false };
        let [VALUE, rest @ ..] = rest else { return false };
        let Some(value) = short_value(rest) else { return false };
        let value = match value {
            Usual::Str(text) => Value::Str(self.values.check(text, &mut self.stats)),
            Usual::Other(value) => value,
        };
        // The field as it stands there: its tag, its length in a byte, the text, the tag of the value.
        let write = |to: &mut Vec<u8>| to.extend_from_slice(bytes.get(..key.len() + 3).unwrap_or_default());
        emit(self.keys.check(key, &mut self.stats, write), value);
        true
    }

    fn long(&mut self, r: Reader<'_>, emit: &mut impl FnMut(Key<'_>, Value<'_>)) -> Result<()> {
        if let Some((key, value)) = usual(r) {
            let key = self.text(key);
            match value {
                Usual::Str(bytes) => emit((&key, 0), Value::Str(&self.text(bytes))),
                Usual::Other(value) => emit((&key, 0), value),
            }
            return Ok(());
        }
        self.unusual(r, emit)
    }

    #[cold]
    fn unusual(&mut self, mut r: Reader<'_>, emit: Emit<'_>) -> Result<()> {
        let mut budget = MAX_NODES;
        let (key, node) = self.entry(&mut r, 0, &mut budget)?;
        node.with(&mut |value| emit((&key, 0), value));
        Ok(())
    }

    fn entry<'a>(
        &mut self,
        r: &mut Reader<'a>,
        depth: u32,
        budget: &mut u32,
    ) -> Result<(Cow<'a, str>, Node<'a>)> {
        let (mut key, mut node) = (&[][..], Node::Empty);
        while !r.at_end() {
            match r.tag()? {
                0x0a => key = r.bytes()?,
                0x12 => {
                    let mut value = r.message()?;
                    self.any_value(&mut value, &mut node, depth, budget)?;
                }
                tag => self.unknown(r, tag, "attribute", 0b110)?,
            }
        }
        Ok((self.text(key), node))
    }

    /// Merges an `AnyValue` into `node`: the last variant wins, containers of one kind are joined.
    fn any_value<'a>(
        &mut self,
        r: &mut Reader<'a>,
        node: &mut Node<'a>,
        depth: u32,
        budget: &mut u32,
    ) -> Result<()> {
        let limit = |reason| Err(DecodeError::new(r.pos(), DecodeErrorKind::Limit, reason));
        if depth > MAX_DEPTH {
            return limit("an attribute nests too deep");
        }
        let Some(left) = budget.checked_sub(1) else {
            return limit("an attribute holds too many values");
        };
        *budget = left;
        while !r.at_end() {
            *node = match r.tag()? {
                0x0a => Node::Str(self.text(r.bytes()?)),
                0x10 => Node::Bool(r.varint()? != 0),
                0x18 => Node::Int(r.varint()? as i64),
                0x21 => Node::Double(r.double()?),
                0x2a => {
                    let mut items = match std::mem::take(node) {
                        Node::Array(items) => items,
                        _ => Vec::new(),
                    };
                    self.array(&mut r.message()?, &mut items, depth, budget)?;
                    Node::Array(items)
                }
                0x32 => {
                    let mut items = match std::mem::take(node) {
                        Node::Map(items) => items,
                        _ => Vec::new(),
                    };
                    self.map(&mut r.message()?, &mut items, depth, budget)?;
                    Node::Map(items)
                }
                0x3a => Node::Bytes(Cow::Borrowed(r.bytes()?)),
                tag => {
                    self.unknown(r, tag, "attribute value", 0b1111_1110)?;
                    continue;
                }
            };
        }
        Ok(())
    }

    fn array<'a>(
        &mut self,
        r: &mut Reader<'a>,
        items: &mut Vec<Node<'a>>,
        depth: u32,
        budget: &mut u32,
    ) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x0a => {
                    let mut item = Node::Empty;
                    self.any_value(&mut r.message()?, &mut item, depth + 1, budget)?;
                    items.push(item);
                }
                tag => self.unknown(r, tag, "array value", 0b10)?,
            }
        }
        Ok(())
    }

    fn map<'a>(
        &mut self,
        r: &mut Reader<'a>,
        items: &mut Vec<(Cow<'a, str>, Node<'a>)>,
        depth: u32,
        budget: &mut u32,
    ) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x0a => items.push(self.entry(&mut r.message()?, depth + 1, budget)?),
                tag => self.unknown(r, tag, "map value", 0b10)?,
            }
        }
        Ok(())
    }
}

/// A scalar value, text not yet checked.
enum Usual<'a> {
    Str(&'a [u8]),
    Other(Value<'a>),
}

/// The scalar behind a value's tag, every length in one byte; `None` for any other shape, damage included.
#[inline(always)]
fn short_value(bytes: &[u8]) -> Option<Usual<'_>> {
    let [len @ ..0x80, kind, value @ ..] = bytes else { return None };
    if usize::from(*len) != value.len() + 1 {
        return None;
    }
    match (*kind, value) {
        (INT, value) => Some(Usual::Other(Value::Int(whole_varint(value)? as i64))),
        (0x0a, [len @ ..0x80, text @ ..]) if usize::from(*len) == text.len() => Some(Usual::Str(text)),
        (0x21, word) => Some(Usual::Other(Value::Double(f64::from_le_bytes(word.try_into().ok()?)))),
        _ => None,
    }
}

/// The varint that `bytes` are from end to end; `None` for any that may not fit, and for damage.
#[inline(always)]
fn whole_varint(bytes: &[u8]) -> Option<u64> {
    let (&last, front) = bytes.split_last()?;
    // Nine bytes hold 63 bits.
    if last >= 0x80 || front.len() > 8 {
        return None;
    }
    let mut value = u64::from(last);
    for &byte in front.iter().rev() {
        if byte < 0x80 {
            return None;
        }
        value = value << 7 | u64::from(byte & 0x7f);
    }
    Some(value)
}

/// A key followed by one scalar and nothing else; `None` for any other shape, damage included.
fn usual(mut r: Reader<'_>) -> Option<(&[u8], Usual<'_>)> {
    let [0x0a, ..] = r.rest() else { return None };
    r.tag().ok()?;
    let key = r.bytes().ok()?;
    let [0x12, ..] = r.rest() else { return None };
    r.tag().ok()?;
    let mut value = r.message().ok()?;
    if !r.at_end() {
        return None;
    }
    let scalar = match value.tag().ok()? {
        0x0a => Usual::Str(value.bytes().ok()?),
        0x10 => Usual::Other(Value::Bool(value.varint().ok()? != 0)),
        0x18 => Usual::Other(Value::Int(value.varint().ok()? as i64)),
        0x21 => Usual::Other(Value::Double(value.double().ok()?)),
        0x3a => Usual::Other(Value::Bytes(value.bytes().ok()?)),
        _ => return None,
    };
    value.at_end().then_some((key, scalar))
}
