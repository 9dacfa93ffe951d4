//! The table of open `tracing` spans: from the registry's span id to our open section, without the
//! registry's extensions (which cost an allocation a span). Fixed slots found by hashing, each made on first
//! use and kept; a full neighbourhood is a counted loss, never a wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::open::Open;

/// Open spans at once, at most (less where they crowd in one neighbourhood).
const CAPACITY: usize = 1 << 16;

/// Slots that an id may fall into.
const NEIGHBOURS: usize = 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct SpanTable {
    keys: Box<[AtomicU64]>,
    slots: Box<[OnceLock<Box<Mutex<Open>>>]>,
}

/// The registry packs slot, thread and generation into an id; the slot's bits are the low ones and they
/// come back, so hashing them mostly leads to slots that exist already.
fn first_slot(id: u64) -> usize {
    let (slot, thread) = (id & 0xffff_ffff, (id >> 38) & 0x1fff);
    (slot.wrapping_add(thread.wrapping_mul(1_031)) as usize) % CAPACITY
}

impl SpanTable {
    pub(crate) fn new() -> Self {
        Self {
            keys: (0..CAPACITY).map(|_| AtomicU64::new(0)).collect(),
            slots: (0..CAPACITY).map(|_| OnceLock::new()).collect(),
        }
    }

    fn neighbours(id: u64) -> impl Iterator<Item = usize> {
        let first = first_slot(id);
        (0..NEIGHBOURS).map(move |offset| (first + offset) % CAPACITY)
    }

    /// A reset section for span `id`; `None` when there is no room.
    pub(crate) fn insert(&self, id: u64) -> Option<MutexGuard<'_, Open>> {
        let index = Self::neighbours(id).find(|&index| {
            self.keys.get(index).is_some_and(|key| {
                key.load(Ordering::Relaxed) == 0
                    && key.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            })
        })?;
        let mut open = self.lock(index)?;
        open.reset();
        Some(open)
    }

    /// The section of span `id`, if it is recorded.
    pub(crate) fn get(&self, id: u64) -> Option<MutexGuard<'_, Open>> {
        self.lock(self.find(id)?)
    }

    /// Hands the section of span `id` to `end` and frees its slot.
    pub(crate) fn remove(&self, id: u64, end: impl FnOnce(&mut Open)) {
        let Some(index) = self.find(id) else { return };
        if let Some(mut open) = self.lock(index) {
            end(&mut open);
        }
        if let Some(key) = self.keys.get(index) {
            key.store(0, Ordering::Release);
        }
    }

    fn find(&self, id: u64) -> Option<usize> {
        Self::neighbours(id)
            .find(|&index| self.keys.get(index).is_some_and(|key| key.load(Ordering::Acquire) == id))
    }

    fn lock(&self, index: usize) -> Option<MutexGuard<'_, Open>> {
        let slot = self.slots.get(index)?.get_or_init(Box::default);
        // A panic while a span was being recorded leaves figures that are still worth having.
        Some(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_found_until_it_is_removed() {
        let table = SpanTable::new();
        for id in 1..1_000 {
            table.insert(id).unwrap().callsite = id as u32;
        }
        for id in 1..1_000 {
            assert_eq!(table.get(id).unwrap().callsite, id as u32);
        }
        let mut seen = 0;
        table.remove(500, |open| seen = open.callsite);
        assert_eq!(seen, 500);
        assert!(table.get(500).is_none());
        table.remove(500, |_| unreachable!("removed twice"));
        assert_eq!(table.insert(500).unwrap().callsite, 0);
    }

    #[test]
    fn a_crowded_neighbourhood_refuses() {
        let table = SpanTable::new();
        let same_slot = |n: usize| 7 + ((n as u64) << 51);
        for n in 0..NEIGHBOURS {
            assert!(table.insert(same_slot(n)).is_some());
        }
        assert!(table.insert(same_slot(NEIGHBOURS)).is_none());
        table.remove(same_slot(3), |_| ());
        assert!(table.insert(same_slot(NEIGHBOURS)).is_some());
        assert!(table.get(same_slot(3)).is_none());
        assert!(table.get(same_slot(4)).is_some());
    }
}
