//! The trace that open sections belong to: its id, its context, and how many spans it has. Shared by all
//! threads that work on it and recycled, so that a step costs no allocation in the steady state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stepscope_core::{Mode, SectionKind, identity::TraceId};

/// What all spans of a trace share.
#[derive(Debug)]
pub(crate) struct TraceState {
    pub id: TraceId,
    pub root_kind: SectionKind,
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    pub mode: Mode,
    /// Thread on which the root started.
    pub root_thread: u64,
    /// Spans started in this trace that are meant to be exported; with [`CLOSED`] set once the root has ended,
    /// in one word, so that no span can join between the count and the closing.
    started: AtomicU32,
    /// Of those, the ones that were lost.
    dropped: AtomicU32,
}

/// No new span may join.
const CLOSED: u32 = 1 << 31;

impl TraceState {
    pub(crate) fn new(id: TraceId, root_kind: SectionKind) -> Self {
        Self {
            id,
            root_kind,
            step: None,
            epoch: None,
            mode: Mode::Train,
            root_thread: 0,
            started: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
        }
    }

    /// Joins the trace, unless its root has ended or it is full.
    pub(crate) fn join(&self) -> bool {
        // A closed trace's word is larger than any count.
        let one_more = |started: u32| (started < stepscope_core::MAX_TRACE_SPANS).then(|| started + 1);
        self.started.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Notes that a span that had joined was lost.
    pub(crate) fn lose_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the trace and says how many spans a reader will find and how many were lost so far.
    pub(crate) fn close(&self) -> (u32, u32) {
        let started = self.started.fetch_or(CLOSED, Ordering::Relaxed) & !CLOSED;
        let dropped = self.dropped.load(Ordering::Relaxed);
        (started.saturating_sub(dropped), dropped)
    }
}

/// Trace states of this thread that nobody uses any more.
#[derive(Debug, Default)]
pub(crate) struct TracePool {
    free: Vec<Arc<TraceState>>,
}

/// More than this many are given back to the allocator.
const KEEP: usize = 8;

impl TracePool {
    /// A fresh trace state.
    pub(crate) fn take(&mut self, state: TraceState) -> Arc<TraceState> {
        while let Some(mut free) = self.free.pop() {
            if let Some(slot) = Arc::get_mut(&mut free) {
                *slot = state;
                return free;
            }
        }
        Arc::new(state)
    }

    /// Gives one back; kept only when nobody else holds it.
    pub(crate) fn give(&mut self, trace: Arc<TraceState>) {
        if self.free.len() < KEEP && Arc::strong_count(&trace) == 1 {
            self.free.push(trace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_or_full_trace_takes_nobody() {
        let trace = TraceState::new([1; 16], SectionKind::Step);
        for _ in 0..stepscope_core::MAX_TRACE_SPANS {
            assert!(trace.join());
        }
        assert!(!trace.join());
        trace.lose_one();
        assert_eq!(trace.close(), (stepscope_core::MAX_TRACE_SPANS - 1, 1));
        let trace = TraceState::new([1; 16], SectionKind::Step);
        trace.close();
        assert!(!trace.join());
    }

    #[test]
    fn a_trace_is_reused_only_when_nobody_holds_it() {
        let mut pool = TracePool::default();
        let first = pool.take(TraceState::new([1; 16], SectionKind::Step));
        let address = Arc::as_ptr(&first);
        let held = Arc::clone(&first);
        pool.give(first);
        assert_ne!(Arc::as_ptr(&pool.take(TraceState::new([2; 16], SectionKind::Step))), address);
        pool.give(held);
        let again = pool.take(TraceState::new([3; 16], SectionKind::Step));
        assert_eq!((Arc::as_ptr(&again), again.id), (address, [3; 16]));
    }
}
