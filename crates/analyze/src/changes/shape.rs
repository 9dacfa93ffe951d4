//! Steps or a drift: several changes in one direction after each other, or one, are told as a drift where a straight
//! line, or a level that goes over into one, explains the values better than the levels do, and several changes where a
//! line from one level to another does, all of them or some of them, by Schwarz's criterion (BIC) with absolute deviations (the likelihood of Laplace
//! noise). The line is that of Theil and Sen, over medians of groups; after a level that of least squares over these;
//! between two levels it joins their medians.

use super::bursts::{SOME, apart};
use super::{Change, MIN_POINTS, SHORT_POINTS, median, shortest_level};

/// Groups that the line is drawn through.
const GROUPS: usize = 64;

/// Replaces runs of changes that are a drift by one change each.
pub(super) fn join_drifts(values: &[u64], inflation: f64, changes: &mut Vec<Change>) {
    if changes.is_empty() {
        return;
    }
    // The mean deviation of values that neighbours differ by so much.
    let noise = (apart(values, SOME) / std::f64::consts::SQRT_2).max(1.0);
    let all = std::mem::take(changes);
    let is_upward = |change: &Change| change.after > change.before;
    for run in all.chunk_by(|a, b| is_upward(a) == is_upward(b)) {
        // A level that a drift led to begins with its end.
        let begun = changes.last().filter(|last| last.is_gradual).map_or(0, |last| last.to);
        let mut run = run.to_vec();
        if let Some(first) = run.first_mut().filter(|first| begun < first.at) {
            first.from = first.from.max(begun);
        }
        match drift(values, (noise, inflation), &run) {
            Some((drift, _)) => changes.push(drift),
            None => changes.extend(join_parts(values, (noise, inflation), run)),
        }
    }
}

/// A run of changes of which parts may be drifts, behind levels or before them: those parts, none of which share a change, that lines
/// explain best together. A drift from a change on, or to one, is no part: the level between has to be there.
fn join_parts(values: &[u64], noise: (f64, f64), run: Vec<Change>) -> Vec<Change> {
    let least = shortest_level(values.len()).min(SHORT_POINTS);
    let drift_of = |from: usize, to: usize| {
        let changes = run.get(from..to)?;
        let (drift, gain) = drift(values, noise, changes)?;
        let has_level = (from == 0 || drift.from - changes.first()?.from >= least)
            && (to == run.len() || changes.last()?.to - drift.to >= least);
        has_level.then_some((drift, gain))
    };
    // What the first of them gain at most, and the drift that the last of these are, from which one on.
    let mut best: Vec<(f64, Option<(usize, Change)>)> = vec![(0.0, None)];
    for to in 1..=run.len() {
        let mut most = (best.last().map_or(0.0, |last| last.0), None);
        for from in 0..to {
            if let Some((drift, gain)) = drift_of(from, to)
                && let Some(before) = best.get(from).map(|before| before.0 + gain)
                && before > most.0
            {
                most = (before, Some((from, drift)));
            }
        }
        best.push(most);
    }
    let mut joined: Vec<Change> = Vec::with_capacity(run.len());
    let mut to = run.len();
    while let Some(last) = to.checked_sub(1).and_then(|last| run.get(last)) {
        let is_drift = best.get(to).and_then(|best| best.1);
        let (from, mut change) = is_drift.unwrap_or((to - 1, *last));
        // What follows begins where a drift ends, and what is before ends where it begins.
        if let Some(next) = joined.last_mut() {
            match (change.is_gradual, next.is_gradual) {
                (true, false) => next.from = change.to,
                (false, true) => change.to = next.from,
                _ => {}
            }
        }
        joined.push(change);
        to = from;
    }
    joined.reverse();
    joined
}

/// The drift that explains a run of changes in one direction better than they do themselves, and by how much: from its beginning
/// on, or from some point on.
fn drift(values: &[u64], (noise, inflation): (f64, f64), run: &[Change]) -> Option<(Change, f64)> {
    let (first, last) = run.first().zip(run.last())?;
    let part = values.get(first.from..last.to)?;
    let deviations = |from: usize, to: usize, level: u64| -> f64 {
        let level_values = values.get(from..to).unwrap_or_default();
        level_values.iter().map(|&value| value.abs_diff(level) as f64).sum()
    };
    let by_levels = run.iter().map(|change| deviations(change.at, change.to, change.after)).sum::<f64>()
        + deviations(first.from, first.at, first.before);
    if by_levels <= 0.0 {
        return None;
    }
    // As many values as are independent. Levels have a figure each, and their places.
    let count = part.len() as f64 / inflation.max(1.0);
    let criterion = |sum: f64, figures: usize| 2.0 * count * (sum / count).ln() + figures as f64 * count.ln();
    // What leads from one level to another has both, its beginning and its end; one change is as good.
    let ramp = (run.len() > 1).then(|| ramp(part)).flatten();
    let lines = [Some((line(part)?, 2)), bend(part).map(|bend| (bend, 3)), ramp.map(|ramp| (ramp, 4))];
    let lines = lines.into_iter().flatten().map(|(line, figures)| {
        let off = line.off(part);
        (criterion(off, figures), off, figures, line)
    });
    let (least, off, figures, line) = lines.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let end = |value: f64| value.round().max(0.0) as u64;
    let of_levels = 2 * run.len() + 1;
    // The same criterion for noise that is known: of parts of a run, what they gain can be added.
    let gain = 2.0 * (by_levels - off) / (noise * inflation.max(1.0))
        + (of_levels as f64 - figures as f64) * count.ln();
    let drift = || Change {
        from: first.from + line.from,
        at: first.from + line.from,
        to: first.from + line.to,
        before: end(line.at(line.from)),
        after: end(line.at(line.to.saturating_sub(1))),
        is_gradual: true,
        over: 1,
        p_value: run.iter().map(|change| change.p_value).fold(1.0, f64::min),
    };
    (least < criterion(by_levels, of_levels)).then(|| (drift(), gain))
}

/// A level from which a line goes off at `from`, to one that begins at `to`.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) from: usize,
    to: usize,
    level: f64,
    slope: f64,
}

impl Line {
    fn at(&self, index: usize) -> f64 {
        self.level + self.slope * index.min(self.to).saturating_sub(self.from) as f64
    }

    /// The sum of the values' deviations from it.
    pub(crate) fn off(&self, values: &[u64]) -> f64 {
        values.iter().enumerate().map(|(index, &value)| (value as f64 - self.at(index)).abs()).sum()
    }
}

/// Medians of groups of neighbours, each as large as the line is drawn through in a series of `count` values.
pub(crate) fn medians(values: &[u64], count: usize) -> Vec<u64> {
    values.chunks(count.div_ceil(GROUPS).max(1)).map(median).collect()
}

/// Middles and medians of groups of neighbours.
fn points(values: &[u64]) -> impl Iterator<Item = (f64, f64)> {
    let size = values.len().div_ceil(GROUPS).max(1);
    values.chunks(size).zip(0usize..).map(move |(group, index)| {
        ((index * size) as f64 + (group.len() as f64 - 1.0) / 2.0, median(group) as f64)
    })
}

/// The level and the line from the end of a group on that leave least: the median before, and least squares after it.
pub(crate) fn bend(values: &[u64]) -> Option<Line> {
    let size = values.len().div_ceil(GROUPS).max(1);
    let places = (size..values.len()).step_by(size);
    let places: Vec<usize> =
        places.filter(|&from| from >= MIN_POINTS && from + MIN_POINTS <= values.len()).collect();
    let groups: Vec<(f64, f64)> = points(values).collect();
    let lines = places.iter().zip(medians_before(values, &places)).map(|(&from, level)| {
        let level = level as f64;
        let along = |&(middle, value): &(f64, f64)| (middle - from as f64, value - level);
        let after = groups.iter().map(along).filter(|&(middle, _)| middle > 0.0);
        let (products, squares) = after.fold((0.0, 0.0), |(products, squares), (middle, value)| {
            (products + middle * value, squares + middle * middle)
        });
        let slope = products / squares.max(f64::MIN_POSITIVE);
        Line { from, to: values.len(), level, slope }
    });
    let mut lines: Vec<Line> = lines.collect();
    let sums: Vec<f64> = lines.chunks(LANES).flat_map(|lines| all_off(lines, values)).collect();
    let (best, _) = sums.iter().take(lines.len()).enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
    Some(lines.swap_remove(best))
}

/// Lines whose deviations are summed at once.
const LANES: usize = 8;

/// [`Line::off`] of each of these lines, all of which go on to the end, in its place: one sum has to wait for itself at
/// every value, several do not wait for each other.
fn all_off(lines: &[Line], values: &[u64]) -> [f64; LANES] {
    let mut lanes = [(0.0, 0.0, 0.0); LANES];
    for (lane, line) in lanes.iter_mut().zip(lines) {
        *lane = (line.from as f64, line.level, line.slope);
    }
    let (from, level, slope) = (lanes.map(|lane| lane.0), lanes.map(|lane| lane.1), lanes.map(|lane| lane.2));
    let mut sums = [0.0; LANES];
    for (&value, index) in values.iter().zip(0u32..) {
        let (value, index) = (value as f64, f64::from(index));
        for (((sum, from), level), slope) in sums.iter_mut().zip(&from).zip(&level).zip(&slope) {
            *sum += (value - (level + slope * (index - from).max(0.0))).abs();
        }
    }
    sums
}

/// The lower median of what is before each of those places, which rise: from the last one on values are taken out of the
/// sorted list of all, and the middle moves by one at most.
fn medians_before(values: &[u64], places: &[usize]) -> Vec<u64> {
    let count = places.last().copied().unwrap_or(0);
    let mut sorted: Vec<(u64, usize)> = values.iter().take(count).copied().zip(0..).collect();
    sorted.sort_unstable();
    // By position in the sorted list, with an end on each side: the positions next to it that are still there.
    let mut next: Vec<usize> = (1..=count + 2).collect();
    let mut last: Vec<usize> = (0..count + 2).map(|at| at.saturating_sub(1)).collect();
    let mut position = vec![0usize; count];
    for (at, &(_, index)) in (1..).zip(&sorted) {
        if let Some(slot) = position.get_mut(index) {
            *slot = at;
        }
    }
    let at = |list: &[usize], place: usize| list.get(place).copied().unwrap_or(0);
    let mut left = count;
    let mut middle = left.saturating_sub(1) / 2 + 1;
    let mut medians = Vec::with_capacity(places.len());
    for &place in places.iter().rev() {
        while left > place {
            left -= 1;
            let gone = at(&position, left);
            let (before, after) = (at(&last, gone), at(&next, gone));
            // Of an odd number the middle is the upper one of the pair that an even number has.
            middle = match left % 2 {
                0 if gone >= middle => at(&last, middle),
                1 if gone <= middle => at(&next, middle),
                _ => middle,
            };
            if let Some(slot) = next.get_mut(before) {
                *slot = after;
            }
            if let Some(slot) = last.get_mut(after) {
                *slot = before;
            }
        }
        medians.push(middle.checked_sub(1).and_then(|at| sorted.get(at)).map_or(0, |&(value, _)| value));
    }
    medians.reverse();
    medians
}

/// The two levels with a line from one to the other, between the ends of groups, that leave least of the groups: their
/// medians.
fn ramp(values: &[u64]) -> Option<Line> {
    let size = values.len().div_ceil(GROUPS).max(1);
    let groups: Vec<(f64, f64)> = points(values).collect();
    let median_of =
        |groups: &[(f64, f64)]| median(&groups.iter().map(|group| group.1 as u64).collect::<Vec<_>>()) as f64;
    let mut best: Option<(f64, Line)> = None;
    let least = MIN_POINTS.div_ceil(size);
    let ends: Vec<f64> =
        (0..groups.len()).map(|first| median_of(groups.get(first..).unwrap_or_default())).collect();
    for first in least..groups.len().saturating_sub(2 * least) {
        let level = median_of(groups.get(..first).unwrap_or_default());
        for last in first + least..=groups.len().saturating_sub(least) {
            let (from, to) = (first * size, (last * size).min(values.len()));
            let slope = (ends.get(last)? - level) / (to - from) as f64;
            let line = Line { from, to, level, slope };
            let along = |middle: f64| level + slope * (middle.clamp(from as f64, to as f64) - from as f64);
            let off = groups.iter().map(|&(middle, value)| (value - along(middle)).abs()).sum::<f64>();
            if best.as_ref().is_none_or(|(least, _)| off < *least) {
                best = Some((off, line));
            }
        }
    }
    best.map(|(_, line)| line)
}

/// The line through `values` over their positions.
fn line(values: &[u64]) -> Option<Line> {
    let points: Vec<(f64, f64)> = points(values).collect();
    let mut slopes: Vec<f64> = Vec::with_capacity(points.len() * points.len() / 2);
    for (index, a) in points.iter().enumerate() {
        slopes.extend(points.iter().skip(index + 1).map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    slopes.sort_by(f64::total_cmp);
    let slope = *slopes.get(slopes.len() / 2)?;
    let mut offsets: Vec<f64> = points.iter().map(|point| point.1 - slope * point.0).collect();
    offsets.sort_by(f64::total_cmp);
    Some(Line { from: 0, to: values.len(), level: *offsets.get(offsets.len() / 2)?, slope })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_hinge_is_the_line_that_leaves_least(values in proptest::collection::vec(0u64..50, 0..300)) {
            let size = values.len().div_ceil(GROUPS).max(1);
            let places: Vec<usize> = (size..values.len()).step_by(size).collect();
            let each: Vec<u64> = places.iter().map(|&place| median(&values[..place])).collect();
            prop_assert_eq!(medians_before(&values, &places), each);
            let line = |from: usize| {
                Line { from, to: values.len(), level: from as f64 / 7.0, slope: from as f64 / 300.0 - 0.5 }
            };
            let lines: Vec<Line> = places.iter().take(LANES).map(|&from| line(from)).collect();
            let sums: Vec<f64> = lines.iter().map(|line| line.off(&values)).collect();
            prop_assert_eq!(&all_off(&lines, &values)[..lines.len()], &sums[..]);
        }
    }
}
