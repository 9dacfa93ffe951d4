//! Steps that take longer every so often, in words.

use stepscope_core::Mode;

use crate::report::Report;
use crate::report::units::{count, duration};
use crate::summary::{PeriodicSteps, StepPeriod};

/// The periods of the report's mode, with their place in the list of all; nothing where none goes on after warm-up.
pub(crate) fn shown(report: &Report) -> Option<(usize, &PeriodicSteps)> {
    let mut all = report.detailed_metrics.periodic.iter().enumerate();
    let (at, row) = all.find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode)?;
    told(row).next().map(|_| (at, row))
}

/// The periods that go on after warm-up, with their places and medians.
pub(crate) fn told(steps: &PeriodicSteps) -> impl Iterator<Item = (usize, &StepPeriod, u64)> {
    steps.periods.iter().enumerate().filter_map(|(at, period)| Some((at, period, period.median_ns?)))
}

/// By how many steps the period comes again that a step is of.
pub(crate) fn every(report: &Report, mode: Mode, step: Option<u64>) -> Option<u64> {
    let all = &report.detailed_metrics.periodic;
    all.iter().find(|row| row.mode == mode)?.every(step?)
}

/// Which steps: `every 50th step`.
pub(crate) fn steps(every: u64) -> String {
    let ending = match (every % 10, every % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("every {}{ending} step", count(every))
}

/// How much: `3.1 times as long`.
pub(crate) fn much(steps: &PeriodicSteps, median_ns: u64) -> String {
    let usual_ns = steps.usual.p50.unwrap_or(0).max(1);
    let ratio = median_ns as f64 / usual_ns as f64;
    if ratio < 10.0 { format!("{ratio:.1} times as long") } else { format!("{ratio:.0} times as long") }
}

/// Because of what: `checkpoint 0 ns → 21.0 ms`; empty where nothing is known.
pub(crate) fn because(period: &StepPeriod) -> String {
    let Some(cause) = &period.cause else { return String::new() };
    let phase = cause.phase.as_ref().map_or("(no phase)", |phase| phase.as_str());
    format!("{phase} {} → {}", duration(cause.usual_ns), duration(cause.periodic_ns))
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_their_endings() {
        let told = [3, 10, 11, 12, 13, 21, 22, 101, 112, 1_000].map(super::steps);
        let expected = ["3rd", "10th", "11th", "12th", "13th", "21st", "22nd", "101st", "112th", "1,000th"];
        assert_eq!(told, expected.map(|number| format!("every {number} step")));
    }
}
