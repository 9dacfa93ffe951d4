//! A bounded single-producer single-consumer queue of records: one a thread, from the thread that ends
//! sections to the background thread. Built of relaxed atomic words between one release and one acquire, so
//! it needs neither locks nor `unsafe`. What a record looks like is the business of `record`.

use crate::config::ring::{Overflow, RING_BYTES, RING_RESERVE_WORDS};
use crate::shared::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::shared::sync::{Slot, Slots, give_back, zeroed_or_fewer};

/// Which room a record may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// What the policy leaves out first.
    Plain,
    /// All but the reserve.
    Kept,
    /// The reserve, too, so that a full ring loses children before roots of traces.
    Urgent,
}

/// A ring of 64-bit words that holds length-prefixed records.
#[derive(Debug)]
pub(crate) struct Ring {
    words: Slots,
    /// Words that plain records leave free; where the oldest go, all of them, so that no record finds room by itself.
    reserve: usize,
    /// New records take the place of the oldest.
    overwrites: bool,
    producer: Producer,
    consumer: Consumer,
}

/// Written by the producer; on cache lines of its own, as is the consumer's, so that neither takes the other's
/// away with every record.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Producer {
    /// Total words ever written.
    head: AtomicUsize,
    /// The consumer's tail when the producer looked last; only the producer uses it.
    known_tail: AtomicUsize,
}

/// Written by the consumer.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Consumer {
    /// Total words ever read.
    tail: AtomicUsize,
}

/// Room in a ring that its producer writes to.
#[derive(Debug)]
#[must_use = "what is not published was not written"]
pub(crate) struct Reserved {
    /// The head once it is written.
    next: usize,
}

impl Ring {
    /// A ring of at least `bytes`, within [`RING_BYTES`]; the number of words is rounded up to a power of two.
    pub(crate) fn new(bytes: usize, overflow: Overflow) -> Self {
        let words =
            zeroed_or_fewer((bytes.clamp(*RING_BYTES.start(), *RING_BYTES.end()) / 8).next_power_of_two());
        let reserve = match overflow {
            Overflow::DropNewest => RING_RESERVE_WORDS,
            Overflow::KeepSteps => words.len() / 2,
            Overflow::DropOldest => words.len(),
        };
        let overwrites = overflow == Overflow::DropOldest;
        Self { words, reserve, overwrites, producer: Producer::default(), consumer: Consumer::default() }
    }

    fn fits(&self, head: usize, tail: usize, len: usize, reserve: usize) -> bool {
        head.wrapping_sub(tail) + len + 1 + reserve <= self.words.len()
    }

    /// Where the producer writes next, if a record of `len` words has room.
    #[inline]
    fn room(&self, len: usize, rank: Rank) -> Option<usize> {
        let head = self.producer.head.load(Ordering::Relaxed);
        // Where even a plain record has room, the rank is not looked at.
        let has_room = self.fits(head, self.producer.known_tail.load(Ordering::Relaxed), len, self.reserve);
        (has_room || self.look_for_room(head, len, rank)).then_some(head)
    }

    #[cold]
    fn look_for_room(&self, head: usize, len: usize, rank: Rank) -> bool {
        if self.overwrites {
            return false;
        }
        let tail = self.consumer.tail.load(Ordering::Acquire);
        self.producer.known_tail.store(tail, Ordering::Relaxed);
        let reserve = match rank {
            Rank::Plain => self.reserve,
            Rank::Kept => RING_RESERVE_WORDS,
            Rank::Urgent => 0,
        };
        self.fits(head, tail, len, reserve)
    }

    /// Writes one record made of two parts; `false` when there is no room. Producer only.
    pub(crate) fn push(&self, first: &[u64], second: &[u64], rank: Rank) -> bool {
        let len = first.len() + second.len();
        let Some(head) = self.room(len, rank) else { return false };
        let mut position = self.write(head, &[len as u64]);
        position = self.write(position, first);
        position = self.write(position, second);
        self.producer.head.store(position, Ordering::Release);
        true
    }

    /// Room for one record of `len` words in one piece, all of which are to be written before it is
    /// [published](Self::publish); `None` where there is none (then [`push`](Self::push) may find some). Producer only.
    #[inline(always)]
    pub(crate) fn reserve(&self, len: usize, rank: Rank) -> Option<(&[Slot], Reserved)> {
        let head = self.room(len, rank)?;
        let start = head & (self.words.len() - 1);
        let [length, slots @ ..] = self.words.get(start..)?.get(..len + 1)? else { return None };
        length.store(len as u64, Ordering::Relaxed);
        Some((slots, Reserved { next: head.wrapping_add(len + 1) }))
    }

    /// Hands the record that was written where it says to the consumer. Producer only.
    #[inline(always)]
    pub(crate) fn publish(&self, reserved: Reserved) {
        self.producer.head.store(reserved.next, Ordering::Release);
    }

    /// Whether records come in by [`push_over`](Self::push_over).
    pub(crate) fn overwrites(&self) -> bool {
        self.overwrites
    }

    /// Writes one record made of two parts, with a number that comes out with it, in the place of as many of the oldest as it
    /// takes; how many these were, or `None` for a record that is longer than the ring. Producer only.
    ///
    /// Both sides move the tail, by compare and exchange: who moves it over a record has taken that record. The consumer
    /// copies first and takes then, so that what it copied while it was overwritten is never taken.
    pub(crate) fn push_over(&self, number: u32, first: &[u64], second: &[u64]) -> Option<u64> {
        let len = first.len() + second.len();
        if len + 1 > self.words.len() {
            return None;
        }
        let head = self.producer.head.load(Ordering::Relaxed);
        let mut dropped = 0;
        if !self.fits(head, self.producer.known_tail.load(Ordering::Relaxed), len, 0) {
            let mut tail = self.consumer.tail.load(Ordering::Acquire);
            while !self.fits(head, tail, len, 0) {
                // Its length is a word that this thread wrote.
                let next = tail.wrapping_add(record_len(self.word(tail)) + 1);
                let taken =
                    self.consumer.tail.compare_exchange(tail, next, Ordering::AcqRel, Ordering::Acquire);
                dropped += u64::from(taken.is_ok());
                tail = taken.map_or_else(|now| now, |_| next);
            }
            self.producer.known_tail.store(tail, Ordering::Relaxed);
            // Who sees a word that is written from here on sees that the tail has moved.
            fence(Ordering::Release);
        }
        let mut position = self.write(head, &[u64::from(number) << 32 | len as u64]);
        position = self.write(position, first);
        position = self.write(position, second);
        self.producer.head.store(position, Ordering::Release);
        Some(dropped)
    }

    fn word(&self, position: usize) -> u64 {
        self.words.get(position & (self.words.len() - 1)).map_or(0, |slot| slot.load(Ordering::Relaxed))
    }

    /// Stores words from `position` on, around the end; the position behind them.
    fn write(&self, position: usize, words: &[u64]) -> usize {
        let (wrapped, rest) = self.words.split_at(position & (self.words.len() - 1));
        // What does not fit before the end goes on at the beginning.
        let (now, later) = words.split_at(words.len().min(rest.len()));
        rest.iter().zip(now).for_each(|(slot, &word)| slot.store(word, Ordering::Relaxed));
        wrapped.iter().zip(later).for_each(|(slot, &word)| slot.store(word, Ordering::Relaxed));
        position.wrapping_add(words.len())
    }

    /// Up to where records were written so far; for [`pop_before`](Self::pop_before).
    pub(crate) fn end(&self) -> usize {
        self.producer.head.load(Ordering::Acquire)
    }

    /// Takes the oldest record, as [`pop_before`](Self::pop_before) does, of all that were written so far. Consumer only.
    pub(crate) fn pop(&self, record: &mut Vec<u64>) -> Option<u32> {
        self.pop_before(self.end(), record)
    }

    /// Takes the oldest record into `record` (cleared before) and gives the number that went in with it; `None` when all that
    /// was written before `end` is gone. Who asks until then is done in time, however fast more is written. Consumer only.
    pub(crate) fn pop_before(&self, end: usize, record: &mut Vec<u64>) -> Option<u32> {
        loop {
            record.clear();
            let tail = self.consumer.tail.load(Ordering::Acquire);
            let available = end.wrapping_sub(tail);
            // Where the producer moves the tail, it may be beyond the end; no ring holds as much as that.
            if available == 0 || available > self.words.len() {
                return None;
            }
            let header = self.word(tail);
            let len = record_len(header).min(available - 1);
            self.copy(tail.wrapping_add(1), len, record);
            let next = tail.wrapping_add(len + 1);
            if !self.overwrites {
                self.consumer.tail.store(next, Ordering::Release);
                return Some((header >> 32) as u32);
            }
            // What was copied above was read before the tail is looked at again.
            fence(Ordering::Acquire);
            let taken = self.consumer.tail.compare_exchange(tail, next, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_ok() {
                return Some((header >> 32) as u32);
            }
        }
    }

    /// Adds `len` words from `position` on, around the end.
    fn copy(&self, position: usize, len: usize, record: &mut Vec<u64>) {
        let (wrapped, rest) = self.words.split_at(position & (self.words.len() - 1));
        let (now, later) = (rest.iter().take(len), wrapped.iter().take(len.saturating_sub(rest.len())));
        record.extend(now.map(|slot| slot.load(Ordering::Relaxed)));
        record.extend(later.map(|slot| slot.load(Ordering::Relaxed)));
    }

    /// Nothing is taken out any more, and what is still written is lost: its memory goes back to the system, however long its
    /// thread keeps the ring.
    pub(crate) fn give_back(&self) {
        give_back(&self.words);
    }

    /// Share of the ring that is in use, in 1/256.
    pub(crate) fn fill(&self) -> usize {
        let tail = self.consumer.tail.load(Ordering::Relaxed);
        let used = self.producer.head.load(Ordering::Relaxed).wrapping_sub(tail);
        used.saturating_mul(256) / self.words.len()
    }
}

/// Of the first word of a record.
fn record_len(header: u64) -> usize {
    (header & u64::from(u32::MAX)) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn records_come_out_as_they_went_in() {
        let ring = Ring::new(0, Overflow::DropNewest);
        let mut out = Vec::new();
        assert!(ring.pop(&mut out).is_none());
        // Many times around, with lengths that do not divide the ring.
        for round in 0..10_000u64 {
            assert!(ring.push(&[round, 1], &[2; 7], Rank::Kept));
            assert!(ring.push(&[], &[], Rank::Kept));
            assert!(ring.pop(&mut out).is_some());
            assert_eq!(out, [&[round, 1][..], &[2; 7]].concat());
            assert!(ring.pop(&mut out).is_some());
            assert!(out.is_empty());
        }
    }

    #[test]
    fn what_comes_after_an_end_is_left_for_the_next_one() {
        for overflow in [Overflow::DropNewest, Overflow::DropOldest] {
            let ring = Ring::new(0, overflow);
            let push = |number: u64| match overflow {
                Overflow::DropOldest => ring.push_over(0, &[number], &[]).is_some(),
                _ => ring.push(&[number], &[], Rank::Kept),
            };
            let mut out = Vec::new();
            assert!(ring.pop_before(ring.end(), &mut out).is_none());
            assert!(push(0) && push(1));
            let end = ring.end();
            for number in 0..2 {
                // As fast as they are taken.
                assert!(push(2 + number) && ring.pop_before(end, &mut out).is_some());
                assert_eq!(out, [number]);
            }
            assert!(ring.pop_before(end, &mut out).is_none());
            assert_eq!(ring.pop(&mut out).map(|_| out[0]), Some(2), "{overflow:?}");
        }
        // Newer ones have taken the place of all that were there.
        let ring = Ring::new(0, Overflow::DropOldest);
        ring.push_over(0, &[0], &[]).unwrap();
        let end = ring.end();
        (0..4 * RING_RESERVE_WORDS as u64)
            .for_each(|number| assert!(ring.push_over(1, &[number], &[]).is_some()));
        let mut out = Vec::new();
        assert_eq!((ring.pop_before(end, &mut out), ring.pop(&mut out)), (None, Some(1)));
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_a_reserve_for_urgent_records() {
        let ring = Ring::new(0, Overflow::DropNewest);
        let record = [0u64; 15];
        let mut taken = 0;
        while ring.push(&record, &[], Rank::Kept) {
            taken += 1;
        }
        let capacity = 4 * RING_RESERVE_WORDS;
        assert_eq!(taken, (capacity - RING_RESERVE_WORDS) / 16);
        let mut urgent = 0;
        while ring.push(&record, &[], Rank::Urgent) {
            urgent += 1;
        }
        assert_eq!(taken + urgent, capacity / 16);
    }

    #[test]
    fn what_may_be_left_out_has_half_of_the_room_where_steps_are_kept() {
        let ring = Ring::new(0, Overflow::KeepSteps);
        let count =
            |rank| std::iter::repeat_with(|| ring.push(&[0; 15], &[], rank)).take_while(|&is| is).count();
        let records = 4 * RING_RESERVE_WORDS / 16;
        assert_eq!(count(Rank::Plain), records / 2);
        assert_eq!(count(Rank::Kept), records / 4);
        assert_eq!((count(Rank::Plain), count(Rank::Urgent)), (0, records / 4));
        // In place, too, and again as soon as half of it is free.
        let in_place = |rank| ring.reserve(15, rank).map(|(_, reserved)| ring.publish(reserved)).is_some();
        let mut out = Vec::new();
        (0..records / 2).for_each(|_| assert!(!in_place(Rank::Plain) && ring.pop(&mut out).is_some()));
        assert!(!in_place(Rank::Plain) && ring.pop(&mut out).is_some() && in_place(Rank::Plain));
    }

    #[test]
    fn where_the_oldest_go_the_newest_are_there() {
        let ring = Ring::new(0, Overflow::DropOldest);
        let mut out = Vec::new();
        // No other way leads into it.
        assert!(!ring.push(&[1], &[], Rank::Urgent) && ring.reserve(1, Rank::Kept).is_none());
        assert_eq!(ring.push_over(0, &[0; 4 * RING_RESERVE_WORDS], &[]), None, "longer than the ring");
        let mut dropped = 0;
        for number in 0..1_000u32 {
            let words = [u64::from(number); 5];
            let len = (number % 6) as usize;
            dropped += ring.push_over(number, &[u64::from(number)], &words[..len]).unwrap();
        }
        // Of 1 + 1 + 2.5 words on average as many as there is room for, and no more room than for one is left.
        let mut used = 0;
        for number in dropped as u32..1_000 {
            assert_eq!(ring.pop(&mut out), Some(number));
            assert_eq!(out, vec![u64::from(number); 1 + (number % 6) as usize]);
            used += out.len() + 1;
        }
        assert_eq!(ring.pop(&mut out), None);
        assert!((4 * RING_RESERVE_WORDS - 7..=4 * RING_RESERVE_WORDS).contains(&used), "{used}");
    }

    #[test]
    fn what_is_overwritten_while_it_is_read_is_not_taken() {
        const RECORDS: u32 = 300_000;
        let ring = Arc::new(Ring::new(0, Overflow::DropOldest));
        let producer = {
            let ring = Arc::clone(&ring);
            std::thread::Builder::new()
                .name("producer".into())
                .spawn(move || {
                    let push = |number: u32| {
                        let body = [u64::from(number); 40];
                        ring.push_over(number, &body[..1], &body[..(number % 40) as usize]).unwrap()
                    };
                    (0..RECORDS).map(push).sum::<u64>()
                })
                .unwrap()
        };
        let mut record = Vec::new();
        let (mut taken, mut next) = (0, 0);
        while next < RECORDS {
            let Some(number) = ring.pop(&mut record) else {
                std::thread::yield_now();
                continue;
            };
            assert!(number >= next, "{number} after {next}");
            assert_eq!(record, vec![u64::from(number); 1 + (number % 40) as usize]);
            (taken, next) = (taken + 1, number + 1);
        }
        assert_eq!(taken + producer.join().unwrap(), u64::from(RECORDS));
    }

    #[test]
    fn nothing_is_lost_or_torn_between_two_threads() {
        let ring = Arc::new(Ring::new(0, Overflow::DropNewest));
        let producer = {
            let ring = Arc::clone(&ring);
            std::thread::Builder::new()
                .name("producer".into())
                .spawn(move || {
                    for number in 0..200_000u64 {
                        let body = [number; 5];
                        let len = (number % 6) as usize;
                        while !ring.push(&[number], &body[..len], Rank::Urgent) {
                            std::thread::yield_now();
                        }
                    }
                })
                .unwrap()
        };
        let mut record = Vec::new();
        let mut expected = 0u64;
        while expected < 200_000 {
            if ring.pop(&mut record).is_some() {
                assert_eq!(record.len(), 1 + (expected % 6) as usize);
                assert!(record.iter().all(|&word| word == expected));
                expected += 1;
            } else {
                std::thread::yield_now();
            }
        }
        producer.join().unwrap();
        assert!(ring.pop(&mut record).is_none());
    }
}
