//! The section that makes the first steps slow.

use crate::ranks::is_waiting;
use crate::sections::tail::{above_usual_ns, innermost};
use crate::summary::{ModeSummary, SectionRow, Summary};

/// The section whose calls lie most above their median, if that is at least half of the warm-up; of several processes first one
/// that is no wait for others, if it is half of what these do not wait.
pub(crate) fn slow_at_first<'a>(
    summary: &'a Summary,
    mode: &ModeSummary,
    excess_ns: u64,
) -> Option<&'a SectionRow> {
    const EXPLAINS: f64 = 0.5;
    let processes = summary.instances.iter().filter(|row| row.steps.count > 0).count() as u64;
    let waits = |row: &SectionRow| processes > 1 && row.phase.as_ref().is_some_and(is_waiting);
    let above_ns =
        |row: &SectionRow| if is_rare(row, mode) { row.stats.total } else { above_usual_ns(&row.stats) };
    let rows = summary.sections.iter().filter(|row| row.is_part() && row.in_mode(mode.mode).is_some());
    let tails: Vec<(&SectionRow, u64)> = rows.map(|row| (row, above_ns(row))).collect();
    let waiting_ns = tails.iter().filter(|(row, _)| waits(row)).map(|&(_, ns)| ns).max().unwrap_or(0);
    let left_ns = excess_ns.saturating_sub(waiting_ns).max(excess_ns / processes.max(1));
    let named = |of_ns: u64, is_meant: &dyn Fn(&SectionRow) -> bool| {
        let explains =
            |&(row, ns): &(&SectionRow, u64)| is_meant(row) && ns > 0 && ns as f64 >= EXPLAINS * of_ns as f64;
        innermost(tails.iter().copied().filter(explains).collect()).first().map(|&(row, _)| row)
    };
    named(left_ns, &|row| !waits(row)).or_else(|| named(excess_ns, &|_| true))
}

/// Whether a section occurs in no more steps than are warm-up.
pub(crate) fn is_rare(row: &SectionRow, mode: &ModeSummary) -> bool {
    row.in_mode(mode.mode).is_some_and(|part| part.steps <= mode.warmup.steps)
}
