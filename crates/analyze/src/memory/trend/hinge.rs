//! A series that keeps a level and from some place on goes along a line: the median before the place, and least squares after
//! it, over medians of groups.

use crate::accumulate::median::median;

/// Groups that the line is drawn through.
const GROUPS: usize = 64;

/// Values on either side of the place.
const MIN_POINTS: usize = 20;

/// A level from which a line goes off at `from`.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) from: usize,
    level: f64,
    slope: f64,
}

impl Line {
    fn at(&self, index: usize) -> f64 {
        self.level + self.slope * index.saturating_sub(self.from) as f64
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

/// The level and the line from the end of a group on that leave least.
pub(crate) fn bend(values: &[u64]) -> Option<Line> {
    let size = values.len().div_ceil(GROUPS).max(1);
    let groups: Vec<(f64, f64)> = points(values).collect();
    let is_inside = |&from: &usize| from >= MIN_POINTS && from + MIN_POINTS <= values.len();
    let lines = (size..values.len()).step_by(size).filter(is_inside).map(|from| {
        let level = median(values.get(..from).unwrap_or_default()) as f64;
        let along = |&(middle, value): &(f64, f64)| (middle - from as f64, value - level);
        let after = groups.iter().map(along).filter(|&(middle, _)| middle > 0.0);
        let (products, squares) = after.fold((0.0, 0.0), |(products, squares), (middle, value)| {
            (products + middle * value, squares + middle * middle)
        });
        let line = Line { from, level, slope: products / squares.max(f64::MIN_POSITIVE) };
        (line.off(values), line)
    });
    lines.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, line)| line)
}
