//! The user's own values. A page holds all points where these are few, and coarser ones where there are many values, so
//! that it stays as small as one of a run without. The JSON report and the tables have all.

use super::cell::{UNKNOWN, Unit, code, count, float};
use super::palette::VALUE;
use super::plot::{Bucket, Drawing, Line, Plot, buckets_of_each, buckets_within};
use super::series::{numbers, steps_shown, together};
use super::{Cell, Document, cells};
use crate::report::Report;
use crate::summary::{ValuePoint, ValueSeries};

/// Where the page has fewer points of a value than the report.
const COARSER: &str =
    " With so many values the page has fewer points of each than the JSON report and the tables.";

pub(super) fn tell(report: &Report, doc: &mut Document) {
    let values = &report.detailed_metrics.values;
    if values.is_empty() {
        return;
    }
    doc.part("values", "", "Values");
    for (at, series) in values.iter().enumerate() {
        doc.plot(plot(report, at, series));
    }
}

fn plot(report: &Report, at: usize, series: &ValueSeries) -> Plot {
    let values = report.detailed_metrics.values.len();
    let width = numbers(series.shift, &series.points, |point| point.step);
    let points: Vec<(Bucket, u64)> = series
        .points
        .iter()
        .filter(|point| point.mean.is_finite())
        .map(|point| (Bucket::of(point.step, width, [point.min, point.mean, point.max]), point.count))
        .collect();
    let title = format!("{} over step numbers", series.name);
    let buckets = buckets_within(buckets_of_each(values), &points);
    let place = format!("detailed_metrics/values/{at}");
    let last = series.points.last().map_or(UNKNOWN, |point| {
        let mean = float(point.mean, Unit::Words(plain(point.mean)));
        mean.at(format!("{place}/points/{}/mean", series.points.len() - 1))
    });
    let not_finite = match series.not_finite {
        0 => Cell::Empty,
        number => {
            let number = count(number).at(format!("{place}/not_finite"));
            cells![" Values that are no numbers: ", number, "."]
        }
    };
    Plot {
        id: format!("plot-value-{at}"),
        data: format!("value-{at}"),
        heading: code(&series.name),
        caption: cells![
            code(&series.name),
            " over step numbers; at the end ",
            last,
            ".",
            not_finite,
            together(series.shift),
            if drawn(series, values).is_coarser { COARSER } else { "" }
        ],
        drawing: Drawing::Values {
            steps: steps_shown(report),
            line: Line { label: title.clone(), class: VALUE.into(), buckets },
            title,
        },
    }
}

/// Four significant digits.
fn plain(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6);
        format!("{value:.*}", digits as usize)
    } else {
        format!("{value:.3e}")
    }
}

/// Points of all values together. Three floats each: at most about 0.9 MB of a page, however the values scatter.
const POINTS: usize = 65_536;

/// However many values there are, one keeps as many.
const LEAST: usize = 512;

/// What is drawn of one value.
pub(crate) struct Drawn {
    /// As of the series, for these points.
    pub(crate) shift: u32,
    /// In the series' order, finite ones only.
    pub(crate) points: Vec<ValuePoint>,
    /// Whether they are coarser than the report's.
    pub(crate) is_coarser: bool,
}

/// What is drawn of one of so many values.
pub(crate) fn drawn(series: &ValueSeries, values: usize) -> Drawn {
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
            points = merged(&points, |_, point| point.step >> shift, |step| step >> shift << shift);
        }
        // Where epochs go together, or steps are far apart, neighbours do.
        if points.len() == all {
            shift = u64::BITS - 1;
            points = merged(&points, |at, _| at as u64 / 2, |step| step);
        }
    }
    Drawn { shift, points, is_coarser }
}

/// Neighbouring points of one group as one, whose step is made of the first one's.
fn merged(
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
        ValueSeries { name: "loss".into(), shift, not_finite: 0, unnumbered: None, points }
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
}
