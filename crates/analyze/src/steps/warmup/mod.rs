//! Warm-up of a series: the first steps up to the last slow one before three usual ones in a row. A step is slow that takes
//! longer than nine in ten of those after the first quarter, and than their median and four median deviations, by a tenth of
//! the median (by half, of fewer than 20 steps). What does not end within that quarter and 224 steps is a level, and no
//! warm-up.

use crate::accumulate::median::{deviation, median, quantile};
use crate::config::WARMUP_STEPS;

/// The longest warm-up that can be told: some values after it have to be known.
pub(crate) const LONGEST: usize = WARMUP_STEPS - 32;

/// A warm-up is at most one in so many values of a series.
pub(crate) const LARGEST_SHARE: u64 = 4;

/// Usual values in a row that end a warm-up.
const IN_A_ROW: usize = 3;

/// Median deviations above the median within which values scatter.
const SCATTER: u64 = 4;

/// Values below which a series is short: how those scatter is not known.
const FEW: u64 = 20;

/// How many of the `first` values of a series of `count` are warm-up; `first` holds all of them, or [`WARMUP_STEPS`].
pub(crate) fn warm_up(first: &[u64], count: u64) -> usize {
    let most = usize::try_from(count / LARGEST_SHARE).unwrap_or(usize::MAX).min(LONGEST);
    let after = first.get(most..).unwrap_or_default();
    if after.is_empty() {
        return 0;
    }
    let limit = limit(after, count);
    let (mut length, mut usual) = (0, 0);
    for (&value, end) in first.iter().zip(1..) {
        if value > limit {
            (length, usual) = (end, 0);
        } else {
            usual += 1;
        }
        if usual == IN_A_ROW {
            break;
        }
    }
    if length > most { 0 } else { length }
}

/// The largest value that is usual beside these.
fn limit(after: &[u64], count: u64) -> u64 {
    let usual = median(after);
    let least = usual / if count < FEW { 2 } else { 10 };
    let scatter = SCATTER.saturating_mul(deviation(after, usual));
    usual.saturating_add(scatter).max(quantile(after, 9, 10)).saturating_add(least)
}

#[cfg(test)]
mod tests;
