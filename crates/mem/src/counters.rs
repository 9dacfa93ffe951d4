//! What the counting allocator knows: per thread, for the process, and the peak inside a section. Reading
//! takes a few nanoseconds and never allocates. Everything is absent unless [`crate::Alloc`] is the global
//! allocator.

use crate::block;
use crate::hot::Counts;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Cumulative counts; only differences between two readings mean something for a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Counters {
    /// Bytes allocated.
    pub allocated_bytes: u64,
    /// Bytes freed; on one thread this may exceed what it allocated.
    pub freed_bytes: u64,
    /// Allocations, reallocations included.
    pub allocs: u64,
    /// Deallocations, reallocations included.
    pub frees: u64,
}

impl Counters {
    /// What was counted since `earlier`, a reading on the same thread (or both of the process).
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            allocated_bytes: self.allocated_bytes.wrapping_sub(earlier.allocated_bytes),
            freed_bytes: self.freed_bytes.wrapping_sub(earlier.freed_bytes),
            allocs: self.allocs.wrapping_sub(earlier.allocs),
            frees: self.frees.wrapping_sub(earlier.frees),
        }
    }

    /// Bytes allocated minus bytes freed; negative where more was freed than allocated.
    #[must_use]
    pub const fn net_bytes(&self) -> i64 {
        self.allocated_bytes.wrapping_sub(self.freed_bytes).cast_signed()
    }
}

/// Whether [`crate::Alloc`] is the global allocator: whether it has ever counted anything.
#[must_use]
pub fn is_installed() -> bool {
    block::blocks().next().is_some()
}

/// What the calling thread has counted since it started, without what was [set aside](set_aside). `None` without the allocator, and in the last
/// destructors of a thread that exits.
#[inline]
#[must_use]
pub fn thread_counters() -> Option<Counters> {
    let block = block::current()?;
    let (counts, base) = (&block.program.counts, &block.base);
    let since = |count: &std::sync::atomic::AtomicU64, base: &std::sync::atomic::AtomicU64| {
        count.load(Relaxed).wrapping_sub(base.load(Relaxed))
    };
    Some(Counters {
        allocated_bytes: since(&counts.allocated_bytes, &base.allocated_bytes),
        freed_bytes: since(&counts.freed_bytes, &base.freed_bytes),
        allocs: since(&counts.allocs, &base.allocs),
        frees: since(&counts.frees, &base.frees),
    })
}

/// What all threads have counted since the process started, exited ones included and what was
/// [set aside](set_aside) left out. Exact when no other thread allocates meanwhile; otherwise every free that
/// it contains comes with its allocation.
#[must_use]
pub fn process_counters() -> Option<Counters> {
    total(|block| &block.program.counts)
}

/// As [`process_counters`], for what was [set aside](set_aside).
#[must_use]
pub fn process_counters_aside() -> Option<Counters> {
    total(|block| &block.aside.counts)
}

fn total(of: impl Fn(&'static block::Block) -> &'static Counts) -> Option<Counters> {
    if !is_installed() {
        return None;
    }
    let mut total = Counters::default();
    // Two passes, frees first: see `Counts`.
    for counts in block::all_blocks().map(&of) {
        total.freed_bytes = total.freed_bytes.wrapping_add(counts.freed_bytes.load(Acquire));
        total.frees = total.frees.wrapping_add(counts.frees.load(Acquire));
    }
    for counts in block::all_blocks().map(&of) {
        total.allocated_bytes = total.allocated_bytes.wrapping_add(counts.allocated_bytes.load(Relaxed));
        total.allocs = total.allocs.wrapping_add(counts.allocs.load(Relaxed));
    }
    Some(total)
}

/// What a thread does while it holds this is set aside; see [`set_aside`].
#[derive(Debug)]
#[must_use = "set aside is what happens until this is dropped"]
pub struct SetAside {
    /// As it was before; absent without the allocator.
    before: Option<bool>,
    /// The flag is the thread's own.
    not_send: PhantomData<*const ()>,
}

/// From here until the value is dropped, what the calling thread allocates and frees counts neither in its
/// counters nor in peaks nor in the process' totals: a profiler's own work, which is nobody's section. It
/// nests. What was allocated set aside should be freed set aside (by any thread), or the totals go apart.
#[inline]
pub fn set_aside() -> SetAside {
    SetAside { before: block::current().map(|block| block::set_aside(block, true)), not_send: PhantomData }
}

impl Drop for SetAside {
    #[inline]
    fn drop(&mut self) {
        // Without a block any more, the thread is in its last destructors and counts with all others.
        if let (Some(before), Some(block)) = (self.before, block::owned()) {
            block::set_aside(block, before);
        }
    }
}

/// Bytes that the process has allocated and not freed, without what was [set aside](set_aside).
#[must_use]
pub fn live_bytes() -> Option<u64> {
    process_counters().map(|total| total.allocated_bytes.saturating_sub(total.freed_bytes))
}

/// Blocks of counters that exist: the largest number of threads that allocated and lived at the same time.
#[must_use]
pub fn thread_blocks() -> usize {
    block::blocks().count()
}

/// What [`peak_exit`] needs to know about the section's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the peak of the enclosing section is lost unless the token goes to `peak_exit`"]
pub struct PeakToken(Option<Start>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    net_bytes: i64,
    outer_peak_bytes: i64,
}

/// Begins to look for the peak inside a section of the calling thread.
///
/// Sections nest to any depth and each gets its exact peak, provided that tokens go back on their own thread
/// and in the reverse order. In another order the figures of the sections concerned may be off, nothing else.
#[inline]
pub fn peak_enter() -> PeakToken {
    PeakToken(block::current().map(|block| {
        let start = Start {
            net_bytes: block.program.net_bytes(),
            outer_peak_bytes: block.program.peak_bytes.load(Relaxed),
        };
        block.program.lower_peak();
        start
    }))
}

/// Ends what [`peak_enter`] began: the most bytes that were live at once above those live at the section's
/// start, counting what the calling thread allocated and freed. `None` without the allocator.
#[inline]
#[must_use]
pub fn peak_exit(token: PeakToken) -> Option<u64> {
    let (block, start) = (block::current()?, token.0?);
    let peak_bytes = block.program.peak_bytes.load(Relaxed);
    block.program.peak_bytes.store(peak_bytes.max(start.outer_peak_bytes), Relaxed);
    u64::try_from(peak_bytes.saturating_sub(start.net_bytes)).ok().or(Some(0))
}
