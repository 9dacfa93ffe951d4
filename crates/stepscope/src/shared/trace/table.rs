//! The traces of a run, in places that are reused.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::{About, GENERATION, HOLDS, TracePool, TraceRef, TraceState};

pub(super) const CHUNK: usize = 64;

/// Traces at once, at most: more than there may be open spans, with sections on many threads beside.
const CAPACITY: usize = 1 << 18;

/// The traces of a run.
#[derive(Debug)]
pub(crate) struct TraceTable {
    pub(super) chunks: Box<[OnceLock<Box<[TraceState; CHUNK]>>]>,
    /// Places used so far.
    pub(super) used: AtomicU32,
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

    pub(super) fn lock_free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_place(&self) -> Option<u32> {
        if let Some(index) = self.lock_free().pop() {
            return Some(index);
        }
        let one_more = |used: u32| ((used as usize) < CAPACITY).then(|| used + 1);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()
    }
}
