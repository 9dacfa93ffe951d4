//! What the background thread sees of a recording thread: its queue, its sums, its counts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use stepscope_core::LossReason;

use crate::shared::aggregate::Aggregates;
use crate::shared::lock::lock;
use crate::shared::overwritten::OverwrittenRecords;
use crate::shared::ring::Ring;
use crate::shared::step_work::Work;

/// What the background thread sees of a recording thread.
#[derive(Debug)]
pub(crate) struct ThreadShared {
    pub ring: Ring,
    pub aggregates: Aggregates,
    /// Of them those of deep steps.
    pub deep_steps: Aggregates,
    /// Of the steps that it has ended.
    pub work: Work,
    /// Spans that ended and were meant to be exported.
    pub emitted: AtomicU64,
    /// Of those, the ones lost because the ring was full.
    pub ring_full: AtomicU64,
    /// Sections that ended and were left out on purpose, by reason.
    pub left_out: [AtomicU64; LossReason::ALL.len()],
    pub id: u64,
    pub name: String,
    /// Of the background thread, where the ring overwrites.
    pub seen: Mutex<OverwrittenRecords>,
    /// The thread has ended: what the ring holds is the last of it.
    pub retired: AtomicBool,
}

impl ThreadShared {
    /// Takes the oldest record out of the ring, of those that were written before `end`, its counts put right where others have
    /// taken the place of older ones.
    pub(crate) fn take_before(&self, end: usize, words: &mut Vec<u64>) -> bool {
        let Some(before) = self.ring.pop_before(end, words) else { return false };
        if self.ring.overwrites() {
            lock(&self.seen).take(words, self.id, before);
        }
        true
    }

    /// The same, of all that were written so far.
    #[cfg(test)]
    pub(crate) fn take(&self, words: &mut Vec<u64>) -> bool {
        self.take_before(self.ring.end(), words)
    }
}
