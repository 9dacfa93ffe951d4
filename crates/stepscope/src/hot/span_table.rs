//! The table of open `tracing` spans: from the registry's span id to our open section, without the
//! registry's extensions (which cost an allocation a span). Fixed slots found by hashing, each made on first
//! use and kept, without locks. A span whose place is taken goes elsewhere; where nothing is free either, that
//! is a counted loss, never a wait.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::hot::open::{Open, Parent};
use crate::hot::span_key;
use crate::os::sys::{Zeroed, zeroed};

/// Open spans at once, at most. The last few in a hundred slots are not found by every span.
const CAPACITY: usize = 1 << 16;

/// Slots that are searched together: a cache line of keys.
const GROUP: usize = 8;

/// Groups that a span is put into where its first slot is taken. So many, because whole ranges of slots are
/// taken by threads with many open spans. Looking goes as far as somebody had to.
const GROUPS: u64 = 64;

/// Of these groups, those that are the same for all generations of a registry's slot, so that a span that comes
/// again mostly finds slots that exist already.
const KEPT_GROUPS: u64 = 4;

/// The bits of an id below a registry's generation.
const BELOW_GENERATION: u64 = (1 << 51) - 1;

/// See the module.
#[derive(Debug)]
pub(crate) struct SpanTable {
    /// Of which a page is there once a span was in it.
    keys: Zeroed,
    slots: Box<[OnceLock<Box<Open>>]>,
    elsewhere: Elsewhere,
}

/// How many spans are elsewhere than in the first of their slots (lower half), and how many groups were searched for
/// room since there are any (upper half). In a cache line of its own: what is beside it is read for each span.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Elsewhere(AtomicU64);

const ONE_GROUP: u64 = 1 << 32;

impl Elsewhere {
    fn add(&self, groups: u64) {
        self.update(|word| (word / ONE_GROUP).max(groups) * ONE_GROUP + word % ONE_GROUP + 1);
    }

    fn remove(&self) {
        self.update(|word| if word % ONE_GROUP <= 1 { 0 } else { word - 1 });
    }

    fn update(&self, next: impl Fn(u64) -> u64) {
        // Whoever looks for a span has heard of it from its thread, and with that of what was added here for it.
        let _word = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| Some(next(word)));
    }

    /// How many groups a span may be in.
    fn groups(&self) -> u64 {
        self.0.load(Ordering::Relaxed) / ONE_GROUP
    }
}

/// The registry packs slot, thread and generation into an id; the slot's bits are the low ones and they
/// come back, so hashing them mostly leads to slots that exist already.
#[inline]
fn first_slot(id: u64) -> usize {
    let (slot, thread) = (id & 0xffff_ffff, (id >> 38) & 0x1fff);
    (slot.wrapping_add(thread.wrapping_mul(1_031)) as usize) % CAPACITY
}

/// Where a slot is that [`SpanTable::find_slot`] has told.
fn index_of(slot: usize) -> usize {
    slot % CAPACITY
}

/// The slots of one of the groups of an id.
fn group(id: u64, number: u64) -> impl Iterator<Item = usize> {
    let id = if number < KEPT_GROUPS { id & BELOW_GENERATION } else { id };
    // Each group from a hash of its own: steps from one to the next would stay in a range that is taken.
    let mut hash = id.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for _ in 0..2 {
        hash = (hash ^ hash >> 32).wrapping_mul(0x0e98_46af_9b1a_615d);
    }
    let first = (hash >> 32) as usize % (CAPACITY / GROUP) * GROUP;
    first..first + GROUP
}

impl SpanTable {
    pub(crate) fn new() -> Self {
        Self {
            keys: zeroed(CAPACITY),
            slots: (0..CAPACITY).map(|_| OnceLock::new()).collect(),
            elsewhere: Elsewhere::default(),
        }
    }

    /// A slot for span `id`, as its last user left it; `None` when there is no room.
    #[inline]
    pub(crate) fn insert(&self, id: u64) -> Option<&Open> {
        let first = first_slot(id);
        let index = if self.take(first, id) { first } else { self.take_elsewhere(id)? };
        Some(self.slots.get(index)?.get_or_init(Box::default))
    }

    #[inline]
    fn take(&self, index: usize, id: u64) -> bool {
        self.keys.get(index).is_some_and(|key| {
            key.load(Ordering::Relaxed) == 0
                && key.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    #[cold]
    fn take_elsewhere(&self, id: u64) -> Option<usize> {
        let (number, index) = (0..GROUPS)
            .find_map(|number| Some((number, group(id, number).find(|&index| self.take(index, id))?)))?;
        self.elsewhere.add(number + 1);
        Some(index)
    }

    /// The section of span `id`, if it is recorded; as long as somebody has a handle of that span.
    #[inline]
    pub(crate) fn find(&self, id: u64) -> Option<&Open> {
        self.slots.get(self.index(id)?)?.get().map(Box::as_ref)
    }

    /// As [`find`](Self::find), with what [`free`](Self::free) wants to know.
    #[inline]
    fn find_slot(&self, id: u64) -> Option<(usize, &Open)> {
        let first = first_slot(id);
        if self.is_at(first, id) {
            Some((first, self.slots.get(first)?.get()?))
        } else {
            let index = self.index_elsewhere(id)?;
            Some((index + CAPACITY, self.slots.get(index)?.get()?))
        }
    }

    /// What is in a slot that somebody keeps.
    pub(crate) fn at(&self, slot: usize) -> Option<&Open> {
        self.slots.get(index_of(slot))?.get().map(Box::as_ref)
    }

    /// Keeps the record of span `id`, if there is one, from ending: the slot that it is in, to be
    /// [released](Self::release). For somebody who has a handle of that span.
    pub(crate) fn keep(&self, id: u64) -> Option<usize> {
        let (slot, open) = self.find_slot(id)?;
        open.pending_children.add();
        Some(slot)
    }

    /// Span `id` has ended: its record, if there is one and nobody keeps it, which is the caller's to end and to
    /// [free](Self::free).
    #[inline]
    pub(crate) fn end(&self, id: u64) -> Option<(usize, &Open)> {
        let (slot, open) = self.find_slot(id)?;
        (open.pending_children.are_none() || self.detach(slot, open)).then_some((slot, open))
    }

    /// Whether the record of a span that has ended ends now. If not, nobody finds it by the span's id any more, which may
    /// come again.
    #[cold]
    fn detach(&self, slot: usize, open: &Open) -> bool {
        if let Some(key) = self.keys.get(index_of(slot)) {
            key.store(span_key::DETACHED, Ordering::Release);
        }
        open.pending_children.end()
    }

    /// Nobody keeps the record in this slot as the caller has: if it ends with that, it is the caller's, as in
    /// [`end`](Self::end).
    pub(crate) fn release(&self, slot: usize) -> Option<(usize, &Open)> {
        let open = self.at(slot)?;
        open.pending_children.release().then_some((slot, open))
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
        match self.keys.get(slot) {
            Some(key) => key.store(0, Ordering::Release),
            // So `find_slot` says that a span is elsewhere: the check of the bounds tells them apart at no cost.
            None => self.free_elsewhere(index_of(slot)),
        }
    }

    #[cold]
    fn free_elsewhere(&self, slot: usize) {
        if let Some(key) = self.keys.get(slot) {
            key.store(0, Ordering::Release);
            self.elsewhere.remove();
        }
    }

    #[inline]
    fn is_at(&self, index: usize, id: u64) -> bool {
        self.keys.get(index).is_some_and(|key| key.load(Ordering::Acquire) == id)
    }

    #[inline]
    fn index(&self, id: u64) -> Option<usize> {
        let first = first_slot(id);
        if self.is_at(first, id) { Some(first) } else { self.index_elsewhere(id) }
    }

    #[cold]
    fn index_elsewhere(&self, id: u64) -> Option<usize> {
        (0..self.elsewhere.groups()).find_map(|number| group(id, number).find(|&index| self.is_at(index, id)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Barrier;
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::hot::open::Stay;

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

    /// The id that a registry gives the span in this slot of a thread.
    fn registry_id(thread: u64, slot: u64, generation: u64) -> u64 {
        (slot + 1) | thread << 38 | generation << 51
    }

    #[test]
    fn spans_with_one_first_slot_go_elsewhere() {
        let table = SpanTable::new();
        let ids: Vec<u64> = (0..5_000).map(|generation| registry_id(3, 6, generation)).collect();
        for &id in &ids {
            table.insert(id).unwrap().set_start(id);
        }
        assert!(ids.iter().all(|&id| table.find(id).unwrap().start_ns() == id));
        table.free(table.find_slot(ids[3]).unwrap().0);
        assert!(table.find(ids[3]).is_none() && table.find(ids[4]).is_some());
        for &id in ids.iter().filter(|&&id| id != ids[3]) {
            table.free(table.find_slot(id).unwrap().0);
        }
        assert_eq!(table.elsewhere.groups(), 0, "nothing is searched where all are gone");
    }

    #[test]
    fn what_is_kept_stays_when_its_span_has_ended_and_its_id_comes_again() {
        let table = SpanTable::new();
        // In its first slot, and elsewhere.
        let ids = [registry_id(3, 6, 0), registry_id(3, 6, 1)];
        for id in ids {
            table.insert(id).unwrap().set_start(id);
        }
        for id in ids {
            let slot = table.keep(id).unwrap();
            assert_eq!(table.keep(id), Some(slot));
            assert!(table.end(id).is_none() && table.find(id).is_none() && table.keep(id).is_none());
            // The next one with this id is another's.
            table.insert(id).unwrap().set_start(7);
            assert_eq!(table.at(slot).unwrap().start_ns(), id);
            assert!(table.release(slot).is_none());
            let (freed, open) = table.release(slot).unwrap();
            assert_eq!((freed, open.start_ns()), (slot, id));
            table.free(freed);
            assert!(table.release(slot).is_none(), "there is none left to release");
            let (next, open) = table.end(id).unwrap();
            assert_eq!(open.start_ns(), 7);
            table.free(next);
        }
        assert!(table.keep(ids[0]).is_none());
        assert_is_empty(&table);
        // Who lets go before the end leaves that to the span.
        table.insert(ids[0]).unwrap();
        let slot = table.keep(ids[0]).unwrap();
        assert!(table.release(slot).is_none() && table.find(ids[0]).is_some());
        table.free(table.end(ids[0]).unwrap().0);
        assert_is_empty(&table);
    }

    #[track_caller]
    fn assert_is_empty(table: &SpanTable) {
        assert!(table.keys.iter().all(|key| key.load(Ordering::Relaxed) == 0));
        assert_eq!(table.elsewhere.0.load(Ordering::Relaxed), 0);
    }

    /// Rounds in which a span is kept by threads that let go of it while it ends: each ends once, with what all of
    /// them have done before, and none is left.
    #[test]
    fn whoever_is_the_last_ends_it() {
        const HOLDERS: u64 = 3;
        const ROUNDS: u64 = 3_000;
        let (table, all_have) = (SpanTable::new(), Barrier::new(HOLDERS as usize + 1));
        // The same id each time, beside one that has the first slot in every other round.
        let (id, other) = (registry_id(1, 2, 3), registry_id(1, 2, 4));
        let ended = |is_last: Option<(usize, &Open)>| {
            let Some((slot, open)) = is_last else { return 0 };
            assert!(open.pending_children.are_none());
            open.fold_rest();
            assert_eq!(u64::from(open.total().enters), HOLDERS, "it ends behind all that was put into it");
            table.free(slot);
            1
        };
        let rounds = |thread: u64| {
            let mut count = 0;
            for round in 0..ROUNDS {
                let is_crowded = round % 2 == 0;
                if thread == 0 {
                    if is_crowded {
                        table.insert(other).unwrap();
                    }
                    table.insert(id).unwrap().reset(0, 0);
                }
                all_have.wait();
                let kept = (thread > 0).then(|| table.keep(id).unwrap());
                all_have.wait();
                count += match kept {
                    None => ended(table.end(id)),
                    Some(slot) => {
                        table.at(slot).unwrap().add(false, &Stay { enters: 1, ..Stay::default() });
                        ended(table.release(slot))
                    }
                };
                all_have.wait();
                if thread == 0 && is_crowded {
                    table.free(table.end(other).unwrap().0);
                }
            }
            count
        };
        let counts: Vec<u64> = thread::scope(|scope| {
            let rounds = &rounds;
            let running: Vec<_> = (0..=HOLDERS).map(|thread| scope.spawn(move || rounds(thread))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(counts.iter().sum::<u64>(), ROUNDS, "{counts:?}");
        assert_is_empty(&table);
    }

    #[test]
    fn a_full_table_refuses() {
        let table = SpanTable::new();
        assert!((0..CAPACITY as u64).all(|slot| table.insert(registry_id(0, slot, 0)).is_some()));
        let more = registry_id(0, CAPACITY as u64 + 7, 0);
        assert!(table.insert(more).is_none() && table.find(more).is_none());
        table.free(table.find_slot(registry_id(0, 7, 0)).unwrap().0);
        assert!(table.insert(more).is_some() && table.find(more).is_some());
    }

    /// Opens all, waits until all threads have, looks for all, waits again and frees all: how many each went well for.
    fn come_and_go(
        table: &SpanTable,
        ids: impl Iterator<Item = u64> + Clone,
        all_have: &Barrier,
    ) -> [usize; 4] {
        let has_begun = |id| table.insert(id).map(|open| open.set_start(id)).is_some();
        let is_found = |id| table.find(id).is_some_and(|open| open.start_ns() == id);
        let is_freed = |id| match table.find_slot(id) {
            // (Once it is free it may be another thread's.)
            Some((slot, open)) if open.start_ns() == id => {
                table.free(slot);
                true
            }
            _ => false,
        };
        let begun = ids.clone().filter(|&id| has_begun(id)).count();
        all_have.wait();
        let found = ids.clone().filter(|&id| is_found(id)).count();
        all_have.wait();
        let freed = ids.clone().filter(|&id| is_freed(id)).count();
        [begun, found, freed, ids.filter(|&id| table.find(id).is_none()).count()]
    }

    #[test]
    fn the_spans_of_many_threads_have_room() {
        for (threads, spans) in [(2, 28_000), (8, 6_000), (8, 7_000), (64, 850)] {
            let table = SpanTable::new();
            let all_have = Barrier::new(threads as usize);
            let counts: Vec<_> = thread::scope(|scope| {
                let work = |thread| {
                    let (table, all_have) = (&table, &all_have);
                    scope.spawn(move || {
                        [1, 2].map(|generation| {
                            let ids = (0..spans).map(move |slot| registry_id(thread, slot, generation));
                            come_and_go(table, ids, all_have)
                        })
                    })
                };
                let running: Vec<_> = (0..threads).map(work).collect();
                running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            assert!(
                counts.iter().flatten().all(|&count| count == spans as usize),
                "{threads} threads: {counts:?}"
            );
            assert_is_empty(&table);
        }
    }

    proptest! {
        /// Against a map: few ids, so that they come again, of few first slots, so that they crowd.
        #[test]
        fn it_holds_what_a_map_holds(
            spans in proptest::collection::vec((0_u64..3, 0_u64..3, 0_u64..40, 0_u8..3), 1..300),
        ) {
            let table = SpanTable::new();
            let mut map = HashMap::new();
            for (number, (thread, slot, generation, what)) in (1_u64..).zip(spans) {
                // (1,031 slots on is the next thread's.)
                let id = registry_id(thread, slot * 1_031, generation);
                match what {
                    0 if map.contains_key(&id) => {
                        table.free(table.find_slot(id).unwrap().0);
                        map.remove(&id);
                    }
                    0 => assert!(table.find_slot(id).is_none()),
                    _ if map.contains_key(&id) => {}
                    _ => {
                        table.insert(id).unwrap().set_start(number);
                        map.insert(id, number);
                    }
                }
                let held = map.iter().all(|(&id, &number)| table.find(id).unwrap().start_ns() == number);
                assert!(held && table.find(id).is_some() == map.contains_key(&id));
            }
        }
    }
}
