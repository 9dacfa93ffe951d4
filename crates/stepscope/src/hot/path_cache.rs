//! Where a section of a callsite belongs inside of a section of a path: what a thread remembers of the table that
//! all threads share.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use stepscope_core::PathId;

/// The place of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub path: PathId,
    /// Number of the callsite.
    pub callsite: u32,
    /// Whether there is one.
    pub fit: Fit,
    /// One in how many of its sections leaves as a span; 0: none.
    pub one_in: u32,
}

/// Whether all sections of a callsite have one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)] // Places are moved as whole words.
pub(crate) enum Fit {
    /// They do: fields are fields and nothing else, and the name says nothing of the kind.
    Plain,
    Special,
}

/// The path around a section, and the address of its callsite.
type Key = (PathId, usize);

/// See the module.
#[derive(Debug)]
pub(crate) struct PathCache {
    /// The one used last of those with the same hash.
    near: Box<[(Key, Place)]>,
    all: HashMap<Key, Place, BuildHasherDefault<PairHasher>>,
}

const NEAR: usize = 256;

/// A thread remembers this many; beyond, the shared table is asked each time.
const MAX_PLACES: usize = 8_192;

/// No callsite is there.
const NONE: (Key, Place) =
    ((PathId::ROOT, 0), Place { path: PathId::ROOT, callsite: 0, fit: Fit::Special, one_in: 1 });

impl Default for PathCache {
    fn default() -> Self {
        Self { near: vec![NONE; NEAR].into_boxed_slice(), all: HashMap::default() }
    }
}

#[inline]
fn near_index((parent, address): Key) -> usize {
    // Statics of callsites are 8 bytes apart or more; what is between makes a difference in the upper half.
    ((address >> 3) ^ ((address & 1) << 7) ^ (parent.0 as usize).wrapping_mul(0x9e5)) % NEAR
}

impl PathCache {
    /// The place inside of `parent` for the callsite at `address`, of which `find` knows if this thread does not.
    #[inline]
    pub(crate) fn get(&mut self, parent: PathId, address: usize, find: impl FnOnce() -> Place) -> Place {
        match self.near(parent, address) {
            Some(place) => place,
            None => self.get_far((parent, address), find),
        }
    }

    /// As [`get`](Self::get), if it is the one used last of those with the same hash.
    #[inline]
    pub(crate) fn near(&self, parent: PathId, address: usize) -> Option<Place> {
        self.near_ref(parent, address).copied()
    }

    /// As [`near`](Self::near), where it is kept.
    #[inline(always)]
    pub(crate) fn near_ref(&self, parent: PathId, address: usize) -> Option<&Place> {
        let key = (parent, address);
        let (found, place) = self.near.get(near_index(key))?;
        (*found == key).then_some(place)
    }

    #[cold]
    fn get_far(&mut self, key: Key, find: impl FnOnce() -> Place) -> Place {
        let place = match self.all.get(&key) {
            Some(&place) => place,
            None => {
                let place = find();
                if self.all.len() < MAX_PLACES {
                    self.all.insert(key, place);
                }
                place
            }
        };
        if let Some(near) = self.near.get_mut(near_index(key)) {
            *near = (key, place);
        }
        place
    }
}

/// Mixes a path id and an address; both are small and well spread after one multiplication each.
#[derive(Debug, Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_share_an_entry_are_told_apart() {
        let mut places = PathCache::default();
        let place =
            |number: u32| Place { path: PathId(number), callsite: number + 1, fit: Fit::Plain, one_in: 1 };
        for round in 0..3 {
            for number in 0..2_000 {
                let (parent, address) = (PathId(number / 100), 8 + 8 * (number as usize % 100));
                let mut asked = false;
                let got = places.get(parent, address, || {
                    asked = true;
                    place(number)
                });
                assert_eq!((got, asked), (place(number), round == 0));
            }
        }
    }
}
