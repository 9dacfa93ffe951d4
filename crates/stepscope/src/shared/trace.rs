//! The traces that open sections belong to: id, context, and how many spans each has. Kept in a table of places
//! that are reused, so that a step costs no allocation in the steady state, and named by a number and a
//! generation, so that a section that knows a trace that is gone does no harm.

mod pool;
mod table;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stepscope_core::{Mode, SectionKind, identity::TraceId};

use crate::shared::record::{SectionRecord, id_from};
use crate::shared::relaxed::RelaxedU64;
pub(crate) use pool::TracePool;
pub(crate) use table::TraceTable;

/// A trace in the table: its generation, and its place there plus 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceRef(NonZeroU64);

impl Default for TraceRef {
    /// The first one of the first place.
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl TraceRef {
    fn new(index: u32, generation: u32) -> Self {
        let place = NonZeroU64::MIN.saturating_add(u64::from(index));
        Self(place | u64::from(generation) << 32)
    }

    /// As one word, which is never 0.
    #[inline]
    pub(crate) fn to_word(self) -> u64 {
        self.0.get()
    }

    /// The inverse; `None` for 0.
    #[inline]
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        NonZeroU64::new(word).map(Self)
    }

    #[inline]
    fn index(self) -> u32 {
        (self.0.get() as u32).wrapping_sub(1)
    }

    #[inline]
    fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }
}

/// What a trace is about; settled when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct About {
    pub id: TraceId,
    pub root_kind: SectionKind,
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    pub mode: Mode,
    /// Thread on which the root started.
    pub root_thread: u64,
    /// Its root leaves a span, or is meant to.
    pub root_leaves: bool,
    /// Traces that continue it are counted in it, and it is counted in the one that it continues, if it does.
    pub is_counted: bool,
}

impl About {
    pub(crate) fn new(id: TraceId, root_kind: SectionKind) -> Self {
        Self {
            id,
            root_kind,
            step: None,
            epoch: None,
            mode: Mode::Train,
            root_thread: 0,
            root_leaves: true,
            // Nobody waits for the end of a run to see its epochs.
            is_counted: root_kind != SectionKind::Run,
        }
    }

    /// A trace for what this one, which is full or closed, has no room for.
    pub(crate) fn continuation(&self, id: TraceId, root_thread: u64, is_counted: bool) -> Self {
        Self { id, root_thread, root_leaves: true, is_counted, ..*self }
    }
}

/// What all spans of a trace share.
#[derive(Debug, Default)]
pub(crate) struct TraceState {
    /// Spans started in this trace that are meant to be exported, with [`CLOSED`] set once the root has ended, and
    /// [`CONTINUED`] where another one continues it;
    /// open sections that hold it, in units of [`HOLD`]; its generation, in units of [`GENERATION`]. In one word,
    /// so that no span can join between the count and the closing, or join what has become another trace.
    state: AtomicU64,
    /// Of those started, the ones that were lost.
    dropped: AtomicU32,
    /// Sections that began in it and leave no span, on purpose.
    left_out: AtomicU32,
    /// Traces that continue it, with [`CLOSED_PARTS`] set once the root has said how many.
    parts: AtomicU32,
    /// Of a run's trace: those that have ended. A run can end, by a signal, before the epoch in it.
    ended: AtomicU32,
    /// Written before anybody else knows the trace.
    id: [RelaxedU64; 2],
    root_thread: RelaxedU64,
    /// Records of it that its root's thread has written, where that is counted.
    written: RelaxedU64,
    step: RelaxedU64,
    epoch: RelaxedU64,
    /// Root's kind, mode, [`HAS_STEP`], [`HAS_EPOCH`], [`ROOT_LEAVES`], [`IS_COUNTED`].
    bits: RelaxedU64,
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

const STARTED: u64 = 0xffff;
/// No new span may join.
const CLOSED: u64 = 1 << 16;
/// Of the traces that continue it, one began before it was closed.
const CONTINUED: u64 = 1 << 17;
const HOLD: u64 = 1 << 18;
const GENERATION: u64 = 1 << 40;
const HOLDS: u64 = GENERATION - HOLD;

const HAS_STEP: u64 = 1 << 16;
const HAS_EPOCH: u64 = 1 << 17;
const ROOT_LEAVES: u64 = 1 << 18;
const IS_COUNTED: u64 = 1 << 19;

/// No further trace is counted.
const CLOSED_PARTS: u32 = 1 << 31;

impl TraceState {
    /// Makes it the trace `about`, with one section that holds it: its root.
    fn start(&self, about: &About) -> u32 {
        let id = u128::from_be_bytes(about.id);
        let [high, low] = &self.id;
        high.set((id >> 64) as u64);
        low.set(id as u64);
        self.root_thread.set(about.root_thread);
        self.step.set(about.step.unwrap_or(0));
        self.epoch.set(about.epoch.unwrap_or(0));
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        self.bits.set(
            about.root_kind as u64
                | (about.mode as u64) << 8
                | flag(about.step.is_some(), HAS_STEP)
                | flag(about.epoch.is_some(), HAS_EPOCH)
                | flag(about.root_leaves, ROOT_LEAVES)
                | flag(about.is_counted, IS_COUNTED),
        );
        self.written.set(0);
        self.dropped.store(0, Ordering::Relaxed);
        self.left_out.store(0, Ordering::Relaxed);
        self.parts.store(0, Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
        let generation = self.state.load(Ordering::Relaxed) / GENERATION;
        let root = HOLD | u64::from(about.root_leaves);
        self.state.store((generation * GENERATION) | root, Ordering::Release);
        generation as u32
    }

    fn about(&self) -> About {
        let bits = self.bits.get();
        About {
            id: self.id(),
            root_kind: SectionKind::from_index(bits as u8).unwrap_or(SectionKind::Section),
            step: (bits & HAS_STEP != 0).then(|| self.step.get()),
            epoch: (bits & HAS_EPOCH != 0).then(|| self.epoch.get()),
            mode: Mode::from_index((bits >> 8) as u8).unwrap_or(Mode::Train),
            root_thread: self.root_thread.get(),
            root_leaves: bits & ROOT_LEAVES != 0,
            is_counted: bits & IS_COUNTED != 0,
        }
    }

    /// Its id.
    pub(crate) fn id(&self) -> TraceId {
        id_from(self.id_words())
    }

    /// The id as two words, the first one first.
    #[inline]
    pub(crate) fn id_words(&self) -> [u64; 2] {
        self.id.each_ref().map(RelaxedU64::get)
    }

    #[inline]
    pub(crate) fn root_thread(&self) -> u64 {
        self.root_thread.get()
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
        self.release()
    }

    /// As [`end_continuation`](Self::end_continuation) where the run ends before, of whatever trace this is, or will be: one
    /// that continues none is left as it is.
    pub(crate) fn release(&self) -> Option<Ended> {
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
            root.trace_parts = self.close_parts(true);
            root.announces = true;
        }
    }

    /// Counts one more section that holds it, and with `joins` one more span; `false` when it has become another
    /// trace or, for one that joins, when its root has ended or it is full.
    #[inline]
    fn hold(&self, generation: u32, joins: bool) -> bool {
        let one_more = |state: u64| {
            let is_it = state / GENERATION == u64::from(generation) && state & HOLDS != 0;
            // A closed trace's count is larger than any.
            let takes = !joins || state & (STARTED | CLOSED) < u64::from(stepscope_core::MAX_TRACE_SPANS);
            (is_it && takes).then(|| state + HOLD + u64::from(joins))
        };
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more).is_ok()
    }

    /// Notes that a span that had joined was lost.
    pub(crate) fn lose_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that were written by the root's own thread, if `thread` is that one.
    pub(crate) fn written_by(&self, thread: u64) -> u64 {
        if thread == self.root_thread() { self.written.get() } else { 0 }
    }

    /// Counts a record that `thread` has written.
    pub(crate) fn count_written(&self, thread: u64) {
        if thread == self.root_thread() {
            self.written.add(1);
        }
    }

    /// Notes that a section began and leaves no span, on purpose.
    pub(crate) fn leave_one_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back that a span has joined: it leaves none, on purpose. Not once the root has said how many there are.
    pub(crate) fn take_back_one(&self) -> bool {
        let one_less = |state: u64| (state & CLOSED == 0 && state & STARTED > 0).then(|| state - 1);
        let is_open = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok();
        if is_open {
            self.leave_one_out();
        }
        is_open
    }

    /// Sections that began so far and leave no span, on purpose.
    pub(crate) fn left_out(&self) -> u32 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Notes that a span that had joined a run's trace has ended.
    pub(crate) fn end_one(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the trace of a run that has ended itself: what is still open in it never ends. As [`Self::close`].
    pub(crate) fn close_run(&self) -> (u32, u32) {
        let (_, dropped) = self.close();
        (self.ended.load(Ordering::Relaxed).saturating_sub(dropped), dropped)
    }

    /// Counts a trace that continues this one, for who holds it; `false` where it is closed, so that nobody waits for more.
    pub(crate) fn count_part(&self) -> bool {
        let continued = |state: u64| (state & CLOSED == 0).then_some(state | CONTINUED);
        let one_more = |parts: u32| (parts < CLOSED_PARTS - 1).then(|| parts + 1);
        self.bits.get() & IS_COUNTED != 0
            && self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, continued).is_ok()
            && self.parts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Of a closed trace: how many continue it, where that is to be told. No more are counted.
    pub(crate) fn close_parts(&self, continues: bool) -> Option<u32> {
        let state = self.state.load(Ordering::Relaxed);
        let is_full = state & STARTED >= u64::from(stepscope_core::MAX_TRACE_SPANS);
        // Only then somebody may be counting at this moment.
        let parts = match state & CONTINUED {
            0 => 0,
            _ => self.parts.fetch_or(CLOSED_PARTS, Ordering::Relaxed) & !CLOSED_PARTS,
        };
        (self.bits.get() & IS_COUNTED != 0 && (continues || is_full || parts > 0)).then_some(parts)
    }

    /// Closes the trace and says how many spans a reader will find and how many were lost so far.
    pub(crate) fn close(&self) -> (u32, u32) {
        let started = (self.state.fetch_or(CLOSED, Ordering::Relaxed) & STARTED) as u32;
        let dropped = self.dropped.load(Ordering::Relaxed);
        (started.saturating_sub(dropped), dropped)
    }
}

#[cfg(test)]
mod tests;
