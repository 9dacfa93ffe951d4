//! A mergeable distribution of durations or sizes: integer moments, exact values while they are few, and
//! logarithmic buckets beyond. The result is a function of the multiset of values, never of their order.

use std::borrow::Cow;

use crate::histogram::{Histogram, RELATIVE_ERROR};

/// Up to this many values a distribution keeps them all and its quantiles are exact, where nobody asks for more.
pub const EXACT_VALUES: usize = 64;

/// Count, sum, sum of squares, smallest and largest of a set of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
    /// The sum of their squares, saturating.
    pub sum_of_squares: u128,
    /// The smallest value; 0 while `count` is 0.
    pub min: u64,
    /// The largest value; 0 while `count` is 0.
    pub max: u64,
}

impl Moments {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.merge(&Self {
            count: 1,
            sum: u128::from(value),
            sum_of_squares: u128::from(value) * u128::from(value),
            min: value,
            max: value,
        });
    }

    /// Adds every value of `other`.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Arithmetic mean; absent without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Sample standard deviation (divisor n − 1); absent below two values. The difference
    /// `n·Σx² − (Σx)²` is formed exactly in 256-bit integers, so nothing cancels.
    #[must_use]
    pub fn std(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let (a_high, a_low) = widening_mul(u128::from(self.count), self.sum_of_squares);
        let (b_high, b_low) = widening_mul(self.sum, self.sum);
        let (low, borrow) = a_low.overflowing_sub(b_low);
        // Negative only when the sum of squares saturated; then there is no honest figure.
        let high = a_high.checked_sub(b_high)?.checked_sub(u128::from(borrow))?;
        let numerator = high as f64 * 2f64.powi(128) + low as f64;
        let n = self.count as f64;
        Some((numerator / (n * (n - 1.0))).sqrt())
    }
}

/// `a · b` as (high, low) words.
fn widening_mul(a: u128, b: u128) -> (u128, u128) {
    const MASK: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & MASK, b >> 64, b & MASK);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let middle2 = a0 * b1 + (middle & MASK);
    (a1 * b1 + (middle >> 64) + (middle2 >> 64), (middle2 << 64) | (low & MASK))
}

/// Moments with quantiles.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    moments: Moments,
    /// All values while they are few, unsorted; once there is a histogram, those that are not in it yet. Buckets are
    /// spread over memory, so that one value after the other into them costs more than many at once.
    values: Vec<u64>,
    histogram: Option<Box<Histogram>>,
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Self) -> bool {
        let sorted = |values: &[u64]| {
            let mut values = values.to_vec();
            values.sort_unstable();
            values
        };
        self.moments == other.moments
            && match (self.buckets(), other.buckets()) {
                (None, None) => sorted(&self.values) == sorted(&other.values),
                (mine, theirs) => mine == theirs,
            }
    }
}

impl Eq for Distribution {}

impl Distribution {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_within(value, EXACT_VALUES);
    }

    /// Adds one value; all are kept while they are no more than `exact`. To be the same for all that are merged.
    #[inline]
    pub fn record_within(&mut self, value: u64, exact: usize) {
        self.moments.record(value);
        self.push(value, exact);
    }

    /// Keeps a value that the moments know already.
    #[inline]
    fn push(&mut self, value: u64, exact: usize) {
        if self.values.len() >= EXACT_VALUES && (self.histogram.is_some() || self.values.len() >= exact) {
            self.drain();
        }
        self.values.push(value);
    }

    /// Moves all values into the histogram.
    fn drain(&mut self) {
        let histogram = self.histogram.get_or_insert_default();
        self.values.drain(..).for_each(|value| histogram.record(value));
        self.values.shrink_to(EXACT_VALUES);
    }

    /// Adds every value of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.merge_within(other, EXACT_VALUES);
    }

    /// Adds every value of `other`; all are kept while they are no more than `exact`.
    pub fn merge_within(&mut self, other: &Self, exact: usize) {
        self.moments.merge(&other.moments);
        if let Some(theirs) = &other.histogram {
            self.histogram.get_or_insert_default().merge(theirs);
            if self.values.len() > EXACT_VALUES {
                self.drain();
            }
        }
        other.values.iter().for_each(|&value| self.push(value, exact));
    }

    /// The histogram of all values; absent while they are few.
    fn buckets(&self) -> Option<Cow<'_, Histogram>> {
        let histogram = self.histogram.as_deref()?;
        if self.values.is_empty() {
            return Some(Cow::Borrowed(histogram));
        }
        let mut whole = histogram.clone();
        self.values.iter().for_each(|&value| whole.record(value));
        Some(Cow::Owned(whole))
    }

    /// The same distribution in the form from which several figures are read fastest.
    #[must_use]
    pub fn settled(&self) -> Cow<'_, Self> {
        if self.histogram.is_none() || self.values.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        settled.drain();
        Cow::Owned(settled)
    }

    /// A distribution known by its moments and buckets only, as the wire carries it.
    #[must_use]
    pub fn from_parts(moments: Moments, values: Vec<u64>, histogram: Option<Histogram>) -> Self {
        Self::from_parts_within(moments, values, histogram, EXACT_VALUES)
    }

    /// As [`Self::from_parts`], of one that keeps all values while they are no more than `exact`.
    #[must_use]
    pub fn from_parts_within(
        moments: Moments,
        values: Vec<u64>,
        histogram: Option<Histogram>,
        exact: usize,
    ) -> Self {
        let mut whole = Self { moments, values: Vec::new(), histogram: histogram.map(Box::new) };
        values.into_iter().for_each(|value| whole.push(value, exact));
        whole
    }

    /// The parts that [`Self::from_parts`] takes: moments, the values while few, else the histogram.
    #[must_use]
    pub fn parts(&self) -> (&Moments, &[u64], Option<Cow<'_, Histogram>>) {
        let buckets = self.buckets();
        let values = if buckets.is_none() { self.values.as_slice() } else { &[] };
        (&self.moments, values, buckets)
    }

    /// Count, sum, sum of squares, min, max.
    #[must_use]
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// Whether quantiles are exact (few values) or within [`crate::histogram::RELATIVE_ERROR`].
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.histogram.is_none()
    }

    /// The quantile `numerator / denominator` by nearest rank: the value at 1-based rank
    /// `ceil(q · n)`, at least 1. Always one of the values, or its bucket's middle. Absent without values.
    #[must_use]
    pub fn quantile(&self, numerator: u64, denominator: u64) -> Option<u64> {
        let count = self.count();
        if count == 0 || denominator == 0 {
            return None;
        }
        let rank = (u128::from(count) * u128::from(numerator)).div_ceil(u128::from(denominator));
        let rank = u64::try_from(rank).unwrap_or(u64::MAX).clamp(1, count) - 1;
        match self.buckets() {
            // Both ends are known exactly.
            Some(_) if rank == 0 => Some(self.moments.min),
            Some(_) if rank + 1 == count => Some(self.moments.max),
            Some(histogram) => {
                histogram.value_at(rank).map(|value| value.clamp(self.moments.min, self.moments.max))
            }
            None => at_rank(self.values.clone(), rank),
        }
    }

    /// The median.
    #[must_use]
    pub fn p50(&self) -> Option<u64> {
        self.quantile(1, 2)
    }

    /// The 95th percentile.
    #[must_use]
    pub fn p95(&self) -> Option<u64> {
        self.quantile(95, 100)
    }

    /// The 99th percentile.
    #[must_use]
    pub fn p99(&self) -> Option<u64> {
        self.quantile(99, 100)
    }

    /// What the values of more than twice the median are above it, all together; within twice the error of a quantile of
    /// each, when not exact, and of values beside the border. Absent without values.
    #[must_use]
    pub fn excess_beyond_twice_median(&self) -> Option<u64> {
        let median = self.p50()?;
        let excess = |value: u64, count: u64| {
            let is_beyond = value > median.saturating_mul(2);
            if is_beyond { u128::from(value - median) * u128::from(count) } else { 0 }
        };
        let sum: u128 = match self.buckets() {
            None => self.values.iter().map(|&value| excess(value, 1)).sum(),
            Some(histogram) => histogram
                .buckets()
                .map(|(index, count)| {
                    let value = crate::histogram::midpoint(index);
                    excess(value.clamp(self.moments.min, self.moments.max), count)
                })
                .sum(),
        };
        Some(u64::try_from(sum).unwrap_or(u64::MAX))
    }

    /// Median absolute deviation from the median. When not exact, within twice the error of a quantile of the median, and
    /// absent where it is the same bucket or the next one that half of the values are in: then it is anything
    /// below [`Self::mad_is_below`].
    #[must_use]
    pub fn mad(&self) -> Option<u64> {
        let middle = self.count().div_ceil(2).checked_sub(1)?;
        let Some(histogram) = self.buckets() else {
            let median = self.p50()?;
            return at_rank(self.values.iter().map(|value| value.abs_diff(median)).collect(), middle);
        };
        if self.moments.min == self.moments.max {
            return Some(0);
        }
        // All by the middles of buckets, whatever is known of the ends.
        let median = histogram.value_at(middle)?;
        let mut weighted: Vec<(u64, u64)> = histogram
            .buckets()
            .map(|(index, count)| (crate::histogram::midpoint(index).abs_diff(median), count))
            .collect();
        weighted.push((median, histogram.zeros()));
        weighted.sort_unstable();
        let mut below = 0u64;
        let (deviation, _) = weighted.into_iter().find(|&(_, count)| {
            below = below.saturating_add(count);
            below > middle
        })?;
        // A bucket and a half: between the middles of neighbours, and of those with one between them.
        let least = (median as f64 * 3.0 * RELATIVE_ERROR) as u64;
        (deviation >= least).then_some(deviation)
    }

    /// What the median absolute deviation is below where it is not known although there are values: the width of two buckets.
    #[must_use]
    pub fn mad_is_below(median: u64) -> u64 {
        (median as f64 * ((1.0 + RELATIVE_ERROR).powi(4) - 1.0)).ceil() as u64
    }
}

/// The value at a 0-based rank.
fn at_rank(mut values: Vec<u64>, rank: u64) -> Option<u64> {
    let rank = usize::try_from(rank).ok().filter(|&rank| rank < values.len())?;
    Some(*values.select_nth_unstable(rank).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|&value| distribution.record(value));
        distribution
    }

    #[test]
    fn few_values_are_exact() {
        let distribution = of(&[5, 1, 9, 3]);
        assert_eq!(distribution.p50(), Some(3));
        assert_eq!(distribution.p95(), Some(9));
        assert_eq!(distribution.quantile(0, 1), Some(1));
        assert_eq!(distribution.mad(), Some(2));
        assert_eq!(distribution.moments().mean(), Some(4.5));
        // Independent: statistics.stdev([5, 1, 9, 3]).
        assert!((distribution.moments().std().unwrap() - 3.415_650_255_319_866).abs() < 1e-12);
    }

    #[test]
    fn slow_values_are_those_of_more_than_twice_the_median() {
        // 20 is no more than twice 10; 21 and 300 are 11 and 290 above it.
        let mut values = vec![10, 10, 10, 20, 3, 21, 300];
        assert_eq!(of(&values).excess_beyond_twice_median(), Some(301));
        values.extend([10; 200]);
        let bucketed = of(&values);
        assert!(!bucketed.is_exact());
        let found = bucketed.excess_beyond_twice_median().unwrap();
        assert!(found.abs_diff(301) <= 3, "{found}");
        assert_eq!(of(&[4, 4]).excess_beyond_twice_median(), Some(0));
    }

    #[test]
    fn nothing_has_no_figures() {
        let nothing = Distribution::default();
        assert_eq!((nothing.p50(), nothing.excess_beyond_twice_median()), (None, None));
        assert_eq!(nothing.moments().mean(), None);
        assert_eq!(of(&[7]).moments().std(), None);
    }

    #[test]
    fn a_small_spread_on_a_large_offset_does_not_cancel() {
        let base = 1u64 << 60;
        let distribution = of(&[base, base + 2, base + 4]);
        assert_eq!(distribution.moments().std(), Some(2.0));
    }

    #[test]
    fn any_grouping_gives_the_same_distribution() {
        let values: Vec<u64> = (0..1_000u64).map(|i| (i * 7_919) % 100_003).collect();
        let whole = of(&values);
        for cut in [0, 1, 10, 63, 64, 65, 500, 990, 1_000] {
            let (left, right) = values.split_at(cut);
            let mut forward = of(left);
            forward.merge(&of(right));
            let mut backward = of(right);
            backward.merge(&of(left));
            assert_eq!(forward, whole, "{cut}");
            assert_eq!(backward, whole, "{cut}");
        }
    }

    #[test]
    fn every_number_of_values_gives_the_figures_of_all_of_them() {
        let values: Vec<u64> = (0..400u64).map(|i| (i * 7_919) % 10_007).collect();
        for count in 1..values.len() {
            let distribution = of(&values[..count]);
            let mut plain = Histogram::default();
            values[..count].iter().for_each(|&value| plain.record(value));
            let (moments, kept, buckets) = distribution.parts();
            assert_eq!(moments.count, count as u64);
            assert_eq!(distribution.is_exact(), count <= EXACT_VALUES);
            if count <= EXACT_VALUES {
                assert_eq!((kept, buckets), (&values[..count], None));
                continue;
            }
            assert_eq!((kept, buckets.as_deref()), (&[][..], Some(&plain)), "{count}");
            let rank = (count as u64).div_ceil(2) - 1;
            let (min, max) = (values[..count].iter().min().unwrap(), values[..count].iter().max().unwrap());
            let median = plain.value_at(rank).unwrap().clamp(*min, *max);
            assert_eq!(distribution.p50(), Some(median), "{count}");
            assert_eq!(distribution.settled().mad(), distribution.mad());
            let (moments, kept, buckets) = distribution.parts();
            let again = Distribution::from_parts(*moments, kept.to_vec(), buckets.map(Cow::into_owned));
            assert_eq!(again, distribution);
            assert_ne!(of(&values[..count - 1]), distribution);
        }
    }

    /// Values of 7 ms with a normal scatter of so much of it, from a linear congruential generator.
    fn narrow(count: u64, scatter: f64) -> Vec<u64> {
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let normal = |sum: f64| sum - 6.0;
        (0..count)
            .map(|_| (7e6 * (1.0 + scatter * normal((0..12).map(|_| uniform()).sum()))) as u64)
            .collect()
    }

    /// By the definition, of all values.
    fn exact_mad(values: &[u64]) -> u64 {
        let middle = |mut values: Vec<u64>| {
            values.sort_unstable();
            values[values.len().div_ceil(2) - 1]
        };
        let median = middle(values.to_vec());
        middle(values.iter().map(|value| value.abs_diff(median)).collect())
    }

    #[test]
    fn the_deviation_of_what_scatters_less_than_buckets_are_wide_is_not_known() {
        for scatter in [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3] {
            let values = narrow(2_000, scatter);
            let truth = exact_mad(&values);
            let (mut all, mut most) = (Distribution::default(), of(&values));
            values.iter().for_each(|&value| all.record_within(value, 2_000));
            assert!(all.is_exact() && !most.is_exact());
            assert_eq!(all.mad(), Some(truth), "{scatter}");
            assert_eq!(all.p95(), values_at(&values, 1_900), "{scatter}");
            let median = most.p50().unwrap();
            match most.mad() {
                None => assert!(truth < Distribution::mad_is_below(median), "{scatter}: {truth}"),
                Some(mad) => assert!(mad.abs_diff(truth) * 2 <= truth, "{scatter}: {mad}, not {truth}"),
            }
            assert_eq!(most.mad().is_some(), scatter > 0.025, "{scatter}");
            most.merge(&of(&narrow(100, scatter)));
            assert_eq!(most.settled().mad(), most.mad());
        }
        // Equal ones do not scatter, however many they are; of small ones each has a bucket of its own.
        assert_eq!(of(&[7_000_000; 500]).mad(), Some(0));
        assert_eq!(of(&[&[3; 300][..], &[9; 200], &[0; 50]].concat()).mad(), Some(0));
    }

    fn values_at(values: &[u64], rank: usize) -> Option<u64> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted.get(rank - 1).copied()
    }

    #[test]
    fn more_values_are_exact_where_more_are_asked_for() {
        let values = narrow(1_000, 0.01);
        for count in [999, 1_000] {
            let (mut whole, mut left, mut right) = <(Distribution, Distribution, Distribution)>::default();
            values.iter().take(count).for_each(|&value| whole.record_within(value, 999));
            values.iter().take(400).for_each(|&value| left.record_within(value, 999));
            values.iter().take(count).skip(400).for_each(|&value| right.record_within(value, 999));
            assert_eq!(whole.is_exact(), count == 999);
            let (mut forward, mut backward) = (left.clone(), right.clone());
            forward.merge_within(&right, 999);
            backward.merge_within(&left, 999);
            assert_eq!((&forward, &backward), (&whole, &whole));
            let (moments, kept, buckets) = whole.parts();
            let buckets = buckets.map(Cow::into_owned);
            let again = Distribution::from_parts_within(*moments, kept.to_vec(), buckets, 999);
            assert_eq!((again.is_exact(), &again), (count == 999, &whole));
            // What is in buckets goes there piece by piece, and needs no room meanwhile.
            assert!(whole.is_exact() || whole.values.capacity() <= EXACT_VALUES);
        }
    }

    #[test]
    fn widening_multiplication_is_exact() {
        assert_eq!(widening_mul(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(widening_mul(1 << 100, 1 << 100), (1 << 72, 0));
        assert_eq!(widening_mul(12_345, 67_890), (0, 838_102_050));
    }
}
