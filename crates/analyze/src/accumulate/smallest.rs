//! Tables that each keep so many of the smallest keys, of whatever order they come in. Of what is kept by several of them, by
//! a rule each, it is told what none keeps any more.

/// Puts a value among sorted ones, of which the smallest stay. Gives the one that is no more than `bound` have room for.
pub(crate) fn keep_sorted<T: Ord>(kept: &mut Vec<T>, value: T, bound: usize) -> Option<T> {
    if kept.len() >= bound && kept.last().is_some_and(|last| *last <= value) {
        return Some(value);
    }
    kept.insert(kept.partition_point(|other| *other < value), value);
    if kept.len() > bound { kept.pop() } else { None }
}

/// Where a key goes: the table, how many that keeps, and the key.
pub(crate) type Place<K> = (usize, usize, K);

/// The tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Smallest<K>(Vec<Vec<K>>);

impl<K> Default for Smallest<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord> Smallest<K> {
    /// Whether any table would keep the key that it is given.
    pub(crate) fn admits(&self, mut places: impl Iterator<Item = Place<K>>) -> bool {
        places.any(|(at, bound, key)| {
            let kept = self.0.get(at).map(Vec::as_slice).unwrap_or_default();
            kept.len() < bound || kept.last().is_some_and(|last| key <= *last)
        })
    }

    /// Adds keys, and gives those that left their tables for them, or found no room.
    pub(crate) fn add(&mut self, places: impl Iterator<Item = Place<K>>) -> Vec<K> {
        let mut gone = Vec::new();
        for (at, bound, key) in places {
            if at >= self.0.len() {
                self.0.resize_with(at + 1, Vec::new);
            }
            gone.extend(self.0.get_mut(at).and_then(|kept| keep_sorted(kept, key, bound)));
        }
        gone
    }

    /// Whether any table has the key that it is given.
    pub(crate) fn holds(&self, mut places: impl Iterator<Item = Place<K>>) -> bool {
        places.any(|(at, _, key)| self.0.get(at).is_some_and(|kept| kept.binary_search(&key).is_ok()))
    }
}
