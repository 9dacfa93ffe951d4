//! Attributes and their values. Scalars are handed over from where they stand; nested values go through a
//! tree.

use std::borrow::Cow;

use super::field::Field;
use super::number;
use super::parser::{Bytes, Parser, Result, Text};
use crate::keys::Key;
use crate::node::{MAX_DEPTH, MAX_NODES, Node};
use crate::{DecodeError, DecodeErrorKind, Value};

/// What most writers put around a key, and behind values of the two usual types.
const BEFORE_KEY: &[u8] = b"{\"key\":\"";
const BEHIND_KEY: &[u8] = b"\",\"value\":{\"";
const INT: &[u8] = b"intValue\":\"";
const STRING: &[u8] = b"stringValue\":\"";
const CLOSE: &[u8] = b"\"}}";

/// A value whose text and bytes may lie in the scratch space.
#[derive(Debug, Default)]
pub(super) enum Any<'a> {
    #[default]
    Empty,
    Str(Text<'a>),
    Bool(bool),
    Int(i64),
    Double(f64),
    Bytes(Bytes),
    Nested(Node<'a>),
}

/// How deep this value is, and how many more may follow.
#[derive(Debug)]
struct Bounds {
    depth: u32,
    nodes: u32,
}

impl<'a> Parser<'a, '_> {
    /// Hands each attribute of an array to `emit`.
    pub(super) fn attributes(&mut self, mut emit: impl FnMut(Key<'_>, Value<'_>)) -> Result<()> {
        self.array(|p| if p.expected(&mut emit) { Ok(()) } else { p.key_value(&mut emit) })
    }

    /// Hands over an attribute with the expected key, written without white space, whose value is an integer or a text
    /// without escapes. `false` for any other, damage included.
    #[inline]
    fn expected(&mut self, emit: &mut impl FnMut(Key<'_>, Value<'_>)) -> bool {
        let rest = self.rest();
        let Some((key, value)) = self.keys.expected(rest) else { return false };
        let from = self.pos + rest.len() - value.len();
        let end;
        if let Some(digits) = value.strip_prefix(INT) {
            let Some((number, len @ 1..)) = number::digits(digits) else { return false };
            let (Ok(number), Some(CLOSE)) = (i64::try_from(number), digits.get(len..len + CLOSE.len()))
            else {
                return false;
            };
            end = from + INT.len() + len + CLOSE.len();
            emit(self.keys.key(key), Value::Int(number));
        } else if value.starts_with(STRING) {
            let Some((text, quote)) = self.plain_text(from + STRING.len()) else { return false };
            let Some(CLOSE) = value.get(quote - from..quote - from + CLOSE.len()) else { return false };
            end = quote + CLOSE.len();
            emit(self.keys.key(key), Value::Str(text));
        } else {
            return false;
        }
        self.pos = end;
        true
    }

    /// The number of a key, if it is written as most writers do; then it is expected to come again.
    fn number_of(&mut self, attribute: &[u8], key: Text<'_>) -> u64 {
        let Text::Input(key) = key else { return 0 };
        let written = BEFORE_KEY.len() + key.len() + BEHIND_KEY.len();
        let Some(field) = attribute.get(..written) else { return 0 };
        let inner = field.strip_prefix(BEFORE_KEY).and_then(|rest| rest.strip_suffix(BEHIND_KEY));
        if inner != Some(key.as_bytes()) {
            return 0;
        }
        let at = self.keys.follow(key.as_bytes(), |to| to.extend_from_slice(field));
        at.map_or(0, |at| self.keys.key(at).1)
    }

    fn key_value(&mut self, emit: &mut impl FnMut(Key<'_>, Value<'_>)) -> Result<()> {
        let attribute = self.rest();
        let mark = self.scratch.mark();
        let (mut key, mut any) = (Text::default(), Any::Empty);
        let mut bounds = Bounds { depth: 0, nodes: MAX_NODES };
        self.entry(&mut key, &mut any, &mut bounds)?;
        let number = self.number_of(attribute, key);
        let key = (self.scratch.text(key), number);
        match any {
            Any::Empty => emit(key, Value::Empty),
            Any::Str(text) => emit(key, Value::Str(self.scratch.text(text))),
            Any::Bool(value) => emit(key, Value::Bool(value)),
            Any::Int(value) => emit(key, Value::Int(value)),
            Any::Double(value) => emit(key, Value::Double(value)),
            Any::Bytes(bytes) => emit(key, Value::Bytes(self.scratch.bytes(bytes))),
            Any::Nested(node) => node.with(&mut |value| emit(key, value)),
        }
        self.scratch.reset(mark);
        Ok(())
    }

    #[inline]
    fn entry(&mut self, key: &mut Text<'a>, any: &mut Any<'a>, bounds: &mut Bounds) -> Result<()> {
        self.object(|p, field| {
            match field {
                Field::Key => *key = p.string()?,
                Field::Value => *any = p.any_value(bounds)?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })
    }

    /// An `AnyValue`: an object with one member. Of several the last counts. Programs in Go that write their structures as they
    /// are put it into another one: `{"Value":{"StringValue":"a"}}`.
    #[inline]
    fn any_value(&mut self, bounds: &mut Bounds) -> Result<Any<'a>> {
        let mut any = Any::Empty;
        self.object(|p, field| {
            any = match field {
                Field::StringValue => Any::Str(p.string()?),
                Field::BoolValue => Any::Bool(p.boolean()?),
                Field::IntValue => p.integer_value()?,
                Field::DoubleValue => Any::Double(p.double()?),
                Field::BytesValue => Any::Bytes(p.base64()?),
                Field::ArrayValue => Any::Nested(Node::Array(p.array_value(bounds)?)),
                Field::KvlistValue => Any::Nested(Node::Map(p.map_value(bounds)?)),
                Field::Value => p.inner_value(bounds)?,
                field => return p.skip_member(field),
            };
            Ok(())
        })?;
        Ok(any)
    }

    /// An integer; one that does not fit stays as its digits.
    fn integer_value(&mut self) -> Result<Any<'a>> {
        let at = self.pos;
        let error = match self.i64() {
            Ok(number) => return Ok(Any::Int(number)),
            Err(error) => error,
        };
        let digits = |text: &[u8]| {
            let text = text.strip_prefix(b"-").unwrap_or(text);
            text.len() > 18 && text.iter().all(u8::is_ascii_digit)
        };
        self.pos = at;
        if self.peek() == b'"' {
            let text = self.string()?;
            return if digits(self.scratch.text(text).as_bytes()) { Ok(Any::Str(text)) } else { Err(error) };
        }
        let from = self.rest();
        self.skip()?;
        let text = from.get(..from.len() - self.rest().len()).and_then(|text| str::from_utf8(text).ok());
        text.filter(|text| digits(text.as_bytes())).map(|text| Any::Str(Text::Input(text))).ok_or(error)
    }

    /// A value in an object of its own.
    #[cold]
    fn inner_value(&mut self, bounds: &mut Bounds) -> Result<Any<'a>> {
        bounds.depth += 1;
        if bounds.depth > MAX_DEPTH {
            return Err(DecodeError::new(self.pos, DecodeErrorKind::Limit, "an attribute nests too deep"));
        }
        let any = self.any_value(bounds)?;
        bounds.depth -= 1;
        Ok(any)
    }

    fn array_value(&mut self, bounds: &mut Bounds) -> Result<Vec<Node<'a>>> {
        let mut items = Vec::new();
        self.values(bounds, |p, bounds| {
            let any = p.any_value(bounds)?;
            items.push(p.node(any));
            Ok(())
        })?;
        Ok(items)
    }

    fn map_value(&mut self, bounds: &mut Bounds) -> Result<Vec<(Cow<'a, str>, Node<'a>)>> {
        let mut items = Vec::new();
        self.values(bounds, |p, bounds| {
            let (mut key, mut any) = (Text::default(), Any::Empty);
            p.entry(&mut key, &mut any, bounds)?;
            items.push((p.cow(key), p.node(any)));
            Ok(())
        })?;
        Ok(items)
    }

    /// The elements of `{"values": [...]}`, one level deeper.
    fn values(
        &mut self,
        bounds: &mut Bounds,
        mut element: impl FnMut(&mut Self, &mut Bounds) -> Result<()>,
    ) -> Result<()> {
        let limit = |p: &Self, reason| Err(DecodeError::new(p.pos, DecodeErrorKind::Limit, reason));
        bounds.depth += 1;
        if bounds.depth > MAX_DEPTH {
            return limit(self, "an attribute nests too deep");
        }
        self.object(|p, field| match field {
            Field::Values => p.array(|p| {
                let Some(left) = bounds.nodes.checked_sub(1) else {
                    return limit(p, "an attribute holds too many values");
                };
                bounds.nodes = left;
                let mark = p.scratch.mark();
                element(p, bounds)?;
                p.scratch.reset(mark);
                Ok(())
            }),
            field => p.skip_member(field),
        })?;
        bounds.depth -= 1;
        Ok(())
    }

    /// Takes a value out of the scratch space.
    fn node(&self, any: Any<'a>) -> Node<'a> {
        match any {
            Any::Empty => Node::Empty,
            Any::Str(text) => Node::Str(self.cow(text)),
            Any::Bool(value) => Node::Bool(value),
            Any::Int(value) => Node::Int(value),
            Any::Double(value) => Node::Double(value),
            Any::Bytes(bytes) => Node::Bytes(Cow::Owned(self.scratch.bytes(bytes).to_vec())),
            Any::Nested(node) => node,
        }
    }

    fn cow(&self, text: Text<'a>) -> Cow<'a, str> {
        match text {
            Text::Input(text) => Cow::Borrowed(text),
            scratch => Cow::Owned(self.scratch.text(scratch).to_owned()),
        }
    }
}
