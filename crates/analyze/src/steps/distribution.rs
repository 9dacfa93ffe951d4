//! How many steps take how long.

use std::borrow::Cow;

use serde::Serialize;
use stepscope_core::Distribution;
use stepscope_core::histogram::bounds;

/// Buckets of a distribution that lie between its shortest and its longest value, at most.
const BUCKETS: i32 = 128;

/// The steps whose durations lie between two, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DurationBucket {
    /// The shortest duration that counts here.
    pub from_ns: u64,
    /// The longest one.
    pub to_ns: u64,
    /// How many there are.
    pub count: u64,
}

impl DurationBucket {
    /// The non-empty buckets of a distribution, ascending. Their borders are those of the histogram, of which 2, 4, 8, …
    /// neighbours are one where its values lie far apart: always the same ratio.
    #[must_use]
    pub fn of(distribution: &Distribution) -> Vec<Self> {
        let (_, values, histogram) = distribution.parts();
        let mut histogram = histogram.map(Cow::into_owned).unwrap_or_default();
        values.iter().for_each(|&value| histogram.record(value));
        // Nothing is shorter than what the first bucket holds, but 0, which so is in it.
        histogram.add_to_bucket(-1, histogram.zeros());
        let indices = || histogram.buckets().filter(|&(_, count)| count > 0).map(|(index, _)| index);
        let (Some(first), Some(last)) = (indices().next(), indices().last()) else { return Vec::new() };
        let mut shift = 0;
        while (last >> shift) - (first >> shift) >= BUCKETS {
            shift += 1;
        }
        let mut joined: Vec<(i32, u64)> = Vec::new();
        for (index, count) in histogram.buckets() {
            match joined.last_mut().filter(|(at, _)| *at == index >> shift) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => joined.push((index >> shift, count)),
            }
        }
        let bucket = |(at, count): (i32, u64)| Self {
            from_ns: if at < 0 { 0 } else { bounds(at << shift).0 },
            to_ns: bounds(((at + 1) << shift) - 1).1,
            count,
        };
        joined.into_iter().map(bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Vec<(u64, u64, u64)> {
        let mut distribution = Distribution::default();
        values.into_iter().for_each(|value| distribution.record(value));
        let buckets = DurationBucket::of(&distribution);
        buckets.iter().map(|bucket| (bucket.from_ns, bucket.to_ns, bucket.count)).collect()
    }

    #[test]
    fn nothing_has_no_buckets_and_zeros_have_one() {
        assert_eq!(of([]), []);
        assert_eq!(of([0, 0, 1]), [(0, 1, 3)]);
    }

    #[test]
    fn few_and_many_values_lie_in_the_same_buckets() {
        // Independent: 2^(637/64) = 991.3, 2^(638/64) = 1002.1, 2^(702/64) = 2004.1, 2^(703/64) = 2025.9.
        let expected = |times| [(992, 1_002, 2 * times), (2_005, 2_025, times)];
        for times in [1, 30] {
            assert_eq!(of([992, 1_002, 2_010].repeat(times as usize)), expected(times));
        }
    }

    #[test]
    fn of_values_far_apart_neighbours_are_one() {
        let buckets = |last| of([512, last]);
        let (near, far) = (buckets(2_025), buckets(2_048));
        // 512 = 2^9 closes bucket 575, 2048 = 2^11 bucket 703, which is 128 behind it; 702 is not.
        assert_eq!(near, [(507, 512, 1), (2_005, 2_025, 1)]);
        // Of two each: 574 and 575, 702 and 703.
        assert_eq!(far, [(502, 512, 1), (2_005, 2_048, 1)]);
        let values: Vec<u64> = (0..63).map(|power| 1 << power).collect();
        let wide = of(values);
        assert!(wide.len() <= 128, "{}", wide.len());
        assert_eq!(wide.iter().map(|bucket| bucket.2).sum::<u64>(), 63);
        assert!(wide.windows(2).all(|pair| pair[0].1 < pair[1].0), "{wide:?}");
    }
}
