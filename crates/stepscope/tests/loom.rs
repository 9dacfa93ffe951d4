//! Models of what a recording thread and the background thread share: every order in which the writes of one become
//! visible to the other. Run by `cargo xtask test loom`; empty otherwise.
#![cfg(loom)]

#[path = "../src/shared/aggregate.rs"]
#[expect(dead_code, reason = "the models use a part of it")]
mod aggregate;
#[path = "../src/hot/pending_children.rs"]
mod pending_children;
#[path = "../src/shared/ring.rs"]
#[expect(dead_code, reason = "the models use a part of it")]
mod ring;
#[path = "../src/config/ring.rs"]
#[expect(dead_code, unreachable_pub, reason = "the models use a part of it, and export nothing")]
mod ring_settings;
#[path = "../src/shared/sequence.rs"]
mod sequence;

/// Nothing counts allocations here.
mod os {
    pub(crate) mod memory {
        pub(crate) fn own_call() {}
    }
}

/// Where the modules above find each other.
mod config {
    pub(crate) use crate::ring_settings as ring;
}
mod shared {
    pub(crate) use crate::{sequence, sync};
}

/// What the modules above are made of, here.
mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic;

    use atomic::{AtomicU64, Ordering};
    use loom::cell::UnsafeCell;

    /// A word that complains when it is written while somebody else may still read it, or the other way round: a
    /// relaxed load alone would not show that a place was given back too early.
    #[derive(Debug)]
    pub(crate) struct Slot {
        word: AtomicU64,
        /// Absent where a word may be overwritten while it is read.
        access: Option<UnsafeCell<()>>,
    }

    std::thread_local! {
        /// Whether rings that are made from now on are of the kind that overwrites.
        pub(crate) static OVERWRITES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    impl Slot {
        pub(crate) fn new(word: u64) -> Self {
            let access = (!OVERWRITES.get()).then(|| UnsafeCell::new(()));
            Self { word: AtomicU64::new(word), access }
        }

        pub(crate) fn load(&self, ordering: Ordering) -> u64 {
            if let Some(access) = &self.access {
                access.with(|_| ());
            }
            self.word.load(ordering)
        }

        pub(crate) fn store(&self, word: u64, ordering: Ordering) {
            if let Some(access) = &self.access {
                access.with_mut(|_| ());
            }
            self.word.store(word, ordering);
        }
    }

    pub(crate) type Slots = Box<[Slot]>;

    pub(crate) fn zeroed_or_fewer(words: usize) -> Slots {
        (0..words).map(|_| Slot::new(0)).collect()
    }

    pub(crate) fn give_back(_: &Slots) {}
}

use aggregate::{Aggregates, Ended, Sums};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use pending_children::PendingChildren;
use ring::{Rank, Ring};
use ring_settings::Overflow;

/// Tries all orders with so many switches that the scheduler makes by itself; waiting and ending come on top.
fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// Takes one record; it is whole, and the next one.
fn take(ring: &Ring, next: &mut u64) -> bool {
    let mut record = Vec::new();
    let is_there = ring.pop(&mut record).is_some();
    if is_there {
        assert_eq!(record, vec![*next; 1 + (*next % 2) as usize]);
        *next += 1;
    }
    is_there
}

/// Alternately as a root is written and as a simple section is.
fn write(ring: &Ring, number: u64) -> bool {
    let words = [number; 2];
    let words = &words[..1 + (number % 2) as usize];
    match number % 3 {
        0 => ring.push(words, &[], Rank::Urgent),
        1 => match ring.reserve(words.len(), Rank::Plain) {
            Some((slots, reserved)) => {
                slots.iter().for_each(|slot| slot.store(number, Ordering::Relaxed));
                ring.publish(reserved);
                true
            }
            None => false,
        },
        _ => ring.push(&words[..1], &words[1..], Rank::Kept),
    }
}

#[test]
fn records_arrive_whole_in_order_and_none_is_lost_without_a_word() {
    records_arrive_whole(Overflow::DropNewest);
    records_arrive_whole(Overflow::KeepSteps);
}

fn records_arrive_whole(overflow: Overflow) {
    model(4, move || {
        // Eight words for records of two and three: the fourth goes around the end, and may find no room.
        let ring = Arc::new(Ring::new(0, overflow));
        let consumer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                let mut next = 0;
                // So often, whether something is there or not.
                (0..3).for_each(|_| {
                    take(&ring, &mut next);
                });
                next
            })
        };
        let mut written = 0;
        (0..5).for_each(|_| written += u64::from(write(&ring, written)));
        let mut next = consumer.join().unwrap();
        while take(&ring, &mut next) {}
        assert_eq!(next, written);
    });
}

/// Where the oldest go, what comes out is whole and in order, and what does not was counted. (Writes of one thread are tried
/// in their order, so that this shows that the tail must be taken by an exchange, and not that the fences are needed.)
#[test]
fn what_is_overwritten_is_counted_and_never_taken() {
    model(3, || {
        sync::OVERWRITES.set(true);
        // Eight words for records of two and three.
        let ring = Arc::new(Ring::new(0, Overflow::DropOldest));
        sync::OVERWRITES.set(false);
        let pop = |ring: &Ring, next: &mut u64| {
            let mut record = Vec::new();
            let number = ring.pop(&mut record)?;
            assert!(u64::from(number) >= *next, "{number} after {next}");
            assert_eq!(record, vec![u64::from(number) + 1; 1 + (number % 2) as usize]);
            *next = u64::from(number) + 1;
            Some(())
        };
        let consumer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                let mut next = 0;
                let taken = (0..2).filter(|_| pop(&ring, &mut next).is_some()).count() as u64;
                (taken, next)
            })
        };
        let mut dropped = 0;
        for number in 0..5u32 {
            let words = [u64::from(number) + 1; 2];
            dropped += ring.push_over(number, &words[..1 + (number % 2) as usize], &[]).unwrap();
        }
        let (mut taken, mut next) = consumer.join().unwrap();
        while pop(&ring, &mut next).is_some() {
            taken += 1;
        }
        assert_eq!((taken + dropped, next), (5, 5));
    });
}

/// Two sections of one path, of 5 and of 6 ns.
const ENDED: [Ended; 2] = [ended(5), ended(6)];

const fn ended(duration_ns: u64) -> Ended {
    Ended { duration_ns, collapsed: false, self_busy_ns: 1 }
}

/// With the first section in it twice. (What makes room for a path, and for buckets once a second one comes, is not
/// modelled: the standard library's locks are not the model's.)
fn aggregates() -> Aggregates {
    let aggregates = Aggregates::new();
    (0..2).for_each(|_| aggregates.record(1, &ENDED[0], None));
    aggregates
}

/// A reader sees the first two or all, never a half.
fn is_whole(sums: &Sums) -> bool {
    let (moments, count) = (&sums.moments, sums.moments.count);
    let expected = if count == 2 { (10, 50, 5) } else { (16, 86, 6) };
    (moments.sum, moments.sum_of_squares, moments.max) == expected
        && sums.histogram.count() == count
        && sums.self_busy_ns == u128::from(count)
}

#[test]
fn sums_are_read_whole_while_they_are_written() {
    model(3, || {
        let aggregates = Arc::new(aggregates());
        let reader = {
            let aggregates = Arc::clone(&aggregates);
            thread::spawn(move || {
                aggregates.for_each(|_, sums| assert!(sums.is_none_or(|sums| is_whole(&sums)), "torn"));
            })
        };
        aggregates.record(1, &ENDED[1], None);
        reader.join().unwrap();
    });
}

#[test]
fn sums_of_an_owner_that_hardly_pauses_hold_what_they_count() {
    model(1, || {
        let aggregates = Arc::new(aggregates());
        let reader = {
            let aggregates = Arc::clone(&aggregates);
            thread::spawn(move || {
                aggregates.for_each_nearly(|sums| {
                    let Some(Sums { moments, histogram, .. }) = sums else { return };
                    assert!(histogram.count() >= moments.count, "a bucket that its count was without");
                    let (of_first, more) = (moments.count.min(2), moments.count.saturating_sub(2));
                    assert_eq!(moments.sum, u128::from(5 * of_first + 6 * more));
                });
            })
        };
        (0..2).for_each(|_| aggregates.record(1, &ENDED[1], None));
        reader.join().unwrap();
    });
}

#[test]
fn what_a_thread_leaves_when_it_ends_is_complete() {
    model(3, || {
        let shared = Arc::new((Ring::new(0, Overflow::DropNewest), aggregates(), AtomicBool::new(false)));
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (ring, aggregates, retired) = &*shared;
                // As the background thread does: after this was set nothing more comes.
                let retired = retired.load(Ordering::Acquire);
                let (end, mut record, mut next) = (ring.end(), Vec::new(), 0);
                while ring.pop_before(end, &mut record).is_some() {
                    assert_eq!(record, [next; 1]);
                    next += 1;
                }
                if retired {
                    let mut count = 0;
                    aggregates.for_each(|_, sums| count = sums.map_or(0, |sums| sums.moments.count));
                    assert_eq!((next, count), (1, 3));
                }
            })
        };
        let (ring, aggregates, retired) = &*shared;
        aggregates.record(1, &ENDED[1], None);
        assert!(write(ring, 0));
        retired.store(true, Ordering::Release);
        reader.join().unwrap();
    });
}

/// A record that who ends it has alone.
#[derive(Default)]
struct Record {
    children: PendingChildren,
    used: UnsafeCell<()>,
}

#[test]
fn whoever_is_the_last_ends_a_record_once_and_alone() {
    model(3, || {
        let record = Arc::new(Record::default());
        record.children.add();
        record.children.add();
        let last = |record: &Record, is_last: &dyn Fn(&PendingChildren) -> bool| {
            record.used.with(|_| ());
            let is_last = is_last(&record.children);
            if is_last {
                // Complains of whoever uses it at the same time, or was not seen to have done with it.
                record.used.with_mut(|_| ());
            }
            u32::from(is_last)
        };
        let releases: Vec<_> = (0..2)
            .map(|_| {
                let record = Arc::clone(&record);
                thread::spawn(move || last(&record, &PendingChildren::release))
            })
            .collect();
        let ended = last(&record, &PendingChildren::end);
        let ended = releases.into_iter().fold(ended, |ended, release| ended + release.join().unwrap());
        assert_eq!(ended, 1);
        assert!(record.children.are_none());
    });
}
