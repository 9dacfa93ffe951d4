//! A word of 64 bits that one thread at a time writes and others may read meanwhile: what single-writer state that
//! is shared between threads is made of. Costs what a plain integer costs.

use std::sync::atomic::{AtomicU64, Ordering};

/// See the module. Who may write, and what orders a reader behind it, is said where it is used.
#[derive(Debug, Default)]
pub(crate) struct RelaxedU64(AtomicU64);

impl RelaxedU64 {
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds, saturating.
    #[inline]
    pub(crate) fn add(&self, value: u64) {
        self.set(self.get().saturating_add(value));
    }

    /// Adds or takes away one, of any number of threads.
    pub(crate) fn count(&self, is_more: bool) {
        if is_more {
            self.0.fetch_add(1, Ordering::Relaxed);
        } else {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sets bits, of any number of threads.
    pub(crate) fn set_bits(&self, bits: u64) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }

    /// Adds, wrapping: for differences of counters that wrap themselves.
    #[inline]
    pub(crate) fn add_wrapping(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }
}
