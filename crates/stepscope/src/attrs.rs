//! What a user attaches to an open section: fields, events and links, packed into a reusable buffer of
//! bytes on the hot path and read back by the background thread. Bounded in number and size; nothing is
//! formatted here.

/// Longest text kept of a field or event, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 256;

/// Most entries a section keeps.
pub(crate) const MAX_ENTRIES: u16 = 128;

/// A value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'a> {
    /// Signed integer.
    Int(i64),
    /// Unsigned integer; beyond `i64::MAX` it leaves as text, because OTLP has no such integers.
    Uint(u64),
    /// Double.
    Double(f64),
    /// Boolean.
    Bool(bool),
    /// Text; kept up to 256 bytes.
    Str(&'a str),
}

macro_rules! from_values {
    ($($type:ty => $variant:ident as $wide:ty),+ $(,)?) => {
        $(impl From<$type> for FieldValue<'_> {
            fn from(value: $type) -> Self {
                Self::$variant(<$wide>::from(value))
            }
        })+
    };
}

from_values!(
    i8 => Int as i64, i16 => Int as i64, i32 => Int as i64, i64 => Int as i64,
    u8 => Int as i64, u16 => Int as i64, u32 => Int as i64, u64 => Uint as u64,
    f32 => Double as f64, f64 => Double as f64, bool => Bool as bool,
);

impl From<usize> for FieldValue<'_> {
    fn from(value: usize) -> Self {
        Self::Uint(value as u64)
    }
}

impl From<isize> for FieldValue<'_> {
    fn from(value: isize) -> Self {
        Self::Int(value as i64)
    }
}

impl<'a> From<&'a str> for FieldValue<'a> {
    fn from(value: &'a str) -> Self {
        Self::Str(value)
    }
}

impl<'a> From<&'a String> for FieldValue<'a> {
    fn from(value: &'a String) -> Self {
        Self::Str(value)
    }
}

/// One thing attached to a section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Entry<'a> {
    /// A field.
    Field(&'a str, FieldValue<'a>),
    /// A user metric of a step.
    UserValue(&'a str, f64),
    /// A warning or error: monotonic time, whether it is an error, text.
    Event(u64, bool, &'a str),
    /// A link to a span of another trace.
    Link([u8; 16], u64),
}

const FIELD_INT: u8 = 1;
const FIELD_UINT: u8 = 2;
const FIELD_DOUBLE: u8 = 3;
const FIELD_BOOL: u8 = 4;
const FIELD_STR: u8 = 5;
const USER_VALUE: u8 = 6;
const EVENT: u8 = 7;
const LINK: u8 = 8;

/// A reusable buffer of entries.
#[derive(Debug, Default)]
pub(crate) struct Attrs {
    bytes: Vec<u8>,
    entries: u16,
    /// Entries left out because the section had too many.
    left_out: u16,
}

impl Attrs {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.entries = 0;
        self.left_out = 0;
    }

    /// Entries left out because the section had too many.
    pub(crate) fn left_out(&self) -> u16 {
        self.left_out
    }

    pub(crate) fn push(&mut self, entry: Entry<'_>) {
        if self.entries >= MAX_ENTRIES {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.entries += 1;
        match entry {
            Entry::Field(key, value) => match value {
                FieldValue::Int(value) => self.fixed(FIELD_INT, key, value as u64),
                FieldValue::Uint(value) => self.fixed(FIELD_UINT, key, value),
                FieldValue::Double(value) => self.fixed(FIELD_DOUBLE, key, value.to_bits()),
                FieldValue::Bool(value) => self.fixed(FIELD_BOOL, key, u64::from(value)),
                FieldValue::Str(value) => {
                    self.bytes.push(FIELD_STR);
                    self.text(key);
                    self.text(value);
                }
            },
            Entry::UserValue(name, value) => self.fixed(USER_VALUE, name, value.to_bits()),
            Entry::Event(time_ns, is_error, text) => {
                self.bytes.push(EVENT);
                self.bytes.extend_from_slice(&time_ns.to_le_bytes());
                self.bytes.push(u8::from(is_error));
                self.text(text);
            }
            Entry::Link(trace, span) => {
                self.bytes.push(LINK);
                self.bytes.extend_from_slice(&trace);
                self.bytes.extend_from_slice(&span.to_le_bytes());
            }
        }
    }

    fn fixed(&mut self, tag: u8, key: &str, bits: u64) {
        self.bytes.push(tag);
        self.text(key);
        self.bytes.extend_from_slice(&bits.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        let text = truncate(text);
        // `truncate` keeps it at 256 bytes, which fits.
        self.bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends the entries to `words`: their length in bytes, then the bytes.
    pub(crate) fn pack(&self, words: &mut Vec<u64>) {
        words.push(self.bytes.len() as u64);
        let (chunks, rest) = self.bytes.as_chunks::<8>();
        words.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
            words.push(u64::from_le_bytes(last));
        }
    }
}

/// Text cut at [`MAX_TEXT_BYTES`], at a character's boundary.
pub(crate) fn truncate(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Unpacks what [`Attrs::pack`] wrote into `bytes` (cleared before).
pub(crate) fn unpack(words: &[u64], bytes: &mut Vec<u8>) {
    bytes.clear();
    let Some((&len, words)) = words.split_first() else { return };
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.truncate(usize::try_from(len).unwrap_or(0));
}

/// Iterates over unpacked entries.
#[derive(Clone)]
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
}

impl<'a> Entries<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(taken)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = usize::from(u16::from_le_bytes(self.take()?));
        let (text, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let [tag] = self.take()?;
        Some(match tag {
            FIELD_INT => Entry::Field(self.text()?, FieldValue::Int(self.number()? as i64)),
            FIELD_UINT => Entry::Field(self.text()?, FieldValue::Uint(self.number()?)),
            FIELD_DOUBLE => Entry::Field(self.text()?, FieldValue::Double(f64::from_bits(self.number()?))),
            FIELD_BOOL => Entry::Field(self.text()?, FieldValue::Bool(self.number()? != 0)),
            FIELD_STR => Entry::Field(self.text()?, FieldValue::Str(self.text()?)),
            USER_VALUE => Entry::UserValue(self.text()?, f64::from_bits(self.number()?)),
            EVENT => {
                let time_ns = self.number()?;
                let [is_error] = self.take()?;
                Entry::Event(time_ns, is_error != 0, self.text()?)
            }
            LINK => Entry::Link(self.take()?, self.number()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_they_went_in() {
        let entries = [
            Entry::Field("a", FieldValue::Int(-1)),
            Entry::Field("b", FieldValue::Uint(u64::MAX)),
            Entry::Field("", FieldValue::Double(-0.5)),
            Entry::UserValue("loss", 1e300),
            Entry::Field("flag", FieldValue::Bool(true)),
            Entry::Field("text", FieldValue::Str("é")),
            Entry::Event(7, true, "went wrong"),
            Entry::Link([9; 16], 5),
        ];
        for count in 0..=entries.len() {
            let mut attrs = Attrs::default();
            entries[..count].iter().for_each(|&entry| attrs.push(entry));
            let (mut words, mut bytes) = (Vec::new(), Vec::new());
            attrs.pack(&mut words);
            unpack(&words, &mut bytes);
            assert_eq!(Entries::new(&bytes).collect::<Vec<_>>(), entries[..count]);
        }
    }

    #[test]
    fn text_and_number_of_entries_are_bounded() {
        let mut attrs = Attrs::default();
        let long = "é".repeat(1_000);
        for _ in 0..200 {
            attrs.push(Entry::Field("key", FieldValue::Str(&long)));
        }
        assert_eq!(attrs.left_out(), 72);
        let (mut words, mut bytes) = (Vec::new(), Vec::new());
        attrs.pack(&mut words);
        unpack(&words, &mut bytes);
        assert_eq!(Entries::new(&bytes).count(), usize::from(MAX_ENTRIES));
        assert_eq!(truncate(&format!("x{long}")).len(), 255);
    }
}
