//! The threads that record, and what those that have ended left: whoever adds the two has everything, exactly once.
//! Short locks only, which a recording thread takes when it begins to record and never again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepscope_core::LossReason;

use crate::shared::aggregate::{Aggregates, Sums};
use crate::shared::step_work::{self, WorkByMode};
use crate::shared::thread_shared::ThreadShared;

/// Spans that ended and were meant to leave, and why some did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub emitted: u64,
    /// Lost before any sink, by reason.
    pub lost: [u64; LossReason::ALL.len()],
}

impl Tally {
    /// Adds those of a thread.
    pub(crate) fn add(&mut self, thread: &ThreadShared) {
        self.emitted += thread.emitted.load(Ordering::Relaxed);
        if let Some(lost) = self.lost.get_mut(LossReason::RingFull as usize) {
            *lost += thread.ring_full.load(Ordering::Relaxed);
        }
        for (lost, count) in self.lost.iter_mut().zip(&thread.left_out) {
            let count = count.load(Ordering::Relaxed);
            self.emitted += count;
            *lost += count;
        }
    }
}

/// What threads that have ended left.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndedThreads {
    /// By path.
    pub sums: BTreeMap<u32, Sums>,
    /// Of them those of deep steps.
    pub deep_steps: BTreeMap<u32, Sums>,
    pub work: WorkByMode,
    pub tally: Tally,
}

#[derive(Debug, Default)]
struct Inner {
    /// Not known to the background thread yet.
    fresh: Vec<Arc<ThreadShared>>,
    known: Vec<Arc<ThreadShared>>,
    ended_threads: Arc<EndedThreads>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ThreadRegistry {
    inner: Mutex<Inner>,
    /// Threads that ever began to record.
    begun: AtomicU64,
}

impl ThreadRegistry {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread begins to record.
    pub(crate) fn begin(&self, thread: &Arc<ThreadShared>) {
        self.lock().fresh.push(Arc::clone(thread));
        self.begun.fetch_add(1, Ordering::Release);
    }

    /// How many threads have ever begun to record.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// Puts the ids of those that began to record last, and go on, into `ids`, up to so many; returns how many there are beside.
    pub(crate) fn latest(&self, ids: &mut Vec<u64>, most: usize) -> u64 {
        let inner = self.lock();
        let threads = inner.fresh.iter().rev().chain(inner.known.iter().rev());
        let mut lasting = threads.filter(|thread| !thread.retired.load(Ordering::Relaxed));
        ids.clear();
        ids.extend(lasting.by_ref().take(most).map(|thread| thread.id));
        lasting.count() as u64
    }

    /// For the background thread: appends those that have begun since the last call.
    pub(crate) fn take_fresh(&self, known: &mut Vec<Arc<ThreadShared>>) {
        let mut inner = self.lock();
        let fresh = std::mem::take(&mut inner.fresh);
        known.extend(fresh.iter().cloned());
        inner.known.extend(fresh);
    }

    /// `thread` has ended, and what it counted stays: once, whoever says so.
    pub(crate) fn end(&self, thread: &Arc<ThreadShared>) {
        // Nobody writes any more, so there always is a copy.
        let of = |aggregates: &Aggregates| {
            let mut left = Vec::new();
            aggregates.for_each(|path, sums| left.extend(sums.map(|sums| (path, sums))));
            left
        };
        let (left, deep_steps) = (of(&thread.aggregates), of(&thread.deep_steps));
        let mut inner = self.lock();
        let before = inner.known.len() + inner.fresh.len();
        inner.known.retain(|known| !Arc::ptr_eq(known, thread));
        inner.fresh.retain(|fresh| !Arc::ptr_eq(fresh, thread));
        if inner.known.len() + inner.fresh.len() == before {
            return;
        }
        let ended_threads = Arc::make_mut(&mut inner.ended_threads);
        for (path, sums) in left {
            ended_threads.sums.entry(path).or_default().merge(&sums);
        }
        for (path, sums) in deep_steps {
            ended_threads.deep_steps.entry(path).or_default().merge(&sums);
        }
        // (Nobody writes any more.)
        step_work::add(&mut ended_threads.work, &thread.work.get(|_| false));
        ended_threads.tally.add(thread);
    }

    /// The time of all steps that have ended.
    pub(crate) fn step_ns(&self) -> u64 {
        let inner = self.lock();
        let ended_threads = inner.ended_threads.work.iter().map(|work| work.total_ns);
        ended_threads.chain(inner.known.iter().chain(&inner.fresh).map(|thread| thread.work.total_ns())).sum()
    }

    /// How many steps have ended.
    pub(crate) fn steps(&self) -> u64 {
        let inner = self.lock();
        let ended_threads = inner.ended_threads.work.iter().map(|work| work.steps);
        ended_threads.chain(inner.known.iter().chain(&inner.fresh).map(|thread| thread.work.count())).sum()
    }

    /// What ended threads have left, and all others: nothing is in both, and nothing in neither.
    pub(crate) fn read(&self) -> (Arc<EndedThreads>, Vec<Arc<ThreadShared>>) {
        let inner = self.lock();
        (Arc::clone(&inner.ended_threads), inner.known.iter().chain(&inner.fresh).cloned().collect())
    }
}
