//! Figures of the whole process: totals over threads that come and go, destructors that allocate while their
//! thread is torn down, resident memory, `fork`. One thread of control, without a harness: nothing else
//! allocates, so totals are exact.
#![expect(unsafe_code, reason = "registers a C destructor and forks")]
#![expect(clippy::unwrap_used, reason = "a test without a harness")]

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Barrier;
use stepscope_mem::{
    Alloc, Counters, SOURCES, live_bytes, peak_rss_bytes, process_counters, process_counters_aside,
    rss_bytes, set_aside, thread_blocks, thread_counters,
};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

fn main() {
    for test in [
        totals_add_up_over_threads,
        what_is_set_aside_is_counted_apart,
        short_threads_share_blocks,
        simultaneous_threads_have_blocks_of_their_own,
        destructors_of_rust_are_counted,
        destructors_of_c_are_counted,
        zeroed_memory_stays_untouched,
        resident_memory_follows_what_is_touched,
        a_forked_child_reads_its_own_memory,
        every_source_can_be_read,
    ] {
        test();
    }
}

/// What the process counts while `work` runs, to the byte.
fn counted(work: impl FnOnce()) -> Counters {
    let before = process_counters().unwrap();
    work();
    process_counters().unwrap().since(&before)
}

/// Runs `work` in a thread and waits for the thread's very end: a scope alone would not wait for destructors.
/// By reference, so that every thread costs the same whatever its work captures.
fn in_thread(work: &mut (dyn FnMut() + Send)) {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap();
}

/// What starting and joining a thread costs by itself, which the standard library decides.
fn cost_of_a_thread() -> Counters {
    in_thread(&mut || ());
    counted(|| in_thread(&mut || ()))
}

fn what_is_set_aside_is_counted_apart() {
    let (live, before) = (live_bytes().unwrap(), process_counters_aside().unwrap());
    let mut kept = Vec::new();
    let counts = counted(|| {
        let _aside = set_aside();
        kept = black_box(vec![1u8; 1000]);
    });
    assert_eq!((counts, live_bytes()), (Counters::default(), Some(live)));
    let aside = process_counters_aside().unwrap().since(&before);
    assert_eq!(aside, Counters { allocated_bytes: 1000, freed_bytes: 0, allocs: 1, frees: 0 });
    let _aside = set_aside();
    drop(kept);
    assert_eq!(process_counters_aside().unwrap().since(&before).net_bytes(), 0);
}

fn totals_add_up_over_threads() {
    let idle = cost_of_a_thread();
    assert_eq!(idle.net_bytes(), 0, "a joined thread leaves nothing behind");
    let live = live_bytes().unwrap();
    let mut kept = None;
    let counts = counted(|| {
        in_thread(&mut || {
            drop(black_box(vec![1u8; 1000]));
            kept = Some(black_box(vec![1u8; 77]));
        });
    });
    assert_eq!(counts.allocated_bytes, idle.allocated_bytes + 1077);
    assert_eq!(counts.freed_bytes, idle.freed_bytes + 1000);
    assert_eq!((counts.allocs, counts.frees), (idle.allocs + 2, idle.frees + 1));
    assert_eq!(live_bytes().unwrap(), live + 77);
    drop(kept);
    assert_eq!(live_bytes().unwrap(), live);
}

fn short_threads_share_blocks() {
    let idle = cost_of_a_thread();
    let blocks = thread_blocks();
    let counts = counted(|| {
        for _ in 0..2_000 {
            in_thread(&mut || drop(black_box(vec![1u8; 100])));
        }
    });
    assert_eq!(thread_blocks(), blocks);
    assert_eq!(counts.allocated_bytes, 2_000 * (idle.allocated_bytes + 100));
    assert_eq!(counts.net_bytes(), 0);
}

fn simultaneous_threads_have_blocks_of_their_own() {
    const THREADS: usize = 40;
    for _ in 0..3 {
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            let start = |thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let before = thread_counters().unwrap();
                    for _ in 0..1_000 {
                        drop(black_box(vec![1u8; thread + 1]));
                    }
                    let inside = thread_counters().unwrap().since(&before);
                    assert_eq!(inside.allocated_bytes, 1_000 * (thread as u64 + 1));
                    assert_eq!((inside.allocs, inside.frees), (1_000, 1_000));
                    barrier.wait();
                })
            };
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        // The main thread's block and theirs; the three rounds share them.
        assert_eq!(thread_blocks(), THREADS + 1);
    }
}

struct AllocatesInDrop;

impl Drop for AllocatesInDrop {
    fn drop(&mut self) {
        let before = thread_counters().unwrap();
        drop(black_box(vec![1u8; 333]));
        let inside = thread_counters().unwrap().since(&before);
        assert_eq!((inside.allocated_bytes, inside.freed_bytes), (333, 333));
    }
}

thread_local! {
    static LATE: RefCell<Option<AllocatesInDrop>> = const { RefCell::new(None) };
}

fn destructors_of_rust_are_counted() {
    in_thread(&mut || LATE.set(None));
    let idle = counted(|| in_thread(&mut || LATE.set(None)));
    let counts = counted(|| in_thread(&mut || LATE.set(Some(AllocatesInDrop))));
    assert_eq!(counts.allocated_bytes, idle.allocated_bytes + 333);
    assert_eq!(counts.freed_bytes, idle.freed_bytes + 333);
}

unsafe extern "C" {
    fn pthread_key_create(key: *mut u32, destructor: Option<extern "C" fn(*mut std::ffi::c_void)>) -> i32;
    fn pthread_setspecific(key: u32, value: *const std::ffi::c_void) -> i32;
    safe fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    safe fn _exit(status: i32) -> !;
}

/// Runs after the thread's block was returned: keys are destroyed in the order of their creation.
extern "C" fn allocates_very_late(_: *mut std::ffi::c_void) {
    if thread_counters().is_some() {
        // Too early to test anything: shows as missing bytes.
        return;
    }
    drop(black_box(vec![1u8; 4_444]));
    drop(black_box(vec![1u8; 1]));
}

fn destructors_of_c_are_counted() {
    let mut key = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { pthread_key_create(&raw mut key, Some(allocates_very_late)) }, 0);
    let idle = cost_of_a_thread();
    let blocks = thread_blocks();
    for _ in 0..100 {
        let counts = counted(|| {
            in_thread(&mut || {
                // SAFETY: the key exists; its value is never read.
                assert_eq!(unsafe { pthread_setspecific(key, std::ptr::dangling()) }, 0);
            });
        });
        assert_eq!(counts.allocated_bytes, idle.allocated_bytes + 4_445);
        assert_eq!(counts.freed_bytes, idle.freed_bytes + 4_445);
        assert_eq!((counts.allocs, counts.frees), (idle.allocs + 2, idle.frees + 2));
    }
    assert_eq!(thread_blocks(), blocks);
}

const MIB: u64 = 1 << 20;

fn zeroed_memory_stays_untouched() {
    let before = rss_bytes().unwrap();
    let memory = black_box(vec![0u8; 64 << 20]);
    assert!(rss_bytes().unwrap() < before + 8 * MIB);
    drop(memory);
}

fn touch(memory: &mut [u8]) {
    memory.iter_mut().step_by(1024).for_each(|byte| *byte = 1);
    black_box(memory);
}

fn resident_memory_follows_what_is_touched() {
    let before = rss_bytes().unwrap();
    let mut memory = vec![0u8; 64 << 20];
    touch(&mut memory);
    let inside = rss_bytes().unwrap();
    assert!(inside > before + 60 * MIB && inside < before + 80 * MIB, "{before} to {inside}");
    drop(memory);
    assert!(rss_bytes().unwrap() < before + 8 * MIB);
    assert!(peak_rss_bytes().unwrap() > before + 60 * MIB);
    let allocated = thread_counters();
    assert!(rss_bytes().is_some() && peak_rss_bytes().is_some());
    assert_eq!(thread_counters(), allocated, "reading resident memory allocates");
}

fn a_forked_child_reads_its_own_memory() {
    let before = rss_bytes().unwrap();
    match fork() {
        0 => {
            let start = rss_bytes();
            let mut memory = vec![0u8; 64 << 20];
            touch(&mut memory);
            let end = rss_bytes();
            let grew = start.zip(end).is_some_and(|(start, end)| end > start + 60 * MIB);
            _exit(i32::from(!grew))
        }
        child => {
            assert!(child > 0);
            let mut status = -1;
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child saw its parent's memory");
        }
    }
    assert!(rss_bytes().unwrap() < before + 8 * MIB);
}

fn every_source_can_be_read() {
    for source in SOURCES {
        let reading = (source.read)();
        assert!(reading.now_bytes.is_some_and(|bytes| bytes > 0), "{}", source.name);
    }
}
