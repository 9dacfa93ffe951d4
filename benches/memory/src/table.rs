//! How much memory the table of live samples takes: what the process has resident more when blocks are remembered than when as
//! many are not.

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;

use stepscope_mem::live;

use crate::ALLOC;

/// Samples, and different stacks that they come from: few, and as many as there is room for.
pub const ROWS: [(usize, u32); 6] =
    [(0, 1), (1_000, 100), (10_000, 100), (10_000, 10_000), (65_536, 100), (65_536, 1 << 14)];

/// Allocates at the end of a stack of its own for each number: each bit says by which of two functions it goes on.
#[inline(never)]
fn at(number: u32, bits: u32) -> *mut u8 {
    if bits == 0 {
        // SAFETY: the size is not 0.
        return unsafe { ALLOC.alloc(Layout::new::<u64>()) };
    }
    if number & 1 == 0 { even(number >> 1, bits - 1) } else { odd(number >> 1, bits - 1) }
}

/// Differs from [`odd`], so that the compiler keeps both.
#[inline(never)]
fn even(number: u32, bits: u32) -> *mut u8 {
    black_box((at(number, bits), 1_u8)).0
}

#[inline(never)]
fn odd(number: u32, bits: u32) -> *mut u8 {
    black_box((at(number, bits), 2_u16)).0
}

/// Bytes that are resident.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<usize>().unwrap() * 1_024
}

/// How much more is resident after so many blocks.
fn grown(blocks: usize, stacks: u32) -> usize {
    let before = resident_bytes();
    for number in 0..blocks as u32 {
        black_box(at(number % stacks, 14));
    }
    resident_bytes() - before
}

/// One row, as a process does it that does nothing else.
pub fn row(samples: usize, stacks: u32) {
    // All code and all of the stack have been used.
    grown(1_000, stacks);
    let without = grown(samples, stacks);
    let start = resident_bytes();
    // Each block is chosen.
    assert!(live::start(1));
    let started = resident_bytes() - start;
    let table = started + grown(samples, stacks) - without;
    let (mut kept, mut numbers) = (0, Vec::new());
    live::samples(|sample| {
        kept += 1;
        numbers.extend(sample.stack.map(live::Stack::number));
    });
    numbers.sort_unstable();
    numbers.dedup();
    println!(
        "{kept:>8} samples of {:>6} stacks: {:6.2} MiB",
        numbers.len(),
        table as f64 / f64::from(1 << 20)
    );
}
