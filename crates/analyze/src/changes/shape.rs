//! Steps or a drift: several changes in one direction after each other, or one, are told as a drift where a straight
//! line, or a level that goes over into one, explains the values better than the levels do, and several changes where a
//! line from one level to another does, by Schwarz's criterion (BIC) with absolute deviations (the likelihood of Laplace
//! noise). The line is that of Theil and Sen, over medians of groups; after a level that of least squares over these;
//! between two levels it joins their medians.

use super::{Change, MIN_POINTS, median};

/// Groups that the line is drawn through.
const GROUPS: usize = 64;

/// Replaces runs of changes that are a drift by one change each.
pub(super) fn join_drifts(values: &[u64], inflation: f64, changes: &mut Vec<Change>) {
    let all = std::mem::take(changes);
    let is_upward = |change: &Change| change.after > change.before;
    for run in all.chunk_by(|a, b| is_upward(a) == is_upward(b)) {
        // A level that a drift led to begins with its end.
        let begun = changes.last().filter(|last| last.is_gradual).map_or(0, |last| last.to);
        let mut run = run.to_vec();
        if let Some(first) = run.first_mut().filter(|first| begun < first.at) {
            first.from = first.from.max(begun);
        }
        match drift(values, inflation, &run) {
            Some(drift) => changes.push(drift),
            None => changes.extend(run),
        }
    }
}

/// The drift that explains a run of changes in one direction better than they do themselves: from its beginning on, or
/// from some point on.
fn drift(values: &[u64], inflation: f64, run: &[Change]) -> Option<Change> {
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
    let lines = lines.into_iter().flatten().map(|(line, figures)| (criterion(line.off(part), figures), line));
    let (least, line) = lines.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let end = |value: f64| value.round().max(0.0) as u64;
    (least < criterion(by_levels, 2 * run.len() + 1)).then(|| Change {
        from: first.from + line.from,
        at: first.from + line.from,
        to: first.from + line.to,
        before: end(line.at(line.from)),
        after: end(line.at(line.to.saturating_sub(1))),
        is_gradual: true,
        p_value: run.iter().map(|change| change.p_value).fold(1.0, f64::min),
    })
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
    let lines = places.filter(|&from| from >= MIN_POINTS && from + MIN_POINTS <= values.len()).map(|from| {
        let level = median(values.get(..from).unwrap_or_default()) as f64;
        let along = |(middle, value): (f64, f64)| (middle - from as f64, value - level);
        let after = points(values).map(along).filter(|&(middle, _)| middle > 0.0);
        let (products, squares) = after.fold((0.0, 0.0), |(products, squares), (middle, value)| {
            (products + middle * value, squares + middle * middle)
        });
        let slope = products / squares.max(f64::MIN_POSITIVE);
        let line = Line { from, to: values.len(), level, slope };
        (line.off(values), line)
    });
    lines.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, line)| line)
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
