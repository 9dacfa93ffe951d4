//! The door to `stepscope-mem`: every figure absent when the feature is off or the allocator is not
//! installed. What the layer itself allocates is kept out of the figures of the sections it happens in.

use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "mem")]
pub(crate) use stepscope_mem::live;
#[cfg(feature = "mem")]
use stepscope_mem::set_aside;
#[cfg(feature = "mem")]
pub(crate) use stepscope_mem::{
    Counters, PeakToken, SetAside, live_bytes, own_read_bytes, peak_enter, peak_exit, peak_rss_bytes,
    rss_bytes, thread_counters,
};

#[cfg(not(feature = "mem"))]
mod absent {
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct PeakToken;

    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct Counters {
        pub(crate) allocated_bytes: u64,
        pub(crate) freed_bytes: u64,
        pub(crate) allocs: u64,
        pub(crate) frees: u64,
    }

    impl Counters {
        pub(crate) fn since(&self, _: &Self) -> Self {
            *self
        }
    }

    pub(crate) fn thread_counters() -> Option<Counters> {
        None
    }

    #[derive(Debug)]
    pub(crate) struct SetAside;

    pub(super) fn set_aside() -> SetAside {
        SetAside
    }

    pub(crate) fn peak_enter() -> PeakToken {
        PeakToken
    }

    pub(crate) fn peak_exit(_: PeakToken) -> Option<u64> {
        None
    }

    pub(crate) fn live_bytes() -> Option<u64> {
        None
    }

    pub(crate) fn rss_bytes() -> Option<u64> {
        None
    }

    pub(crate) fn peak_rss_bytes() -> Option<u64> {
        None
    }

    pub(crate) fn own_read_bytes() -> u64 {
        0
    }
}

#[cfg(not(feature = "mem"))]
use absent::set_aside;
#[cfg(not(feature = "mem"))]
pub(crate) use absent::{
    Counters, PeakToken, SetAside, live_bytes, own_read_bytes, peak_enter, peak_exit, peak_rss_bytes,
    rss_bytes, thread_counters,
};

/// The limit of memory with least room, of which `set` is one for resident memory unless it is 0, and what counts against it; bytes.
pub(crate) fn limit(set: &AtomicU64) -> Option<(u64, u64)> {
    let set = Some(set.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0);
    let limit = stepscope_limits::Limits::of_this_process().nearest(set)?;
    Some((limit.limit_bytes, limit.used_bytes))
}

/// Bytes that the program has allocated so far.
#[cfg(all(feature = "metrics", feature = "mem"))]
pub(crate) fn allocated_bytes() -> Option<u64> {
    stepscope_mem::process_counters().map(|counters| counters.allocated_bytes)
}

/// Bytes that the program has allocated so far: nobody counts them.
#[cfg(all(feature = "metrics", not(feature = "mem")))]
pub(crate) fn allocated_bytes() -> Option<u64> {
    None
}

/// Begins a call into the layer: what is allocated and freed until it is dropped belongs to no section.
#[inline]
pub(crate) fn own_call() -> SetAside {
    set_aside()
}
