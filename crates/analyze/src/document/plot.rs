//! Drawings as data: lines and areas over step numbers, bars, spans of a step. How they are drawn is the page's.

use super::Cell;
use crate::report::units::{bytes, duration};
use crate::summary::DurationBucket;

/// A drawing with what is said of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot {
    /// Its id; empty where it is none of its own.
    pub(crate) id: String,
    /// The data from which scripts draw it again; empty where they do not.
    pub(crate) data: String,
    /// Its heading, where it is not alone in its part.
    pub(crate) heading: Cell,
    /// What it shows.
    pub(crate) caption: Cell,
    /// What is drawn.
    pub(crate) drawing: Drawing,
}

impl Plot {
    /// A drawing by itself.
    pub(crate) fn bare(drawing: Drawing) -> Self {
        Self { id: String::new(), data: String::new(), heading: Cell::Empty, caption: Cell::Empty, drawing }
    }
}

/// The first and the last step number that a plot shows.
pub(crate) type Range = (u64, u64);

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Drawing {
    /// Lines of means with bands from the smallest to the largest, from zero.
    Bands { title: String, steps: Range, lines: Vec<Line>, scale: Scale, marks: Option<Marks> },
    /// Areas of means from zero; the later ones cover the earlier.
    Areas { title: String, steps: Range, lines: Vec<Line>, scale: Scale },
    /// Lines of bytes that can be missing.
    Changes { title: String, steps: Range, lines: Vec<Line> },
    /// A line of values of any range and unit.
    Values { title: String, steps: Range, line: Line },
    /// Numbers of steps by their time, and marks with their names.
    Histogram { buckets: Vec<DurationBucket>, marks: Vec<(&'static str, Option<u64>)> },
    /// Parts of a whole, each with its colour and name, in one bar.
    Stack { parts: Vec<(String, String, u64)>, whole: u64 },
    /// Spans of a step.
    Waterfall(Waterfall),
}

/// One series of a plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) class: String,
    pub(crate) buckets: Vec<Bucket>,
}

/// How the values of a plot are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Whether they are times rather than bytes.
    pub(crate) is_time: bool,
    /// Words of a value.
    pub(crate) unit: fn(u64) -> String,
    /// Whether a few outliers may lie beyond the axis.
    pub(crate) clips: bool,
}

impl PartialEq for Scale {
    fn eq(&self, other: &Self) -> bool {
        (self.is_time, self.clips) == (other.is_time, other.clips)
    }
}

/// Times of steps.
pub(crate) const DURATION: Scale = Scale { is_time: true, unit: duration, clips: true };

/// Sizes.
pub(crate) const BYTES: Scale = Scale { is_time: false, unit: bytes, clips: false };

/// The figures of some neighbouring steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) step: u64,
    /// The last number that it holds.
    pub(crate) end: u64,
    pub(crate) min: f64,
    pub(crate) mean: f64,
    pub(crate) max: f64,
}

impl Bucket {
    /// Smallest, mean and largest of a point that holds so many numbers.
    pub(crate) fn of(step: u64, numbers: u64, [min, mean, max]: [f64; 3]) -> Self {
        Self { step, end: step.saturating_add(numbers.saturating_sub(1)), min, mean, max }
    }
}

/// Buckets of a plot: more than a page shows nobody sees.
pub(crate) const BUCKETS: usize = 400;

/// Buckets of each of so many lines of one kind: all together as many as three have, so that a page stays small.
pub(crate) fn buckets_of_each(lines: usize) -> usize {
    (3 * BUCKETS / lines.max(1)).clamp(24, BUCKETS)
}

/// At most [`BUCKETS`] of any number of points, each with a weight: smallest of the smallest, largest of the largest,
/// mean of all, so that no outlier is lost.
pub(crate) fn buckets(points: &[(Bucket, u64)]) -> Vec<Bucket> {
    buckets_within(BUCKETS, points)
}

/// The same with at most `most`.
pub(crate) fn buckets_within(most: usize, points: &[(Bucket, u64)]) -> Vec<Bucket> {
    let size = points.len().div_ceil(most.max(1)).max(1);
    let merged = points.chunks(size).filter_map(|chunk| {
        let ((first, _), (last, _)) = chunk.first().zip(chunk.last())?;
        let weight: f64 = chunk.iter().map(|(_, weight)| *weight as f64).sum();
        let sum: f64 = chunk.iter().map(|(point, weight)| point.mean * *weight as f64).sum();
        Some(Bucket {
            step: first.step,
            end: last.end,
            min: chunk.iter().map(|(point, _)| point.min).fold(f64::INFINITY, f64::min),
            mean: if weight > 0.0 { sum / weight } else { first.mean },
            max: chunk.iter().map(|(point, _)| point.max).fold(f64::NEG_INFINITY, f64::max),
        })
    });
    merged.collect()
}

/// What is known of the steps and stands in their plot.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Marks {
    /// Where step times change.
    pub(crate) changes: Vec<MarkedChange>,
    /// Periodic steps.
    pub(crate) periods: Vec<MarkedPeriod>,
    /// The first step after warm-up, where there was one.
    pub(crate) steady: Option<u64>,
}

/// Where step times change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarkedChange {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) words: String,
}

/// Steps that take longer every so often.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarkedPeriod {
    pub(crate) every: u64,
    pub(crate) first: u64,
    pub(crate) words: String,
}

/// Spans of a step by thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Waterfall {
    pub(crate) whole_ns: u64,
    /// The place of the step among those that were kept.
    pub(crate) example: usize,
    /// Names of the lanes, and how many rows each has.
    pub(crate) lanes: Vec<(String, usize)>,
    /// Spans.
    pub(crate) bars: Vec<Bar>,
    /// Batches while they were made.
    pub(crate) batches: Vec<Bar>,
    /// The critical path: the place of the bar, the offset, the duration.
    pub(crate) path: Vec<(usize, u64, u64)>,
    /// What the caption calls the step.
    pub(crate) title: String,
}

/// A bar of a waterfall.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Bar {
    pub(crate) lane: usize,
    pub(crate) row: usize,
    pub(crate) offset_ns: i64,
    pub(crate) duration_ns: u64,
    pub(crate) class: String,
    /// What it says where there is room; nothing where that is empty.
    pub(crate) name: String,
    /// What it says to who asks.
    pub(crate) words: String,
    /// When it ran, where it was suspended in between.
    pub(crate) running: Vec<(i64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_lose_no_outlier() {
        let point = |step: u64| Bucket {
            step,
            end: step,
            min: 1.0,
            mean: 2.0,
            max: if step == 777 { 99.0 } else { 3.0 },
        };
        let points: Vec<(Bucket, u64)> = (0..10_000).map(|step| (point(step), 1)).collect();
        let buckets = buckets(&points);
        assert_eq!(buckets.len(), BUCKETS);
        assert_eq!(buckets.iter().filter(|bucket| bucket.max == 99.0).count(), 1);
        assert!(buckets.iter().all(|bucket| bucket.mean == 2.0 && bucket.min == 1.0));
    }
}
