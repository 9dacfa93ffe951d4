//! What a user attaches to an open section: fields, events and links, packed into a reusable buffer of
//! words on the hot path and read back by the background thread, which also looks up the names of fields that
//! the callsite declares. Bounded in number and size; nothing is formatted here.

use crate::shared::relaxed::RelaxedU64;

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
            EVENT | LINK | POLLS | OWN.. => None,
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
            _ => key_words + 1,
        };
        let (entry, rest) = words.split_at_checked(len)?;
        words = rest;
        Some(entry)
    })
}

/// What a field is called: by its number at the callsite, or by a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldName<'a> {
    Number(u16),
    Text(&'a str),
}

/// Hands the fields among these words that are whole numbers, and not negative, to `take`.
pub(crate) fn for_each_amount(words: &[u64], mut take: impl FnMut(FieldName<'_>, u64)) {
    for entry in split(words) {
        let Some((head, [.., value])) = entry.split_first() else { continue };
        let (tag, key, _) = parts(*head);
        let amount = match tag & !BY_NUMBER {
            FIELD_INT | FIELD_UINT => i64::try_from(*value).ok().map(i64::unsigned_abs),
            _ => None,
        };
        match amount {
            Some(amount) if tag & BY_NUMBER != 0 => take(FieldName::Number(key), amount),
            Some(amount) => {
                with_text(entry.get(1..).unwrap_or_default(), key, |name| {
                    take(FieldName::Text(name), amount)
                });
            }
            None => {}
        }
    }
}

/// Hands the events among these words to `take`: when, whether it is an error, text.
pub(crate) fn for_each_event(words: &[u64], mut take: impl FnMut(u64, bool, &str)) {
    for entry in split(words) {
        let Some((head, [time_ns, text @ ..])) = entry.split_first() else { continue };
        let (tag, is_error, text_len) = parts(*head);
        if tag == EVENT {
            with_text(text, text_len, |text| take(*time_ns, is_error != 0, text));
        }
    }
}

/// Hands the text that begins with these words to `take`.
fn with_text(words: &[u64], len: u16, take: impl FnOnce(&str)) {
    let mut bytes = [0; MAX_TEXT_BYTES];
    let chunks = bytes.as_chunks_mut().0.iter_mut();
    chunks.zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    if let Some(Ok(text)) = bytes.get(..usize::from(len)).map(std::str::from_utf8) {
        take(text);
    }
}

/// Words of a text of so many bytes.
fn text_words(len: u16) -> usize {
    usize::from(len).div_ceil(8)
}

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

/// Turns the words of [`Attrs::words`] into `bytes` (cleared before), which [`Entries`] reads.
pub(crate) fn unpack(words: &[u64], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.resize(8 * words.len(), 0);
    bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
}

/// Iterates over unpacked entries.
#[derive(Clone)]
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
    /// Names of the fields that the callsite declares.
    declared: &'a [&'static str],
}

impl<'a> Entries<'a> {
    pub(crate) fn new(bytes: &'a [u8], declared: &'a [&'static str]) -> Self {
        Self { bytes, declared }
    }

    /// Whether another field of that name comes. Reads no values.
    pub(crate) fn has_field(mut self, name: &str) -> bool {
        while let Some(head) = self.number() {
            let (tag, key, text_len) = parts(head);
            let is_it = match tag {
                EVENT | LINK | POLLS => false,
                _ => self.name(tag, key) == Some(name.as_bytes()) && tag & OWN == 0 && tag != USER_VALUE,
            };
            if is_it {
                return true;
            }
            let (words, bytes) = match tag & KIND {
                FIELD_STR | POLLS => (0, text_len),
                EVENT => (1, text_len),
                LINK => (3, 0),
                _ => (1, 0),
            };
            let rest = self.bytes.get(words * 8 + usize::from(bytes).next_multiple_of(8)..);
            self.bytes = rest.unwrap_or_default();
        }
        false
    }

    /// Whether every field that comes and is not the layer's own is one that the callsite declares, and comes once. Reads no
    /// values.
    #[inline]
    pub(crate) fn come_once(&self) -> bool {
        let (words, _) = self.bytes.as_chunks::<8>();
        // Fields mostly come in the order in which they are declared.
        let (mut at, mut next, mut seen) = (0, 0, 0_u64);
        while let Some(head) = words.get(at) {
            let (tag, key, text_len) = parts(u64::from_le_bytes(*head));
            at += 1 + match tag ^ BY_NUMBER {
                FIELD_INT..=FIELD_BOOL => 1,
                FIELD_STR => text_words(text_len),
                _ => match tag {
                    USER_VALUE => text_words(key) + 1,
                    EVENT => 1 + text_words(text_len),
                    LINK => 3,
                    POLLS => text_words(text_len),
                    OWN..BY_NUMBER => {
                        text_words(key) + if tag & KIND == FIELD_STR { text_words(text_len) } else { 1 }
                    }
                    _ => return false,
                },
            };
            if tag & BY_NUMBER != 0 {
                if key >= 64 || key < next && seen >> key & 1 != 0 {
                    return false;
                }
                seen |= 1 << key;
                next = next.max(key + 1);
            }
        }
        true
    }

    /// The number and the value of the field that comes next, where the callsite declares it. Nothing is taken otherwise.
    #[inline(always)]
    pub(crate) fn next_declared(&mut self) -> Option<(usize, FieldValue<'a>)> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        let (tag, number, text_len) = parts(u64::from_le_bytes(*head));
        let mut rest = Self { bytes: rest, declared: &[] };
        let value = rest.value(tag ^ BY_NUMBER, text_len)?;
        self.bytes = rest.bytes;
        Some((number.into(), value))
    }

    /// A field's value.
    #[inline(always)]
    fn value(&mut self, tag: u8, text_len: u16) -> Option<FieldValue<'a>> {
        Some(match tag {
            FIELD_INT => FieldValue::Int(self.number()? as i64),
            FIELD_UINT => FieldValue::Uint(self.number()?),
            FIELD_DOUBLE => FieldValue::Double(f64::from_bits(self.number()?)),
            FIELD_BOOL => FieldValue::Bool(self.number()? != 0),
            FIELD_STR => FieldValue::Str(self.text(text_len)?),
            _ => return None,
        })
    }

    fn declared(&self, number: u16) -> &'static str {
        self.declared.get(usize::from(number)).copied().unwrap_or("unknown")
    }

    /// The name of a field or value.
    fn name(&mut self, tag: u8, key: u16) -> Option<&'a [u8]> {
        if tag & BY_NUMBER == 0 {
            return self.slice(key);
        }
        Some(self.declared(key).as_bytes())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(taken)
    }

    fn text(&mut self, len: u16) -> Option<&'a str> {
        std::str::from_utf8(self.slice(len)?).ok()
    }

    fn slice(&mut self, len: u16) -> Option<&'a [u8]> {
        let len = usize::from(len);
        let (slice, rest) = self.bytes.split_at_checked(len.next_multiple_of(8))?;
        self.bytes = rest;
        slice.get(..len)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let head = self.number()?;
        let (tag, key, text_len) = parts(head);
        match tag {
            EVENT => return Some(Entry::Event(self.number()?, key != 0, self.text(text_len)?)),
            LINK => return Some(Entry::Link(self.take()?, self.number()?)),
            POLLS => return Some(Entry::Polls(self.slice(text_len)?)),
            _ => {}
        }
        let name = if tag & BY_NUMBER != 0 { self.declared(key) } else { self.text(key)? };
        if tag == USER_VALUE {
            return Some(Entry::UserValue(name, f64::from_bits(self.number()?)));
        }
        let value = self.value(tag & KIND, text_len)?;
        Some(if tag & OWN != 0 { Entry::Own(name, value) } else { Entry::Field(name, value) })
    }
}

#[cfg(test)]
mod tests;
