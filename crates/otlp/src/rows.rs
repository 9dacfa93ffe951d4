//! All attributes of a span that were met before. A loop does the same again and again: most of its sections come back
//! with figures that they had before, in the order in which they came before. So the row to come is guessed from the one
//! before it and compared, as it stands in the message, as a whole; a visitor that has kept what it means need not be
//! given it again. Bounded; what is in here changes no result.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::seen::REPLACED_EVERY;

/// Rows kept, at most one a slot; a power of two.
const SLOTS: usize = 512;

/// Longer rows are not kept.
const MAX_LEN: usize = 2_048;

/// Where rows do not come back, only every so manieth span is tried.
const TRIED_EVERY: u32 = 16;

/// By how many rows that came back others are made up for, at most.
const MOST_CREDIT: u32 = 64;

/// The number of the next new row of the process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A row that is known.
#[derive(Debug, Default)]
struct Row {
    /// As written. Empty where there is none.
    bytes: Box<[u8]>,
    number: u64,
    /// The slot of the row that came after it the last time.
    next: u16,
}

/// Rows by a hash of their bytes.
#[derive(Debug)]
pub(super) struct Rows {
    slots: Box<[Row]>,
    /// The slot of the last row.
    last: u16,
    /// Rows that were not known, so far.
    unknown: u32,
    /// More rows came back than did not, by so many.
    credit: u32,
    /// Spans that were not tried since the last one that was.
    untried: u32,
}

impl Default for Rows {
    fn default() -> Self {
        let slots = (0..SLOTS).map(|_| Row::default()).collect();
        Self { slots, last: 0, unknown: 0, credit: MOST_CREDIT, untried: 0 }
    }
}

impl Rows {
    /// Whether it is worth while to look whether the next row is known.
    #[inline(always)]
    pub(super) fn is_tried(&mut self) -> bool {
        if self.credit > 0 {
            return true;
        }
        self.untried = (self.untried + 1) % TRIED_EVERY;
        self.untried == 0
    }

    /// The number of the row that `bytes` begin with, if it is the expected one, and what follows it.
    #[inline(always)]
    pub(super) fn expected<'m>(&self, bytes: &'m [u8]) -> Option<(u64, &'m [u8])> {
        let row = self.next()?;
        let (front, rest) = bytes.split_at_checked(row.bytes.len())?;
        (*front == *row.bytes && row.number != 0).then_some((row.number, rest))
    }

    #[inline(always)]
    fn next(&self) -> Option<&Row> {
        self.slots.get(usize::from(self.slots.get(usize::from(self.last))?.next))
    }

    /// Says that the expected row came.
    #[inline(always)]
    pub(super) fn came(&mut self) {
        self.last = self.slots.get(usize::from(self.last)).map_or(0, |row| row.next);
        self.credit = (self.credit + 1).min(MOST_CREDIT);
    }

    /// Takes note of a row that was not expected, or could not be used: the next one is expected to follow it, if it is kept.
    /// Gives the number of a row that is new.
    #[inline(never)]
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Option<u64> {
        self.credit = self.credit.saturating_sub(1);
        if bytes.is_empty() || bytes.len() > MAX_LEN {
            return None;
        }
        let at = slot(bytes);
        let row = self.slots.get_mut(usize::from(at))?;
        let is_known = *row.bytes == *bytes;
        if !is_known {
            // Not each: where all rows differ, keeping them would only cost.
            self.unknown = self.unknown.wrapping_add(1);
            if row.number != 0 && !self.unknown.is_multiple_of(REPLACED_EVERY) {
                return None;
            }
            *row = Row { bytes: bytes.into(), number: NEXT.fetch_add(1, Ordering::Relaxed), next: at };
        }
        // Also where it is known: the visitor may be another one.
        let number = row.number;
        if let Some(last) = self.slots.get_mut(usize::from(self.last)) {
            last.next = at;
        }
        self.last = at;
        Some(number)
    }
}

/// The place of a row.
fn slot(bytes: &[u8]) -> u16 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let rest = rest.iter().fold(bytes.len() as u64, |word, &byte| word << 8 | u64::from(byte));
    let add = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(K);
    let hash = words.iter().fold(K, |hash, word| add(hash, u64::from_le_bytes(*word)));
    (add(hash, rest) >> 48) as u16 % SLOTS as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_come_again_in_the_same_order_are_expected() {
        let mut rows = Rows::default();
        let all: Vec<Vec<u8>> = (0..50u8).map(|n| vec![n; 20 + usize::from(n)]).collect();
        let mut numbers = Vec::new();
        for row in &all {
            assert_eq!(rows.expected(row), None);
            numbers.push(rows.follow(row));
        }
        for _ in 0..3 {
            let mut came = 0;
            for (row, &number) in all.iter().zip(&numbers) {
                let message = [row.as_slice(), b"rest"].concat();
                match rows.expected(&message) {
                    Some((found, rest)) => {
                        assert_eq!((Some(found), rest), (number, &b"rest"[..]));
                        rows.came();
                        came += 1;
                    }
                    None => assert!(rows.follow(row).is_none_or(|found| Some(found) == number)),
                }
            }
            assert!(came > 30, "{came}");
        }
    }

    #[test]
    fn a_number_stands_for_one_row_only() {
        let mut rows = Rows::default();
        let mut known = std::collections::HashMap::new();
        for n in 0..20_000u32 {
            let row = (n % 3_000).to_le_bytes().repeat(5);
            if let Some(number) = rows.follow(&row) {
                assert_eq!(*known.entry(number).or_insert_with(|| row.clone()), row);
            }
        }
        assert!(known.len() > SLOTS / 2);
    }

    #[test]
    fn where_rows_do_not_come_back_few_are_tried() {
        let mut rows = Rows::default();
        let mut tried = 0;
        for n in 0..10_000u32 {
            if rows.is_tried() {
                tried += 1;
                assert_eq!(rows.expected(&n.to_le_bytes()), None);
                rows.follow(&n.to_le_bytes());
            }
        }
        assert!((600..1_000).contains(&tried), "{tried}");
        assert_eq!(rows.follow(&[1; MAX_LEN + 1]), None);
        assert_eq!((rows.follow(b""), rows.expected(b"")), (None, None));
    }
}
