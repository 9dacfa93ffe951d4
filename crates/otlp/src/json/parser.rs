//! Tokens of JSON text: strings, numbers, objects, arrays, and values that are skipped. Strings without
//! escapes stay where they are; the others go to scratch space, which the caller truncates again. What the
//! members mean is the business of the modules beside it.

use super::field::Field;
use super::number;
use super::scan;
use super::text::{self, Unescaped};
use crate::keys::Keys;
use crate::rows::Rows;
use crate::{DecodeError, DecodeErrorKind, DecodeStats};

pub(super) type Result<T> = std::result::Result<T, DecodeError>;

/// Text that lives in the input or in the scratch space.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'a> {
    Input(&'a str),
    /// From, to.
    Scratch(usize, usize),
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self::Input("")
    }
}

/// Bytes in the scratch space: from, to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bytes(usize, usize);

/// Space for what cannot be borrowed from the input.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) text: String,
    pub(super) bytes: Vec<u8>,
}

/// How full the scratch space is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize, usize);

impl Scratch {
    pub(super) fn mark(&self) -> Mark {
        Mark(self.text.len(), self.bytes.len())
    }

    pub(super) fn reset(&mut self, mark: Mark) {
        self.text.truncate(mark.0);
        self.bytes.truncate(mark.1);
    }

    #[inline]
    pub(super) fn text<'x>(&'x self, text: Text<'x>) -> &'x str {
        get(&self.text, text)
    }

    #[inline]
    pub(super) fn bytes(&self, bytes: Bytes) -> &[u8] {
        self.bytes.get(bytes.0..bytes.1).unwrap_or_default()
    }
}

#[inline]
fn get<'x>(scratch: &'x str, text: Text<'x>) -> &'x str {
    match text {
        Text::Input(text) => text,
        Text::Scratch(from, to) => scratch.get(from..to).unwrap_or_default(),
    }
}

/// A cursor over one message.
pub(super) struct Parser<'a, 'd> {
    pub(super) bytes: &'a [u8],
    /// The same where all of it is UTF-8, so that strings need no further check.
    utf8: Option<&'a str>,
    pub(super) pos: usize,
    pub(super) scratch: &'d mut Scratch,
    pub(super) keys: &'d mut Keys,
    pub(super) rows: &'d mut Rows,
    pub(super) stats: DecodeStats,
    /// Where the last whole span ends.
    pub(super) whole_bytes: usize,
}

impl<'a, 'd> Parser<'a, 'd> {
    pub(super) fn new(
        bytes: &'a [u8],
        scratch: &'d mut Scratch,
        keys: &'d mut Keys,
        rows: &'d mut Rows,
    ) -> Self {
        let pos = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        scratch.text.clear();
        scratch.bytes.clear();
        let utf8 = str::from_utf8(bytes).ok();
        Self { bytes, utf8, pos, scratch, keys, rows, stats: DecodeStats::default(), whole_bytes: 0 }
    }

    /// The bytes to come.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    /// The error at this byte; the end of the bytes is an error of its own.
    #[cold]
    pub(super) fn error(&self, reason: &'static str) -> DecodeError {
        if self.pos >= self.bytes.len() {
            return self.ends();
        }
        DecodeError::new(self.pos, DecodeErrorKind::Malformed, reason)
    }

    #[cold]
    pub(super) fn ends(&self) -> DecodeError {
        DecodeError::new(self.bytes.len(), DecodeErrorKind::Truncated, "the message ends too early")
    }

    /// The error of a value that is JSON but not what its member holds.
    #[cold]
    pub(super) fn wrong_type(&self, at: usize, reason: &'static str) -> DecodeError {
        DecodeError::new(at, DecodeErrorKind::Type, reason)
    }

    /// The next byte that is no white space; 0 at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.bytes.get(self.pos) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.pos += 1,
                Some(&byte) => return byte,
                None => return 0,
            }
        }
    }

    /// Steps over `byte`.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8, reason: &'static str) -> Result<()> {
        if self.peek() != byte {
            return Err(self.error(reason));
        }
        self.pos += 1;
        Ok(())
    }

    /// Steps over `null`, if that is what follows.
    #[inline]
    fn null(&mut self) -> Result<bool> {
        if self.peek() != b'n' {
            return Ok(false);
        }
        self.literal(b"null").map(|()| true)
    }

    fn literal(&mut self, literal: &'static [u8]) -> Result<()> {
        let rest = self.rest();
        if rest.starts_with(literal) {
            self.pos += literal.len();
            return Ok(());
        }
        if literal.starts_with(rest) {
            return Err(self.ends());
        }
        Err(self.error("a value is expected"))
    }

    /// Calls `member` for each member of an object that is not null, at its value. Null instead of an object
    /// is an object without members.
    #[inline]
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, Field) -> Result<()>) -> Result<()> {
        if self.null()? {
            return Ok(());
        }
        self.expect(b'{', "an object is expected")?;
        if self.peek() == b'}' {
            self.pos += 1;
            return Ok(());
        }
        self.members(&mut member)
    }

    /// The members from here to the end of their object.
    #[inline]
    pub(super) fn members(&mut self, member: &mut impl FnMut(&mut Self, Field) -> Result<()>) -> Result<()> {
        loop {
            self.member(member)?;
            match self.peek() {
                b',' => self.pos += 1,
                b'}' => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(self.error("a comma or the end of the object is expected")),
            }
        }
    }

    /// One member: its key, and its value unless that is null.
    #[inline]
    fn member(&mut self, member: &mut impl FnMut(&mut Self, Field) -> Result<()>) -> Result<()> {
        if self.peek() != b'"' {
            return Err(self.error("a key is expected"));
        }
        let content = self.content()?;
        let field = match content {
            (key, false) => Field::of(key),
            (key, true) => self.escaped_field(key)?,
        };
        self.expect(b':', "a colon is expected")?;
        if self.null()? {
            return Ok(());
        }
        member(self, field)
    }

    #[cold]
    fn escaped_field(&mut self, key: &'a [u8]) -> Result<Field> {
        let mark = self.scratch.mark();
        let text = self.unescaped(key)?;
        let field = Field::of(self.scratch.text(text).as_bytes());
        self.scratch.reset(mark);
        Ok(field)
    }

    /// Calls `element` for each element of an array. Null is an array without elements.
    #[inline]
    pub(super) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.null()? {
            return Ok(());
        }
        self.expect(b'[', "an array is expected")?;
        if self.peek() == b']' {
            self.pos += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek() {
                b',' => self.pos += 1,
                b']' => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(self.error("a comma or the end of the array is expected")),
            }
        }
    }

    /// The content of the string that begins here, and whether it has escapes.
    #[inline]
    fn content(&mut self) -> Result<(&'a [u8], bool)> {
        let start = self.pos + 1;
        let (mut at, mut escaped) = (start, false);
        loop {
            let Some(mark) = scan::string_mark(self.bytes, at) else { return Err(self.ends()) };
            if self.bytes[mark] == b'"' {
                self.pos = mark + 1;
                return Ok((&self.bytes[start..mark], escaped));
            }
            escaped = true;
            at = mark + 2;
        }
    }

    /// The text from here to the next quote, if it has no escapes and no damage, and where that quote is.
    #[inline]
    pub(super) fn plain_text(&self, from: usize) -> Option<(&'a str, usize)> {
        let quote =
            scan::string_mark(self.bytes, from).filter(|&mark| self.bytes.get(mark) == Some(&b'"'))?;
        Some((self.utf8?.get(from..quote)?, quote))
    }

    /// A string.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Text<'a>> {
        if self.peek() != b'"' {
            return Err(self.error("a string is expected"));
        }
        let start = self.pos + 1;
        let (content, escaped) = self.content()?;
        if !escaped {
            // A quote is a character by itself, so the range lies on boundaries.
            if let Some(text) = self.utf8.and_then(|text| text.get(start..start + content.len())) {
                return Ok(Text::Input(text));
            }
        }
        self.unescaped(content)
    }

    #[cold]
    fn unescaped(&mut self, content: &'a [u8]) -> Result<Text<'a>> {
        let from = self.scratch.text.len();
        match text::unescape(content, &mut self.scratch.text) {
            Unescaped::Fine => {}
            Unescaped::Replaced => self.stats.invalid_utf8 += 1,
            Unescaped::Wrong(at) => {
                let at = self.pos - 1 - content.len() + at;
                return Err(DecodeError::new(at, DecodeErrorKind::Malformed, "an escape does not exist"));
            }
        }
        Ok(Text::Scratch(from, self.scratch.text.len()))
    }

    /// An id: hex by OTLP's mapping, or base64 by protobuf's where that gives `len` bytes.
    #[inline]
    pub(super) fn id(&mut self, len: usize) -> Result<Bytes> {
        let reason = "an id is neither hex nor base64 of its length";
        self.encoded(DecodeErrorKind::Id, reason, |content, to| {
            text::hex(content, to) || {
                let from = to.len();
                text::base64(content, to) && to.len() == from + len
            }
        })
    }

    /// Bytes in base64.
    pub(super) fn base64(&mut self) -> Result<Bytes> {
        self.encoded(DecodeErrorKind::Type, "bytes are not base64", text::base64)
    }

    /// A string that `decode` turns into bytes. Base64 may escape its slashes.
    #[inline]
    fn encoded(
        &mut self,
        kind: DecodeErrorKind,
        reason: &'static str,
        decode: impl Fn(&[u8], &mut Vec<u8>) -> bool,
    ) -> Result<Bytes> {
        if self.peek() != b'"' {
            return Err(self.error("a string is expected"));
        }
        let (at, from) = (self.pos, self.scratch.bytes.len());
        let (content, escaped) = self.content()?;
        let fine = if escaped {
            let text = self.unescaped(content)?;
            let Scratch { text: scratch, bytes } = &mut *self.scratch;
            decode(get(scratch, text).as_bytes(), bytes)
        } else {
            decode(content, &mut self.scratch.bytes)
        };
        if !fine {
            return Err(DecodeError::new(at, kind, reason));
        }
        Ok(Bytes(from, self.scratch.bytes.len()))
    }

    /// The content of a string that has no need of escapes.
    #[inline]
    fn plain_string(&mut self) -> Result<&'a [u8]> {
        if self.peek() != b'"' {
            return Err(self.error("a string is expected"));
        }
        let at = self.pos;
        match self.content()? {
            (content, false) => Ok(content),
            _ => Err(self.wrong_type(at, "a number or name has escapes")),
        }
    }

    /// A boolean, bare or in quotes.
    pub(super) fn boolean(&mut self) -> Result<bool> {
        let at = self.pos;
        match self.peek() {
            b't' => self.literal(b"true").map(|()| true),
            b'f' => self.literal(b"false").map(|()| false),
            b'"' => match self.plain_string()? {
                b"true" => Ok(true),
                b"false" => Ok(false),
                _ => Err(self.wrong_type(at, "a boolean is expected")),
            },
            _ => Err(self.error("a boolean is expected")),
        }
    }

    /// An integer, bare or in quotes: whether it is negative, and its magnitude.
    #[inline]
    fn integer(&mut self) -> Result<(bool, u64)> {
        let quoted = self.peek() == b'"';
        let at = self.pos;
        let mut from = at + usize::from(quoted);
        let negative = self.bytes.get(from) == Some(&b'-');
        from += usize::from(negative);
        let rest = self.bytes.get(from..).unwrap_or_default();
        if let Some((value, len @ 1..)) = number::digits(rest) {
            let ends = match rest.get(len) {
                Some(b'"') => quoted,
                Some(b'.' | b'e' | b'E') => false,
                Some(_) => !quoted,
                None => false,
            };
            if ends {
                self.pos = from + len + usize::from(quoted);
                return Ok((negative, value));
            }
        }
        self.unusual_integer(at, quoted)
    }

    #[cold]
    fn unusual_integer(&mut self, at: usize, quoted: bool) -> Result<(bool, u64)> {
        let token = if quoted { self.plain_string()? } else { self.token()? };
        match number::integral(token) {
            // A number is only known to be whole by what follows it.
            Some(_) if !quoted && self.pos >= self.bytes.len() => Err(self.ends()),
            Some(value) => Ok(value),
            None => Err(self.wrong_type(at, "an integer of at most 64 bits is expected")),
        }
    }

    fn token(&mut self) -> Result<&'a [u8]> {
        let rest = self.rest();
        let len = number::token_len(rest);
        if len == 0 {
            return Err(self.error("a number is expected"));
        }
        self.pos += len;
        Ok(&rest[..len])
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64> {
        let at = self.pos;
        match self.integer()? {
            (false, value) | (true, value @ 0) => Ok(value),
            _ => Err(self.wrong_type(at, "a number is negative")),
        }
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Result<i64> {
        let at = self.pos;
        let (negative, value) = self.integer()?;
        let signed = if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
        signed.ok_or_else(|| self.wrong_type(at, "a number does not fit 64 bits with sign"))
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32> {
        let at = self.pos;
        u32::try_from(self.u64()?).map_err(|_| self.wrong_type(at, "a number does not fit 32 bits"))
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        let at = self.pos;
        i32::try_from(self.i64()?).map_err(|_| self.wrong_type(at, "a number does not fit 32 bits"))
    }

    /// An enum by its number, or by a name that begins with `prefix`; a name that is unknown is 0.
    pub(super) fn enumeration(&mut self, prefix: &str, names: &[&str]) -> Result<i32> {
        let name = match self.rest() {
            [b'"', b'A'..=b'Z' | b'a'..=b'z', ..] => self.plain_string()?,
            _ => return self.i32(),
        };
        let name = name.strip_prefix(prefix.as_bytes()).unwrap_or(name);
        let number = names.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name));
        self.stats.unknown_fields += u64::from(number.is_none());
        Ok(number.and_then(|number| i32::try_from(number).ok()).unwrap_or(0))
    }

    /// A double: a number, or one of protobuf's strings.
    pub(super) fn double(&mut self) -> Result<f64> {
        let quoted = self.peek() == b'"';
        let at = self.pos;
        let token = if quoted { self.plain_string()? } else { self.token()? };
        if !quoted && self.pos >= self.bytes.len() {
            return Err(self.ends());
        }
        match token {
            b"NaN" => Ok(f64::NAN),
            b"Infinity" => Ok(f64::INFINITY),
            b"-Infinity" => Ok(f64::NEG_INFINITY),
            _ if number::token_len(token) == token.len() => {
                number::double(token).ok_or_else(|| self.wrong_type(at, "a number is expected"))
            }
            _ => Err(self.wrong_type(at, "a number is expected")),
        }
    }

    /// Steps over a value of a member that is not read, and counts it if it is not known.
    #[cold]
    pub(super) fn skip_member(&mut self, field: Field) -> Result<()> {
        self.stats.unknown_fields += u64::from(field == Field::Unknown);
        self.skip()
    }

    /// Steps over a value.
    pub(super) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            b'{' | b'[' => match scan::container_end(self.bytes, self.pos) {
                Some(end) => {
                    self.pos = end;
                    Ok(())
                }
                None => Err(self.ends()),
            },
            b'"' => self.content().map(drop),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => self.token().map(drop),
        }
    }

    /// Only white space may follow the message.
    pub(super) fn end(&mut self) -> Result<()> {
        self.peek();
        if self.pos < self.bytes.len() {
            return Err(self.error("something follows the message"));
        }
        Ok(())
    }
}
