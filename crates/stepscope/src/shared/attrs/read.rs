//! How what is attached to a section is read back from words and bytes.

use super::{
    BY_NUMBER, EVENT, Entry, FIELD_BOOL, FIELD_DOUBLE, FIELD_INT, FIELD_STR, FIELD_UINT, FieldValue, KIND,
    LINK, MAX_TEXT_BYTES, OWN, POLLS, SAMPLE_WORDS, SAMPLES, USER_VALUE, parts, split, text_words,
};

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
                EVENT | LINK | POLLS | SAMPLES => false,
                _ => self.name(tag, key) == Some(name.as_bytes()) && tag & OWN == 0 && tag != USER_VALUE,
            };
            if is_it {
                return true;
            }
            let (words, bytes) = match tag & KIND {
                FIELD_STR | POLLS => (0, text_len),
                SAMPLES => (usize::from(key) * SAMPLE_WORDS, 0),
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
                    SAMPLES => usize::from(key) * SAMPLE_WORDS,
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
            SAMPLES => {
                let (samples, rest) = self.bytes.split_at_checked(8 * SAMPLE_WORDS * usize::from(key))?;
                self.bytes = rest;
                return Some(Entry::Samples(samples));
            }
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
