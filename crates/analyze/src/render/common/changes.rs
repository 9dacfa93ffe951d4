//! Changes of the step time in words.

use crate::report::Report;
use crate::report::units::{count, duration, percent};
use crate::summary::{ChangeKind, EXPLAINED_SHARE, StepChange};

/// The changes of the report's mode, with their places in the list of all.
pub(crate) fn shown(report: &Report) -> impl Iterator<Item = (usize, &StepChange)> {
    let changes = report.detailed_metrics.changes.iter().enumerate();
    changes.filter(|(_, change)| Some(change.mode.as_str()) == report.summary.mode)
}

/// Which steps: `step 812 on`, `step 40 to 900, bit by bit`.
pub(crate) fn steps(change: &StepChange) -> String {
    let step = count(change.step);
    match change.kind {
        ChangeKind::Sudden if change.step_numbers > 1 => format!("about step {step} on"),
        ChangeKind::Sudden => format!("step {step} on"),
        ChangeKind::Gradual => format!("step {step} to {}, bit by bit", count(change.to_step)),
    }
}

/// How much: `14 % slower`, `14 % slower, with its input`.
pub(crate) fn much(change: &StepChange) -> String {
    let word = if change.after_ns > change.before_ns { "slower" } else { "faster" };
    let much = format!("{} {word}", percent(change.relative().abs()));
    if change.has_input() { format!("{much}, with its input") } else { much }
}

/// What the phase that moved most is of it; where it does not explain it, no finding names it either.
pub(crate) fn how_much_of_it(change: &StepChange) -> &'static str {
    let explains = change.cause.as_ref().is_some_and(|cause| cause.explains(EXPLAINED_SHARE));
    if explains { "most of it" } else { "no phase explains it, the one that moved most" }
}

/// Because of what: `preprocessing 2.00 ms → 3.40 ms`, `waiting for input before the step 20 µs → 6.00 ms`, and of that in which section; empty where nothing is known.
pub(crate) fn because(change: &StepChange) -> String {
    let Some(cause) = &change.cause else { return String::new() };
    let phase = match &cause.phase {
        Some(_) if cause.is_between => "waiting for input before the step",
        Some(phase) => phase.as_str(),
        None => "(no phase)",
    };
    let times = |before_ns, after_ns| format!("{} → {}", duration(before_ns), duration(after_ns));
    let section = cause
        .section_that_explains()
        .map(|section| format!(", of it {} {}", section.path, times(section.before_ns, section.after_ns)));
    format!("{phase} {}{}", times(cause.before_ns, cause.after_ns), section.unwrap_or_default())
}
