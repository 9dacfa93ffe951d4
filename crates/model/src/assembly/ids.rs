//! Where the span of an id stands among the spans of a trace: an open-addressed table, filled anew for each trace. What
//! the spans are is the business of `deliver`.

use std::hash::{BuildHasher, Hasher};

use super::hash::IdState;

/// No span.
const FREE: u32 = u32::MAX;

/// Positions by id; at most half full.
#[derive(Debug, Default)]
pub(super) struct Ids {
    state: IdState,
    slots: Vec<u32>,
}

impl Ids {
    /// Takes the ids of `keys`, positions counted from 0; whether all of them differ. Where some do not, one of their
    /// positions is kept.
    pub(super) fn fill<K>(&mut self, keys: &[K], id: impl Fn(&K) -> u64) -> bool {
        self.slots.clear();
        self.slots.resize((keys.len() * 2).next_power_of_two(), FREE);
        let mut all_differ = true;
        for (key, position) in keys.iter().zip(0u32..) {
            let wanted = id(key);
            let found = self.slot(wanted, |at| keys.get(at as usize).map(&id) == Some(wanted));
            if let Some(slot) = found.and_then(|at| self.slots.get_mut(at)) {
                all_differ &= *slot == FREE;
                *slot = position;
            }
        }
        all_differ
    }

    /// The position of an id; `is_it` tells whether it is the one at a position.
    #[inline]
    pub(super) fn find(&self, id: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let slot = self.slot(id, is_it)?;
        self.slots.get(slot).copied().filter(|&position| position != FREE)
    }

    /// The slot that holds the id, or the free one where it would be.
    #[inline]
    fn slot(&self, id: u64, is_it: impl Fn(u32) -> bool) -> Option<usize> {
        let mut hasher = self.state.build_hasher();
        hasher.write(&id.to_le_bytes());
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hasher.finish() as usize & mask;
        // Half of them are free.
        loop {
            match *self.slots.get(at)? {
                FREE => return Some(at),
                position if is_it(position) => return Some(at),
                _ => at = (at + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_where_it_stands_and_no_other() {
        let mut ids = Ids::default();
        for count in [0u64, 1, 2, 3, 50, 1_000] {
            // Ids that differ in their upper half only, and in their lower half only.
            let keys: Vec<u64> = (0..count).map(|n| if n % 2 == 0 { n << 40 } else { n }).collect();
            assert!(ids.fill(&keys, |&key| key));
            for (position, &key) in keys.iter().enumerate() {
                assert_eq!(ids.find(key, |at| keys[at as usize] == key), Some(position as u32));
            }
            assert_eq!(ids.find(u64::MAX, |at| keys[at as usize] == u64::MAX), None);
        }
    }

    #[test]
    fn repeated_ids_are_told() {
        let mut ids = Ids::default();
        assert!(!ids.fill(&[7u64, 8, 7], |&key| key));
        assert!(ids.fill(&[7u64, 8, 9], |&key| key));
    }
}
