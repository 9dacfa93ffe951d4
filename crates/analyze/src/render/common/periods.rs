//! Steps that take longer every so often, in words.

use stepscope_core::Mode;

use crate::report::Report;
use crate::report::units::{duration, percent};
use crate::summary::{InSteps, PeriodicSteps, SectionRow, StepPeriod};

/// The periods of the report's mode, with their place in the list of all.
pub(crate) fn shown(report: &Report) -> Option<(usize, &PeriodicSteps)> {
    let mut all = report.detailed_metrics.periodic.iter().enumerate();
    all.find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode)
}

/// The periods with their places and medians.
pub(crate) fn told(steps: &PeriodicSteps) -> impl Iterator<Item = (usize, &StepPeriod, u64)> {
    steps.periods.iter().enumerate().map(|(at, period)| (at, period, period.median_ns))
}

/// By how many steps the period comes again that a step is of.
pub(crate) fn every(report: &Report, mode: Mode, step: Option<u64>) -> Option<u64> {
    let all = &report.detailed_metrics.periodic;
    all.iter().find(|row| row.mode == mode)?.every(step?)
}

/// How much: `3.1 times as long`.
pub(crate) fn much(steps: &PeriodicSteps, median_ns: u64) -> String {
    let usual_ns = steps.usual.p50.unwrap_or(0).max(1);
    let ratio = median_ns as f64 / usual_ns as f64;
    if ratio < 10.0 { format!("{ratio:.1} times as long") } else { format!("{ratio:.0} times as long") }
}

/// What they take more of the time of all steps, of each number the longest: `16 % of the time of all steps`.
pub(crate) fn cost(steps: &PeriodicSteps, period: &StepPeriod) -> String {
    let usual_ns = steps.usual.p50.unwrap_or(0).saturating_mul(steps.steps());
    let all_ns = steps.usual.total.saturating_add(usual_ns).saturating_add(steps.above_ns());
    format!("{} of the time of all steps", percent(period.above_ns as f64 / all_ns.max(1) as f64))
}

/// Because of what: `checkpoint 0 ns → 21.0 ms`; empty where nothing is known.
pub(crate) fn because(period: &StepPeriod) -> String {
    let Some(cause) = &period.cause else { return String::new() };
    let phase = cause.phase.as_ref().map_or("(no phase)", |phase| phase.as_str());
    format!("{phase} {} → {}", duration(cause.usual_ns), duration(cause.periodic_ns))
}

/// The section of that phase that takes it: of those that run in at most half of the steps the one that takes most.
pub(crate) fn section<'a>(
    report: &'a Report,
    steps: &PeriodicSteps,
    period: &StepPeriod,
) -> Option<&'a SectionRow> {
    let phase = period.cause.as_ref()?.phase.as_ref()?;
    let mode = report.detailed_metrics.modes.iter().find(|row| row.mode == steps.mode)?;
    let rows = report.sections.iter().filter(|row| row.is_part() && row.phase.as_ref() == Some(phase));
    let parts = rows.filter_map(|row| Some((row, row.in_mode(steps.mode)?)));
    let is_rare = |part: &InSteps| part.steps.saturating_mul(2) <= mode.whole_all.steps;
    let rare: Vec<(&SectionRow, &InSteps)> =
        parts.filter(|(_, part)| is_rare(part) && part.driving_ns > 0).collect();
    // Of equals the first path.
    rare.into_iter().rev().max_by_key(|(_, part)| part.driving_ns).map(|(row, _)| row)
}
