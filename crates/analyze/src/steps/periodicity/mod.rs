//! The period of a series: values that are larger every so often, at a fixed distance. Knows nothing of steps or runs.
//!
//! A value is large by what it lies above the lower quartile of those around it, which half of them may exceed. Of each class of numbers (those with one remainder
//! by a distance) so many are large, and chance explains that the less, the more of it are: by Chernoff's bound of the
//! binomial distribution, at the share of large values among the others. The class that chance explains least is told.

pub(crate) mod finish;
mod section;
pub(crate) mod summary;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::accumulate::median::quantile;

/// Values that are too few to tell a period.
const MIN_VALUES: usize = 60;

/// Large values that a class needs, and per cent of it that are large: what is done every so often is left out at times.
const MIN_MEMBERS: usize = 4;
const MIN_LARGE_PERCENT: usize = 60;

/// The probability of seeing any period in a series without one.
const SIGNIFICANCE: f64 = 1e-3;

/// A large value is at least so many times as large as those around it.
const LARGER: f64 = 1.1;

/// A third of the values deviate from the lower quartile by no more than so much; beyond as many times that values are large:
/// three standard deviations above the median of a normal distribution.
const USUAL: f64 = 6.9;

/// Values of a block, and on each side of it, whose lower quartile is the usual value there.
const BLOCK: usize = 64;
const AROUND: usize = 32;

/// Large values after one whose distances from it can be a period, and distances that are looked at: the most frequent.
const LAGS: usize = 4;
const CANDIDATES: usize = 32;

/// Every so many numbers, from the first of them on whose value is large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    /// The distance.
    pub every: u64,
    /// The first number.
    pub first: u64,
}

impl Period {
    /// Whether `number` is one of its.
    #[must_use]
    pub(crate) const fn holds(&self, number: u64) -> bool {
        number >= self.first && (number - self.first).is_multiple_of(self.every)
    }
}

/// The clearest period of `values` at those `numbers`, which rise.
#[must_use]
pub(crate) fn period(numbers: &[u64], values: &[u64]) -> Option<Period> {
    if numbers.len() != values.len() || values.len() < MIN_VALUES {
        return None;
    }
    let large = large(numbers, values);
    let found = candidates(&large).into_iter().filter_map(|every| clearest(every, numbers, &large));
    let (chance_ln, period) = found.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (chance_ln <= SIGNIFICANCE.ln()).then_some(period)
}

/// The numbers whose values lie above the usual one there by more than values deviate.
fn large(numbers: &[u64], values: &[u64]) -> Vec<u64> {
    let mut above = Vec::with_capacity(values.len());
    for (block, start) in values.chunks(BLOCK).zip((0_usize..).step_by(BLOCK)) {
        let around = start.saturating_sub(AROUND)..(start + BLOCK + AROUND).min(values.len());
        let usual = quantile(values.get(around).unwrap_or(block), 1, 4).max(1) as f64;
        above.extend(block.iter().map(|&value| value as f64 / usual - 1.0));
    }
    let mut sizes: Vec<f64> = above.iter().map(|above| above.abs()).collect();
    let third = sizes.len() / 3;
    let limit = USUAL * *sizes.select_nth_unstable_by(third, f64::total_cmp).1;
    let is_large = |above: f64| above > limit.max(LARGER - 1.0);
    numbers.iter().zip(&above).filter(|&(_, &above)| is_large(above)).map(|(&number, _)| number).collect()
}

/// Distances between large values that occur most often; of equals the shorter ones.
fn candidates(large: &[u64]) -> Vec<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (a, b) in (1..=LAGS).flat_map(|lag| large.iter().zip(large.iter().skip(lag))) {
        *counts.entry(b - a).or_default() += 1;
    }
    let mut distances: Vec<(Reverse<usize>, u64)> = counts
        .into_iter()
        .filter(|&(every, _)| every > 1)
        .map(|(every, count)| (Reverse(count), every))
        .collect();
    distances.sort_unstable();
    distances.into_iter().take(CANDIDATES).map(|(_, every)| every).collect()
}

/// The class of a distance that chance explains least, with the logarithm of the probability.
fn clearest(every: u64, numbers: &[u64], large: &[u64]) -> Option<(f64, Period)> {
    let remainders = |numbers: &[u64]| {
        let mut remainders: Vec<u64> = numbers.iter().map(|number| number % every).collect();
        remainders.sort_unstable();
        remainders
    };
    let (all, of_large) = (remainders(numbers), remainders(large));
    let classes = of_large.chunk_by(|a, b| a == b).filter(|class| class.len() >= MIN_MEMBERS);
    let chances = classes.filter_map(|class| {
        let remainder = *class.first()?;
        let members = all.partition_point(|&other| other <= remainder)
            - all.partition_point(|&other| other < remainder);
        let is_enough = class.len() * 100 >= members * MIN_LARGE_PERCENT;
        is_enough.then(|| (chance_ln((class.len(), members), (large.len(), numbers.len())), remainder))
    });
    let (chance_ln, remainder) = chances.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let first = large.iter().copied().find(|number| number % every == remainder)?;
    Some((chance_ln, Period { every, first }))
}

/// Bound of the logarithm of the probability that of any class with as many members so many are large, where as large a
/// share is as of the other values (by Laplace's rule of succession); above 0 where nothing is said.
fn chance_ln((large, members): (usize, usize), (all_large, values): (usize, usize)) -> f64 {
    let usual = (all_large - large + 1) as f64 / (values - members + 2) as f64;
    // As many classes as have enough members: of each distance up to a quarter of the values, as many as it is long.
    let classes = (values * values) as f64 / (2 * MIN_MEMBERS * MIN_MEMBERS) as f64;
    binomial_ln(large, members, usual) + classes.max(1.0).ln()
}

/// Chernoff's bound of the logarithm of the probability that of `members` values at least so many are large, where a
/// share is `usual`; 0 where that many are usual.
fn binomial_ln(large: usize, members: usize, usual: f64) -> f64 {
    let share = large as f64 / members.max(1) as f64;
    if share <= usual {
        return 0.0;
    }
    let rest = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - usual)).ln() } else { 0.0 };
    -(members as f64) * (share * (share / usual).ln() + rest)
}

#[cfg(test)]
mod tests;
