//! The traces that open sections belong to: id, context, and how many spans each has. Kept in a table of places
//! that are reused, so that a step costs no allocation in the steady state, and named by a number and a
//! generation, so that a section that knows a trace that is gone does no harm.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use stepscope_core::{Mode, SectionKind, identity::TraceId};

use crate::shared::lazy_chunk;
use crate::shared::record::{SectionRecord, id_from};
use crate::shared::relaxed::RelaxedU64;

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
}

impl About {
    pub(crate) fn new(id: TraceId, root_kind: SectionKind) -> Self {
        Self { id, root_kind, step: None, epoch: None, mode: Mode::Train, root_thread: 0, root_leaves: true }
    }

    /// A trace for what this one, which is full or closed, has no room for.
    pub(crate) fn continuation(&self, id: TraceId, root_thread: u64) -> Self {
        Self { id, root_thread, root_leaves: true, ..*self }
    }
}

/// What all spans of a trace share.
#[derive(Debug, Default)]
pub(crate) struct TraceState {
    /// Spans started in this trace that are meant to be exported, with [`CLOSED`] set once the root has ended;
    /// open sections that hold it, in units of [`HOLD`]; its generation, in units of [`GENERATION`]. In one word,
    /// so that no span can join between the count and the closing, or join what has become another trace.
    state: AtomicU64,
    /// Of those started, the ones that were lost.
    dropped: AtomicU32,
    /// Sections that began in it and leave no span, on purpose.
    left_out: AtomicU32,
    /// Of a run's trace: those that have ended. A run can end, by a signal, before the epoch in it.
    ended: AtomicU32,
    /// Written before anybody else knows the trace.
    id: [RelaxedU64; 2],
    root_thread: RelaxedU64,
    /// Records of it that its root's thread has written, where that is counted.
    written: RelaxedU64,
    step: RelaxedU64,
    epoch: RelaxedU64,
    /// Root's kind, mode, [`HAS_STEP`], [`HAS_EPOCH`], [`ROOT_LEAVES`].
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
const HOLD: u64 = 1 << 17;
const GENERATION: u64 = 1 << 40;
const HOLDS: u64 = GENERATION - HOLD;

const HAS_STEP: u64 = 1 << 16;
const HAS_EPOCH: u64 = 1 << 17;
const ROOT_LEAVES: u64 = 1 << 18;

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
                | flag(about.root_leaves, ROOT_LEAVES),
        );
        self.written.set(0);
        self.dropped.store(0, Ordering::Relaxed);
        self.left_out.store(0, Ordering::Relaxed);
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

    /// Closes the trace and says how many spans a reader will find and how many were lost so far.
    pub(crate) fn close(&self) -> (u32, u32) {
        let started = (self.state.fetch_or(CLOSED, Ordering::Relaxed) & STARTED) as u32;
        let dropped = self.dropped.load(Ordering::Relaxed);
        (started.saturating_sub(dropped), dropped)
    }
}

const CHUNK: usize = 64;

/// Traces at once, at most: more than there may be open spans, with sections on many threads beside.
const CAPACITY: usize = 1 << 18;

/// The traces of a run.
#[derive(Debug)]
pub(crate) struct TraceTable {
    chunks: Box<[OnceLock<Box<[TraceState; CHUNK]>>]>,
    /// Places used so far.
    used: AtomicU32,
    /// Places that are free again and that no thread keeps for itself.
    free: Mutex<Vec<u32>>,
}

impl TraceTable {
    pub(crate) fn new() -> Self {
        let chunks = (0..CAPACITY / CHUNK).map(|_| OnceLock::new()).collect();
        Self { chunks, used: AtomicU32::new(0), free: Mutex::default() }
    }

    /// The place of `trace`, whatever is there by now. What it says holds for a section that holds the trace.
    #[inline]
    pub(crate) fn get(&self, trace: TraceRef) -> Option<&TraceState> {
        let index = trace.index() as usize;
        self.chunks.get(index / CHUNK)?.get()?.get(index % CHUNK)
    }

    /// All places that were ever used, some at a time.
    pub(crate) fn places(&self) -> impl Iterator<Item = &[TraceState]> {
        self.chunks.iter().filter_map(|chunk| chunk.get().map(|places| places.as_slice()))
    }

    fn is_there(&self, trace: TraceRef) -> bool {
        let state = self.get(trace).map_or(0, |place| place.state.load(Ordering::Acquire));
        state / GENERATION == u64::from(trace.generation()) && state & HOLDS != 0
    }

    /// What `trace` is about, unless it is gone.
    pub(crate) fn about(&self, trace: TraceRef) -> Option<About> {
        let about = self.get(trace)?.about();
        // Read before this look at the generation.
        std::sync::atomic::fence(Ordering::Acquire);
        self.is_there(trace).then_some(about)
    }

    /// Joins `trace` with a span that is meant to be exported, unless its root has ended or it is full. Who has
    /// joined leaves once.
    #[inline]
    pub(crate) fn join(&self, trace: TraceRef) -> Option<&TraceState> {
        self.get(trace).filter(|place| place.hold(trace.generation(), true))
    }

    /// Holds `trace` without a span of its own in it; to be left once.
    pub(crate) fn hold(&self, trace: TraceRef) -> bool {
        self.get(trace).is_some_and(|place| place.hold(trace.generation(), false))
    }

    /// A section of `trace` has ended on a thread that records no more: its span is lost, if one was to leave.
    #[cold]
    pub(crate) fn abandon(&self, trace: TraceRef, had_joined: bool, held: bool) {
        if let Some(place) = self.get(trace).filter(|_| had_joined) {
            place.lose_one();
        }
        if held {
            let mut pool = TracePool::default();
            pool.leave(self, trace);
            pool.give_back(self);
        }
    }

    fn lock_free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_place(&self) -> Option<u32> {
        if let Some(index) = self.lock_free().pop() {
            return Some(index);
        }
        let one_more = |used: u32| ((used as usize) < CAPACITY).then(|| used + 1);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()
    }
}

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
const KEPT_HOLDS: u64 = 2 * AHEAD;

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
        let _own = crate::os::memory::own_call();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::record::RootRecord;

    fn about(number: u8) -> About {
        About { step: Some(u64::from(number)), ..About::new([number; 16], SectionKind::Step) }
    }

    #[test]
    fn a_closed_or_full_trace_takes_nobody() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let trace = pool.start(&table, &about(1)).unwrap();
        for _ in 1..stepscope_core::MAX_TRACE_SPANS {
            assert!(table.join(trace).is_some());
        }
        assert!(table.join(trace).is_none());
        table.get(trace).unwrap().lose_one();
        assert_eq!(table.get(trace).unwrap().close(), (stepscope_core::MAX_TRACE_SPANS - 1, 1));
        let second = About { root_leaves: false, ..about(2) };
        let trace = pool.start(&table, &second).unwrap();
        table.get(trace).unwrap().close();
        assert!(table.join(trace).is_none());
        // What it is about stays known to those that are in it.
        assert!(table.hold(trace));
        assert_eq!(table.about(trace), Some(second));
    }

    #[test]
    fn a_run_counts_what_has_ended() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let run = pool.start(&table, &About::new([1; 16], SectionKind::Run)).unwrap();
        // Two markers, two epochs and the run; one epoch is open when the run ends, one marker is lost.
        (1..5).for_each(|_| assert!(table.join(run).is_some()));
        let run = table.get(run).unwrap();
        (0..4).for_each(|_| run.end_one());
        run.lose_one();
        assert_eq!(run.close_run(), (3, 1));
    }

    fn ended(span_id: u64) -> Ended {
        let root = RootRecord {
            mode: Mode::Train,
            announces: false,
            trace_spans: 0,
            trace_dropped: 0,
            left_out: None,
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
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let mut with_joined = |joined: u32| {
            let trace = pool.start(&table, &about(1).continuation([2; 16], 0)).unwrap();
            (1..joined).for_each(|_| assert!(table.join(trace).is_some()));
            (trace, table.get(trace).unwrap())
        };
        let (trace, place) = with_joined(4);
        assert_eq!(written(place.end_root(ended(1))), None);
        assert_eq!(written(place.end_root(ended(2))), Some((1, None)));
        assert_eq!(written(place.end_root(ended(3))), Some((2, None)));
        assert_eq!(written(place.end_continuation()), Some((3, Some(4))));
        // One that outlives the section around it.
        assert_eq!(written(place.end_root(ended(4))), Some((4, None)));
        assert_eq!(written(place.end_continuation()), None);
        assert!(table.join(trace).is_none());
        // None has ended when nothing joins any more: the next one announces.
        let (_, place) = with_joined(2);
        assert_eq!(written(place.end_continuation()), None);
        assert_eq!(written(place.end_root(ended(5))), Some((5, Some(2))));
        assert_eq!(written(place.end_root(ended(6))), Some((6, None)));
    }

    #[test]
    fn nothing_is_held_back_once_the_run_has_ended() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let other = pool.start(&table, &about(1)).unwrap();
        // More than one chunk of them; one has ended in every other trace.
        let continuing: Vec<_> = (1..=200).map(|_| pool.start(&table, &about(2)).unwrap()).collect();
        for (trace, number) in continuing.iter().zip(1..).step_by(2) {
            assert_eq!(written(table.get(*trace).unwrap().end_root(ended(number))), None);
        }
        let released: Vec<_> =
            table.places().flatten().filter_map(|place| written(place.release())).collect();
        assert_eq!(released, (1..=200).step_by(2).map(|number| (number, Some(1))).collect::<Vec<_>>());
        // What ends after it waits for nobody, and only the first one announces.
        for (trace, number) in continuing.iter().zip(1..) {
            let announced = (number % 2 == 0).then_some(1);
            let place = table.get(*trace).unwrap();
            assert_eq!(written(place.end_root(ended(number))), Some((number, announced)));
            assert_eq!(written(place.end_root(ended(number))), Some((number, None)));
        }
        assert!(table.places().flatten().all(|place| place.release().is_none()));
        // Another one goes on.
        assert!(table.join(other).is_some());
    }

    #[test]
    fn a_place_is_reused_only_when_nobody_holds_it() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let first = pool.start(&table, &about(1)).unwrap();
        assert!(table.hold(first));
        pool.leave(&table, first);
        let second = pool.start(&table, &about(2)).unwrap();
        assert_ne!(second.index(), first.index());
        assert_eq!(table.about(first), Some(about(1)));
        pool.leave(&table, first);
        let again = pool.start(&table, &about(3)).unwrap();
        assert_eq!((again.index(), table.about(again)), (first.index(), Some(about(3))));
        // Who still knows the first one does not get into the third.
        assert_eq!(table.about(first), None);
        assert!(table.join(first).is_none() && !table.hold(first));
        assert_eq!(TraceRef::from_word(again.to_word()), Some(again));
        assert_eq!(TraceRef::from_word(0), None);
    }

    #[test]
    fn what_is_taken_ahead_is_in_no_count() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        for (own, others) in [(0, 0), (1, 0), (16, 1), (17, 2), (100, 40)] {
            let trace = pool.start(&table, &about(1)).unwrap();
            pool.adopt(&table, trace);
            (0..own).for_each(|_| assert!(pool.join(&table, trace).is_some()));
            // Half of them end before, some on another thread.
            let mut other = TracePool::default();
            (0..others).for_each(|_| assert!(other.join(&table, trace).is_some()));
            (0..own / 2).for_each(|_| pool.leave(&table, trace));
            (0..others).for_each(|_| other.leave(&table, trace));
            pool.settle(&table, trace);
            let place = table.get(trace).unwrap();
            assert_eq!(place.close(), (1 + own + others, 0));
            assert!(pool.join(&table, trace).is_none());
            // The root, and those that outlive it.
            (0..own - own / 2).for_each(|_| pool.leave(&table, trace));
            assert_eq!(table.about(trace), Some(about(1)));
            pool.leave(&table, trace);
            assert_eq!(table.about(trace), None);
        }
        assert_eq!(table.used.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_ends_here_and_began_elsewhere_is_not_held_for_long() {
        let (table, mut pool, mut other) = (TraceTable::new(), TracePool::default(), TracePool::default());
        let trace = pool.start(&table, &about(1)).unwrap();
        pool.adopt(&table, trace);
        for _ in 0..1_000 {
            assert!(other.join(&table, trace).is_some_and(|place| place.take_back_one()));
            pool.leave(&table, trace);
        }
        // The root's, and what is kept for sections that join here.
        let held = table.get(trace).unwrap().state.load(Ordering::Relaxed) & HOLDS;
        assert!(held <= (1 + KEPT_HOLDS) * HOLD, "{}", held / HOLD);
        pool.settle(&table, trace);
        assert_eq!(table.get(trace).unwrap().close(), (1, 0));
        pool.leave(&table, trace);
        assert_eq!(table.about(trace), None);
    }

    #[test]
    fn a_trace_is_full_for_who_takes_ahead_as_for_others() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let trace = pool.start(&table, &about(1)).unwrap();
        pool.adopt(&table, trace);
        for _ in 1..stepscope_core::MAX_TRACE_SPANS {
            assert!(pool.join(&table, trace).is_some());
        }
        assert!(pool.join(&table, trace).is_none() && table.join(trace).is_none());
        // Another root is next on this thread's stack: what was taken of the first trace is its own again.
        let next = pool.start(&table, &about(2)).unwrap();
        pool.adopt(&table, next);
        assert_eq!(table.get(trace).unwrap().close(), (stepscope_core::MAX_TRACE_SPANS, 0));
        pool.settle(&table, next);
        assert_eq!(table.get(next).unwrap().close(), (1, 0));
    }

    #[test]
    fn places_go_from_thread_to_thread() {
        let (table, mut pool) = (TraceTable::new(), TracePool::default());
        let traces: Vec<_> = (0..20).map(|_| pool.start(&table, &about(1)).unwrap()).collect();
        traces.iter().for_each(|&trace| pool.leave(&table, trace));
        pool.give_back(&table);
        let mut other = TracePool::default();
        (0..20).for_each(|_| assert!(other.start(&table, &about(2)).is_some()));
        assert_eq!(table.used.load(Ordering::Relaxed), 20);
    }
}
