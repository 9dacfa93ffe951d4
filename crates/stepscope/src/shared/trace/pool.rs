//! What a thread keeps of the table of traces for itself: places for its next ones, and room in the one that it works at.

use std::sync::atomic::Ordering;

use super::table::{CHUNK, TraceTable};
use super::{About, Announcement, CLOSED, GENERATION, HOLD, HOLDS, STARTED, TraceRef, TraceState};
use crate::os::memory;
use crate::shared::lazy_chunk;

/// Places in the table that this thread uses next.
#[derive(Debug, Default)]
pub(crate) struct TracePool {
    free: Vec<u32>,
    ahead: Ahead,
}

/// What a thread has taken in advance of one trace, so that its sections join and leave it without what other threads
/// see: spans that may join, and holds of sections. Of a trace whose root is on the thread's own stack only: it ends there,
/// and what is left is given back before anybody is told how many spans there are.
#[derive(Debug, Default)]
struct Ahead {
    trace: Option<TraceRef>,
    /// That trace's id.
    id: [u64; 2],
    spans: u64,
    /// At least as many.
    holds: u64,
}

/// So many spans at once: one read-modify-write for that many sections, and at most so many that others find a trace full
/// too early.
const AHEAD: u64 = 16;

/// More holds than these are given up as they come: sections may end here that began elsewhere, without end.
pub(super) const KEPT_HOLDS: u64 = 2 * AHEAD;

/// More than this many are given back to all threads.
const KEEP: usize = 8;

impl TracePool {
    /// Starts a trace that its root holds; `None` when there are too many.
    pub(crate) fn start(&mut self, table: &TraceTable, about: &About) -> Option<TraceRef> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => table.take_place()?,
        };
        lazy_chunk::get_or_make(table.chunks.get(index as usize / CHUNK)?)?;
        let trace = TraceRef::new(index, 0);
        let generation = table.get(trace)?.start(about);
        Some(TraceRef::new(index, generation))
    }

    /// The root of `trace` is on this thread's stack from now on, until [`settle`](Self::settle).
    pub(crate) fn adopt(&mut self, table: &TraceTable, trace: TraceRef) {
        self.give_back_ahead(table);
        if let Some(place) = table.get(trace) {
            (self.ahead.trace, self.ahead.id) = (Some(trace), place.id_words());
        }
    }

    /// The root of `trace` is about to end.
    pub(crate) fn settle(&mut self, table: &TraceTable, trace: TraceRef) {
        if self.ahead.trace == Some(trace) {
            self.give_back_ahead(table);
        }
    }

    fn give_back_ahead(&mut self, table: &TraceTable) {
        let Ahead { trace, spans, holds, .. } = std::mem::take(&mut self.ahead);
        // Its root still holds it, so that none of these was the last to.
        if spans + holds > 0
            && let Some(place) = trace.and_then(|trace| table.get(trace))
        {
            place.state.fetch_sub(spans + holds * HOLD, Ordering::AcqRel);
        }
    }

    /// As [`TraceTable::join`].
    #[inline]
    pub(crate) fn join<'t>(&mut self, table: &'t TraceTable, trace: TraceRef) -> Option<&'t TraceState> {
        if self.ahead.trace != Some(trace) {
            return table.join(trace);
        }
        let place = table.get(trace)?;
        if self.ahead.spans == 0 {
            self.ahead.take(place)?;
        }
        self.ahead.spans -= 1;
        self.ahead.holds -= 1;
        Some(place)
    }

    /// As [`join`](Self::join), of a section of the thread with this id; whether the trace's root is another thread's.
    #[inline]
    pub(crate) fn join_from(&mut self, table: &TraceTable, trace: TraceRef, thread: u64) -> Option<bool> {
        if self.ahead.trace == Some(trace)
            && let Some(spans) = self.ahead.spans.checked_sub(1)
        {
            // Its root is on this thread's own stack. (There are as many holds, or more.)
            self.ahead.spans = spans;
            self.ahead.holds -= 1;
            return Some(false);
        }
        self.join_far(table, trace, thread)
    }

    #[cold]
    fn join_far(&mut self, table: &TraceTable, trace: TraceRef, thread: u64) -> Option<bool> {
        self.join(table, trace).map(|place| place.root_thread() != thread)
    }

    /// The id, as two words, of a trace that a section of this thread holds.
    #[inline]
    pub(crate) fn id_words(&self, table: &TraceTable, trace: TraceRef) -> [u64; 2] {
        match self.ahead.trace == Some(trace) {
            true => self.ahead.id,
            false => table.get(trace).map_or([0; 2], TraceState::id_words),
        }
    }

    /// A section that held `trace` has ended; the last one frees its place.
    #[inline]
    pub(crate) fn leave(&mut self, table: &TraceTable, trace: TraceRef) {
        if self.ahead.trace == Some(trace) && self.ahead.holds < KEPT_HOLDS {
            // For the next section that joins: the root holds the trace as well.
            self.ahead.holds += 1;
            return;
        }
        if let Some(place) = table.get(trace)
            && place.state.fetch_sub(HOLD, Ordering::AcqRel) & HOLDS == HOLD
        {
            self.free(table, place, trace);
        }
    }

    #[cold]
    fn free(&mut self, table: &TraceTable, place: &TraceState, trace: TraceRef) {
        let _own = memory::own_call();
        *place.announcement() = Announcement::Open;
        // From here on nobody holds it, so nobody else writes to it.
        let generation = u64::from(trace.generation()).wrapping_add(1) & (u64::MAX / GENERATION);
        place.state.store(generation * GENERATION, Ordering::Release);
        if self.free.len() < KEEP {
            self.free.push(trace.index());
        } else {
            table.lock_free().push(trace.index());
        }
    }

    /// Gives all places to the other threads.
    pub(crate) fn give_back(&mut self, table: &TraceTable) {
        self.give_back_ahead(table);
        table.lock_free().append(&mut self.free);
    }
}

impl Ahead {
    /// Takes enough for one more section; `None` where the trace is closed or full.
    #[cold]
    fn take(&mut self, place: &TraceState) -> Option<()> {
        let (mut spans, mut holds) = (0, 0);
        let more = |state: u64| {
            // A closed trace's count is larger than any.
            let room = u64::from(stepscope_core::MAX_TRACE_SPANS).saturating_sub(state & (STARTED | CLOSED));
            spans = AHEAD.saturating_sub(self.spans).min(room);
            holds = AHEAD.saturating_sub(self.holds);
            (self.spans + spans > 0).then(|| state + spans + holds * HOLD)
        };
        place.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).ok()?;
        self.spans += spans;
        self.holds += holds;
        Some(())
    }
}
