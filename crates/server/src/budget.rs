//! Bytes that all messages together may take, handed out and given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is left.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(bytes) })
    }

    /// Bytes that nobody holds.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// A part of the budget; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Held {
    pub(crate) fn nothing(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Takes `bytes` more; `false` if there are none.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let taken = self.budget.take(bytes);
        if taken {
            self.bytes += bytes;
        }
        taken
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_comes_back() {
        let budget = Budget::new(10);
        let mut first = Held::nothing(&budget);
        assert!(first.grow(6) && first.grow(1) && !first.grow(4));
        let mut second = Held::nothing(&budget);
        assert!(second.grow(3) && !second.grow(1));
        drop(first);
        assert!(second.grow(7) && !second.grow(1));
    }
}
