//! Robust trend of a series that may wander: the line of Theil and Sen (P. K. Sen, JASA 63 (1968), 1379–1389) through levels
//! of a few blocks of neighbours, as memory depends on what it was before, scatters, and goes up and down like a saw. What the
//! line leaves is a walk under noise (the local level model: A. C. Harvey (1989), §2.3). Of several views of one series the
//! clearest counts, at so many times its probability.

pub(crate) mod hinge;
pub(crate) mod late;
pub(crate) mod student;

use crate::summary::Trend;

/// Fewer points have no trend.
pub(crate) const MIN_POINTS: usize = 4;

/// Smaller probabilities are not told apart.
const SMALLEST_P: f64 = 1e-9;

/// By how much variances are multiplied: a line through a walk against its ends.
const LINE: f64 = 1.2;

/// Two-sided probability outside of the confidence interval.
const OUTSIDE: f64 = 0.05;

/// What stands for a block of neighbours.
#[derive(Debug, Clone, Copy)]
enum Level {
    /// The median: least moved by noise.
    Middle,
    /// The smallest value, where it is: not moved by what is freed again.
    Floor,
}

/// Blocks, and what stands for each. Fewer blocks hold longer teeth of a sawtooth.
const VIEWS: [(usize, Level); 3] = [(16, Level::Middle), (10, Level::Floor), (5, Level::Floor)];

/// The trend of `points` (x ascending, y); absent below [`MIN_POINTS`].
#[must_use]
pub(crate) fn trend(points: &[(u64, u64)]) -> Option<Trend> {
    let views = VIEWS.iter().filter_map(|&(blocks, level)| view(points, blocks, level));
    // The first of the clearest.
    let clearest = views.min_by(|a, b| a.p_value.total_cmp(&b.p_value))?;
    Some(Trend { p_value: (clearest.p_value * VIEWS.len() as f64).min(1.0), ..clearest })
}

fn view(points: &[(u64, u64)], blocks: usize, level: Level) -> Option<Trend> {
    let levels = levels(points, blocks.min(points.len()), level);
    let ((first, _), (last, _)) = points.first().zip(points.last())?;
    let (begin, end) = (levels.first()?.0, levels.last()?.0);
    if points.len() < MIN_POINTS || begin >= end {
        return None;
    }
    let mut slopes = Vec::with_capacity(levels.len() * levels.len() / 2);
    for (index, &(x1, y1)) in levels.iter().enumerate() {
        slopes.extend(levels.iter().skip(index + 1).map(|&(x2, y2)| (y2 - y1) / (x2 - x1)));
    }
    let slope = middle(slopes);
    let offset = middle(levels.iter().map(|&(x, y)| y - slope * x).collect());
    let error = error(&levels, slope) / (end - begin);
    // The variance is known from two figures.
    let freedom = levels.len() / 2;
    let p_value = match () {
        () if slope == 0.0 => 1.0,
        () if error > 0.0 => student::outside(slope.abs() / error, freedom).max(SMALLEST_P),
        () => SMALLEST_P,
    };
    let reach = student::quantile(OUTSIDE, freedom) * error;
    let at = |x: u64| (offset + slope * x as f64).round().max(0.0) as u64;
    Some(Trend {
        n: points.len() as u64,
        from_step: *first,
        to_step: *last,
        first_bytes: at(*first),
        last_bytes: at(*last),
        slope_per_step: slope,
        confidence_interval: (slope - reach, slope + reach),
        p_value,
    })
}

/// Places and levels of blocks of neighbours.
fn levels(points: &[(u64, u64)], blocks: usize, level: Level) -> Vec<(f64, f64)> {
    let ends = (0..blocks).map(|block| (block * points.len() / blocks, (block + 1) * points.len() / blocks));
    let of = |block: &[(u64, u64)]| match level {
        Level::Middle => {
            let sum: u128 = block.iter().map(|point| u128::from(point.0)).sum();
            let values = block.iter().map(|point| point.1 as f64).collect();
            Some((sum as f64 / block.len() as f64, middle(values)))
        }
        Level::Floor => block.iter().min_by_key(|point| point.1).map(|&(x, y)| (x as f64, y as f64)),
    };
    ends.filter_map(|(from, to)| points.get(from..to).filter(|block| !block.is_empty()).and_then(of))
        .collect()
}

/// Standard error of what a line of this slope rises from the first level to the last: of increments with variance `g0` and
/// covariance of neighbours `g1`, `−g1` is the noise's and `g0 + 2·g1` the walk's (W. K. Newey, K. D. West, Econometrica 55
/// (1987), 703–708). Over `m` increments the walk moves the ends by `m` times its variance, noise by `12·m/(n·(n + 1))`.
fn error(levels: &[(f64, f64)], slope: f64) -> f64 {
    let rest: Vec<f64> =
        levels.iter().zip(levels.iter().skip(1)).map(|(a, b)| b.1 - a.1 - slope * (b.0 - a.0)).collect();
    let (count, increments) = (levels.len() as f64, rest.len() as f64);
    let mean = |sum: f64| sum / (increments - 1.0);
    let variance = mean(rest.iter().map(|value| value * value).sum());
    let neighbours = mean(rest.iter().zip(rest.iter().skip(1)).map(|(a, b)| a * b).sum());
    let walk = (variance + 2.0 * neighbours).max(0.0) * increments;
    let noise = (-neighbours).max(0.0) * 12.0 * increments / (count * (count + 1.0));
    (LINE * (walk + noise)).sqrt()
}

/// The median; of an even number of values, the mean of the middle two. 0 of nothing.
fn middle(mut values: Vec<f64>) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    values.sort_unstable_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    match (last / 2, last.div_ceil(2)) {
        (lower, upper) if lower == upper => at(lower),
        (lower, upper) => f64::midpoint(at(lower), at(upper)),
    }
}

#[cfg(test)]
mod tests;
