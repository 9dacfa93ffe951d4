//! Change points of a series: where its level moves for good. Knows nothing of steps or runs.
//!
//! Candidates are the clearest places of the intervals of seeded binary segmentation (Kovács, Bühlmann, Li, Munk,
//! Biometrika 110 (2023), 249–256) by Wilcoxon's rank statistic, see `scan`; each is then put to where medians on its
//! sides explain the values best. Three or more changes in one direction after each other are told as one gradual change.

pub(crate) mod finish;
pub(crate) mod noise;
pub(crate) mod scan;
pub(crate) mod summary;

use crate::accumulate::median::{deviation, median};

/// Points beyond this are looked at as medians of groups of neighbours; where a change is, is then told by single ones.
const MAX_POINTS: usize = 2_048;

/// A level lasts for this many points at least, and for one in so many of all: what is shorter is a disturbance.
const MIN_POINTS: usize = 20;
const MIN_SHARE: usize = 20;

/// The levels that the series begins and ends with need to last for this many points only: they may be longer than seen.
const END_POINTS: usize = 100;

/// Levels that differ less are one, per cent.
pub const MIN_PERCENT: u64 = 3;

/// The probability of seeing any change in a series without one.
pub const SIGNIFICANCE: f64 = 1e-3;

/// Smaller probabilities are not told apart: the approximation means nothing there.
const SMALLEST_P: f64 = 1e-9;

/// Changes in one direction that are a gradual one.
const GRADUAL: usize = 3;

/// A change of a series' level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// First point of the level before.
    pub from: usize,
    /// First point of the level after; of a gradual change, of the first level after.
    pub at: usize,
    /// First point of the last level: that of the level after, of a gradual change that of the last one of several.
    pub last: usize,
    /// End of that level: the first point that does not belong to it.
    pub to: usize,
    /// Median of the level before.
    pub before: u64,
    /// Median of the last level.
    pub after: u64,
    /// Whether the level moves bit by bit between `at` and `last`.
    pub is_gradual: bool,
    /// Bound of the probability that a series without a change shows one so clear, at the place where it is.
    pub p_value: f64,
}

impl Change {
    /// Medians of other values on both sides.
    pub(crate) fn levels_of(&self, values: &[u64]) -> (u64, u64) {
        let level = |from: usize, to: usize| median(values.get(from..to).unwrap_or_default());
        (level(self.from, self.at), level(self.last, self.to))
    }

    const fn is_upward(&self) -> bool {
        self.after > self.before
    }

    /// Whether the levels are one.
    fn is_small(&self) -> bool {
        let by = u128::from(self.before.abs_diff(self.after));
        by == 0 || by * 100 < u128::from(self.before.min(self.after)) * u128::from(MIN_PERCENT)
    }
}

/// The changes of `values`, in order; none in fewer than twice `MIN_POINTS`.
#[must_use]
pub fn changes(values: &[u64]) -> Vec<Change> {
    if values.len() < 2 * MIN_POINTS {
        return Vec::new();
    }
    let group = values.len().div_ceil(MAX_POINTS);
    let coarse: Vec<u64> = values.chunks(group).map(median).collect();
    let mut places: Vec<usize> = scan::places(&coarse).into_iter().map(|place| place * group).collect();
    // Placing one anew moves the ends of its neighbours' levels.
    for _ in 0..2 {
        place(values, &mut places);
    }
    let found = settle(values, &coarse, group, places);
    found.chunk_by(|a, b| a.is_upward() == b.is_upward()).flat_map(joined).collect()
}

/// About by which share the level of `values` has to move in their middle to be told.
#[must_use]
pub fn visible_share(values: &[u64]) -> f64 {
    // Standard errors of a rank sum that the smallest change of the series has, among as many places and intervals.
    const NEEDED: f64 = 5.5;
    // A median deviation times this is a standard deviation, were values normal.
    const MAD_TO_SIGMA: f64 = 1.4826;
    let usual = median(values);
    let sigma = MAD_TO_SIGMA * deviation(values, usual) as f64 / usual.max(1) as f64;
    let error = 2.0 * sigma * (scan::inflation(values, values.len()) / values.len().max(1) as f64).sqrt();
    (NEEDED * error).max(MIN_PERCENT as f64 / 100.0)
}

/// Changes in one direction after each other: one, where they are several.
fn joined(run: &[Change]) -> Vec<Change> {
    match run {
        [first, .., last] if run.len() >= GRADUAL => vec![Change {
            last: last.at,
            to: last.to,
            after: last.after,
            is_gradual: true,
            p_value: run.iter().map(|change| change.p_value).fold(1.0, f64::min),
            ..*first
        }],
        _ => run.to_vec(),
    }
}

/// Moves each place to where the levels on its sides, as their medians, leave the least absolute deviations.
fn place(values: &[u64], places: &mut [usize]) {
    for index in 0..places.len() {
        let (from, to) = around(values, places, index);
        let Some(old) = places.get_mut(index) else { continue };
        let (Some(left), Some(right)) = (values.get(from..*old), values.get(*old..to)) else { continue };
        let (before, after) = (median(left) as f64, median(right) as f64);
        let (mut sum, mut least) = (0.0, (f64::INFINITY, *old));
        for (&value, next) in left.iter().chain(right).zip(from + 1..to) {
            sum += (value as f64 - before).abs() - (value as f64 - after).abs();
            if sum < least.0 {
                least = (sum, next);
            }
        }
        *old = least.1;
    }
}

/// The levels on both sides of the place at `index`: from where to where.
fn around(values: &[u64], places: &[usize], index: usize) -> (usize, usize) {
    let from = index.checked_sub(1).and_then(|index| places.get(index)).copied().unwrap_or(0);
    let to = places.get(index + 1).copied().unwrap_or(values.len());
    (from, to)
}

/// The changes at those places that remain when levels are long enough, and each is clear between its neighbours: the
/// least clear goes first.
fn settle(values: &[u64], coarse: &[u64], group: usize, mut places: Vec<usize>) -> Vec<Change> {
    let least = MIN_POINTS.max(values.len() / MIN_SHARE);
    let is_short = |from: usize, to: usize| {
        let is_end = from == 0 || to == values.len();
        to - from < if is_end { least.min(END_POINTS) } else { least }
    };
    loop {
        places.dedup();
        let of =
            |index: usize| change(values, coarse, group, around(values, &places, index), *places.get(index)?);
        let all: Vec<Change> = (0..places.len()).filter_map(of).collect();
        let is_weak = |change: &&Change| {
            is_short(change.from, change.at)
                || is_short(change.at, change.to)
                || change.is_small()
                || change.p_value > SIGNIFICANCE
        };
        let weak =
            all.iter().filter(is_weak).min_by_key(|change| (change.before.abs_diff(change.after), change.at));
        let Some(weakest) = weak.map(|change| change.at) else { return all };
        places.retain(|&place| place != weakest);
        place(values, &mut places);
    }
}

fn change(
    values: &[u64],
    coarse: &[u64],
    group: usize,
    (from, to): (usize, usize),
    at: usize,
) -> Option<Change> {
    let side = coarse.get(from / group..to.div_ceil(group).min(coarse.len()))?;
    Some(Change {
        from,
        at,
        last: at,
        to,
        before: median(values.get(from..at)?),
        after: median(values.get(at..to)?),
        is_gradual: false,
        p_value: scan::p_value(side, (at / group).saturating_sub(from / group)).max(SMALLEST_P),
    })
}

#[cfg(test)]
mod tests;
