//! Texts that were checked before. Names and places in the source repeat from span to span, and comparing a
//! short text with one that is known to be UTF-8 costs less than checking it again. Bounded; what is in here changes
//! no result.

use crate::DecodeStats;

/// Texts kept, at most one a slot; a power of two.
const SLOTS: usize = 256;

/// Of the unknown texts whose slot is taken, every so manieth takes it over.
pub(super) const REPLACED_EVERY: u32 = 32;

/// Longer texts are not kept.
const MAX_LEN: usize = 120;

/// Texts by a hash of their length and last bytes.
#[derive(Debug)]
pub(super) struct Seen {
    slots: Box<[Box<str>; SLOTS]>,
    /// Texts that were not known, so far.
    unknown: u32,
    /// The last text that was no UTF-8, with the damage replaced.
    lossy: String,
}

impl Default for Seen {
    fn default() -> Self {
        Self { slots: Box::new(std::array::from_fn(|_| Box::default())), unknown: 0, lossy: String::new() }
    }
}

impl Seen {
    /// `bytes` as text; invalid UTF-8 is replaced and counted.
    #[inline(always)]
    pub(super) fn check<'a>(&'a mut self, bytes: &'a [u8], stats: &mut DecodeStats) -> &'a str {
        let at = usize::from(slot(bytes));
        // The comparison comes first, and once more for the borrow checker's sake only where it failed.
        if !same(self.slots[at].as_bytes(), bytes) {
            return self.check_new(at, bytes, stats);
        }
        &self.slots[at]
    }

    #[cold]
    fn check_new<'a>(&'a mut self, at: usize, bytes: &'a [u8], stats: &mut DecodeStats) -> &'a str {
        match str::from_utf8(bytes) {
            Ok(text) => {
                // Not each: where all texts differ, keeping them would only cost.
                self.unknown = self.unknown.wrapping_add(1);
                if text.len() <= MAX_LEN
                    && (self.slots[at].is_empty() || self.unknown.is_multiple_of(REPLACED_EVERY))
                {
                    self.slots[at] = text.into();
                }
                text
            }
            Err(_) => {
                stats.invalid_utf8 += 1;
                self.lossy = String::from_utf8_lossy(bytes).into_owned();
                &self.lossy
            }
        }
    }
}

/// The place of a text.
#[inline]
pub(super) fn slot(bytes: &[u8]) -> u8 {
    let word = match bytes.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    let hash = (word ^ (bytes.len() as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 56) as u8
}

/// `a == b`, by words that may overlap: a call to compare short texts costs more than comparing them.
#[inline(always)]
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(a_last), Some(b_last)) = (a.last_chunk::<16>(), b.last_chunk::<16>()) {
        let word = |bytes: &[u8; 16]| u128::from_ne_bytes(*bytes);
        let (a_words, b_words) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
        return word(a_last) == word(b_last) && a_words.iter().zip(b_words).all(|(a, b)| word(a) == word(b));
    }
    match (a.first_chunk::<8>().zip(a.last_chunk::<8>()), b.first_chunk::<8>().zip(b.last_chunk::<8>())) {
        (Some((a_first, a_last)), Some((b_first, b_last))) => a_first == b_first && a_last == b_last,
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_is_and_damage_is_counted_each_time() {
        let mut seen = Seen::default();
        let mut stats = DecodeStats::default();
        for round in 0..3 {
            for n in 0..2_000 {
                // Lengths from 1 to 130, many of them in the same slot.
                let text = format!("{}{n}", "é".repeat(n % 64));
                assert_eq!(seen.check(text.as_bytes(), &mut stats), text, "{round}");
            }
            assert_eq!(seen.check(b"", &mut stats), "");
        }
        assert_eq!(stats.invalid_utf8, 0);
        for _ in 0..2 {
            assert_eq!(seen.check(b"name\xff", &mut stats), "name\u{fffd}");
        }
        assert_eq!(stats.invalid_utf8, 2);
    }

    #[test]
    fn texts_that_differ_in_one_byte_are_told_apart() {
        for len in 1..40 {
            let text = "a".repeat(len);
            for at in 0..len {
                let mut other = text.clone().into_bytes();
                other[at] = b'b';
                assert!(!same(text.as_bytes(), &other), "{len} {at}");
            }
            assert!(same(text.as_bytes(), text.clone().as_bytes()));
        }
    }
}
