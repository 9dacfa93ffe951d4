//! A bounded single-producer single-consumer queue of records: one a thread, from the thread that ends
//! sections to the background thread. Built of relaxed atomic words between one release and one acquire, so
//! it needs neither locks nor `unsafe`. What a record looks like is the business of `record`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A ring of 64-bit words that holds length-prefixed records.
#[derive(Debug)]
pub(crate) struct Ring {
    words: Box<[AtomicU64]>,
    /// Total words ever written; owned by the producer.
    head: AtomicUsize,
    /// Total words ever read; owned by the consumer.
    tail: AtomicUsize,
}

/// Words that only urgent records (roots of traces) may use, so that a full ring loses children first.
const RESERVE: usize = 512;

impl Ring {
    /// A ring of at least `bytes`; the number of words is rounded up to a power of two.
    pub(crate) fn new(bytes: usize) -> Self {
        let words = (bytes / 8).clamp(4 * RESERVE, 1 << 28).next_power_of_two();
        Self {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }

    /// Writes one record made of two parts; `false` when there is no room. Producer only.
    pub(crate) fn push(&self, first: &[u64], second: &[u64], urgent: bool) -> bool {
        let len = first.len() + second.len();
        let head = self.head.load(Ordering::Relaxed);
        let used = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        let reserve = if urgent { 0 } else { RESERVE };
        if used + len + 1 + reserve > self.words.len() {
            return false;
        }
        let mask = self.words.len() - 1;
        let mut position = head;
        for &word in [len as u64].iter().chain(first).chain(second) {
            if let Some(slot) = self.words.get(position & mask) {
                slot.store(word, Ordering::Relaxed);
            }
            position = position.wrapping_add(1);
        }
        self.head.store(position, Ordering::Release);
        true
    }

    /// Takes the oldest record into `record` (cleared before); `false` when there is none. Consumer only.
    pub(crate) fn pop(&self, record: &mut Vec<u64>) -> bool {
        record.clear();
        let tail = self.tail.load(Ordering::Relaxed);
        let available = self.head.load(Ordering::Acquire).wrapping_sub(tail);
        if available == 0 {
            return false;
        }
        let mask = self.words.len() - 1;
        let word = |offset: usize| {
            self.words.get(tail.wrapping_add(offset) & mask).map_or(0, |slot| slot.load(Ordering::Relaxed))
        };
        let len = usize::try_from(word(0)).unwrap_or(0).min(available - 1);
        record.extend((1..=len).map(word));
        self.tail.store(tail.wrapping_add(len + 1), Ordering::Release);
        true
    }

    /// Share of the ring that is in use, in 1/256.
    pub(crate) fn fill(&self) -> usize {
        let used = self.head.load(Ordering::Relaxed).wrapping_sub(self.tail.load(Ordering::Relaxed));
        used.saturating_mul(256) / self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn records_come_out_as_they_went_in() {
        let ring = Ring::new(0);
        let mut out = Vec::new();
        assert!(!ring.pop(&mut out));
        // Many times around, with lengths that do not divide the ring.
        for round in 0..10_000u64 {
            assert!(ring.push(&[round, 1], &[2; 7], false));
            assert!(ring.push(&[], &[], false));
            assert!(ring.pop(&mut out));
            assert_eq!(out, [&[round, 1][..], &[2; 7]].concat());
            assert!(ring.pop(&mut out));
            assert!(out.is_empty());
        }
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_a_reserve_for_urgent_records() {
        let ring = Ring::new(0);
        let record = [0u64; 15];
        let mut taken = 0;
        while ring.push(&record, &[], false) {
            taken += 1;
        }
        let capacity = 4 * RESERVE;
        assert_eq!(taken, (capacity - RESERVE) / 16);
        let mut urgent = 0;
        while ring.push(&record, &[], true) {
            urgent += 1;
        }
        assert_eq!(taken + urgent, capacity / 16);
    }

    #[test]
    fn nothing_is_lost_or_torn_between_two_threads() {
        let ring = Arc::new(Ring::new(0));
        let producer = {
            let ring = Arc::clone(&ring);
            std::thread::Builder::new()
                .name("producer".into())
                .spawn(move || {
                    for number in 0..200_000u64 {
                        let body = [number; 5];
                        let len = (number % 6) as usize;
                        while !ring.push(&[number], &body[..len], true) {
                            std::thread::yield_now();
                        }
                    }
                })
                .unwrap()
        };
        let mut record = Vec::new();
        let mut expected = 0u64;
        while expected < 200_000 {
            if ring.pop(&mut record) {
                assert_eq!(record.len(), 1 + (expected % 6) as usize);
                assert!(record.iter().all(|&word| word == expected));
                expected += 1;
            } else {
                std::thread::yield_now();
            }
        }
        producer.join().unwrap();
        assert!(!ring.pop(&mut record));
    }
}
