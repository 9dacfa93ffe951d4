//! The core's distribution with a canonical form in bytes: equal sets of values give equal bytes.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepscope_core::distribution::EXACT_VALUES;
use stepscope_core::{Distribution, Histogram, Moments};

use crate::merge::Merge;

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
    counts: Vec<(i32, u64)>,
}

impl Buckets {
    /// What a point says.
    pub(crate) fn new(zeros: u64, counts: &[(i32, u64)]) -> Self {
        Self { zeros, counts: counts.to_vec() }
    }

    /// The written form of a histogram.
    pub(crate) fn of(histogram: &Histogram) -> Self {
        Self { zeros: histogram.zeros(), counts: histogram.buckets().collect() }
    }

    /// The histogram.
    pub(crate) fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.add_zeros(self.zeros);
        self.counts.iter().for_each(|&(index, count)| histogram.add_to_bucket(index, count));
        histogram
    }

    fn is_sane(&self) -> bool {
        self.zeros <= MAX_COUNT && self.counts.iter().all(|&(_, count)| count <= MAX_COUNT)
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
