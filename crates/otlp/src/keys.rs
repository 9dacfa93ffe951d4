//! Keys of attributes that were met before. Attributes come in the same order from span to span, so that the key to
//! come is guessed from the one before it and compared with the bytes as they stand in the message, with whatever the
//! encoding puts around it; a known key is neither parsed nor checked for UTF-8. Bounded; what is in here changes no
//! result.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::DecodeStats;
use crate::seen::{REPLACED_EVERY, same, slot};

/// Keys kept, at most one a slot: as many as a byte can count, so that no index needs a check.
const SLOTS: usize = 256;

/// Longer keys are not kept. A message with a longer one may still be short.
const MAX_LEN: usize = 120;

/// Items are told apart by their names, as far as that many go: each has its own row of keys.
const ITEMS: usize = 8;

/// Bytes of either end of a field that are compared first.
const END: usize = 16;

/// The number of the next new key of the process; 0 is for keys without one.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A key that is known.
#[derive(Debug, Default)]
struct Known {
    /// The length of `field`; 0 where there is no key.
    len: usize,
    /// The first and the last bytes of `field`, in place: most are no longer than both together. Of one that is shorter
    /// than either, nothing.
    first: [u8; END],
    last: [u8; END],
    number: u64,
    text: Box<str>,
    /// The key as written, and what stands before it and behind it each time.
    field: Box<[u8]>,
}

impl Known {
    fn new(text: &str, field: Vec<u8>, number: u64) -> Self {
        let first = field.first_chunk().copied().unwrap_or_default();
        let last = field.last_chunk().copied().unwrap_or_default();
        Self { len: field.len(), first, last, number, text: text.into(), field: field.into() }
    }

    /// Whether `front`, which is as long, is the field.
    #[inline(always)]
    fn is(&self, front: &[u8]) -> bool {
        match (front.first_chunk::<END>(), front.last_chunk::<END>()) {
            (Some(first), Some(last)) => {
                *last == self.last
                    && *first == self.first
                    && (self.len <= 2 * END || same(&self.field, front))
            }
            _ => self.len > 0 && same(&self.field, front),
        }
    }
}

/// A key, and the number that stands for it; 0 where it has none.
pub(super) type Key<'a> = (&'a str, u64);

/// Keys by a hash of their length and last bytes.
#[derive(Debug)]
pub(super) struct Keys {
    slots: Box<[Known; SLOTS]>,
    /// The slot of the key that came after that of each slot the last time, in each kind of item.
    next: Box<[[u8; ITEMS]; SLOTS]>,
    /// The slot of the last key.
    last: u8,
    /// The item whose keys come.
    item: u8,
    /// Keys that were not known, so far.
    unknown: u32,
    /// The last key that was not kept.
    other: String,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            slots: Box::new(std::array::from_fn(|_| Known::default())),
            next: Box::new([[0; ITEMS]; SLOTS]),
            last: 0,
            item: 0,
            unknown: 0,
            other: String::new(),
        }
    }
}

impl Keys {
    /// Says what the item is called whose keys come.
    #[inline(always)]
    pub(super) fn item(&mut self, name: &[u8]) {
        self.item = slot(name) % ITEMS as u8;
    }

    /// The slot of the key that an attribute begins with, if it is the expected one, and what follows it.
    #[inline(always)]
    pub(super) fn expected<'m>(&mut self, message: &'m [u8]) -> Option<(u8, &'m [u8])> {
        let guess = self.next[usize::from(self.last)][usize::from(self.item) % ITEMS];
        let known = &self.slots[usize::from(guess)];
        let (front, rest) = message.split_at_checked(known.len)?;
        if !known.is(front) {
            return None;
        }
        self.last = guess;
        Some((guess, rest))
    }

    /// The key of a slot.
    #[inline(always)]
    pub(super) fn key(&self, at: u8) -> Key<'_> {
        let known = &self.slots[usize::from(at)];
        (&known.text, known.number)
    }

    /// `bytes` as a key, which the next one is expected to follow; invalid UTF-8 is replaced and counted. `write`
    /// appends it as it is written.
    #[inline]
    pub(super) fn check(
        &mut self,
        bytes: &[u8],
        stats: &mut DecodeStats,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Key<'_> {
        if let Some(at) = self.follow(bytes, write) {
            return self.key(at);
        }
        self.other.clear();
        match str::from_utf8(bytes) {
            Ok(text) => self.other.push_str(text),
            Err(_) => {
                stats.invalid_utf8 += 1;
                self.other.push_str(&String::from_utf8_lossy(bytes));
            }
        }
        (&self.other, 0)
    }

    /// Takes note of a key that was not expected: the next one is expected to follow it, if it is kept. Its slot.
    #[inline]
    pub(super) fn follow(&mut self, bytes: &[u8], write: impl FnOnce(&mut Vec<u8>)) -> Option<u8> {
        let at = slot(bytes);
        let known = &self.slots[usize::from(at)];
        if known.number == 0 || !same(known.text.as_bytes(), bytes) {
            self.keep(at, bytes, write)?;
        }
        self.next[usize::from(self.last)][usize::from(self.item) % ITEMS] = at;
        self.last = at;
        Some(at)
    }

    /// Gives a new key the slot, if it may have it.
    #[cold]
    fn keep(&mut self, at: u8, bytes: &[u8], write: impl FnOnce(&mut Vec<u8>)) -> Option<()> {
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_LEN)?;
        // Not each: where all keys differ, keeping them would only cost.
        self.unknown = self.unknown.wrapping_add(1);
        let known = &mut self.slots[usize::from(at)];
        if known.number != 0 && !self.unknown.is_multiple_of(REPLACED_EVERY) {
            return None;
        }
        let mut field = Vec::new();
        write(&mut field);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        *known = Known::new(text, field, number);
        self.next[usize::from(at)] = [0; ITEMS];
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn field(key: &str) -> Vec<u8> {
        [&[0x0a, key.len() as u8], key.as_bytes()].concat()
    }

    /// Whatever the order: expected or not, a key comes back as it is, and its number never stands for another.
    #[test]
    fn keys_come_back_as_they_are_and_numbers_stand_for_one_key_only() {
        let (mut one, mut two) = (Keys::default(), Keys::default());
        let mut stats = DecodeStats::default();
        let mut numbered: HashMap<u64, String> = HashMap::new();
        let mut expected = 0;
        for round in 0..200 {
            for n in 0..40 + round * 10 {
                let key = format!("{}{n}", "é".repeat(n % 60));
                for keys in [&mut one, &mut two] {
                    let message = [field(&key), b"rest".to_vec()].concat();
                    let found = keys.expected(&message).map(|(at, rest)| {
                        assert_eq!(rest, b"rest");
                        at
                    });
                    expected += usize::from(found.is_some());
                    let (text, number) = match found {
                        Some(at) => keys.key(at),
                        None => keys.check(key.as_bytes(), &mut stats, |to| to.extend(field(&key))),
                    };
                    assert_eq!(text, key, "{round}");
                    if number != 0 {
                        let owner = numbered.entry(number).or_insert_with(|| key.clone());
                        assert_eq!(*owner, key, "{number}");
                    }
                }
            }
        }
        assert!(expected > 1_000, "{expected}");
        assert_eq!(stats.invalid_utf8, 0);
        for _ in 0..2 {
            assert_eq!(one.check(b"name\xff", &mut stats, |_| {}), ("name\u{fffd}", 0));
        }
        assert_eq!(stats.invalid_utf8, 2);
        assert_eq!(one.check(b"", &mut stats, |to| to.extend([0x0a, 0])).0, "");
    }

    #[test]
    fn a_message_without_a_key_is_not_expected() {
        let mut keys = Keys::default();
        for message in [&b""[..], &[0; 127], &[0x0a; 127], &[0x0a, 0]] {
            assert_eq!(keys.expected(message), None);
        }
    }
}
