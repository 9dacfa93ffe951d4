//! The table of open `tracing` spans: from the registry's span id to our open section, without the
//! registry's extensions (which cost an allocation a span). Fixed slots found by hashing, each made on first
//! use and kept, without locks; a full neighbourhood is a counted loss, never a wait.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use crate::open::{Open, Parent};

/// Open spans at once, at most (less where they crowd in one neighbourhood).
const CAPACITY: usize = 1 << 16;

/// Slots that an id may fall into.
const NEIGHBOURS: usize = 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct SpanTable {
    keys: Box<[AtomicU64]>,
    slots: Box<[OnceLock<Box<Open>>]>,
    /// Whether a span was ever put elsewhere than into the first of its slots.
    is_crowded: AtomicBool,
}

/// The registry packs slot, thread and generation into an id; the slot's bits are the low ones and they
/// come back, so hashing them mostly leads to slots that exist already.
#[inline]
fn first_slot(id: u64) -> usize {
    let (slot, thread) = (id & 0xffff_ffff, (id >> 38) & 0x1fff);
    (slot.wrapping_add(thread.wrapping_mul(1_031)) as usize) % CAPACITY
}

impl SpanTable {
    pub(crate) fn new() -> Self {
        Self {
            keys: (0..CAPACITY).map(|_| AtomicU64::new(0)).collect(),
            slots: (0..CAPACITY).map(|_| OnceLock::new()).collect(),
            is_crowded: AtomicBool::new(false),
        }
    }

    fn neighbours(id: u64) -> impl Iterator<Item = usize> {
        let first = first_slot(id);
        (0..NEIGHBOURS).map(move |offset| (first + offset) % CAPACITY)
    }

    /// A slot for span `id`, as its last user left it; `None` when there is no room.
    #[inline]
    pub(crate) fn insert(&self, id: u64) -> Option<&Open> {
        let first = first_slot(id);
        let index = if self.take(first, id) {
            first
        } else {
            // Whoever looks for this span has heard of it from here.
            self.is_crowded.store(true, Ordering::Relaxed);
            Self::neighbours(id).find(|&index| self.take(index, id))?
        };
        Some(self.slots.get(index)?.get_or_init(Box::default))
    }

    #[inline]
    fn take(&self, index: usize, id: u64) -> bool {
        self.keys.get(index).is_some_and(|key| {
            key.load(Ordering::Relaxed) == 0
                && key.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// The section of span `id`, if it is recorded; as long as somebody has a handle of that span.
    #[inline]
    pub(crate) fn find(&self, id: u64) -> Option<&Open> {
        self.find_slot(id).map(|(_, open)| open)
    }

    /// As [`find`](Self::find), with its slot.
    #[inline]
    pub(crate) fn find_slot(&self, id: u64) -> Option<(usize, &Open)> {
        let index = self.index(id)?;
        Some((index, self.slots.get(index)?.get()?))
    }

    /// What children of span `id` need to know, if it is recorded and has not ended.
    pub(crate) fn parent(&self, id: u64) -> Option<Parent> {
        let parent = self.find(id)?.as_parent(id);
        // Read before this look at the key: the slot may have become another span's.
        fence(Ordering::Acquire);
        self.index(id).and(parent)
    }

    /// Frees a slot whose span's section has ended.
    #[inline]
    pub(crate) fn free(&self, slot: usize) {
        if let Some(key) = self.keys.get(slot) {
            key.store(0, Ordering::Release);
        }
    }

    #[inline]
    fn is_at(&self, index: usize, id: u64) -> bool {
        self.keys.get(index).is_some_and(|key| key.load(Ordering::Acquire) == id)
    }

    #[inline]
    fn index(&self, id: u64) -> Option<usize> {
        let first = first_slot(id);
        if self.is_at(first, id) { Some(first) } else { self.index_far(id) }
    }

    #[cold]
    fn index_far(&self, id: u64) -> Option<usize> {
        if !self.is_crowded.load(Ordering::Relaxed) {
            return None;
        }
        Self::neighbours(id).find(|&index| self.is_at(index, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_found_until_it_is_freed() {
        let table = SpanTable::new();
        for id in 1..1_000 {
            table.insert(id).unwrap().set_start(id);
        }
        for id in 1..1_000 {
            assert_eq!(table.find(id).unwrap().start_ns(), id);
        }
        table.free(table.find_slot(500).unwrap().0);
        assert!(table.find(500).is_none() && table.parent(500).is_none());
        assert!(table.insert(500).is_some());
        assert_eq!(table.find(501).unwrap().start_ns(), 501);
    }

    #[test]
    fn a_crowded_neighbourhood_refuses() {
        let table = SpanTable::new();
        let same_slot = |n: usize| 7 + ((n as u64) << 51);
        for n in 0..NEIGHBOURS {
            assert!(table.insert(same_slot(n)).is_some());
        }
        assert!(table.insert(same_slot(NEIGHBOURS)).is_none());
        table.free(table.find_slot(same_slot(3)).unwrap().0);
        assert!(table.insert(same_slot(NEIGHBOURS)).is_some());
        assert!(table.find(same_slot(3)).is_none());
        assert!(table.find(same_slot(4)).is_some());
    }
}
