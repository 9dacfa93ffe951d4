//! The door to `stepscope-mem`: every figure absent when the feature is off or the allocator is not
//! installed. What the layer itself allocates is kept out of the figures of the sections it happens in.

use std::cell::Cell;

#[cfg(feature = "mem")]
use stepscope_mem::thread_counters;
#[cfg(feature = "mem")]
pub(crate) use stepscope_mem::{PeakToken, live_bytes, peak_enter, rss_bytes};

#[cfg(feature = "mem")]
pub(crate) fn peak_exit(token: PeakToken) -> Option<u64> {
    stepscope_mem::peak_exit(token)
}

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

    pub(super) fn thread_counters() -> Option<Counters> {
        None
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
}

#[cfg(not(feature = "mem"))]
use absent::thread_counters;
#[cfg(not(feature = "mem"))]
pub(crate) use absent::{Counters, PeakToken, live_bytes, peak_enter, peak_exit, rss_bytes};
#[cfg(feature = "mem")]
pub(crate) use stepscope_mem::Counters;

/// What this thread allocated inside the layer's own calls.
#[derive(Clone, Copy)]
struct Own {
    /// The counters when the outermost call of ours began; absent outside of such calls.
    entry: Option<Counters>,
    /// What all calls so far have added.
    sum: Counters,
}

thread_local! {
    static OWN: Cell<Own> = const {
        Cell::new(Own { entry: None, sum: Counters { allocated_bytes: 0, freed_bytes: 0, allocs: 0, frees: 0 } })
    };
}

/// A call into the layer: what is allocated until it is dropped belongs to no section.
pub(crate) struct OwnCall {
    is_outermost: bool,
}

/// Begins a call into the layer.
#[inline]
pub(crate) fn own_call() -> OwnCall {
    let entered = OWN.try_with(|cell| {
        let own = cell.get();
        if own.entry.is_some() {
            return false;
        }
        let entry = thread_counters();
        cell.set(Own { entry, ..own });
        entry.is_some()
    });
    OwnCall { is_outermost: entered.unwrap_or(false) }
}

impl Drop for OwnCall {
    #[inline]
    fn drop(&mut self) {
        if !self.is_outermost {
            return;
        }
        let _ = OWN.try_with(|cell| {
            let mut own = cell.get();
            if let (Some(entry), Some(now)) = (own.entry.take(), thread_counters()) {
                own.sum = plus(&own.sum, &now.since(&entry));
            }
            cell.set(own);
        });
    }
}

/// What the program itself has counted on this thread up to the current call into the layer; absent outside
/// of such calls, and without the allocator.
#[inline]
pub(crate) fn program_counters() -> Option<Counters> {
    OWN.try_with(|cell| {
        let own = cell.get();
        own.entry.map(|entry| entry.since(&own.sum))
    })
    .ok()
    .flatten()
}

fn plus(a: &Counters, b: &Counters) -> Counters {
    Counters {
        allocated_bytes: a.allocated_bytes.wrapping_add(b.allocated_bytes),
        freed_bytes: a.freed_bytes.wrapping_add(b.freed_bytes),
        allocs: a.allocs.wrapping_add(b.allocs),
        frees: a.frees.wrapping_add(b.frees),
    }
}
