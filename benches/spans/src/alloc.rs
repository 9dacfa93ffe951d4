//! Counts allocations in front of the system's allocator: those of the calling thread, and where asked for those of
//! the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether the process' allocations are counted: that costs every thread more.
static ALL: AtomicBool = AtomicBool::new(false);
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Counts the allocations of all threads from here on.
pub(crate) fn count_all() {
    ALL.store(true, Ordering::Relaxed);
}

/// Allocations of all threads since [`count_all`].
pub(crate) fn all() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of the calling thread so far.
pub(crate) fn count() -> u64 {
    COUNT.try_with(Cell::get).unwrap_or(0)
}

struct Counting;

// SAFETY: every call goes to the system's allocator with the caller's own arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        if ALL.load(Ordering::Relaxed) {
            PROCESS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(not(feature = "mem"))]
#[global_allocator]
static ALLOC: Counting = Counting;

#[cfg(feature = "mem")]
#[global_allocator]
static ALLOC: stepscope::Alloc<Counting> = stepscope::Alloc::new(Counting);
