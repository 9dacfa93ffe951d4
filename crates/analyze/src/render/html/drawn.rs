//! The points of the user's own values that the page holds: all of them where these are few, and coarser ones where there are
//! many values, so that a page stays as small as one of a run without. The JSON report and the tables have all.

use crate::summary::{ValuePoint, ValueSeries};

/// Points of all values together. Three floats each: at most about 0.9 MB of a page, however the values scatter.
const POINTS: usize = 65_536;

/// However many values there are, one keeps as many.
const LEAST: usize = 512;

/// What is drawn of one value.
pub(super) struct Drawn {
    /// As of the series, for these points.
    pub(super) shift: u32,
    /// In the series' order, finite ones only.
    pub(super) points: Vec<ValuePoint>,
    /// Whether they are coarser than the report's.
    pub(super) is_coarser: bool,
}

/// What is drawn of one of so many values.
pub(super) fn drawn(series: &ValueSeries, values: usize) -> Drawn {
    within(series, (POINTS / values.max(1)).max(LEAST))
}

fn within(series: &ValueSeries, most: usize) -> Drawn {
    let mut shift = series.shift;
    let mut points: Vec<ValuePoint> =
        series.points.iter().copied().filter(|point| point.mean.is_finite()).collect();
    let is_coarser = points.len() > most;
    while points.len() > most {
        let all = points.len();
        if shift + 1 < u64::BITS {
            shift += 1;
            points = together(&points, |_, point| point.step >> shift, |step| step >> shift << shift);
        }
        // Where epochs go together, or steps are far apart, neighbours do.
        if points.len() == all {
            shift = u64::BITS - 1;
            points = together(&points, |at, _| at as u64 / 2, |step| step);
        }
    }
    Drawn { shift, points, is_coarser }
}

/// Neighbouring points of one group as one, whose step is made of the first one's.
fn together(
    points: &[ValuePoint],
    group: impl Fn(usize, &ValuePoint) -> u64,
    step: impl Fn(u64) -> u64,
) -> Vec<ValuePoint> {
    let mut all: Vec<(u64, ValuePoint)> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let of = group(at, point);
        match all.last_mut().filter(|(last, _)| *last == of) {
            Some((_, last)) => *last = joined(last, point),
            None => all.push((of, ValuePoint { step: step(point.step), ..*point })),
        }
    }
    all.into_iter().map(|(_, point)| point).collect()
}

/// Two points as one.
fn joined(first: &ValuePoint, second: &ValuePoint) -> ValuePoint {
    let count = first.count.saturating_add(second.count);
    // As the one plus a part of what they differ by: the sum of large values may not be finite.
    let part = second.count as f64 / count.max(1) as f64;
    ValuePoint {
        step: first.step,
        count,
        mean: first.mean + (second.mean - first.mean) * part,
        min: first.min.min(second.min),
        max: first.max.max(second.max),
        last: second.last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(shift: u32, steps: impl Iterator<Item = u64>) -> ValueSeries {
        let point = |step: u64| {
            let value = step as f64;
            ValuePoint { step, count: 2, mean: value, min: value - 1.0, max: value + 1.0, last: value }
        };
        let points = steps.map(point).collect();
        ValueSeries { name: "loss".into(), shift, not_finite: 0, elsewhere: None, points }
    }

    #[test]
    fn few_points_are_all_there() {
        let of = series(1, (0..100).map(|at| 2 * at));
        let drawn = within(&of, 100);
        assert!(!drawn.is_coarser);
        assert_eq!((drawn.shift, drawn.points), (1, of.points));
    }

    #[test]
    fn neighbours_are_one_point_of_their_mean_and_extremes() {
        let drawn = within(&series(1, (0..100).map(|at| 2 * at)), 25);
        assert!(drawn.is_coarser);
        assert_eq!((drawn.shift, drawn.points.len()), (3, 25));
        let second = drawn.points[1];
        // Of steps 8, 10, 12 and 14.
        let expected = ValuePoint { step: 8, count: 8, mean: 11.0, min: 7.0, max: 15.0, last: 14.0 };
        assert_eq!(second, expected);
    }

    #[test]
    fn epochs_that_go_together_and_steps_far_apart_are_bounded_as_well() {
        for shift in [u64::BITS - 1, 0] {
            let drawn = within(&series(shift, (0..60).map(|at| 1 << at)), 16);
            assert!(drawn.points.len() <= 16, "{}", drawn.points.len());
            assert_eq!(drawn.points.iter().map(|point| point.count).sum::<u64>(), 120);
            assert!(drawn.points.is_sorted_by_key(|point| point.step));
        }
    }

    #[test]
    fn means_of_the_largest_values_are_finite() {
        let mut of = series(0, 0..2);
        for point in &mut of.points {
            point.mean = f64::MAX;
        }
        assert_eq!(within(&of, 1).points[0].mean, f64::MAX);
    }
}
