//! How what is attached to a section is written as words.

use super::{
    BY_NUMBER, EVENT, Entry, FIELD_BOOL, FIELD_DOUBLE, FIELD_INT, FIELD_STR, FIELD_UINT, FieldValue, LINK,
    MAX_TEXT_BYTES, OWN, POLLS, SAMPLE_WORDS, SAMPLES, USER_VALUE, head,
};
use crate::shared::relaxed::RelaxedU64;

/// Something that can be attached.
pub(crate) trait Encode: Copy {
    /// Hands over its words, one after the other.
    fn encode(self, put: impl FnMut(u64));
}

/// A field that the callsite declares, by its number there; read back as [`Entry::Field`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'a>(pub usize, pub FieldValue<'a>);

impl Declared<'_> {
    /// Writes its words to the first places of `free`, if they fit; how many there are.
    #[inline(always)]
    pub(crate) fn write(self, free: &[RelaxedU64]) -> Option<usize> {
        match scalar(self.1) {
            Ok((tag, bits)) => {
                let [head, value, ..] = free else { return None };
                head.set(self.head(tag, 0));
                value.set(bits);
                Some(2)
            }
            Err(text) => {
                let text = truncate(text);
                let (head, free) = free.split_first()?;
                let words = free.get(..text.len().div_ceil(8))?;
                head.set(self.head(FIELD_STR, text.len() as u16));
                let mut next = words.iter();
                put_text(text, &mut |word| next.next().into_iter().for_each(|next| next.set(word)));
                Some(1 + words.len())
            }
        }
    }

    #[inline]
    fn head(&self, tag: u8, text_len: u16) -> u64 {
        // (A number of more bits comes behind more entries than are kept.)
        head(tag | BY_NUMBER, self.0 as u16, text_len)
    }
}

impl Encode for Declared<'_> {
    #[inline]
    fn encode(self, mut put: impl FnMut(u64)) {
        match scalar(self.1) {
            Ok((tag, bits)) => {
                put(self.head(tag, 0));
                put(bits);
            }
            Err(text) => {
                let text = truncate(text);
                put(self.head(FIELD_STR, text.len() as u16));
                put_text(text, &mut put);
            }
        }
    }
}

impl Encode for Entry<'_> {
    fn encode(self, mut put: impl FnMut(u64)) {
        match self {
            Self::Field(key, value) => put_field(0, key, value, &mut put),
            Self::Own(key, value) => put_field(OWN, key, value, &mut put),
            Self::UserValue(name, value) => put_fixed(USER_VALUE, name, value.to_bits(), &mut put),
            Self::Event(time_ns, is_error, text) => {
                let text = truncate(text);
                put(head(EVENT, u16::from(is_error), text.len() as u16));
                put(time_ns);
                put_text(text, &mut put);
            }
            Self::Link(trace, span) => {
                let bits = u128::from_le_bytes(trace);
                [head(LINK, 0, 0), bits as u64, (bits >> 64) as u64, span].into_iter().for_each(put);
            }
            Self::Polls(bytes) => {
                put(head(POLLS, 0, bytes.len() as u16));
                bytes.as_chunks().0.iter().for_each(|word| put(u64::from_le_bytes(*word)));
            }
            Self::Samples(bytes) => {
                put(head(SAMPLES, (bytes.len() / (8 * SAMPLE_WORDS)) as u16, 0));
                bytes.as_chunks().0.iter().for_each(|word| put(u64::from_le_bytes(*word)));
            }
        }
    }
}

/// Puts a field with a text for its key; `of` is a part of its tag.
fn put_field(of: u8, key: &str, value: FieldValue<'_>, put: &mut impl FnMut(u64)) {
    match scalar(value) {
        Ok((tag, bits)) => put_fixed(of | tag, key, bits, put),
        Err(text) => {
            let (key, text) = (truncate(key), truncate(text));
            put(head(of | FIELD_STR, key.len() as u16, text.len() as u16));
            put_text(key, put);
            put_text(text, put);
        }
    }
}

fn put_fixed(tag: u8, key: &str, bits: u64, put: &mut impl FnMut(u64)) {
    let key = truncate(key);
    put(head(tag, key.len() as u16, 0));
    put_text(key, put);
    put(bits);
}

#[inline]
fn put_text(text: &str, put: &mut impl FnMut(u64)) {
    let (chunks, rest) = text.as_bytes().as_chunks::<8>();
    chunks.iter().for_each(|chunk| put(u64::from_le_bytes(*chunk)));
    if !rest.is_empty() {
        put(short_word(rest));
    }
}

/// Up to seven bytes as a word, the first one lowest; made of parts that may overlap.
#[inline(always)]
fn short_word(bytes: &[u8]) -> u64 {
    let at = |index: usize| u64::from(bytes.get(index).copied().unwrap_or(0)) << (8 * index);
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let last = u64::from(u32::from_le_bytes(*last));
            u64::from(u32::from_le_bytes(*first)) | last << (8 * (bytes.len() - 4))
        }
        _ => at(0) | at(bytes.len() / 2) | at(bytes.len().saturating_sub(1)),
    }
}

/// Writes the fields that a callsite declares, in their order, to the first of `words`: how many it took, or `None` where
/// they do not fit.
#[inline(never)] // It needs all registers.
pub(crate) fn put_declared<const N: usize>(words: &mut [u64; N], values: &[FieldValue<'_>]) -> Option<usize> {
    let mut used = 0;
    for (number, &value) in values.iter().enumerate() {
        let free = words.get_mut(used..)?;
        match scalar(value) {
            Ok((tag, bits)) => {
                *free.first_chunk_mut::<2>()? = [Declared(number, value).head(tag, 0), bits];
                used += 2;
            }
            Err(text) => used += put_declared_text(free, number, text)?,
        }
    }
    Some(used)
}

#[inline(always)]
fn put_declared_text(free: &mut [u64], number: usize, text: &str) -> Option<usize> {
    let text = truncate(text);
    let (head, free) = free.split_first_mut()?;
    *head = Declared(number, FieldValue::Str(text)).head(FIELD_STR, text.len() as u16);
    let (chunks, rest) = text.as_bytes().as_chunks::<8>();
    let (whole, free) = free.split_at_mut_checked(chunks.len())?;
    whole.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u64::from_le_bytes(*chunk));
    if rest.is_empty() {
        return Some(1 + chunks.len());
    }
    *free.first_mut()? = short_word(rest);
    Some(2 + chunks.len())
}

/// Tag and bits of a value that fits into a word; else the text.
#[inline]
fn scalar(value: FieldValue<'_>) -> Result<(u8, u64), &str> {
    Ok(match value {
        FieldValue::Int(value) => (FIELD_INT, value as u64),
        FieldValue::Uint(value) => (FIELD_UINT, value),
        FieldValue::Double(value) => (FIELD_DOUBLE, value.to_bits()),
        FieldValue::Bool(value) => (FIELD_BOOL, u64::from(value)),
        FieldValue::Str(text) => return Err(text),
    })
}

/// Text cut at [`MAX_TEXT_BYTES`], at a character's boundary.
#[inline]
pub(crate) fn truncate(text: &str) -> &str {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    cut(text)
}

#[cold]
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
