//! How soon memory that grows runs out, and how severe that is.

use super::detector::steps_left;
use super::{Growth, LeakVerdict};
use crate::report::finding::severity;
use crate::summary::Summary;

/// How fast memory grows in time.
pub(crate) struct Urgency {
    pub(crate) bytes_per_hour: Option<f64>,
    /// Until the limit is reached; absent where none is set.
    pub(crate) hours_left: Option<f64>,
    /// Hours to the limit at the ends of the rate's interval, fewer first; absent where it may not grow at all.
    pub(crate) between_hours: Option<(f64, f64)>,
    /// 100 below an hour to the limit, 70 below a day, else by the rate; half of that for a suspected leak.
    pub(crate) severity: f64,
}

impl Urgency {
    /// That of a growth up to `limit_bytes`, 0 where nobody knows it.
    pub(crate) fn of(growth: &Growth, summary: &Summary, limit_bytes: u64) -> Self {
        let done = summary.primary().map(|mode| mode.throughput).unwrap_or_default();
        let steps_per_second = match summary.coverage.partly_read() {
            // Of sampled steps the numbers say how many there were.
            Some(_) if done.elapsed_ns > 0 => Some(growth.numbers as f64 / (done.elapsed_ns as f64 / 1e9)),
            _ => mean_rate(summary),
        };
        let bytes_per_hour = steps_per_second.map(|rate| growth.trend.slope_per_step * rate * 3_600.0);
        let (trend, bytes) = (&growth.trend, growth.leak.live_bytes as f64);
        let left = (limit_bytes > 0)
            .then(|| steps_left(trend.slope_per_step, trend.confidence_interval, bytes, limit_bytes as f64))
            .flatten();
        let hours =
            |steps: f64| steps_per_second.filter(|rate| *rate > 0.0).map(|rate| steps / rate / 3_600.0);
        let hours_left = left.and_then(|left| hours(left.steps));
        let between_hours = left.and_then(|left| hours(left.at_least).zip(hours(left.at_most?)));
        let points = match hours_left {
            Some(hours) if hours < 1.0 => 100.0,
            Some(hours) if hours < 24.0 => 70.0,
            _ => by_rate(bytes_per_hour),
        };
        let is_suspected = growth.leak.verdict == LeakVerdict::Suspected;
        let severity = severity(if is_suspected { points / 2.0 } else { points });
        Self { bytes_per_hour, hours_left, between_hours, severity }
    }
}

fn by_rate(bytes_per_hour: Option<f64>) -> f64 {
    const GIB: f64 = 1_073_741_824.0;
    match bytes_per_hour {
        Some(rate) if rate >= 10.0 * GIB => 60.0,
        Some(rate) if rate >= GIB => 45.0,
        Some(rate) if rate >= GIB / 10.0 => 30.0,
        _ => 15.0,
    }
}

/// Steps per second of a process, on average.
fn mean_rate(summary: &Summary) -> Option<f64> {
    let rates: Vec<f64> =
        summary.instances.iter().filter_map(|row| row.throughput.steps_per_second).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}
