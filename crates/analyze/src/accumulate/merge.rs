//! How accumulators combine: associatively and commutatively, so that any grouping of the input gives the
//! same result, and how maps stay bounded without losing that.

use std::collections::BTreeMap;

/// Takes in everything that `other` has seen.
pub(crate) trait Merge {
    /// Adds `other` to `self`.
    fn absorb(&mut self, other: &Self);
}

impl<T: Merge + Clone> Merge for Option<T> {
    fn absorb(&mut self, other: &Self) {
        match (self.as_mut(), other) {
            (Some(mine), Some(theirs)) => mine.absorb(theirs),
            (None, Some(theirs)) => *self = Some(theirs.clone()),
            (_, None) => {}
        }
    }
}

impl<K: Ord + Clone, V: Merge + Clone> Merge for BTreeMap<K, V> {
    fn absorb(&mut self, other: &Self) {
        for (key, theirs) in other {
            match self.get_mut(key) {
                Some(mine) => mine.absorb(theirs),
                None => {
                    self.insert(key.clone(), theirs.clone());
                }
            }
        }
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn absorb(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.absorb(theirs));
    }
}

/// Drops the largest keys beyond `bound`; whether any went. A key that goes has `bound` smaller ones beside
/// it, which stay, so it would go in any other order as well.
pub(crate) fn keep_smallest<K: Ord, V>(map: &mut BTreeMap<K, V>, bound: usize) -> bool {
    let mut any = false;
    while map.len() > bound {
        map.pop_last();
        any = true;
    }
    any
}

/// The value of a key, a new one where there is none; nothing where the key is beyond the bound, of which `is_cut` tells.
pub(crate) fn smallest<'a, V: Default>(
    map: &'a mut BTreeMap<Box<str>, V>,
    key: &str,
    bound: usize,
    is_cut: &mut bool,
) -> Option<&'a mut V> {
    if !map.contains_key(key) {
        map.insert(key.into(), V::default());
        *is_cut |= keep_smallest(map, bound);
    }
    map.get_mut(key)
}

/// The smaller of two values that may be absent.
pub(crate) fn earliest(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A value with the time at which it was said: the latest wins, ties by start and value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct Latest<T> {
    /// When it was said.
    pub(crate) time_ns: u64,
    /// When its counting began.
    pub(crate) start_ns: u64,
    /// What was said.
    pub(crate) value: T,
}

impl<T: Ord + Clone> Merge for Latest<T> {
    fn absorb(&mut self, other: &Self) {
        if other > self {
            self.clone_from(other);
        }
    }
}
