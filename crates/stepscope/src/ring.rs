//! A bounded single-producer single-consumer queue of records: one a thread, from the thread that ends
//! sections to the background thread. Built of relaxed atomic words between one release and one acquire, so
//! it needs neither locks nor `unsafe`. What a record looks like is the business of `record`.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Slot, zeroed};

/// What a thread leaves out when it ends sections faster than they are taken: for
/// [`Builder::overflow`](crate::Builder::overflow) and `STEPSCOPE_OVERFLOW`. What is left out is counted (`ring_full`), and sums
/// stay exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// What ends while there is no room; a little is kept free for steps and their like (`newest`).
    #[default]
    DropNewest,
    /// Sections without a phase, as soon as half of the room is in use: the rest is for steps, epochs, batches and phases
    /// (`steps`).
    KeepSteps,
}

impl Overflow {
    /// The one of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "newest" => Some(Self::DropNewest),
            "steps" => Some(Self::KeepSteps),
            _ => None,
        }
    }
}

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
    words: Box<[Slot]>,
    /// Words that plain records leave free.
    reserve: usize,
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

/// Words that only urgent records may use.
const RESERVE: usize = if cfg!(loom) { 2 } else { 512 };

impl Ring {
    /// A ring of at least `bytes`; the number of words is rounded up to a power of two.
    pub(crate) fn new(bytes: usize, overflow: Overflow) -> Self {
        let words = (bytes / 8).clamp(4 * RESERVE, 1 << 28).next_power_of_two();
        let reserve = match overflow {
            Overflow::DropNewest => RESERVE,
            Overflow::KeepSteps => words / 2,
        };
        Self { words: zeroed(words), reserve, producer: Producer::default(), consumer: Consumer::default() }
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
        let tail = self.consumer.tail.load(Ordering::Acquire);
        self.producer.known_tail.store(tail, Ordering::Relaxed);
        let reserve = match rank {
            Rank::Plain => self.reserve,
            Rank::Kept => RESERVE,
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

    /// Stores words from `position` on, around the end; the position behind them.
    fn write(&self, position: usize, words: &[u64]) -> usize {
        let (wrapped, rest) = self.words.split_at(position & (self.words.len() - 1));
        // What does not fit before the end goes on at the beginning.
        let (now, later) = words.split_at(words.len().min(rest.len()));
        rest.iter().zip(now).for_each(|(slot, &word)| slot.store(word, Ordering::Relaxed));
        wrapped.iter().zip(later).for_each(|(slot, &word)| slot.store(word, Ordering::Relaxed));
        position.wrapping_add(words.len())
    }

    /// Takes the oldest record into `record` (cleared before); `false` when there is none. Consumer only.
    pub(crate) fn pop(&self, record: &mut Vec<u64>) -> bool {
        record.clear();
        let tail = self.consumer.tail.load(Ordering::Relaxed);
        let available = self.producer.head.load(Ordering::Acquire).wrapping_sub(tail);
        if available == 0 {
            return false;
        }
        let mask = self.words.len() - 1;
        let word = |offset: usize| {
            self.words.get(tail.wrapping_add(offset) & mask).map_or(0, |slot| slot.load(Ordering::Relaxed))
        };
        let len = usize::try_from(word(0)).unwrap_or(0).min(available - 1);
        record.extend((1..=len).map(word));
        self.consumer.tail.store(tail.wrapping_add(len + 1), Ordering::Release);
        true
    }

    /// Share of the ring that is in use, in 1/256.
    pub(crate) fn fill(&self) -> usize {
        let tail = self.consumer.tail.load(Ordering::Relaxed);
        let used = self.producer.head.load(Ordering::Relaxed).wrapping_sub(tail);
        used.saturating_mul(256) / self.words.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn records_come_out_as_they_went_in() {
        let ring = Ring::new(0, Overflow::DropNewest);
        let mut out = Vec::new();
        assert!(!ring.pop(&mut out));
        // Many times around, with lengths that do not divide the ring.
        for round in 0..10_000u64 {
            assert!(ring.push(&[round, 1], &[2; 7], Rank::Kept));
            assert!(ring.push(&[], &[], Rank::Kept));
            assert!(ring.pop(&mut out));
            assert_eq!(out, [&[round, 1][..], &[2; 7]].concat());
            assert!(ring.pop(&mut out));
            assert!(out.is_empty());
        }
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_a_reserve_for_urgent_records() {
        let ring = Ring::new(0, Overflow::DropNewest);
        let record = [0u64; 15];
        let mut taken = 0;
        while ring.push(&record, &[], Rank::Kept) {
            taken += 1;
        }
        let capacity = 4 * RESERVE;
        assert_eq!(taken, (capacity - RESERVE) / 16);
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
        let records = 4 * RESERVE / 16;
        assert_eq!(count(Rank::Plain), records / 2);
        assert_eq!(count(Rank::Kept), records / 4);
        assert_eq!((count(Rank::Plain), count(Rank::Urgent)), (0, records / 4));
        // In place, too, and again as soon as half of it is free.
        let in_place = |rank| ring.reserve(15, rank).map(|(_, reserved)| ring.publish(reserved)).is_some();
        let mut out = Vec::new();
        (0..records / 2).for_each(|_| assert!(!in_place(Rank::Plain) && ring.pop(&mut out)));
        assert!(!in_place(Rank::Plain) && ring.pop(&mut out) && in_place(Rank::Plain));
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
