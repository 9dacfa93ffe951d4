//! Warm-up of a series: how many of its first values are distinctly larger than those after them. Knows nothing of
//! steps or runs, and looks at the first values only, and of these only at those before the series changes: what rises to
//! a higher level, or falls from one that is no warm-up, says nothing of how the level before began.
//!
//! What is usual is the median of what comes after those that can be warm-up, and *distinct* is what lies above it by
//! more than the values there scatter (by their median deviation, within bounds by the highest of them, as values can be
//! at two levels). The end is where the sum of what the first values lie above that border is
//! largest, each counted up to a limit (a robust CUSUM: Page, "Continuous inspection schemes", Biometrika 41 (1954),
//! 100–115): single quick steps do not end a warm-up, single slow ones do not prolong it. Then the warm-up is compared
//! with every stretch of as many values after it: where more than one in [`RARE`] is as slow, it is what this series
//! does now and then (outliers, disturbances), and no warm-up. Nor is it where from more than one in [`RARE`] later values
//! on the same sum gets as large, or where a quarter of its values are usual ones: values that go back and forth between
//! two levels begin with a few high ones as often as they go on with them. A hundred values, or a
//! sixth of a series, that are less than twice the others, and do not come nearer to them, are a level, from which the series
//! changes. So series without warm-up seldom show one,
//! whatever their noise, as long as that is the same at their beginning as after it: one in fifty where values do not
//! depend on each other, one in twenty on noisy machines, by the tests.
//!
//! All in integers.

use crate::changes::median;
use crate::config::WARMUP_STEPS;

/// Values after the longest warm-up that are looked at, at least.
const AFTER: usize = 32;

/// The longest warm-up that can be told.
pub(crate) const LONGEST: usize = WARMUP_STEPS - AFTER;

/// A warm-up is at most one in so many values of a series: what lasts longer is a change.
const LARGEST_SHARE: u64 = 4;

/// The values of a warm-up are above the usual one by at least one in so many of it.
const LEAST_SHARE: u64 = 10;

/// The same in series of fewer than [`FEW`] values: how those scatter is not known.
const LEAST_SHARE_OF_FEW: u64 = 2;

/// Values below which a series is short.
const FEW: u64 = 20;

/// Median absolute deviations above the usual value within which values scatter: 2.7 standard deviations of a normal
/// distribution.
const SCATTER: u128 = 4;

/// Values scatter by as much at least as the highest eighth of them lies above the usual one, and by so many times as much
/// at most: where they are at two levels, their median deviation is next to nothing, or all that these are apart.
const HIGH: (u128, u128) = (5, 2);

/// Usual values in a row that end a warm-up, whatever follows.
const IN_A_ROW: i128 = 3;

/// Of the stretches after a warm-up, one in so many may be as slow.
const RARE: usize = 50;

/// Of the values of a warm-up, the share that lies half as far above the usual one as the border does, at least.
const MOST_ABOVE: (usize, usize) = (3, 4);

/// As many values as this, or as one in [`LEVEL_PART`] of a shorter series, but no fewer than [`LEVEL_OF_FEW`], that stay less than twice as
/// large as the usual one are a level, and no warm-up.
const LEVEL: u64 = 100;
const LEVEL_PART: u64 = 6;
const LEVEL_OF_FEW: u64 = 40;

/// A value at the beginning of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Early {
    pub(crate) value: u64,
    /// Whether it is one of those that are larger every so often: they say nothing.
    pub(crate) is_periodic: bool,
}

/// How many of the `first` values of a series of `count` are warm-up; `first` holds all of them, or
/// [`WARMUP_STEPS`].
pub(crate) fn warm_up(first: &[Early], count: u64) -> usize {
    let share = usize::try_from(count / LARGEST_SHARE).unwrap_or(usize::MAX).min(LONGEST);
    let told = first.iter().zip(1usize..).filter(|(early, _)| !early.is_periodic);
    let (values, ends): (Vec<u64>, Vec<usize>) = told.map(|(early, end)| (early.value, end)).unzip();
    let most = ends.partition_point(|&end| end <= share);
    let warm = match rise(&values) {
        Some(at) => {
            let before = values.get(..at).unwrap_or_default();
            let warm = length(before, most.min(at.saturating_sub(AFTER)), count);
            if is_done_again(&values, at, warm) { 0 } else { warm }
        }
        None => length(&values, most, count),
    };
    warm.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0)
}

/// How many of the values, which the series begins with, are warm-up: `most` at most.
fn length(values: &[u64], most: usize, count: u64) -> usize {
    let leading = |from: usize| {
        let after = values.get(from..).filter(|after| !after.is_empty())?;
        let usual = Usual::of(after, count);
        Some((usual.leading(values), usual))
    };
    // Once more with what comes after it, which is known better now: the later half of that, for what fades away.
    let second =
        leading(most).and_then(|(length, _)| leading(usize::midpoint(length, values.len()).min(most)));
    let Some((leading, usual)) = second.filter(|(length, usual)| usual.is_exceeded(values, *length)) else {
        return 0;
    };
    let (warm, after) = values.split_at(leading.min(values.len()));
    if leading <= most && !usual.is_level(warm, count) {
        return leading;
    }
    // A level, which may have begun with a warm-up.
    if after.is_empty() { 0 } else { length(warm, most.min(leading.saturating_sub(AFTER)), count) }
}

/// A value and what can be warm-up above it.
fn more(value: u64) -> u64 {
    value.saturating_add(value / LEAST_SHARE)
}

/// Whether the values from a rise on go as these first ones did, in their first third and in their last one, and come back to
/// what was before it: they do it again, as where each epoch begins with its longest batches.
fn is_done_again(values: &[u64], rise: usize, warm: usize) -> bool {
    let (before, rest) = values.split_at(rise);
    let usual = high(before.get(rise.saturating_sub(AFTER)..).unwrap_or_default());
    let (Some(first), Some(again)) = (values.get(..warm), rest.get(..warm)) else { return false };
    let third = (warm / 3).max(1);
    let thirds = |of: &[u64]| {
        let (begin, end) = (of.get(..third), of.len().checked_sub(third).and_then(|from| of.get(from..)));
        [begin, end].map(|values| median(values.unwrap_or_default()))
    };
    let mut both = thirds(first).into_iter().zip(thirds(again));
    warm > 0
        && both.all(|(first, again)| more(first) >= again && more(again) >= first)
        && rest.windows(AFTER).any(|later| high(later) <= more(usual))
}

/// From where on the values are at a higher level: of the next ones all but an eighth are larger, by what can be warm-up,
/// than all but an eighth of those before. Where later ones are quicker than before, the level before was no usual one.
fn rise(values: &[u64]) -> Option<usize> {
    (AFTER..values.len()).find(|&at| {
        let (before, rest) = values.split_at(at);
        let before = before.get(at - AFTER..).unwrap_or_default();
        let rises = |next| low(next) > more(high(before));
        rest.get(..AFTER).is_some_and(rises) && more(low(rest)) >= low(before)
    })
}

/// What one in eight of the values exceeds.
fn high(values: &[u64]) -> u64 {
    eighth(values, 7)
}

/// What one in eight of them is below.
fn low(values: &[u64]) -> u64 {
    eighth(values, 1)
}

fn eighth(values: &[u64], of: usize) -> u64 {
    let mut sorted = values.to_vec();
    let at = sorted.len().saturating_sub(1) * of / 8;
    if sorted.is_empty() { 0 } else { *sorted.select_nth_unstable(at).1 }
}

/// What is usual after the beginning of a series.
struct Usual {
    value: u64,
    /// By how much others lie above it that are distinct.
    border: i128,
}

impl Usual {
    fn of(after: &[u64], count: u64) -> Self {
        let value = median(after);
        let scatter = median(&after.iter().map(|other| other.abs_diff(value)).collect::<Vec<_>>());
        let least = value / if count < FEW { LEAST_SHARE_OF_FEW } else { LEAST_SHARE };
        let high = u128::from(high(after).saturating_sub(value));
        let by_scatter = u128::from(scatter) * SCATTER;
        // Levels that are further apart are so as warm-up is.
        let is_level = high <= u128::from(value) * 5 / 4;
        let border = if is_level { by_scatter.min(high * HIGH.0 / HIGH.1).max(high) } else { by_scatter };
        let border = u128::from(least).max(border).max(1);
        Self { value, border: border.cast_signed() }
    }

    /// The length of the beginning that is most above the border, in sum.
    fn leading(&self, early: &[u64]) -> usize {
        self.most_above(early).0
    }

    /// That length, and the sum: each value counts for as much as the border at most.
    fn most_above(&self, values: &[u64]) -> (usize, i128) {
        let (mut sum, mut most, mut length) = (0, 0, 0);
        for (&value, end) in values.iter().zip(1..) {
            let above = i128::from(value) - i128::from(self.value) - self.border;
            sum += above.clamp(-self.border, self.border);
            if sum > most {
                (most, length) = (sum, end);
            } else if most - sum > IN_A_ROW * self.border {
                break;
            }
        }
        (length, most)
    }

    /// Whether the first `length` values are what the others are not.
    fn is_exceeded(&self, values: &[u64], length: usize) -> bool {
        let (warm, after) = values.split_at(length.min(values.len()));
        self.is_mostly_above(warm) && self.is_rare(warm, after) && self.is_rarely_as_clear(values, warm.len())
    }

    /// Whether the values are a level of the series and no warm-up of it: many, less than twice the usual one, and at their end as they were at the beginning.
    fn is_level(&self, warm: &[u64], count: u64) -> bool {
        let third = warm.len() / 3;
        let first = median(warm.get(..third).unwrap_or_default());
        let last = median(warm.get(warm.len() - third..).unwrap_or_default());
        let least = (count / LEVEL_PART).clamp(LEVEL_OF_FEW, LEVEL);
        let (level, usual) = (i128::from(median(warm)), i128::from(self.value));
        // Levels scatter by as large a part of them.
        let apart = i128::from(first.abs_diff(last)) * 2;
        let is_flat = apart.saturating_mul(usual) <= self.border.saturating_mul(level);
        warm.len() as u64 >= least && level < 2 * usual && is_flat
    }

    /// Whether most of the values lie half as far above the usual one as the border does: where usual ones lie between
    /// all of them, they alternate.
    fn is_mostly_above(&self, warm: &[u64]) -> bool {
        let is_above = |value: &&u64| (i128::from(**value) - i128::from(self.value)) * 2 > self.border;
        warm.iter().filter(is_above).count() * MOST_ABOVE.1 >= warm.len() * MOST_ABOVE.0
    }

    /// Whether few stretches of as many values after it are as much above the usual value, in the mean; what is higher
    /// than those are in the mean counts as if it were not. Where fewer values follow, the stretches are of half of
    /// them.
    fn is_rare(&self, warm: &[u64], after: &[u64]) -> bool {
        let above = |value: &u64| u128::from(value.saturating_sub(self.value));
        let mean = warm.iter().map(above).sum::<u128>() / warm.len().max(1) as u128;
        let sum_of = |stretch: &[u64]| stretch.iter().map(|value| above(value).min(mean)).sum::<u128>();
        let length = warm.len().min(after.len() / 2).max(1);
        let least = sum_of(warm).saturating_mul(length as u128);
        let is_as_slow = |stretch: &&[u64]| sum_of(stretch).saturating_mul(warm.len() as u128) >= least;
        let all = (after.len() + 1).saturating_sub(length);
        after.windows(length).filter(is_as_slow).count() * RARE <= all
    }

    /// Whether from few values after it on a stretch is as clearly above the border, and nine tenths as slow in the
    /// mean: the end was chosen so that the beginning is as clear as can be, and what follows gets the same choice.
    fn is_rarely_as_clear(&self, values: &[u64], length: usize) -> bool {
        let above = |value: &u64| u128::from(value.saturating_sub(self.value));
        let (warm, after) = values.split_at(length.min(values.len()));
        let mean = warm.iter().map(above).sum::<u128>() / warm.len().max(1) as u128;
        let sum_of = |stretch: &[u64]| stretch.iter().map(|value| above(value).min(mean)).sum::<u128>();
        let (least, (_, most)) = (sum_of(warm), self.most_above(values));
        let is_as_clear = |start: &usize| {
            let rest = after.get(*start..).unwrap_or_default();
            let (length, sum) = self.most_above(rest);
            let slow = sum_of(rest.get(..length).unwrap_or_default());
            sum >= most
                && slow.saturating_mul(10).saturating_mul(warm.len() as u128)
                    >= least.saturating_mul(9).saturating_mul(length as u128)
        };
        (0..after.len()).filter(is_as_clear).count() * RARE <= after.len()
    }
}

#[cfg(test)]
mod tests;
