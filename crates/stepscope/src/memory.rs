//! The door to `stepscope-mem`: every figure absent when the feature is off or the allocator is not
//! installed.

#[cfg(feature = "mem")]
pub(crate) use stepscope_mem::{PeakToken, live_bytes, peak_enter, rss_bytes, thread_counters};

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

    pub(crate) fn thread_counters() -> Option<Counters> {
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
pub(crate) use absent::{Counters, PeakToken, live_bytes, peak_enter, peak_exit, rss_bytes, thread_counters};
#[cfg(feature = "mem")]
pub(crate) use stepscope_mem::Counters;
