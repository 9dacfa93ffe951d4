//! Counts of one thread against sequences whose bytes are known by hand. What the whole process counts is in
//! `process.rs`, peaks are in `peaks.rs`.
#![expect(clippy::unwrap_used, reason = "the helper is test code")]

use std::hint::black_box;
use stepscope_mem::{Alloc, Counters, peak_enter, peak_exit, set_aside, thread_counters};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

fn counted(work: impl FnOnce()) -> Counters {
    let before = thread_counters().unwrap();
    work();
    thread_counters().unwrap().since(&before)
}

const fn expected(allocated_bytes: u64, freed_bytes: u64, allocs: u64, frees: u64) -> Counters {
    Counters { allocated_bytes, freed_bytes, allocs, frees }
}

#[test]
fn nothing_costs_nothing() {
    assert_eq!(counted(|| ()), expected(0, 0, 0, 0));
}

#[test]
fn a_box_is_one_allocation() {
    assert_eq!(counted(|| drop(black_box(Box::new([7u8; 100])))), expected(100, 100, 1, 1));
}

#[test]
fn a_growing_vector_is_freed_and_allocated_again() {
    let counts = counted(|| {
        let mut vector = Vec::<u32>::with_capacity(4);
        black_box(&mut vector).reserve_exact(10);
        black_box(&mut vector).reserve_exact(1000);
        black_box(&mut vector).shrink_to(5);
    });
    // 4, 10, 1000, 5 numbers of 4 bytes, each freed in its turn.
    assert_eq!(counts, expected(4 * 1019, 4 * 1019, 4, 4));
    assert_eq!(counts.net_bytes(), 0);
}

#[test]
fn what_is_kept_is_net() {
    let mut kept = None;
    let counts = counted(|| kept = Some(black_box(vec![1u64; 50])));
    assert_eq!(counts, expected(400, 0, 1, 0));
    assert_eq!(counts.net_bytes(), 400);
    assert_eq!(counted(|| drop(kept)).net_bytes(), -400);
}

#[test]
fn zeroed_memory_counts_its_size() {
    assert_eq!(counted(|| drop(black_box(vec![0u8; 12_345]))), expected(12_345, 12_345, 1, 1));
}

#[test]
fn over_aligned_memory_counts_its_size_and_not_its_alignment() {
    #[repr(align(4096))]
    struct Page(#[expect(dead_code, reason = "takes space")] [u8; 4096]);
    let counts = counted(|| {
        let pages = black_box(vec![Page([0; 4096]), Page([1; 4096])]);
        assert_eq!(pages.as_ptr().addr() % 4096, 0);
    });
    assert_eq!(counts, expected(8192, 8192, 1, 1));
}

#[test]
fn a_type_without_size_is_not_allocated() {
    assert_eq!(counted(|| drop(black_box(vec![(); 1000]))), expected(0, 0, 0, 0));
}

#[test]
fn a_thread_that_frees_for_another_goes_below_zero() {
    let gift = black_box(vec![1u8; 5000]);
    let mut received = None;
    std::thread::scope(|scope| {
        scope.spawn(|| received = Some(counted(|| drop(gift))));
    });
    assert_eq!(received, Some(expected(0, 5000, 0, 1)));
}

#[test]
fn a_new_thread_starts_at_zero_whoever_counted_in_its_block_before() {
    for _ in 0..50 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The thread's own start-up allocates a little, but never a megabyte.
                assert!(thread_counters().unwrap().allocated_bytes < 1 << 20);
                drop(black_box(vec![1u8; 1 << 20]));
                assert!(thread_counters().unwrap().allocated_bytes >= 1 << 20);
            });
        });
    }
}

#[test]
fn what_is_set_aside_is_in_no_figure() {
    let mut kept = Vec::new();
    let peak = peak_enter();
    let counts = counted(|| {
        let own = black_box(vec![1u8; 100]);
        {
            let _aside = set_aside();
            kept = black_box(vec![1u8; 1 << 20]);
            {
                let _again = set_aside();
                drop(black_box(vec![1u8; 1 << 21]));
            }
            // Still set aside: it nests.
            kept.reserve_exact(1 << 22);
        }
        drop(black_box(vec![1u8; 10]));
        drop(own);
    });
    assert_eq!(counts, expected(110, 110, 2, 2));
    assert_eq!(peak_exit(peak), Some(110));
    assert_eq!(
        counted(|| {
            let _aside = set_aside();
            drop(kept);
        }),
        expected(0, 0, 0, 0)
    );
}

#[test]
fn a_thread_that_ends_while_it_sets_aside_leaves_no_flag_behind() {
    for _ in 0..10 {
        std::thread::scope(|scope| {
            scope.spawn(|| std::mem::forget(set_aside()));
        });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(counted(|| drop(black_box(vec![1u8; 100]))), expected(100, 100, 1, 1));
            });
        });
    }
}
