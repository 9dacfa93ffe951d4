//! What a user attaches to an open section: fields, events and links, packed into a reusable buffer of
//! words on the hot path (`encode`) and read back by the background thread (`read`), which also looks up the names of fields that
//! the callsite declares. Bounded in number and size; nothing is formatted here.

mod encode;
mod read;

use crate::shared::relaxed::RelaxedU64;
pub(crate) use encode::{Declared, Encode, put_declared, truncate};
pub(crate) use read::{Entries, FieldName, for_each_amount, for_each_event, unpack};

/// Longest text kept of a field or event, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 256;

/// Words of each sample in [`Entry::Samples`].
pub(crate) const SAMPLE_WORDS: usize = 4;

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
    /// What the layer itself says: no field has its name.
    Own(&'a str, FieldValue<'a>),
    /// A user metric of a step.
    UserValue(&'a str, f64),
    /// A warning or error: monotonic time, whether it is an error, text.
    Event(u64, bool, &'a str),
    /// A link to a span of another trace.
    Link([u8; 16], u64),
    /// Intervals of `polls`, in whole words.
    Polls(&'a [u8]),
    /// What threads were seen doing, [`SAMPLE_WORDS`] words each. Of the background thread alone.
    Samples(&'a [u8]),
}

const FIELD_INT: u8 = 1;
const FIELD_UINT: u8 = 2;
const FIELD_DOUBLE: u8 = 3;
const FIELD_BOOL: u8 = 4;
const FIELD_STR: u8 = 5;
const USER_VALUE: u8 = 6;
const EVENT: u8 = 7;
const LINK: u8 = 8;
const POLLS: u8 = 9;
const SAMPLES: u8 = 10;
/// The key is the number of a field of the callsite; otherwise it is text, and follows the head.
const BY_NUMBER: u8 = 1 << 7;
/// Of a field with a text for its key: the layer says it, and nobody else can say it again.
const OWN: u8 = 1 << 6;
/// What is left of a tag without these two.
const KIND: u8 = OWN - 1;

/// The first word of an entry: tag, number or length of the key (or whether an event is an error), length of
/// the text.
const fn head(tag: u8, key: u16, text_len: u16) -> u64 {
    tag as u64 | (key as u64) << 16 | (text_len as u64) << 32
}

/// Tag, key and length that [`head`] took.
const fn parts(head: u64) -> (u8, u16, u16) {
    (head as u8, (head >> 16) as u16, (head >> 32) as u16)
}

/// Entries left out because a section had too many, as OTLP tells them apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub attributes: u16,
    pub events: u16,
    pub links: u16,
}

impl LeftOut {
    /// Counts the entry that begins with this word.
    fn add(&mut self, head: u64) {
        let (tag, ..) = parts(head);
        let count = match tag & !BY_NUMBER {
            EVENT => &mut self.events,
            LINK => &mut self.links,
            _ => &mut self.attributes,
        };
        *count = count.saturating_add(1);
    }

    /// As one word; 0 for none.
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.attributes) | u64::from(self.events) << 16 | u64::from(self.links) << 32
    }

    /// The inverse.
    pub(crate) fn from_word(word: u64) -> Self {
        Self { attributes: word as u16, events: (word >> 16) as u16, links: (word >> 32) as u16 }
    }
}

/// A reusable buffer of entries: whole words, texts filled up with zeros.
#[derive(Debug, Default)]
pub(crate) struct Attrs {
    words: Vec<u64>,
    entries: u16,
    left_out: LeftOut,
    /// Whether all names of fields and values are known to differ, but for those of `replaced`.
    are_distinct: bool,
    /// Which of the entries before these, by bits, one of these has replaced: they take no room.
    replaced: u64,
}

/// The entries of a section that are kept before those in [`Attrs`], no more than a word has bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Before<'a> {
    pub entries: u16,
    pub words: &'a [RelaxedU64],
}

impl Attrs {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.entries = 0;
        self.left_out = LeftOut::default();
        self.are_distinct = false;
        self.replaced = 0;
    }

    /// Entries left out because the section had too many.
    pub(crate) fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Counts events that were left out before they came here.
    pub(crate) fn leave_out_events(&mut self, events: u16) {
        self.left_out.events = self.left_out.events.saturating_add(events);
    }

    /// All entries, for the ring.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Takes one more entry, as long as there are no more than are kept: those `before` and those in here. Where there
    /// are, those go first that a later one of their name has replaced; where these are before, they do not count.
    pub(crate) fn push(&mut self, before: Before<'_>, entry: impl Encode) {
        let newest = self.words.len();
        entry.encode(|word| self.words.push(word));
        self.entries += 1;
        if self.kept(before) <= MAX_ENTRIES {
            self.are_distinct = false;
        } else {
            self.make_room(before, newest);
        }
    }

    /// How many entries take room.
    fn kept(&self, before: Before<'_>) -> u16 {
        before.entries.saturating_sub(self.replaced.count_ones() as u16).saturating_add(self.entries)
    }

    /// Drops what was replaced, or else the newest entry, whose words begin at this one.
    #[cold]
    fn make_room(&mut self, before: Before<'_>, newest: usize) {
        let elsewhere: Vec<u64> = before.words.iter().map(RelaxedU64::get).collect();
        let words = std::mem::take(&mut self.words);
        let (older, last) = words.split_at(newest);
        let mut names: Vec<Option<Name<'_>>> = split(&elsewhere).chain(split(older)).map(Name::of).collect();
        let newest_name = Name::of(last);
        names.push(newest_name);
        let is_replaced = |at: usize, name: Option<Name<'_>>| match self.are_distinct {
            true => name == newest_name,
            false => names.get(at + 1..).unwrap_or_default().contains(&name),
        };
        let names_of_older = names.iter().take(names.len() - 1).enumerate();
        let mut is_replaced: Vec<bool> =
            names_of_older.map(|(at, &name)| name.is_some() && is_replaced(at, name)).collect();
        let is_replaced_here = is_replaced.split_off(split(&elsewhere).count());
        for (at, _) in (0_u32..).zip(is_replaced).filter(|&(_, is_replaced)| is_replaced) {
            self.replaced |= 1_u64.checked_shl(at).unwrap_or(0);
        }
        self.are_distinct = true;
        self.entries = 0;
        for (entry, _) in split(older).zip(is_replaced_here).filter(|(_, is_replaced)| !is_replaced) {
            self.words.extend_from_slice(entry);
            self.entries += 1;
        }
        if self.kept(before) < MAX_ENTRIES {
            self.words.extend_from_slice(last);
            self.entries += 1;
        } else {
            last.iter().take(1).for_each(|&head| self.left_out.add(head));
        }
    }
}

/// What a field or a value is called: of two with one name the later one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Name<'a> {
    is_value: bool,
    /// The number of the field, or the length of the text.
    key: u16,
    text: Option<&'a [u64]>,
}

impl<'a> Name<'a> {
    /// Of the entry with these words; events and the like have none.
    fn of(words: &'a [u64]) -> Option<Self> {
        let (head, rest) = words.split_first()?;
        let (tag, key, _) = parts(*head);
        let text = if tag & BY_NUMBER != 0 { None } else { Some(rest.get(..text_words(key))?) };
        match tag & !BY_NUMBER {
            EVENT | LINK | POLLS | SAMPLES | OWN.. => None,
            tag => Some(Self { is_value: tag == USER_VALUE, key, text }),
        }
    }
}

/// The words of each entry.
fn split(mut words: &[u64]) -> impl Iterator<Item = &[u64]> {
    std::iter::from_fn(move || {
        let (tag, key, text_len) = parts(*words.first()?);
        let key_words = if tag & BY_NUMBER != 0 { 0 } else { text_words(key) };
        let len = 1 + match tag & KIND {
            FIELD_STR => key_words + text_words(text_len),
            EVENT => 1 + text_words(text_len),
            LINK => 3,
            POLLS => text_words(text_len),
            SAMPLES => usize::from(key) * SAMPLE_WORDS,
            _ => key_words + 1,
        };
        let (entry, rest) = words.split_at_checked(len)?;
        words = rest;
        Some(entry)
    })
}

/// Words of a text of so many bytes.
fn text_words(len: u16) -> usize {
    usize::from(len).div_ceil(8)
}

#[cfg(test)]
mod tests;
