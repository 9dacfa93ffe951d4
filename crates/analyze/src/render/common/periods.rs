//! Steps that take longer every so often, in words.

use stepscope_core::Mode;

use crate::report::Report;
use crate::report::units::{duration, percent};
use crate::summary::{InSteps, PeriodicSteps, SectionRow, StepPeriod};

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

/// The section of that phase that takes it: the one with most time above its usual call in periodic steps, of those inside
/// each other the innermost with half of that; else the one that takes most of those that run in at most half of the
/// steps. Nothing where several periods are of the phase.
pub(crate) fn section<'a>(
    report: &'a Report,
    steps: &PeriodicSteps,
    period: &StepPeriod,
) -> Option<&'a SectionRow> {
    let phase_of = |period: &StepPeriod| period.cause.as_ref().map(|cause| cause.phase.clone());
    let phase = phase_of(period)?;
    if steps.periods.iter().filter(|other| phase_of(other).as_ref() == Some(&phase)).count() > 1 {
        return None;
    }
    let mode = report.detailed_metrics.modes.iter().find(|row| row.mode == steps.mode)?;
    let rows = report.sections.iter().filter(|row| row.is_part() && row.phase == phase);
    let parts: Vec<(&SectionRow, &InSteps)> =
        rows.filter_map(|row| Some((row, row.in_mode(steps.mode)?))).collect();
    let longer_ns = |part: &InSteps| part.longest_periodic_ns.unwrap_or(0);
    let most_ns = parts.iter().map(|(_, part)| longer_ns(part)).max()?;
    if most_ns > 0 {
        let half = parts.iter().filter(|(_, part)| longer_ns(part).saturating_mul(2) >= most_ns);
        // Of equals the first path.
        return half.rev().max_by_key(|(row, part)| (row.depth, longer_ns(part))).map(|&(row, _)| row);
    }
    let is_rare = |part: &InSteps| phase.is_some() && part.steps.saturating_mul(2) <= mode.whole_all.steps;
    let rare = parts.iter().filter(|(_, part)| is_rare(part) && part.driving_ns > 0);
    rare.rev().max_by_key(|(_, part)| part.driving_ns).map(|&(row, _)| row)
}
