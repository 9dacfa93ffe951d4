//! Change points of a series: where its level moves for good, and where it drifts. Knows nothing of steps or runs.
//!
//! Robust throughout, so that outliers, periodic slow steps and skewed noise are no changes: candidates are tested by
//! ranks and placed by absolute deviations from medians; where values go round, each place of the round by itself, see
//! `cycle` and, for how long rounds are, `rounds`. Intervals to look at are those of seeded binary segmentation
//! (Kovács, Bühlmann, Li, Munk, "Seeded binary segmentation", Biometrika 110 (2023), 249–256), the most significant
//! first; how significant a maximum over all places is, see `scan`; step times follow each other, so variances are
//! multiplied by what blocks of neighbours vary more than single ones, see `noise`; what is much larger than slow noise is
//! told by its size, see `jump`. Where values go up and down in turn, or come in bursts, means over several in a row are
//! looked at instead, see `bursts`. Of few values a change is told that is far larger than they deviate, see `few`.

mod bursts;
mod cycle;
mod few;
mod jump;
mod noise;
mod rounds;
mod scan;
mod shape;
mod visible;

use std::ops::Range;

pub(crate) use self::bursts::{comes_in_bursts, means, steadiest};
pub use self::few::MIN_FEW;
use self::scan::Scan;
pub(crate) use self::shape::{bend, medians};
pub use self::visible::smallest_visible;

/// Points beyond this are looked at as medians of groups of neighbours; where a change is, is then told by single ones.
const MAX_POINTS: usize = 2_048;

/// Points on either side of a place that can be a change.
const MIN_SIDE: usize = 10;

/// A level lasts for this many points at least.
pub const MIN_POINTS: usize = 20;

/// Of all points, the share (one in so many) that a level lasts for at least: what is shorter is a disturbance.
pub const MIN_SHARE: usize = 20;

/// The level that the series ends with needs to last for this many points only: it may go on.
const LAST_POINTS: usize = 100;

/// A level lasts for this many points only where the series goes on in the same direction after it (two changes that
/// follow each other), or where it is the lowest one that the series begins with: a slow start is no change, a quick one is.
const SHORT_POINTS: usize = 40;

/// Levels that differ less are one, per cent.
pub const MIN_PERCENT: u64 = 3;

/// The probability of seeing any change in a series without one.
pub const SIGNIFICANCE: f64 = 1e-3;

/// Smaller probabilities are not told apart: the approximation means nothing there.
const SMALLEST_P: f64 = 1e-9;

/// Deviations beyond this many median ones are outliers, all alike: three standard deviations of a normal distribution.
const USUAL: f64 = 4.45;

/// Places are alike that differ by no more than what one value says that is usual on one side only.
const AS_GOOD: f64 = USUAL * USUAL;

/// A change of a series' level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// First point of the level before.
    pub from: usize,
    /// First point of the level after; of a drift, the first point altogether.
    pub at: usize,
    /// End of the level after: the first point that does not belong to it. Of a drift to a new level, where that begins.
    pub to: usize,
    /// Mean of the middle two fifths of what is before, of points or [means](Self::over); of a drift, its line's value at the beginning.
    pub before: u64,
    /// Mean of the middle two fifths of what is after; of a drift, its line's value at the end.
    pub after: u64,
    /// Whether the level moves bit by bit between `from` and `to`.
    pub is_gradual: bool,
    /// It is of means over so many points in a row, from the first of each side on.
    pub over: usize,
    /// Bound of the probability that a series without a change shows one so clear, at the place where it is.
    pub p_value: f64,
}

impl Change {
    /// The points on both sides that tell how they differ: of a drift its first third and its last one.
    pub(crate) const fn sides(&self) -> (Range<usize>, Range<usize>) {
        if self.is_gradual {
            let third = (self.to - self.from) / 3;
            (self.from..self.from + third, self.to - third..self.to)
        } else {
            (self.from..self.at, self.at..self.to)
        }
    }

    /// The levels of other values before and after, of a drift at its ends, by a line through those of its thirds.
    pub(crate) fn levels_of(&self, values: &[u64]) -> (u64, u64) {
        let (before, after) = self.sides();
        let level_of = |side| level(&means(values.get(side).unwrap_or_default(), self.over));
        let [before, after] = [before, after].map(level_of);
        if !self.is_gradual {
            return (before, after);
        }
        // The middle of a third is a quarter of the way between both from its end.
        let further = before.abs_diff(after) / 4;
        if before < after {
            (before.saturating_sub(further), after.saturating_add(further))
        } else {
            (before.saturating_add(further), after.saturating_sub(further))
        }
    }
}

/// The changes of `values`, in order; none in fewer than twice [`MIN_POINTS`].
#[must_use]
pub fn changes(values: &[u64]) -> Vec<Change> {
    if values.len() < 2 * MIN_POINTS {
        return Vec::new();
    }
    let over_turns = bursts::turns(values).map(|count| changes_over(values, count));
    over_turns.filter(|found| !found.is_empty()).unwrap_or_else(|| {
        let evened = cycle::evened(values);
        leveled(values, changes_of_even(evened.as_deref().unwrap_or(values)))
    })
}

/// Changes with the levels that values have on their sides, as far as these are two.
fn leveled(values: &[u64], mut found: Vec<Change>) -> Vec<Change> {
    for change in found.iter_mut().filter(|change| !change.is_gradual) {
        let is_upward = change.after > change.before;
        (change.before, change.after) = change.levels_of(values);
        if (change.after > change.before) != is_upward {
            change.after = change.before;
        }
    }
    let is_one = |change: &Change| (change.is_gradual || change.over > 1) && is_small(change);
    found.retain(|change| change.before != change.after && !is_one(change));
    found
}

/// Whether the levels are one.
fn is_small(change: &Change) -> bool {
    u128::from(change.before.abs_diff(change.after)) * 100
        < u128::from(change.before.min(change.after)) * u128::from(MIN_PERCENT)
}

/// The changes of what values are on average, so many of them in a row; none in too few.
pub(crate) fn changes_over(values: &[u64], count: usize) -> Vec<Change> {
    let means = means(values, count);
    let rough = changes(&means);
    // By single values, where that is told.
    let begin = |at: usize| {
        let about = at * count;
        let change = rough.iter().find(|change| change.at == at && !change.is_gradual);
        change.map_or(about, |change| {
            let around = (about.saturating_sub(count), (about + count).min(values.len()));
            bursts::first_of(values, around, (change.before, change.after))
        })
    };
    let of_values = |change: &Change| Change {
        from: begin(change.from),
        at: begin(change.at),
        to: if change.to == means.len() { values.len() } else { begin(change.to) },
        over: count * change.over,
        ..*change
    };
    leveled(values, rough.iter().map(of_values).collect())
}

/// The changes of what `values` are a part of, of which there are as many: where these change, or few of them do by far,
/// with the levels of those, as far as these are two and move in the same direction.
pub(crate) fn changes_by_part(values: &[u64], whole: &[u64]) -> Vec<Change> {
    let mut found = changes(values);
    if found.is_empty() {
        found.extend(few::change(values));
    }
    found.iter_mut().for_each(|change| change.over = 1);
    found.retain_mut(|change| {
        let is_upward = change.after > change.before;
        (change.before, change.after) = change.levels_of(whole);
        (change.after > change.before) == is_upward && change.after != change.before && !is_small(change)
    });
    found
}

/// The fewest of `count` points for which a level lasts that is told wherever it is.
#[must_use]
pub fn shortest_level(count: usize) -> usize {
    MIN_POINTS.max(count / MIN_SHARE)
}

/// The changes of values that do not go round, between their medians.
fn changes_of_even(even: &[u64]) -> Vec<Change> {
    let group = even.len().div_ceil(MAX_POINTS);
    let coarse: Vec<u64> = even.chunks(group).map(median).collect();
    let scan = Scan::new(&coarse);
    let mut places: Vec<usize> = scan.places().into_iter().map(|place| place * group).collect();
    // Placing one anew moves the ends of its neighbours' levels.
    for _ in 0..2 {
        place(even, &mut places);
    }
    // Of two that are near each other one is found, perhaps between them; the other one is found beside it.
    let more = scan.places_between(&places.iter().map(|place| place / group).collect::<Vec<_>>());
    if !more.is_empty() {
        places.extend(more.into_iter().map(|place| place * group));
        places.sort_unstable();
        places.dedup();
        for _ in 0..2 {
            place(even, &mut places);
        }
    }
    let mut found = settle(even, &scan, group, places);
    shape::join_drifts(even, scan.inflation(), &mut found);
    found
}

/// Moves each place to where the levels on its sides, as their medians, explain the values best: by squared deviations,
/// as far as those are usual ones (a biweight loss, Fearnhead, Rigaill, "Changepoint Detection in the Presence of
/// Outliers", JASA 114 (2019), 169–183). Values that are usual on neither side, as those of a disturbance next to the
/// change, say nothing: it can be at either end of them, and is put in their middle, a few of them that are nearly usual on
/// one side notwithstanding.
fn place(values: &[u64], places: &mut [usize]) {
    for index in 0..places.len() {
        let (from, to) = around(values, places, index);
        let Some(&old) = places.get(index) else { continue };
        let (Some(left), Some(right)) = (values.get(from..old), values.get(old..to)) else { continue };
        let (before, after) = (median(left), median(right));
        let off = |side: &[u64], level: u64| {
            median(&side.iter().map(|value| value.abs_diff(level)).collect::<Vec<_>>())
        };
        let usual = off(left, before).max(off(right, after)).max(1);
        let loss = |value: u64, level: u64| {
            let deviations = (value.abs_diff(level) as f64 / usual as f64).min(USUAL);
            deviations * deviations
        };
        // By place, from the first value after `from` on.
        let part = values.get(from..to).unwrap_or_default();
        let sums: Vec<f64> = part
            .iter()
            .scan(0.0, |sum, &value| {
                *sum += loss(value, before) - loss(value, after);
                Some(*sum)
            })
            .take(part.len().saturating_sub(1))
            .collect();
        let least = sums.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        let Some((best, least)) = least else { continue };
        let is_as_good = |sum: &&f64| **sum <= least + AS_GOOD;
        let (to_best, from_best) = sums.split_at(best);
        let earlier = to_best.iter().rev().take_while(is_as_good).count();
        let later = from_best.iter().skip(1).take_while(is_as_good).count();
        if let Some(place) = places.get_mut(index) {
            *place = from + 1 + (2 * best - earlier + later).div_ceil(2);
        }
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
fn settle(values: &[u64], scan: &Scan<'_>, group: usize, mut places: Vec<usize>) -> Vec<Change> {
    let least = shortest_level(values.len());
    loop {
        places.dedup();
        let all: Vec<Change> = (0..places.len())
            .filter_map(|index| {
                change(values, scan, group, around(values, &places, index), *places.get(index)?)
            })
            .collect();
        let is_upward = |change: &Change| change.after > change.before;
        let goes_on = |change: &Change, other: Option<&Change>| {
            other.is_some_and(|other| is_upward(other) == is_upward(change))
        };
        let short = least.min(SHORT_POINTS);
        let is_short = |index: usize, change: &Change| {
            let before = index.checked_sub(1).and_then(|index| all.get(index));
            let least_before = match change.from {
                0 if is_upward(change) => short,
                0 => least.min(LAST_POINTS),
                _ if goes_on(change, before) => short,
                _ => least,
            };
            let least_after = match change.to {
                to if to == values.len() => least.min(LAST_POINTS),
                _ if goes_on(change, all.get(index + 1)) => short,
                _ => least,
            };
            change.at - change.from < least_before || change.to - change.at < least_after
        };
        let is_weak = |index: usize, change: &Change| {
            is_short(index, change)
                || is_small(change)
                || change.p_value > SIGNIFICANCE
                || change.before == change.after
        };
        let size = |change: &Change| (change.before.abs_diff(change.after), change.at);
        let weak = all.iter().enumerate().filter(|&(index, change)| is_weak(index, change));
        let Some(weakest) = weak.map(|(_, change)| size(change)).min() else {
            return all;
        };
        places.retain(|&place| place != weakest.1);
        place(values, &mut places);
    }
}

fn change(
    values: &[u64],
    scan: &Scan<'_>,
    group: usize,
    (from, to): (usize, usize),
    at: usize,
) -> Option<Change> {
    Some(Change {
        from,
        at,
        to,
        before: median(values.get(from..at)?),
        after: median(values.get(at..to)?),
        is_gradual: false,
        over: 1,
        p_value: scan.p_value(from / group, at / group, to.div_ceil(group)).max(SMALLEST_P),
    })
}

/// The mean of the middle two fifths, rounded down; 0 of nothing. Outliers move it as little as the median while they are
/// few, and of values at two levels it is between them, where the median is at one or the other.
fn level(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let outside = sorted.len() * 3 / 10;
    let middle = sorted.get(outside..sorted.len() - outside).unwrap_or_default();
    let sum: u128 = middle.iter().map(|&value| u128::from(value)).sum();
    u64::try_from(sum / middle.len().max(1) as u128).unwrap_or(u64::MAX)
}

/// The lower median; 0 of nothing.
pub(crate) fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    let middle = sorted.len().saturating_sub(1) / 2;
    if sorted.is_empty() { 0 } else { *sorted.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests;
