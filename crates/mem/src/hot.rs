//! What every allocation and every free of a thread touches: its counts, its peak, and where the next thing to do but counting is.
//! Written by the thread that owns it alone; whose it is, is in [`crate::block`].

use crate::live;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64};

/// Four cumulative counts. Frees are stored with release, so that whoever reads them with acquire and then
/// reads allocations sees the allocation of every block whose free it saw.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) allocated_bytes: AtomicU64,
    pub(crate) freed_bytes: AtomicU64,
    pub(crate) allocs: AtomicU64,
    pub(crate) frees: AtomicU64,
}

impl Counts {
    pub(crate) const fn zero() -> Self {
        Self {
            allocated_bytes: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            allocs: AtomicU64::new(0),
            frees: AtomicU64::new(0),
        }
    }
}

/// What an allocation or a free of a thread touches.
#[derive(Debug)]
pub(crate) struct Hot {
    pub(crate) counts: Counts,
    /// Highest value of [`Hot::net_bytes`] since the owner last lowered it.
    pub(crate) peak_bytes: AtomicI64,
    /// With so many bytes allocated the next look at what is [chosen](crate::live) is due.
    pub(crate) look_at_bytes: AtomicU64,
    /// While less is allocated, no look is due and no peak is new: the only thing that most allocations look at.
    pub(crate) alarm_bytes: AtomicU64,
    /// What a free does beside counting: one of [`Frees`].
    frees: AtomicU8,
}

/// What a free does beside counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Frees {
    /// Nothing.
    Count,
    /// It looks whether its block is a [chosen](crate::live) one.
    Watch,
    /// The thread has no counters: it takes some, if it can.
    AreNobodys,
}

impl Hot {
    pub(crate) const fn new() -> Self {
        Self::with(Frees::Count)
    }

    pub(crate) const fn with(frees: Frees) -> Self {
        Self {
            frees: AtomicU8::new(frees as u8),
            counts: Counts::zero(),
            peak_bytes: AtomicI64::new(0),
            look_at_bytes: AtomicU64::new(live::NEVER),
            alarm_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes allocated minus bytes freed; negative where a thread freed what others allocated. For the owner.
    #[inline]
    pub(crate) fn net_bytes(&self) -> i64 {
        let allocated = self.counts.allocated_bytes.load(Relaxed);
        allocated.wrapping_sub(self.counts.freed_bytes.load(Relaxed)).cast_signed()
    }

    /// Returns whether that is not all.
    #[inline]
    pub(crate) fn alloc(&self, size: u64) -> bool {
        // Each word is read once: the compiler keeps every read of an atomic.
        let allocated = self.counts.allocated_bytes.load(Relaxed).wrapping_add(size);
        self.counts.allocated_bytes.store(allocated, Relaxed);
        add(&self.counts.allocs, 1, Relaxed);
        allocated >= self.alarm_bytes.load(Relaxed)
    }

    /// Notes a new peak, and returns whether a look is due.
    pub(crate) fn is_look_due(&self) -> bool {
        let allocated = self.counts.allocated_bytes.load(Relaxed);
        let net = allocated.wrapping_sub(self.counts.freed_bytes.load(Relaxed)).cast_signed();
        if net > self.peak_bytes.load(Relaxed) {
            self.peak_bytes.store(net, Relaxed);
        }
        self.set_alarm();
        allocated >= self.look_at_bytes.load(Relaxed)
    }

    /// For the owner, whenever a look comes nearer. What is freed from now on lets the next peak come later, so this is never too late.
    #[inline]
    pub(crate) fn set_alarm(&self) {
        let freed = self.counts.freed_bytes.load(Relaxed);
        // No less than what is allocated, since the peak is no less than that minus what is freed.
        let next_peak = freed.wrapping_add(self.peak_bytes.load(Relaxed).cast_unsigned()).wrapping_add(1);
        self.alarm_bytes.store(next_peak.min(self.look_at_bytes.load(Relaxed)), Relaxed);
    }

    /// For any thread.
    pub(crate) fn set_frees(&self, frees: Frees) {
        self.frees.store(frees as u8, Relaxed);
    }

    /// For the owner: the peak is what is live now.
    pub(crate) fn lower_peak(&self) {
        self.peak_bytes.store(self.net_bytes(), Relaxed);
        self.alarm_bytes.store(0, Relaxed);
    }

    /// Returns what else a free does: a number of [`Frees`].
    #[inline]
    pub(crate) fn free(&self, size: u64) -> u8 {
        add(&self.counts.freed_bytes, size, Release);
        add(&self.counts.frees, 1, Release);
        self.frees.load(Relaxed)
    }
}

/// Adds to a counter that only the calling thread writes.
#[inline]
fn add(counter: &AtomicU64, value: u64, order: std::sync::atomic::Ordering) {
    counter.store(counter.load(Relaxed).wrapping_add(value), order);
}
