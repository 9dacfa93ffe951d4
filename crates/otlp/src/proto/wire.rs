//! Protobuf's wire format: a cursor over one message that knows tags, varints, fixed words and lengths.
//! Which fields exist is the business of the modules beside it.

use crate::{DecodeError, DecodeErrorKind};

type Result<T> = std::result::Result<T, DecodeError>;

/// Wire types that OTLP uses.
pub(super) const VARINT: u32 = 0;
pub(super) const FIXED64: u32 = 1;
pub(super) const LEN: u32 = 2;
pub(super) const FIXED32: u32 = 5;

/// A cursor. `buf` is the outermost message up to this message's end, so positions are offsets in the former.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    buf: &'a [u8],
    pos: usize,
    /// Whether the end is merely where the bytes stop, so that more might have followed.
    open_ended: bool,
}

impl<'a> Reader<'a> {
    /// A cursor over the outermost message.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { buf: bytes, pos: 0, open_ended: true }
    }

    #[inline]
    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.buf.len()
    }

    #[inline]
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// The bytes still to come.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.buf.get(self.pos..).unwrap_or_default()
    }

    /// The error of bytes that stop here.
    #[cold]
    pub(super) fn ends(&self) -> DecodeError {
        if self.open_ended {
            DecodeError::new(self.buf.len(), DecodeErrorKind::Truncated, "the message ends too early")
        } else {
            DecodeError::new(self.pos, DecodeErrorKind::Malformed, "a field reaches beyond its message")
        }
    }

    #[cold]
    fn malformed<T>(&self, at: usize, reason: &'static str) -> Result<T> {
        Err(DecodeError::new(at, DecodeErrorKind::Malformed, reason))
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64> {
        match self.buf.get(self.pos) {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u64::from(byte))
            }
            Some(&low) => match self.buf.get(self.pos + 1) {
                Some(&high) if high < 0x80 => {
                    self.pos += 2;
                    Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
                }
                _ => self.long_varint(),
            },
            None => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let start = self.pos;
        let mut value = 0_u64;
        for (i, &byte) in self.rest().iter().take(10).enumerate() {
            if i == 9 && byte > 1 {
                return self.malformed(start, "a varint overflows 64 bits");
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.pos = start + i + 1;
                return Ok(value);
            }
        }
        Err(self.ends())
    }

    /// Field number and wire type as written: `number << 3 | type`.
    #[inline]
    pub(super) fn tag(&mut self) -> Result<u32> {
        let at = self.pos;
        let tag = self.varint()?;
        match u32::try_from(tag) {
            Ok(tag) => Ok(tag),
            Err(_) => self.malformed(at, "a field number is out of range"),
        }
    }

    #[inline]
    fn word<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.buf.get(self.pos..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(word) => {
                self.pos += N;
                Ok(*word)
            }
            None => Err(self.ends()),
        }
    }

    #[inline]
    pub(super) fn fixed64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.word()?))
    }

    #[inline]
    pub(super) fn fixed32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.word()?))
    }

    #[inline]
    pub(super) fn double(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.word()?))
    }

    /// The low 32 bits of a varint, as protobuf reads `uint32`.
    #[inline]
    pub(super) fn uint32(&mut self) -> Result<u32> {
        Ok(self.varint()? as u32)
    }

    /// An enum or `int32`.
    #[inline]
    pub(super) fn int32(&mut self) -> Result<i32> {
        Ok(self.varint()? as i32)
    }

    /// A zigzag varint of 32 bits.
    pub(super) fn sint32(&mut self) -> Result<i32> {
        let raw = self.uint32()?;
        Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    #[inline]
    fn length(&mut self) -> Result<(usize, usize)> {
        let len = self.varint()?;
        let left = self.buf.len() - self.pos;
        Ok((usize::try_from(len).unwrap_or(usize::MAX), left))
    }

    /// A length and that many bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let (len, left) = self.length()?;
        if len > left {
            return Err(self.ends());
        }
        let bytes = &self.buf[self.pos..self.pos + len];
        self.pos += len;
        Ok(bytes)
    }

    /// Steps over all but `rest`, which is the end of what was to come.
    #[inline]
    pub(super) fn pass_to(&mut self, rest: &[u8]) {
        self.pos = self.buf.len() - rest.len();
    }

    /// Steps over the next byte if it is this one.
    #[inline]
    pub(super) fn pass(&mut self, byte: u8) -> bool {
        let is_next = self.buf.get(self.pos) == Some(&byte);
        self.pos += usize::from(is_next);
        is_next
    }

    /// A cursor over a sub-message that must be whole.
    #[inline]
    pub(super) fn message(&mut self) -> Result<Reader<'a>> {
        let (len, left) = self.length()?;
        if len > left {
            return Err(self.ends());
        }
        let sub = Reader { buf: &self.buf[..self.pos + len], pos: self.pos, open_ended: false };
        self.pos += len;
        Ok(sub)
    }

    /// A cursor over a sub-message that holds many items: where the bytes stop before it ends, the cursor
    /// gives the items that are there, and [`finish`](Self::finish) is the error.
    pub(super) fn container(&mut self) -> Result<Reader<'a>> {
        let (len, left) = self.length()?;
        if len > left {
            if !self.open_ended {
                return Err(self.ends());
            }
            let sub = *self;
            self.pos = self.buf.len();
            return Ok(sub);
        }
        let sub = Reader { buf: &self.buf[..self.pos + len], pos: self.pos, open_ended: false };
        self.pos += len;
        Ok(sub)
    }

    /// The end of a [`container`](Self::container): an error if its bytes stop too early.
    pub(super) fn finish(&self) -> Result<()> {
        if self.open_ended { Err(self.ends()) } else { Ok(()) }
    }

    /// Steps over the value of a field.
    pub(super) fn skip(&mut self, tag: u32) -> Result<()> {
        if tag >> 3 == 0 {
            return self.malformed(self.pos, "a field number is zero");
        }
        match tag & 7 {
            VARINT => self.varint().map(drop),
            FIXED64 => self.word::<8>().map(drop),
            LEN => self.bytes().map(drop),
            FIXED32 => self.word::<4>().map(drop),
            3 | 4 => self.malformed(self.pos, "groups are not part of OTLP"),
            _ => self.malformed(self.pos, "a wire type does not exist"),
        }
    }

    /// Steps over a field that `message` does not have, or says that a field it has (a bit of `known` per
    /// number below 32) came with another wire type.
    #[cold]
    pub(super) fn skip_unknown(&mut self, tag: u32, message: &'static str, known: u32) -> Result<()> {
        let number = tag >> 3;
        if number < 32 && known >> number & 1 == 1 {
            return Err(DecodeError::in_field(self.pos, "has the wrong wire type", message, number));
        }
        self.skip(tag)
    }
}
