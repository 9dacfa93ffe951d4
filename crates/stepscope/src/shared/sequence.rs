//! Values that one thread writes and others copy while it goes on: a sequence lock with a single writer, so that nobody ever
//! waits for anybody. The values themselves are atomics of whoever has them.

use crate::shared::sync::atomic::{AtomicU64, Ordering, fence};

/// Copies that a reader tries to make of what is being written.
pub(crate) const ATTEMPTS: usize = if cfg!(loom) { 2 } else { 64 };

/// See the module. Odd while the owner writes.
#[derive(Debug)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Before the values change, until [`end`](Self::end) is told what this gives. Owner only. (As a closure between the two, what
    /// ends every section takes twenty instructions more.)
    #[inline(always)]
    pub(crate) fn begin(&self) -> u64 {
        let sequence = self.0.load(Ordering::Relaxed);
        self.0.store(sequence.wrapping_add(1), Ordering::Relaxed);
        // The odd sequence is visible before any of the values.
        fence(Ordering::Release);
        sequence
    }

    /// After the values have changed. Owner only.
    #[inline(always)]
    pub(crate) fn end(&self, begun: u64) {
        self.0.store(begun.wrapping_add(2), Ordering::Release);
    }

    /// What `read` reads of the values, all of one moment; `None` where the owner kept writing during every attempt.
    pub(crate) fn read<R>(&self, read: impl Fn() -> R) -> Option<R> {
        for _ in 0..ATTEMPTS {
            let before = self.0.load(Ordering::Acquire);
            if before % 2 == 1 {
                crate::shared::sync::spin_loop();
                continue;
            }
            let values = read();
            // The values are read before the sequence below.
            fence(Ordering::Acquire);
            if self.0.load(Ordering::Relaxed) == before {
                return Some(values);
            }
        }
        None
    }
}
