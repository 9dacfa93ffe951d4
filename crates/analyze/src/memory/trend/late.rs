//! Growth that begins late in a series: a level, and from some place on a line. Where that is, `hinge`
//! tells.

use crate::memory::trend::hinge::{bend, medians};
use crate::memory::trend::{MIN_POINTS, middle, trend};
use crate::summary::{LateGrowth, Trend};

/// Points from the place on, at least, and the share of all (one in so many).
const LEAST: (usize, usize) = (32, 16);

/// The deviations that a hinge leaves are at most this share of those that a line leaves.
const BETTER: f64 = 0.6;

/// Before the place the series rises at most at this share of the rate after it.
const LEVEL: f64 = 0.5;

/// Times that the probability counts: the place was chosen to be the clearest.
const PLACES: f64 = 8.0;

/// Growth from some place on, where that describes `points` better than `whole`, the line through all of them.
pub(crate) fn late(points: &[(u64, u64)], whole: &Trend) -> Option<LateGrowth> {
    let values: Vec<u64> = points.iter().map(|point| point.1).collect();
    let hinge = bend(&values)?;
    let (before, after) = points.split_at_checked(hinge.from)?;
    let is_long = after.len() >= LEAST.0 && after.len() >= points.len() / LEAST.1;
    if !is_long || hinge.off(&values) >= BETTER * off(points, whole) {
        return None;
    }
    let growth = trend(after).filter(|growth| growth.slope_per_step > 0.0)?;
    if rate(before)? > LEVEL * growth.slope_per_step {
        return None;
    }
    let tail = trend(last_third(after))?;
    let freed_bytes = freed(&medians(values.get(..hinge.from)?, values.len()));
    let p_value = (growth.p_value * PLACES).min(1.0);
    Some(LateGrowth { growth: Trend { p_value, ..growth }, tail, freed_bytes })
}

/// Points in the last third of the range of x.
pub(crate) fn last_third(points: &[(u64, u64)]) -> &[(u64, u64)] {
    let Some((first, last)) = points.first().zip(points.last()) else { return points };
    let range = u128::from(last.0.saturating_sub(first.0));
    let is_early = |point: &(u64, u64)| u128::from(last.0.saturating_sub(point.0)) * 3 > range;
    points.get(points.partition_point(is_early)..).unwrap_or_default()
}

/// The sum of deviations from a line of the slope of `line`.
fn off(points: &[(u64, u64)], line: &Trend) -> f64 {
    let offsets: Vec<f64> = points.iter().map(|&(x, y)| y as f64 - line.slope_per_step * x as f64).collect();
    let offset = middle(offsets.clone());
    offsets.iter().map(|value| (value - offset).abs()).sum()
}

/// What the second half lies above the first, a step.
fn rate(points: &[(u64, u64)]) -> Option<f64> {
    if points.len() < MIN_POINTS {
        return None;
    }
    let (earlier, later) = points.split_at(points.len() / 2);
    let centre = |half: &[(u64, u64)]| {
        let values = half.iter().map(|point| point.1 as f64).collect();
        let places = half.iter().map(|point| point.0 as f64).collect();
        (middle(places), middle(values))
    };
    let (a, b) = (centre(earlier), centre(later));
    Some((b.1 - a.1) / (b.0 - a.0))
}

/// The most by which values fall below one that was before them.
fn freed(values: &[u64]) -> u64 {
    let step = |(most, highest): (u64, u64), &value: &u64| {
        (most.max(highest.saturating_sub(value)), highest.max(value))
    };
    values.iter().fold((0, 0), step).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_is_the_deepest_fall() {
        assert_eq!(freed(&[5, 9, 4, 7, 20, 18, 30]), 5);
        assert_eq!(freed(&[1, 2, 3]), 0);
        assert_eq!(freed(&[]), 0);
    }

    #[test]
    fn a_third_is_one_of_the_numbers_not_of_the_points() {
        let points: Vec<(u64, u64)> = [0, 1, 2, 3, 4, 60, 61, 90].map(|x| (x, 0)).to_vec();
        assert_eq!(last_third(&points).first(), Some(&(60, 0)));
        assert_eq!(last_third(&[]), []);
    }

    #[test]
    fn a_hinge_has_its_place_and_the_rate_after_it() {
        let value = |x: u64| 1_000_000 + x.saturating_sub(256) * 5_000;
        let points: Vec<(u64, u64)> = (0..384).map(|x| (10 + 2 * x, value(x))).collect();
        let found = late(&points, &trend(&points).unwrap()).unwrap();
        // 384 points are 64 groups of 6, and 256 lies in that from 252 on.
        assert_eq!((found.growth.from_step, found.growth.to_step), (10 + 2 * 258, 10 + 2 * 383));
        assert_eq!((found.growth.slope_per_step, found.tail.slope_per_step), (2_500.0, 2_500.0));
        assert_eq!((found.freed_bytes, found.growth.last_bytes), (0, value(383)));
    }

    #[test]
    fn a_line_has_no_hinge_and_nor_has_what_rose_as_fast_before() {
        let line: Vec<(u64, u64)> = (0..400).map(|x| (x, 7 * x)).collect();
        assert_eq!(late(&line, &trend(&line).unwrap()), None);
        let cleared: Vec<(u64, u64)> = (0..400).map(|x| (x, x % 200 * 7)).collect();
        assert_eq!(late(&cleared, &trend(&cleared).unwrap()), None);
    }
}
