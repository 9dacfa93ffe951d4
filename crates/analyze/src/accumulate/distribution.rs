//! The core's distribution with a canonical form in bytes: equal sets of values give equal bytes.

use std::mem::replace;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepscope_core::distribution::EXACT_VALUES;
use stepscope_core::{Distribution, Histogram, Moments};

use crate::accumulate::Merge;
use crate::accumulate::postcard_values::Packed;

/// More values than any input holds: a larger count in a file is damage (and adding to it could overflow).
const MAX_COUNT: u64 = 1 << 60;

/// A distribution that can be written, exact up to so many values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dist<const EXACT: usize = EXACT_VALUES>(pub(crate) Distribution);

/// Durations of the steps of a process. There are few such distributions, and steady steps differ by less than buckets
/// are wide.
pub(crate) type StepDist = Dist<16_384>;

/// Durations of the steps of a run, as long as it takes to tell what they are.
pub(crate) type RunDist = Dist<65_536>;

impl<const EXACT: usize> Dist<EXACT> {
    /// Adds one value.
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.0.record_within(value, EXACT);
    }

    /// Adds every value of one that may keep more or fewer.
    pub(crate) fn add<const OTHER: usize>(&mut self, other: &Dist<OTHER>) {
        self.0.merge_within(&other.0, EXACT);
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.0.count()
    }
}

impl<const EXACT: usize> Merge for Dist<EXACT> {
    fn absorb(&mut self, other: &Self) {
        self.add(other);
    }
}

/// A histogram as written: zeros and non-empty buckets, ascending.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct Buckets {
    zeros: u64,
    counts: Counts,
}

impl Buckets {
    /// What a point says.
    pub(crate) fn new(zeros: u64, counts: &[(i32, u64)]) -> Self {
        Self { zeros, counts: Counts::new(counts.iter().copied()) }
    }

    /// The written form of a histogram.
    pub(crate) fn of(histogram: &Histogram) -> Self {
        Self { zeros: histogram.zeros(), counts: Counts::new(histogram.buckets()) }
    }

    /// The histogram.
    pub(crate) fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.add_zeros(self.zeros);
        self.counts.iter().for_each(|(index, count)| histogram.add_to_bucket(index, count));
        histogram
    }

    fn is_sane(&self) -> bool {
        self.zeros <= MAX_COUNT && self.counts.iter().all(|(_, count)| count <= MAX_COUNT)
    }
}

/// Indices of buckets and what is in them. Packed, as each process has them for each of its paths: a bucket and its
/// neighbour take two or three bytes each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(i32, u64)>", into = "Vec<(i32, u64)>")]
struct Counts(Packed<(i32, u64)>);

impl Counts {
    fn new(counts: impl Iterator<Item = (i32, u64)>) -> Self {
        let mut last = 0;
        Self(Packed::new(counts.map(|(index, count)| (index.wrapping_sub(replace(&mut last, index)), count))))
    }

    fn iter(&self) -> impl Iterator<Item = (i32, u64)> {
        let mut index: i32 = 0;
        self.0.iter().map(move |(step, count): (i32, u64)| {
            index = index.wrapping_add(step);
            (index, count)
        })
    }
}

impl From<Vec<(i32, u64)>> for Counts {
    fn from(counts: Vec<(i32, u64)>) -> Self {
        Self::new(counts.into_iter())
    }
}

impl From<Counts> for Vec<(i32, u64)> {
    fn from(counts: Counts) -> Self {
        counts.iter().collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
    values: Vec<u64>,
    buckets: Option<Buckets>,
}

impl<const EXACT: usize> Serialize for Dist<EXACT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (moments, values, histogram) = self.0.parts();
        let mut values = values.to_vec();
        values.sort_unstable();
        Wire {
            count: moments.count,
            sum: moments.sum,
            sum_of_squares: moments.sum_of_squares,
            min: moments.min,
            max: moments.max,
            values,
            buckets: histogram.as_deref().map(Buckets::of),
        }
        .serialize(serializer)
    }
}

impl<'de, const EXACT: usize> Deserialize<'de> for Dist<EXACT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        if wire.count > MAX_COUNT || !wire.buckets.as_ref().is_none_or(Buckets::is_sane) {
            return Err(D::Error::custom("more values than can be"));
        }
        let moments = Moments {
            count: wire.count,
            sum: wire.sum,
            sum_of_squares: wire.sum_of_squares,
            min: wire.min,
            max: wire.max,
        };
        let histogram = wire.buckets.as_ref().map(Buckets::histogram);
        Ok(Self(Distribution::from_parts_within(moments, wire.values, histogram, EXACT)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_buckets_are_what_was_packed(
            zeros in any::<u64>(),
            counts in proptest::collection::vec((any::<i32>(), any::<u64>()), 0..40),
        ) {
            let buckets = Buckets::new(zeros, &counts);
            prop_assert_eq!(buckets.counts.iter().collect::<Vec<_>>(), counts.clone());
            // As pairs, whatever they are in memory.
            prop_assert_eq!(
                postcard::to_allocvec(&buckets).unwrap(),
                postcard::to_allocvec(&(zeros, &counts)).unwrap()
            );
            let read: Buckets = postcard::from_bytes(&postcard::to_allocvec(&buckets).unwrap()).unwrap();
            prop_assert_eq!(read, buckets);
        }
    }
}
