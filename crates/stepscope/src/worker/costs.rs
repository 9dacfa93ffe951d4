//! Measures what memory costs in this process, once, on a thread of ours: less than a millisecond, and in nobody's figures.

use std::hint::black_box;
use std::sync::atomic::Ordering;

use crate::os::memory;
use crate::os::sys;
use crate::shared::costs::MemoryCosts;

/// Of so many batches the median counts: others want the processor, too.
const BATCHES: usize = 7;

/// Allocations of each batch, in these sizes.
const ALLOCATIONS: u64 = 256;
const BYTES: [usize; 4] = [16, 48, 96, 256];

/// Pages of each batch, and the smallest that there are.
const PAGES: usize = 32;
const PAGE_WORDS: usize = 512;

/// What they are, as far as they can be told.
pub(crate) fn measure() -> MemoryCosts {
    // Without the counting allocator nobody counts what this would be multiplied with.
    let alloc_ns = memory::thread_counters().and_then(|_| median(allocate));
    MemoryCosts { alloc_ns, fault_ns: if cfg!(target_os = "linux") { median(fault) } else { None } }
}

/// The median of what one takes, of what `batch` says that many took together.
fn median(batch: fn() -> Option<(u64, u64)>) -> Option<u64> {
    let mut each: Vec<u64> =
        (0..BATCHES).filter_map(|_| batch()).map(|(ns, count)| ns.div_ceil(count)).collect();
    each.sort_unstable();
    each.get(each.len() / 2).copied().filter(|&ns| ns > 0)
}

fn allocate() -> Option<(u64, u64)> {
    let before_ns = sys::monotonic_ns();
    for number in 0..ALLOCATIONS {
        let bytes = BYTES.get(number as usize % BYTES.len()).copied().unwrap_or(16);
        drop(black_box(Vec::<u8>::with_capacity(black_box(bytes))));
    }
    Some((sys::monotonic_ns().checked_sub(before_ns)?, ALLOCATIONS))
}

fn fault() -> Option<(u64, u64)> {
    let (pages, usage) = (sys::zeroed(PAGES * PAGE_WORDS), sys::thread_usage()?);
    let before_ns = sys::monotonic_ns();
    pages.iter().step_by(PAGE_WORDS).for_each(|word| word.store(1, Ordering::Relaxed));
    let took_ns = sys::monotonic_ns().checked_sub(before_ns)?;
    black_box(&pages);
    // Pages may be larger than the smallest.
    let faults = sys::thread_usage()?.minor_faults.checked_sub(usage.minor_faults)?;
    (faults > 0).then_some((took_ns, faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_what_one_takes_counts() {
        assert_eq!(median(|| Some((1_000, 10))), Some(100));
        assert_eq!(median(|| None), None);
        assert_eq!(median(|| Some((0, 10))), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_page_fault_has_its_price() {
        assert!(measure().fault_ns.is_some());
    }
}
