//! Ten threads that allocate, move, free each other's blocks and panic, while one of them forks and another one reads: counters are
//! exact to the byte, and the table of live samples holds what is live and nothing else. `stress OPERATIONS` for the long run.
#![expect(unsafe_code, reason = "calls the allocator directly, and forks")]
#![expect(clippy::unwrap_used, reason = "a test without a harness")]
#![expect(clippy::print_stdout, reason = "says what was counted")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicPtr};

use stepscope_mem::live::{self, Context};
use stepscope_mem::{Counters, process_counters, thread_counters};

#[global_allocator]
static ALLOC: stepscope_mem::Alloc = stepscope_mem::Alloc::system();

const THREADS: u64 = 10;
const PERIOD_BYTES: u64 = 64 << 10;
/// Blocks that are live at once, each in a place that all threads share; its first word is its size.
static PLACES: [AtomicPtr<u8>; 4_096] = [const { AtomicPtr::new(ptr::null_mut()) }; 4_096];

/// The section of blocks of this test.
const OURS: u32 = 9;

thread_local! {
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

fn context() -> Context {
    Context { section: if WORKS.get() { OURS } else { 0 }, step: 1 }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    /// Mostly small, one of a thousand larger than a period.
    fn size(&mut self) -> usize {
        let random = self.next() as usize;
        if random.is_multiple_of(1_000) {
            65_536 + random / 1_000 % 4_096
        } else {
            16 + random / 1_000 % 1_008
        }
    }
}

/// What the operations should have counted.
#[derive(Default)]
struct Tally(Counters);

impl Tally {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: the size is not 0, and the first word lies in the block.
        let block = unsafe {
            let block = ALLOC.alloc(layout(size));
            assert!(!block.is_null());
            block.cast::<usize>().write(size);
            block
        };
        self.0.allocated_bytes += size as u64;
        self.0.allocs += 1;
        block
    }

    /// Frees a block that was taken out of its place.
    fn free(&mut self, block: *mut u8) {
        // SAFETY: only who took the block out has it; its first word is its size.
        let size = unsafe {
            let size = block.cast::<usize>().read();
            ALLOC.dealloc(block, layout(size));
            size
        };
        self.0.freed_bytes += size as u64;
        self.0.frees += 1;
    }

    fn resize(&mut self, block: *mut u8, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        let (size, moved) = unsafe {
            let size = block.cast::<usize>().read();
            let moved = ALLOC.realloc(block, layout(size), new_size);
            assert!(!moved.is_null());
            moved.cast::<usize>().write(new_size);
            (size, moved)
        };
        self.0.allocated_bytes += new_size as u64;
        self.0.freed_bytes += size as u64;
        (self.0.allocs, self.0.frees) = (self.0.allocs + 1, self.0.frees + 1);
        moved
    }

    /// One operation on a random place.
    fn operate(&mut self, random: &mut Random) {
        let choice = random.next();
        let place = &PLACES[choice as usize % PLACES.len()];
        let block = place.swap(ptr::null_mut(), AcqRel);
        let put = match (block.is_null(), choice >> 40 & 3) {
            (true, _) => self.alloc(random.size()),
            (false, 0) => self.resize(block, random.size()),
            (false, 1) => {
                self.free(block);
                return;
            }
            (false, _) => {
                self.free(block);
                self.alloc(random.size())
            }
        };
        let other = place.swap(put, AcqRel);
        if !other.is_null() {
            self.free(other);
        }
    }
}

unsafe extern "C" {
    safe fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    safe fn _exit(status: i32) -> !;
}

/// A child of one thread, in the middle of what the others do: it goes on, and counts what it does.
fn fork_and_go_on(random: &mut Random) {
    match fork() {
        0 => {
            let (before, mut tally) = (thread_counters().unwrap(), Tally::default());
            for _ in 0..1_000 {
                tally.operate(random);
            }
            let mut samples = 0_u64;
            live::samples(|_| samples += 1);
            let is_exact = thread_counters().unwrap().since(&before) == tally.0;
            _exit(i32::from(!is_exact || samples > u64::from(live::MAX_SAMPLES)))
        }
        child => {
            let mut status = -1;
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child's counters are its own");
        }
    }
}

/// Unwinds through a frame that holds a block.
fn panic_with_a_block(random: &mut Random) {
    let size = random.size();
    let caught = catch_unwind(|| {
        let _held = std::hint::black_box(vec![1_u8; size]);
        resume_unwind(Box::new(1_u8));
    });
    assert!(caught.is_err());
}

/// What a panic counts beside the block that it drops.
fn cost_of_a_panic() -> Counters {
    panic_with_a_block(&mut Random(1));
    let before = thread_counters().unwrap();
    panic_with_a_block(&mut Random(1));
    let mut cost = thread_counters().unwrap().since(&before);
    let size = Random(1).size() as u64;
    (cost.allocated_bytes, cost.freed_bytes) = (cost.allocated_bytes - size, cost.freed_bytes - size);
    (cost.allocs, cost.frees) = (cost.allocs - 1, cost.frees - 1);
    cost
}

fn work(thread: u64, operations: u64) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread + 1) | 1);
    let mut tally = Tally::default();
    let cost = cost_of_a_panic();
    let before = thread_counters().unwrap();
    WORKS.set(true);
    for operation in 0..operations {
        tally.operate(&mut random);
        if operation % 50_000 == 0 {
            let size = Random(random.0).size() as u64;
            panic_with_a_block(&mut random);
            let sum = &mut tally.0;
            (sum.allocated_bytes, sum.freed_bytes) = (
                sum.allocated_bytes + size + cost.allocated_bytes,
                sum.freed_bytes + size + cost.freed_bytes,
            );
            (sum.allocs, sum.frees) = (sum.allocs + 1 + cost.allocs, sum.frees + 1 + cost.frees);
        }
        if thread == 0 && operation % (operations / 20).max(1) == 0 {
            fork_and_go_on(&mut random);
        }
    }
    WORKS.set(false);
    assert_eq!(thread_counters().unwrap().since(&before), tally.0, "thread {thread}");
}

/// Bytes that samples of ours stand for, how many they are, and the sizes of those that are sampled always.
fn ours() -> (f64, u64, Vec<u64>) {
    let (mut weight, mut samples, mut large) = (0.0, 0, Vec::with_capacity(100_000));
    live::samples(|sample| {
        if sample.context.section == OURS {
            weight += sample.weight_bytes as f64;
            samples += 1;
            if sample.size_bytes >= PERIOD_BYTES {
                large.push(sample.size_bytes);
            }
        }
    });
    large.sort_unstable();
    (weight, samples, large)
}

fn main() {
    let operations =
        std::env::args().nth(1).and_then(|argument| argument.parse().ok()).unwrap_or(2_000_000_u64);
    live::set_context(context);
    assert!(live::start(PERIOD_BYTES));
    let before = process_counters().unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_done.load(Relaxed) {
                let mut samples = 0_u64;
                live::samples(|sample| samples += u64::from(sample.weight_bytes >= sample.size_bytes));
                assert!(samples <= u64::from(live::MAX_SAMPLES), "{samples}");
                let now = process_counters().unwrap();
                assert!(now.allocated_bytes >= now.freed_bytes && now.allocs >= now.frees, "{now:?}");
            }
        });
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || work(thread, operations / THREADS))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        is_done.store(true, Relaxed);
        reader.join().unwrap();
    });
    let blocks: Vec<*mut u8> =
        PLACES.iter().map(|place| place.load(Relaxed)).filter(|block| !block.is_null()).collect();
    // SAFETY: nobody else is here any more.
    let mut sizes: Vec<u64> =
        blocks.iter().map(|&block| unsafe { block.cast::<usize>().read() } as u64).collect();
    sizes.sort_unstable();
    let (weight, samples, large) = ours();
    let all: u64 = sizes.iter().sum();
    sizes.retain(|&size| size >= PERIOD_BYTES);
    assert_eq!(live::dropped().samples, 0);
    assert_eq!(large, sizes, "each large block is a sample, and no other one is");
    // Of small ones a sample stands for a period: its deviation is about the root of their number.
    let deviation = (all as f64 * PERIOD_BYTES as f64).sqrt();
    assert!((weight - all as f64).abs() <= 6.0 * deviation, "{weight} of {all} in {samples} samples");
    let mut tally = Tally::default();
    blocks.into_iter().for_each(|block| tally.free(block));
    assert_eq!(tally.0.freed_bytes, all);
    let (_, samples, _) = ours();
    assert_eq!(samples, 0, "what is freed is in no sample");
    drop((sizes, large));
    let counted = process_counters().unwrap().since(&before);
    println!("{operations} operations: {counted:?}, net {}", counted.net_bytes());
}
