//! What the table of live samples says, against blocks that the test holds: chosen blocks, sizes, weights, context, stacks,
//! `realloc`, other threads, set aside. One process, no harness: other threads would allocate meanwhile.
#![expect(unsafe_code, reason = "calls the allocator directly, for reallocations of known sizes")]
#![expect(clippy::unwrap_used, reason = "a test without a harness")]

use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stepscope_mem::live::{self, Context, Sample};

#[global_allocator]
static ALLOC: stepscope_mem::Alloc = stepscope_mem::Alloc::system();

static STEP: AtomicU64 = AtomicU64::new(0);

fn context() -> Context {
    Context { section: 7, step: STEP.load(Relaxed) }
}

/// The samples of a step.
fn of_step(step: u64) -> Vec<Sample> {
    let _aside = stepscope_mem::set_aside();
    let mut all = Vec::with_capacity(100_000);
    live::samples(|sample| {
        if sample.context.step == step && all.len() < all.capacity() {
            all.push(*sample);
        }
    });
    all
}

/// Steps of this test, so that each part sees only its own blocks.
fn next_step() -> u64 {
    STEP.fetch_add(1, Relaxed) + 1
}

fn weight(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.weight_bytes as f64).sum()
}

fn large_blocks_are_exact() {
    let step = next_step();
    let blocks: Vec<Vec<u8>> = (0..50).map(|index| Vec::with_capacity(65_536 + index)).collect();
    let mut sizes: Vec<u64> = of_step(step).iter().map(|sample| sample.size_bytes).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, (0..50).map(|index| 65_536 + index).collect::<Vec<u64>>());
    assert!(
        of_step(step)
            .iter()
            .all(|sample| sample.context.section == 7 && sample.weight_bytes == sample.size_bytes)
    );
    drop(black_box(blocks));
    assert_eq!(of_step(step), []);
}

fn small_blocks_are_estimated_and_freed_anywhere() {
    let step = next_step();
    let mut blocks: Vec<Box<[u8; 256]>> = Vec::with_capacity(400_000);
    for _ in 0..400_000 {
        blocks.push(Box::new([1; 256]));
    }
    // 100 MB, 1,562 samples expected: 5 deviations are 13 %.
    let estimated =
        weight(&of_step(step).into_iter().filter(|sample| sample.size_bytes == 256).collect::<Vec<_>>());
    assert!((estimated / (400_000.0 * 256.0) - 1.0).abs() < 0.13, "{estimated}");
    on_a_thread(move || drop(black_box(blocks)));
    assert_eq!(of_step(step).iter().filter(|sample| sample.size_bytes == 256).count(), 0);
}

fn a_grown_block_is_as_likely_as_one_of_its_last_size() {
    let step = next_step();
    let layout = Layout::from_size_align(64, 8).unwrap();
    let mut kept = Vec::with_capacity(20_000);
    for _ in 0..20_000 {
        // SAFETY: sizes are not 0, layouts are those of the blocks, and no block is null.
        unsafe {
            let mut pointer = ALLOC.alloc(layout);
            let mut size = 64;
            while size < 8_192 {
                pointer = ALLOC.realloc(pointer, Layout::from_size_align(size, 8).unwrap(), size * 2);
                size *= 2;
            }
            kept.push((pointer, size));
        }
    }
    let samples: Vec<Sample> =
        of_step(step).into_iter().filter(|sample| sample.size_bytes == 8_192).collect();
    // 163.8 MB; 1 - exp(-1/8) of 20,000 are 2,350; 5 deviations are 10 %.
    assert!((weight(&samples) / (20_000.0 * 8_192.0) - 1.0).abs() < 0.10, "{} samples", samples.len());
    for (pointer, size) in kept {
        // SAFETY: as above, and each is freed once.
        unsafe { ALLOC.dealloc(pointer, Layout::from_size_align(size, 8).unwrap()) };
    }
    assert_eq!(of_step(step), []);
}

#[inline(never)]
fn keeps_here(held: &mut Vec<Vec<u8>>) {
    held.push(black_box(Vec::with_capacity(100_000)));
}

#[inline(never)]
fn keeps_there(held: &mut Vec<Vec<u8>>) {
    held.push(black_box(Vec::with_capacity(100_001)));
}

fn equal_stacks_have_one_number() {
    let step = next_step();
    let mut held = Vec::with_capacity(100);
    for _ in 0..10 {
        keeps_here(&mut held);
        keeps_there(&mut held);
    }
    let mut stacks: HashMap<_, Vec<u64>> = HashMap::new();
    for sample in of_step(step) {
        stacks.entry(sample.stack.unwrap()).or_default().push(sample.size_bytes);
    }
    let mut buffer = [0; live::MAX_FRAMES];
    let frames: Vec<usize> = stacks.keys().map(|&stack| live::stack(stack, &mut buffer).len()).collect();
    let are_kept = frames.iter().any(|&frames| frames > 0);
    assert!(are_kept || std::env::var_os("STEPSCOPE_FRAME_POINTERS").is_none());
    // Without frame pointers nobody's frames stand for those that are missing.
    assert_eq!(stacks.len(), if are_kept { 2 } else { 1 }, "{stacks:?}");
    assert!(frames.iter().all(|&frames| !are_kept || frames >= 4), "{frames:?}");
    assert!(stacks.values().all(|sizes| sizes.len() == if are_kept { 10 } else { 20 }), "{stacks:?}");
}

fn set_aside_is_not_chosen_and_the_thread_is_told() {
    let step = next_step();
    let aside = {
        let _aside = stepscope_mem::set_aside();
        let mut grown = Vec::<u8>::with_capacity(16);
        grown.reserve_exact(1 << 20);
        (Vec::<u8>::with_capacity(1 << 20), black_box(grown))
    };
    assert_eq!(of_step(step), []);
    let (block, thread) = on_a_thread(|| (Vec::<u8>::with_capacity(1 << 20), thread_id()));
    let samples = of_step(step);
    assert_eq!(
        samples.iter().map(|sample| (sample.size_bytes, sample.thread)).collect::<Vec<_>>(),
        [(1 << 20, thread)]
    );
    drop((aside, block));
}

fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().spawn(work).unwrap().join().unwrap()
}

fn thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

fn what_finds_no_room_is_counted() {
    let step = next_step();
    let before = live::dropped().samples;
    let blocks: Vec<Vec<u8>> = (0..100_000).map(|_| Vec::with_capacity(65_536)).collect();
    let kept = of_step(step).iter().filter(|sample| sample.size_bytes == 65_536).count();
    let dropped = live::dropped().samples - before;
    assert_eq!(kept as u64 + dropped, 100_000);
    assert!(kept > 60_000 && kept <= live::MAX_SAMPLES as usize, "{kept}");
    drop(black_box(blocks));
    assert_eq!(of_step(step), []);
}

fn stopped_nothing_is_chosen() {
    live::stop();
    let step = next_step();
    let block = black_box(Vec::<u8>::with_capacity(1 << 24));
    assert_eq!(of_step(step), []);
    drop(block);
}

/// What is known to have been allocated so far: bytes and blocks.
fn allocated() -> (f64, f64) {
    let _aside = stepscope_mem::set_aside();
    let (mut bytes, mut blocks) = (0, 0);
    live::allocations(|sums| {
        assert!(sums.section == 7 || sums.stack.is_none());
        (bytes, blocks) = (bytes + sums.bytes, blocks + sums.blocks);
    });
    (bytes as f64, blocks as f64)
}

fn what_is_freed_was_allocated_all_the_same() {
    let (before, blocks) = allocated();
    for _ in 0..400_000 {
        drop(black_box(Box::new([1_u8; 256])));
    }
    // 102 MB, 1,562 samples expected: 5 deviations are 13 %.
    let (bytes, count) = (allocated().0 - before, allocated().1 - blocks);
    assert!((bytes / (400_000.0 * 256.0) - 1.0).abs() < 0.13, "{bytes}");
    assert!((count / 400_000.0 - 1.0).abs() < 0.13, "{count}");
    // Grown from half of a period to 16 of them: each byte counts once, whatever was chosen when.
    let (before, blocks) = allocated();
    let layout = Layout::from_size_align(32_768, 8).unwrap();
    for _ in 0..200 {
        // SAFETY: sizes are not 0, layouts are those of the block, and it is not null.
        unsafe {
            let mut pointer = ALLOC.alloc(layout);
            let mut size = 32_768;
            while size < 1 << 20 {
                pointer = ALLOC.realloc(pointer, Layout::from_size_align(size, 8).unwrap(), size * 2);
                size *= 2;
            }
            ALLOC.dealloc(pointer, Layout::from_size_align(size, 8).unwrap());
        }
    }
    let (bytes, count) = (allocated().0 - before, allocated().1 - blocks);
    // The first halves are by chance: their deviation is 0.6 % of all.
    assert!((bytes / (200.0 * 1_048_576.0) - 1.0).abs() < 0.03, "{bytes}");
    assert!((count / 200.0 - 1.0).abs() < 0.45, "{count}");
}

/// Pages of the table that nobody writes are not there.
fn an_empty_table_takes_no_memory() {
    let resident = stepscope_mem::rss_bytes();
    assert!(live::start(65_536));
    if let (Some(before), Some(after)) = (resident, stepscope_mem::rss_bytes()) {
        // It has 11 MiB of addresses.
        assert!(after < before + (2 << 20), "{before} {after}");
    }
}

fn main() {
    live::set_context(context);
    an_empty_table_takes_no_memory();
    large_blocks_are_exact();
    small_blocks_are_estimated_and_freed_anywhere();
    a_grown_block_is_as_likely_as_one_of_its_last_size();
    equal_stacks_have_one_number();
    set_aside_is_not_chosen_and_the_thread_is_told();
    what_is_freed_was_allocated_all_the_same();
    what_finds_no_room_is_counted();
    stopped_nothing_is_chosen();
}
