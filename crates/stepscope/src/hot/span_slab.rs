//! Open spans whose ids are ours: those of the root subscriber. A place that is reused, its generation and how many
//! handles there are make up everything: an id leads to its place without a search, and one of a span that is gone
//! leads nowhere. Each thread keeps some free places for itself.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::hot::open::{Open, Parent};
use crate::hot::span_key;
use crate::shared::lazy_chunk;

/// Open spans at once, at most.
const CAPACITY: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 16;

/// Places made at a time.
const CHUNK: usize = 16;

/// A span's state is its generation above this many bits, and below them the number of its handles.
const HANDLE_BITS: u32 = 29;
const HANDLES: u64 = (1 << HANDLE_BITS) - 1;
const GENERATIONS: u64 = (1 << (64 - HANDLE_BITS)) - 1;

/// An id that is ours, and no span's: generation 0 is never in use.
pub(crate) fn nobody() -> u64 {
    span_key::of_own_span(0)
}

#[derive(Debug, Default)]
struct Slot {
    state: AtomicU64,
    open: Open,
}

/// A place in the slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

/// See the module.
#[derive(Debug)]
pub(crate) struct Slab {
    chunks: Box<[OnceLock<Box<[Slot; CHUNK]>>]>,
    /// Places used so far.
    used: AtomicU32,
    /// Places that are free again and that no thread keeps for itself.
    free: Mutex<Vec<Place>>,
    /// Whether the id of nobody was given away.
    has_nobody: AtomicBool,
}

#[inline]
fn generation_of(key: u64) -> u64 {
    span_key::number(key) >> INDEX_BITS
}

#[inline]
fn place_of(key: u64) -> Place {
    Place((key & (CAPACITY as u64 - 1)) as u32)
}

/// Whether a state is that of a span of this generation that has not ended.
#[inline]
fn is_open(state: u64, generation: u64) -> bool {
    state >> HANDLE_BITS == generation && state & HANDLES != 0
}

impl Slab {
    pub(crate) fn new() -> Self {
        Self {
            chunks: (0..CAPACITY / CHUNK).map(|_| OnceLock::new()).collect(),
            used: AtomicU32::new(0),
            free: Mutex::default(),
            has_nobody: AtomicBool::new(false),
        }
    }

    /// Whether any span ever had an id of ours.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed) > 0 || self.has_nobody.load(Ordering::Relaxed)
    }

    /// The id for a span that is not recorded and that nobody else has given one.
    #[cold]
    pub(crate) fn nobody(&self) -> u64 {
        self.has_nobody.store(true, Ordering::Relaxed);
        nobody()
    }

    #[inline]
    fn slot(&self, Place(index): Place) -> Option<&Slot> {
        self.chunks.get(index as usize / CHUNK)?.get()?.get(index as usize % CHUNK)
    }

    /// Puts a span with one handle at a free place of the caller's: its id, and its section as the last one left it.
    #[inline]
    pub(crate) fn start(&self, place: Place) -> Option<(u64, &Open)> {
        let slot = self.slot(place)?;
        // Nobody else writes to a free place.
        let generation = (slot.state.load(Ordering::Relaxed) >> HANDLE_BITS).max(1);
        slot.state.store(generation << HANDLE_BITS | 1, Ordering::Release);
        Some((span_key::of_own_span(generation << INDEX_BITS | u64::from(place.0)), &slot.open))
    }

    /// The section of span `key`, unless it has ended.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<&Open> {
        let slot = self.slot(place_of(key))?;
        is_open(slot.state.load(Ordering::Acquire), generation_of(key)).then_some(&slot.open)
    }

    /// What children of span `key` need to know, if it has not ended.
    pub(crate) fn parent(&self, key: u64) -> Option<Parent> {
        let parent = self.find(key)?.as_parent(key);
        // Read before this look at the state: the place may have become another span's.
        fence(Ordering::Acquire);
        self.find(key).and(parent)
    }

    /// One handle more, unless the span has ended.
    #[inline]
    pub(crate) fn hold(&self, key: u64) -> bool {
        let one_more = |state: u64| {
            (is_open(state, generation_of(key)) && state & HANDLES < HANDLES).then_some(state + 1)
        };
        self.slot(place_of(key)).is_some_and(|slot| {
            slot.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
        })
    }

    /// One handle less: where it was the last one, nobody finds the span any more, and its place and section are the
    /// caller's, to be freed when it has ended.
    #[inline]
    pub(crate) fn release(&self, key: u64) -> Option<(Place, &Open)> {
        let (place, generation) = (place_of(key), generation_of(key));
        let slot = self.slot(place)?;
        let one_less = |state: u64| match state & HANDLES {
            _ if !is_open(state, generation) => None,
            1 => Some(((generation + 1) & GENERATIONS) << HANDLE_BITS),
            _ => Some(state - 1),
        };
        let before = slot.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less).ok()?;
        (before & HANDLES == 1).then_some((place, &slot.open))
    }

    /// Gives a place to all threads.
    #[cold]
    pub(crate) fn free(&self, place: Place) {
        self.lock_free().push(place);
    }

    fn lock_free(&self) -> MutexGuard<'_, Vec<Place>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn take(&self) -> Option<Place> {
        if let Some(place) = self.lock_free().pop() {
            return Some(place);
        }
        let one_more = |used: u32| ((used as usize) < CAPACITY).then(|| used + 1);
        let index = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        lazy_chunk::get_or_make(self.chunks.get(index as usize / CHUNK)?)?;
        Some(Place(index))
    }
}

/// Free places that this thread uses next.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    free: Vec<Place>,
}

/// More than this many are given to all threads.
const KEEP: usize = 64;

impl Slots {
    /// A free place; `None` when too many spans are open.
    #[inline]
    pub(crate) fn take(&mut self, slab: &Slab) -> Option<Place> {
        match self.free.pop() {
            Some(place) => Some(place),
            None => slab.take(),
        }
    }

    /// A place is free again.
    #[inline]
    pub(crate) fn free(&mut self, slab: &Slab, place: Place) {
        if self.free.len() < KEEP {
            self.free.push(place);
        } else {
            slab.free(place);
        }
    }

    /// Gives all places to the other threads.
    pub(crate) fn give_back(&mut self, slab: &Slab) {
        slab.lock_free().append(&mut self.free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_found_until_its_last_handle_is_gone() {
        let (slab, mut slots) = (Slab::new(), Slots::default());
        assert!(!slab.is_used());
        let place = slots.take(&slab).unwrap();
        let (key, open) = slab.start(place).unwrap();
        open.set_start(7);
        assert!(slab.is_used() && span_key::is_own_span(key));
        assert!(slab.hold(key) && slab.hold(key));
        assert!(slab.release(key).is_none() && slab.release(key).is_none());
        assert_eq!(slab.find(key).unwrap().start_ns(), 7);
        assert_eq!(slab.release(key).unwrap().0, place);
        assert!(slab.find(key).is_none());
        slots.free(&slab, place);

        // Its place is another span's, and the old id leads nowhere.
        let (again, _) = slab.start(slots.take(&slab).unwrap()).unwrap();
        assert_eq!(place_of(again), place);
        assert_ne!(again, key);
        assert!(!slab.hold(key) && slab.find(key).is_none() && slab.release(key).is_none());
        assert!(slab.release(again).is_some(), "the old id has not changed the new one's handles");
    }

    #[test]
    fn ids_of_nobody_and_of_places_never_used_lead_nowhere() {
        let slab = Slab::new();
        for key in
            [slab.nobody(), span_key::of_own_span(1 << INDEX_BITS | 3), span_key::of_own_span(u64::MAX)]
        {
            assert!(
                !slab.hold(key)
                    && slab.find(key).is_none()
                    && slab.release(key).is_none()
                    && slab.parent(key).is_none()
            );
        }
        assert!(slab.is_used(), "the id of nobody is one of ours");
    }

    #[test]
    fn a_full_slab_refuses_and_has_room_again() {
        let (slab, mut slots) = (Slab::new(), Slots::default());
        let places: Vec<Place> = std::iter::from_fn(|| slots.take(&slab)).collect();
        assert_eq!(places.len(), CAPACITY);
        places.iter().for_each(|&place| slots.free(&slab, place));
        assert_eq!(slots.free.len(), KEEP);
        slots.give_back(&slab);
        let mut other = Slots::default();
        assert_eq!(std::iter::from_fn(|| other.take(&slab)).count(), CAPACITY);
    }

    #[test]
    fn of_many_threads_that_drop_handles_one_ends_the_span() {
        let slab = Slab::new();
        for _ in 0..200 {
            let place = Slots::default().take(&slab).unwrap();
            let (key, _) = slab.start(place).unwrap();
            (1..4).for_each(|_| assert!(slab.hold(key)));
            let last = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let drop_one = || {
                        if slab.release(key).is_some() {
                            last.fetch_add(1, Ordering::Relaxed);
                        }
                    };
                    std::thread::Builder::new().name("dropper".into()).spawn_scoped(scope, drop_one).unwrap();
                }
            });
            assert_eq!(last.into_inner(), 1);
            slab.free(place);
        }
    }
}
