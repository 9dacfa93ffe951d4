//! What memory costs in this process, as the background thread has measured it.

use std::sync::OnceLock;

/// The cost of one, in nanoseconds; absent where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryCosts {
    /// Of a small allocation and its release.
    pub alloc_ns: Option<u64>,
    /// Of a page fault that needs no storage.
    pub fault_ns: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Costs(OnceLock<MemoryCosts>);

impl Costs {
    pub(crate) fn set(&self, costs: MemoryCosts) {
        let _ = self.0.set(costs);
    }

    /// As far as they are known by now.
    pub(crate) fn get(&self) -> MemoryCosts {
        self.0.get().copied().unwrap_or_default()
    }
}
