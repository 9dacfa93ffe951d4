//! The trace that open sections belong to: its id, its context, and how many spans it has. Shared by all
//! threads that work on it and recycled, so that a step costs no allocation in the steady state.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepscope_core::{Mode, SectionKind, identity::TraceId};

use crate::record::SectionRecord;

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
    /// For a trace that continues a full one.
    announcement: Mutex<Announcement>,
}

/// A record with its packed attachments, ready for the ring.
pub(crate) type Ended = Box<(SectionRecord, Vec<u64>)>;

/// Who says how many spans a continuing trace has: it has many roots, and the last one to end does.
#[derive(Debug, Default)]
enum Announcement {
    /// More sections may join; the one that ended last is held back.
    #[default]
    Open,
    Held(Ended),
    /// No more sections join, and none had ended: the next one announces.
    Due,
    Done,
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
            announcement: Mutex::default(),
        }
    }

    /// A trace for what this one, which is full or closed, has no room for.
    pub(crate) fn continuation(&self, id: TraceId, root_thread: u64) -> Self {
        let (step, epoch, mode) = (self.step, self.epoch, self.mode);
        Self { step, epoch, mode, root_thread, ..Self::new(id, self.root_kind) }
    }

    fn announcement(&self) -> MutexGuard<'_, Announcement> {
        self.announcement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A root of a continuing trace has ended; returns what is to be written now.
    pub(crate) fn end_root(&self, mut ended: Ended) -> Option<Ended> {
        let mut announcement = self.announcement();
        match std::mem::take(&mut *announcement) {
            Announcement::Open => {
                *announcement = Announcement::Held(ended);
                None
            }
            Announcement::Held(before) => {
                *announcement = Announcement::Held(ended);
                Some(before)
            }
            Announcement::Due => {
                *announcement = Announcement::Done;
                self.announce(&mut ended);
                Some(ended)
            }
            Announcement::Done => {
                *announcement = Announcement::Done;
                Some(ended)
            }
        }
    }

    /// Nothing joins a continuing trace any more; returns what is to be written now.
    pub(crate) fn end_continuation(&self) -> Option<Ended> {
        self.close();
        let mut announcement = self.announcement();
        match std::mem::take(&mut *announcement) {
            Announcement::Open | Announcement::Due => {
                *announcement = Announcement::Due;
                None
            }
            Announcement::Held(mut ended) => {
                *announcement = Announcement::Done;
                self.announce(&mut ended);
                Some(ended)
            }
            Announcement::Done => {
                *announcement = Announcement::Done;
                None
            }
        }
    }

    fn announce(&self, ended: &mut Ended) {
        if let Some(root) = &mut ended.0.root {
            (root.trace_spans, root.trace_dropped) = self.close();
            root.announces = true;
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
    use crate::record::RootRecord;

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

    fn ended(span_id: u64) -> Ended {
        let root = RootRecord {
            mode: Mode::Train,
            announces: false,
            trace_spans: 0,
            trace_dropped: 0,
            step: None,
            epoch: None,
            continues: Some((1, [1; 16], 1)),
        };
        Box::new((SectionRecord { span_id, root: Some(root), ..SectionRecord::default() }, Vec::new()))
    }

    /// The span, and the number of spans that it announces.
    fn written(ended: Option<Ended>) -> Option<(u64, Option<u32>)> {
        let (record, _) = *ended?;
        Some((record.span_id, record.root.filter(|root| root.announces).map(|root| root.trace_spans)))
    }

    #[test]
    fn the_root_that_ends_last_announces_a_continuing_trace() {
        let full = TraceState::new([1; 16], SectionKind::Step);
        let trace = full.continuation([2; 16], 0);
        (0..4).for_each(|_| assert!(trace.join()));
        assert_eq!(written(trace.end_root(ended(1))), None);
        assert_eq!(written(trace.end_root(ended(2))), Some((1, None)));
        assert_eq!(written(trace.end_root(ended(3))), Some((2, None)));
        assert_eq!(written(trace.end_continuation()), Some((3, Some(4))));
        // One that outlives the section around it.
        assert_eq!(written(trace.end_root(ended(4))), Some((4, None)));
        assert_eq!(written(trace.end_continuation()), None);
        assert!(!trace.join());
        // None has ended when nothing joins any more: the next one announces.
        let trace = full.continuation([3; 16], 0);
        (0..2).for_each(|_| assert!(trace.join()));
        assert_eq!(written(trace.end_continuation()), None);
        assert_eq!(written(trace.end_root(ended(5))), Some((5, Some(2))));
        assert_eq!(written(trace.end_root(ended(6))), Some((6, None)));
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
