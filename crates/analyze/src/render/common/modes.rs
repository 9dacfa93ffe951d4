//! Steps of several modes side by side: which are shown, and their shares of the time of all.

use crate::report::{Report, Run};
use crate::summary::ModeSummary;

/// The modes with their places, and each one's share of the time of all steps after warm-up; none where there is one mode.
pub(crate) fn several(report: &Report) -> Vec<(usize, &ModeSummary, f64)> {
    let modes = &report.detailed_metrics.modes;
    if modes.len() < 2 {
        return Vec::new();
    }
    let all_ns: u128 = modes.iter().map(|mode| u128::from(mode.steady_ns)).sum();
    let share = |mode: &ModeSummary| mode.steady_ns as f64 / all_ns.max(1) as f64;
    modes.iter().enumerate().map(|(at, mode)| (at, mode, share(mode))).collect()
}

/// What is said behind a number of steps where several ranks did them, each its own; nothing of one.
pub(crate) fn of_all_ranks(run: &Run) -> &'static str {
    if run.ranks > 1 { " of all ranks together" } else { "" }
}
