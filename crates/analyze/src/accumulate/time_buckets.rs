//! Sums by stretches of time: of a bounded number, and the same in whatever order their parts come.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accumulate::Merge;

/// Sums of what begins in the same stretch of time: all are as long as a power of two nanoseconds, the smallest for which
/// there are no more than `MOST`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct TimeBuckets<T, const MOST: usize = 128> {
    shift: u32,
    by_start: BTreeMap<u64, T>,
}

impl<T: Merge + Default, const MOST: usize> TimeBuckets<T, MOST> {
    /// Adds what begins at that time.
    pub(crate) fn add(&mut self, start_ns: u64, part: &T) {
        self.put(start_ns.checked_shr(self.shift).unwrap_or(0), part);
        self.coarsen(self.shift);
    }

    /// Makes stretches as long as 2 to the power of `shift`, or longer until few enough are left.
    pub(crate) fn coarsen(&mut self, shift: u32) {
        // More bits than there are would be damage.
        let shift = shift.min(u64::BITS - 1);
        while self.shift < shift || self.by_start.len() > MOST {
            let by = shift.saturating_sub(self.shift).max(1);
            self.shift = self.shift.saturating_add(by);
            for (start, part) in std::mem::take(&mut self.by_start) {
                self.put(start.checked_shr(by).unwrap_or(0), &part);
            }
        }
    }

    fn put(&mut self, start: u64, part: &T) {
        self.by_start.entry(start).or_default().absorb(part);
    }

    /// How long stretches are, as a power of two nanoseconds.
    pub(crate) const fn shift(&self) -> u32 {
        self.shift
    }

    /// Number of stretches in which anything begins.
    pub(crate) fn len(&self) -> usize {
        self.by_start.len()
    }

    /// The sums of a stretch, by its start in stretches.
    pub(crate) fn get(&self, start: u64) -> Option<&T> {
        self.by_start.get(&start)
    }

    /// Those stretches that begin at that time or later.
    pub(crate) fn since(&self, from_ns: u64) -> Self
    where
        T: Clone,
    {
        let begins_before =
            |start: u64| start.checked_shl(self.shift).is_some_and(|start_ns| start_ns < from_ns);
        let kept = self.by_start.iter().filter(|(start, _)| !begins_before(**start));
        Self { shift: self.shift, by_start: kept.map(|(&start, part)| (start, part.clone())).collect() }
    }

    /// All stretches by time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.by_start.iter().map(|(&start, part)| (start, part))
    }
}

impl<T: Merge + Default, const MOST: usize> Merge for TimeBuckets<T, MOST> {
    fn absorb(&mut self, other: &Self) {
        let theirs = other.shift.min(u64::BITS - 1);
        self.coarsen(theirs);
        let by = self.shift.saturating_sub(theirs);
        let put = |(&start, part): (&u64, &T)| self.put(start.checked_shr(by).unwrap_or(0), part);
        other.by_start.iter().for_each(put);
        self.coarsen(self.shift);
    }
}
