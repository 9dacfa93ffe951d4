//! Steps by their numbers: how many there are where no change says so.

use stepscope_core::Mode;

use crate::summary::Summary;

/// Steps of a mode from one number to before another, over all processes.
pub(in crate::rules) fn steps_within(summary: &Summary, mode: Mode, from: u64, to: u64) -> u64 {
    let series = summary.series.iter().filter(|series| series.mode == mode);
    let points = series.flat_map(|series| &series.points).filter(|point| (from..to).contains(&point.step));
    points.fold(0, |sum, point| sum.saturating_add(point.count))
}
