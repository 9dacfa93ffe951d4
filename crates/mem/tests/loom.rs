//! Models of what threads share without locks in the table of live samples: every order in which the writes of one become visible
//! to the others. Run by `cargo xtask test loom`; empty otherwise.
#![cfg(loom)]

#[path = "../src/live/bucket.rs"]
mod bucket;

mod sync {
    pub(crate) use loom::sync::atomic;
}

/// Where the bucket finds what it keeps.
mod live {
    pub(crate) use crate::{Context, Stack};
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    pub section: u32,
    pub step: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stack(pub(crate) u32);

use bucket::{Bucket, Chosen};
use loom::sync::Arc;
use loom::thread;

/// A block all of whose figures are one number.
fn block(number: u32) -> Chosen {
    let wide = u64::from(number);
    let context = Context { section: number, step: wide };
    Chosen { size: wide, period: wide, context, thread: number, stack: Some(Stack(number)) }
}

#[test]
fn who_reads_meanwhile_sees_a_block_whole_or_not_at_all() {
    // Of every order 700,000; with at most three switches away from a thread that could go on, seconds.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let bucket = Arc::new(Bucket::new());
        let writer = {
            let bucket = Arc::clone(&bucket);
            thread::spawn(move || {
                assert!(bucket.insert(64, &block(1)));
                assert_eq!(bucket.remove(64), Some(block(1)));
                assert!(bucket.insert(64, &block(2)));
            })
        };
        let mut seen = Vec::new();
        bucket.each(|chosen| seen.push(*chosen));
        assert!(seen.is_empty() || seen == [block(1)] || seen == [block(2)], "{seen:?}");
        writer.join().unwrap();
        let mut last = Vec::new();
        bucket.each(|chosen| last.push(*chosen));
        assert_eq!(last, [block(2)]);
    });
}

#[test]
fn of_two_that_want_the_last_slot_one_gets_it() {
    loom::model(|| {
        let bucket = Arc::new(Bucket::new());
        let insert = |address: usize, number: u32| {
            let bucket = Arc::clone(&bucket);
            thread::spawn(move || {
                let is_in = bucket.insert(address, &block(number));
                is_in && bucket.remove(address) == Some(block(number))
            })
        };
        let threads = [insert(64, 1), insert(128, 2)];
        let done = threads.map(|thread| thread.join().unwrap());
        assert!(done.contains(&true));
        bucket.each(|chosen| panic!("{chosen:?} stayed"));
    });
}
