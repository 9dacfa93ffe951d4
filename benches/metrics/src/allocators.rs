//! How long glibc takes to tell its figures, while its arenas are locked one after the other: by arenas, and by the blocks
//! that are free in them, which it counts one by one.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Duration;

use crate::{of, timed};

const READINGS: usize = 200;
/// Free ones of this size are kept in lists.
const BLOCK: usize = 2_000;

fn readings() -> Duration {
    let mut times: Vec<Duration> = (0..READINGS)
        .map(|_| {
            timed(|| {
                // SAFETY: no preconditions.
                black_box(unsafe { libc::mallinfo2() });
            })
        })
        .collect();
    of(&mut times).0
}

/// Prints the times.
pub(crate) fn compare() {
    for (threads, blocks) in [(1, 0), (1, 1_000), (1, 10_000), (1, 100_000), (8, 0), (8, 10_000)] {
        // Each thread has an arena of its own, where there are enough processors.
        let (filled, told) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut all: Vec<Option<Vec<u8>>> =
                        (0..2 * blocks).map(|_| Some(vec![1; BLOCK])).collect();
                    // Every second one: neighbours would become one.
                    all.iter_mut().step_by(2).for_each(|block| *block = None);
                    filled.wait();
                    told.wait();
                    drop(black_box(all));
                });
            }
            filled.wait();
            println!("{threads} threads that hold {blocks} free blocks each: {:?}", readings());
            told.wait();
        });
    }
}
