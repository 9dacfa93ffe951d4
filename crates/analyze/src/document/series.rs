//! The figures over step numbers that parts of a report draw.

use std::collections::BTreeSet;

use crate::accumulate::step_series;
use crate::report::Report;
use crate::summary::{ModeSummary, PhaseName, PhaseSeries, RetainedSeries, StepSeries};

/// The mode of the report, and its place.
pub(crate) fn primary(report: &Report) -> Option<(usize, &ModeSummary)> {
    let mut modes = report.detailed_metrics.modes.iter().enumerate();
    modes.find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode)
}

/// The series of the report's mode, and its place.
pub(crate) fn series(report: &Report) -> Option<(usize, &StepSeries)> {
    let mut all = report.detailed_metrics.series.iter().enumerate();
    all.find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode && !row.points.is_empty())
}

/// Phases in the order in which they are listed: those of the table of phases, then those of sections, by name.
pub(crate) fn listed(report: &Report) -> Vec<&str> {
    let mut all: Vec<&str> = report.summary.phases.iter().map(|row| row.phase.as_str()).collect();
    let sections = report.sections.iter().filter_map(|row| row.phase.as_ref()).map(PhaseName::as_str);
    let others: BTreeSet<&str> = sections.filter(|phase| !all.contains(phase)).collect();
    all.extend(others);
    all
}

/// The series of phases of the report's mode, and its phases in the order of their colours.
pub(crate) fn phase_series(report: &Report) -> Option<(&PhaseSeries, Vec<&str>)> {
    let all = &report.detailed_metrics.phase_series;
    let series = all.iter().find(|row| Some(row.mode.as_str()) == report.summary.mode)?;
    let mut phases = listed(report);
    let is_used = |phase: &str| {
        series.points.iter().any(|point| point.exposed.iter().any(|time| time.phase.as_str() == phase))
    };
    let last = phases.iter().rposition(|phase| is_used(phase)).map_or(0, |at| at + 1);
    phases.truncate(last);
    let others = series.points.iter().flat_map(|point| &point.exposed).map(|time| time.phase.as_str());
    let others: BTreeSet<&str> = others.filter(|phase| !phases.contains(phase)).collect();
    phases.extend(others);
    Some((series, phases))
}

/// What sections hold over the steps.
pub(crate) fn held_series(report: &Report) -> Option<&RetainedSeries> {
    report.memory.as_ref()?.by_section.as_ref().filter(|held| !held.points.is_empty())
}

/// Step numbers that a point of a series stands for, beginning with its own: as many as its shift says, and up to the next
/// point where epochs go together, whose steps have no common shift.
pub(crate) fn numbers<T>(shift: u32, points: &[T], step: impl Fn(&T) -> u64) -> u64 {
    if shift < TOGETHER {
        return step_series::numbers(shift);
    }
    let apart =
        points.windows(2).filter_map(|pair| Some(step(pair.get(1)?).saturating_sub(step(pair.first()?))));
    apart.max().unwrap_or(1)
}

/// The shift of a series in which neighbouring epochs go together.
const TOGETHER: u32 = 63;

/// Says so where a series has such points.
pub(crate) fn together(shift: u32) -> &'static str {
    if shift < TOGETHER {
        return "";
    }
    " There are more epochs than the plot has points: neighbouring ones go together in one."
}
