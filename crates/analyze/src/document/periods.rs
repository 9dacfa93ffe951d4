//! Steps that take longer every so often.

use stepscope_core::Mode;

use super::cell::{code, count, figure, ns};
use super::{Cell, Document, Shown, Unit};
use crate::report::units::{count as count_words, duration, every_step, percent, things};
use crate::report::{Report, names};
use crate::summary::{PeriodicSteps, StepPeriod};

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
fn much(steps: &PeriodicSteps, median_ns: u64) -> String {
    let usual_ns = steps.usual.p50.unwrap_or(0).max(1);
    let ratio = median_ns as f64 / usual_ns as f64;
    if ratio < 10.0 { format!("{ratio:.1} times as long") } else { format!("{ratio:.0} times as long") }
}

/// What they take more of the time of all steps, of each number the longest: `16 % of the time of all steps`.
fn cost(steps: &PeriodicSteps, period: &StepPeriod) -> String {
    let usual_ns = steps.usual.p50.unwrap_or(0).saturating_mul(steps.steps());
    let all_ns = steps.usual.total.saturating_add(usual_ns).saturating_add(steps.above_ns());
    format!("{} of the time of all steps", percent(period.above_ns as f64 / all_ns.max(1) as f64))
}

/// Because of what: `checkpoint 0 ns → 21.0 ms`; empty where nothing is known.
fn because(period: &StepPeriod) -> String {
    let Some(cause) = &period.cause else { return String::new() };
    let phase = cause.phase.as_ref().map_or("(no phase)", |phase| phase.as_str());
    format!("{phase} {} → {}", duration(cause.usual_ns), duration(cause.periodic_ns))
}

/// What takes most of it, and in which section.
fn most(report: &Report, steps: &PeriodicSteps, period: &StepPeriod) -> String {
    let because = because(period);
    let mode = report.detailed_metrics.modes.iter().find(|row| row.mode == steps.mode);
    let section = mode.and_then(|mode| period.section(mode, &report.sections));
    match section.filter(|_| !because.is_empty()) {
        Some(row) => format!("{because} in {}", names::path(&row.path)),
        None => because,
    }
}

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let Some((at, periodic)) = shown(report) else { return };
    doc.heading(Shown::BRIEF, "Periodic steps (no outliers)");
    for (_, period, median_ns) in told(periodic).filter(|_| doc.is(Shown::BRIEF)).collect::<Vec<_>>() {
        let mut text = format!(
            "{} is {}: {} instead of {}, {}, from step {} on",
            every_step(period.every),
            much(periodic, median_ns),
            duration(median_ns),
            periodic.usual.p50.map_or_else(|| "-".into(), duration),
            things(period.steps, "step", "steps"),
            count_words(period.first_step)
        );
        let most = most(report, periodic, period);
        if !most.is_empty() {
            text.push_str(&format!("; most of it: {most}"));
        }
        doc.say(Shown::BRIEF, format!("{text}; what they take more is {}", cost(periodic, period)));
    }
    table(at, periodic, doc);
}

fn table(at: usize, periodic: &PeriodicSteps, doc: &mut Document) {
    let of = |n: &usize, name: &str| format!("periods/{n}/{name}");
    let every = |every: u64| figure(Some(every), Unit::Words(every_step(every)));
    doc.table(Shown::HTML, "Periodic steps: no outliers, though they take longer", told(periodic))
        .at(|_| format!("detailed_metrics/periodic/{at}"))
        .column(Shown::HTML, "Which", "", |(n, period, _)| every(period.every).at(of(n, "every")))
        .column(Shown::HTML, ">First", "", |(n, period, _)| count(period.first_step).at(of(n, "first_step")))
        .column(Shown::HTML, ">Steps", "", |(n, period, _)| count(period.steps).at(of(n, "steps")))
        .column(Shown::HTML, "Are", "", |(.., median_ns)| Cell::Raw(much(periodic, *median_ns)).together())
        .column(Shown::HTML, ">Median", "", |(n, _, median_ns)| ns(*median_ns).at(of(n, "median_ns")))
        .column(Shown::HTML, ">Usual step", "", |_| ns(periodic.usual.p50).at("usual/p50"))
        .column(Shown::HTML, "Phase that takes most of it", "", |(_, period, _)| match &period.cause {
            Some(cause) => cause.phase.as_ref().map_or("(no phase)".into(), |phase| code(phase.as_str())),
            None => "not known".into(),
        })
        .column(Shown::HTML, ">In a usual step", "", |(n, period, _)| {
            ns(period.cause.as_ref().map(|cause| cause.usual_ns)).at(of(n, "cause/usual_ns"))
        })
        .column(Shown::HTML, ">In such a step", "", |(n, period, _)| {
            ns(period.cause.as_ref().map(|cause| cause.periodic_ns)).at(of(n, "cause/periodic_ns"))
        })
        .end();
}
