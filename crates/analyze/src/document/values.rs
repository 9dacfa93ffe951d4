//! The user's own values. A page of many values has coarser points than the JSON report and the tables, which have all.

use super::cell::{UNKNOWN, Unit, code, count, float};
use super::plot::Plot;
use super::series::together;
use super::{Cell, Document, cells};
use crate::report::Report;
use crate::summary::{ValuePoint, ValueSeries};

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let values = &report.detailed_metrics.values;
    if values.is_empty() {
        return;
    }
    doc.part("values", "", "Values");
    for (at, series) in values.iter().enumerate() {
        doc.plot(plot(at, series));
    }
}

fn plot(at: usize, series: &ValueSeries) -> Plot {
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
        id: format!("value-{at}"),
        title: format!("{} over step numbers", series.name),
        heading: code(&series.name),
        caption: cells![
            code(&series.name),
            " over step numbers; at the end ",
            last,
            ".",
            not_finite,
            together(series.shift)
        ],
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

/// Points of all values of a page together: at most about 0.9 MB, however the values scatter. One keeps the least.
const POINTS: usize = 65_536;
const LEAST: usize = 512;

/// The points of one of so many values that a page has, finite ones only, and how many of the report's are one of them.
pub(crate) fn coarse(series: &ValueSeries, values: usize) -> (Vec<ValuePoint>, usize) {
    let points: Vec<ValuePoint> =
        series.points.iter().copied().filter(|point| point.mean.is_finite()).collect();
    let most = (POINTS / values.max(1)).max(LEAST);
    let size = points.len().div_ceil(most).max(1).next_power_of_two();
    let all = points.chunks(size).filter_map(|chunk| chunk.iter().copied().reduce(joined));
    (all.collect(), size)
}

/// Two points as one.
fn joined(first: ValuePoint, second: ValuePoint) -> ValuePoint {
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

    #[test]
    fn points_of_many_values_are_means_and_extremes_of_neighbours() {
        let point = |step: u64| {
            let value = step as f64;
            ValuePoint { step, count: 2, mean: value, min: value - 1.0, max: value + 1.0, last: value }
        };
        let points = (0..2_048).map(|at| point(2 * at)).collect();
        let series = ValueSeries { name: "loss".into(), shift: 1, not_finite: 0, unnumbered: None, points };
        assert_eq!(coarse(&series, 1), (series.points.clone(), 1));
        let (points, size) = coarse(&series, 128);
        assert_eq!((points.len(), size), (512, 4));
        // Of steps 8, 10, 12 and 14.
        assert_eq!(points[1], ValuePoint { step: 8, count: 8, mean: 11.0, min: 7.0, max: 15.0, last: 14.0 });
    }
}
