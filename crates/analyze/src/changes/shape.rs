//! Steps or a drift: several changes in one direction after each other, or one, are told as a drift where a straight
//! line explains the values better than the levels do, by Schwarz's criterion (BIC) with absolute deviations (the
//! likelihood of Laplace noise). The line is that of Theil and Sen, over medians of groups.

use super::{Change, median};

/// Groups that the line is drawn through.
const GROUPS: usize = 64;

/// Replaces runs of changes that are a drift by one change each.
pub(super) fn join_drifts(values: &[u64], inflation: f64, changes: &mut Vec<Change>) {
    let all = std::mem::take(changes);
    let is_upward = |change: &Change| change.after > change.before;
    for run in all.chunk_by(|a, b| is_upward(a) == is_upward(b)) {
        match drift(values, inflation, run) {
            Some(drift) => changes.push(drift),
            None => changes.extend_from_slice(run),
        }
    }
}

/// The drift that explains a run of changes in one direction better than they do themselves.
fn drift(values: &[u64], inflation: f64, run: &[Change]) -> Option<Change> {
    let (first, last) = run.first().zip(run.last())?;
    let part = values.get(first.from..last.to)?;
    let (slope, offset) = line(part)?;
    let at = |index: usize| offset + slope * index as f64;
    let by_line: f64 = part.iter().enumerate().map(|(index, &value)| (value as f64 - at(index)).abs()).sum();
    let deviations = |from: usize, to: usize, level: u64| -> f64 {
        let level_values = values.get(from..to).unwrap_or_default();
        level_values.iter().map(|&value| value.abs_diff(level) as f64).sum()
    };
    let by_levels = run.iter().map(|change| deviations(change.at, change.to, change.after)).sum::<f64>()
        + deviations(first.from, first.at, first.before);
    if by_line <= 0.0 || by_levels <= 0.0 {
        return None;
    }
    // As many values as are independent. A line has two figures; levels have one each, and their places.
    let count = part.len() as f64 / inflation.max(1.0);
    let criterion = |sum: f64, figures: usize| 2.0 * count * (sum / count).ln() + figures as f64 * count.ln();
    let is_better = criterion(by_line, 2) < criterion(by_levels, 2 * run.len() + 1);
    let end = |value: f64| value.round().max(0.0) as u64;
    is_better.then(|| Change {
        from: first.from,
        at: first.from,
        to: last.to,
        before: end(at(0)),
        after: end(at(part.len().saturating_sub(1))),
        is_gradual: true,
        p_value: run.iter().map(|change| change.p_value).fold(1.0, f64::min),
    })
}

/// Slope and offset of the line through `values` over their positions.
fn line(values: &[u64]) -> Option<(f64, f64)> {
    let size = values.len().div_ceil(GROUPS).max(1);
    let points: Vec<(f64, f64)> = values
        .chunks(size)
        .zip(0usize..)
        .map(|(group, index)| {
            let middle = (index * size) as f64 + (group.len() as f64 - 1.0) / 2.0;
            (middle, median(group) as f64)
        })
        .collect();
    let mut slopes: Vec<f64> = Vec::with_capacity(points.len() * points.len() / 2);
    for (index, a) in points.iter().enumerate() {
        slopes.extend(points.iter().skip(index + 1).map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    slopes.sort_by(f64::total_cmp);
    let slope = *slopes.get(slopes.len() / 2)?;
    let mut offsets: Vec<f64> = points.iter().map(|point| point.1 - slope * point.0).collect();
    offsets.sort_by(f64::total_cmp);
    Some((slope, *offsets.get(offsets.len() / 2)?))
}
