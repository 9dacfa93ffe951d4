//! Where step times change.

use super::cell::{code, count as count_cell, ns};
use super::{Cell, Document, Shown, cells};
use crate::report::Report;
use crate::report::units::{count, duration, percent};
use crate::summary::{ChangeCause, ChangeKind, ChangeSection, EXPLAINED_SHARE, StepChange};

/// Changes shown briefly.
const ROWS: usize = 8;

/// The changes of the report's mode, with their places in the list of all.
pub(crate) fn shown(report: &Report) -> impl Iterator<Item = (usize, &StepChange)> {
    let changes = report.detailed_metrics.changes.iter().enumerate();
    changes.filter(|(_, change)| Some(change.mode.as_str()) == report.summary.mode)
}

/// Which steps: `step 812 on`, `step 40 to 900, bit by bit`.
fn steps(change: &StepChange) -> String {
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
fn how_much_of_it(change: &StepChange) -> &'static str {
    let explains = change.cause.as_ref().is_some_and(|cause| cause.explains(EXPLAINED_SHARE));
    if explains { "most of it" } else { "no phase explains it, the one that moved most" }
}

/// Because of what: `preprocessing 2.00 ms → 3.40 ms`, `waiting for input before the step 20 µs → 6.00 ms`, and of that in which section; empty where nothing is known.
fn because(change: &StepChange) -> String {
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

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let all = shown(report).count();
    if all == 0 {
        return;
    }
    doc.heading(Shown::BRIEF, "Changes of the step time");
    for (_, change) in shown(report).take(ROWS).filter(|_| doc.is(Shown::BRIEF)).collect::<Vec<_>>() {
        let (before, after) = (duration(change.before_ns), duration(change.after_ns));
        let mut text = format!("from {}: {}, {before} → {after}", steps(change), much(change));
        let because = because(change);
        if !because.is_empty() {
            text.push_str(&format!("; {}: {because}", how_much_of_it(change)));
        }
        doc.say(Shown::BRIEF, text);
    }
    doc.more(Shown::BRIEF, all, ROWS, ("change", "changes"));
    table(report, doc);
}

fn table(report: &Report, doc: &mut Document) {
    fn section(change: &StepChange) -> Option<&ChangeSection> {
        change.cause.as_ref()?.section.as_ref()
    }
    let moved = |name: &str, before: Option<u64>, after: Option<u64>| {
        cells![ns(before).at(format!("{name}before_ns")), " to ", ns(after).at(format!("{name}after_ns"))]
    };
    let cause = |change: &StepChange, figure: fn(&ChangeCause) -> u64| change.cause.as_ref().map(figure);
    doc.table(Shown::HTML, "Changes of the step time", shown(report))
        .at(|(at, _)| format!("detailed_metrics/changes/{at}"))
        .column(Shown::HTML, "Steps", "", |(_, change)| {
            let step = |name: &str, step: u64| count_cell(step).at(name);
            match change.kind {
                ChangeKind::Sudden => cells!["from ", step("step", change.step), " on"],
                ChangeKind::Gradual => {
                    let to = step("to_step", change.to_step);
                    cells!["from ", step("step", change.step), " to ", to, ", bit by bit"]
                }
            }
        })
        .column(Shown::HTML, "Change", "", |(_, change)| Cell::Raw(much(change)).together())
        .column(Shown::HTML, ">Usual step", "", |(_, change)| {
            moved("", Some(change.before_ns), Some(change.after_ns))
        })
        .column(Shown::HTML, "Phase that moved most", "", |(_, change)| match &change.cause {
            Some(ChangeCause { phase: Some(phase), is_between: true, .. }) => {
                cells![code(phase.as_str()), " before the step"]
            }
            Some(cause) => super::phases::named(cause.phase.as_ref()),
            None => "not known".into(),
        })
        .column(Shown::HTML, ">In a step", "", |(_, change)| {
            moved("cause/", cause(change, |cause| cause.before_ns), cause(change, |cause| cause.after_ns))
        })
        .column(Shown::HTML, "Section of it that moved most", "", |(_, change)| {
            section(change).map_or("not known".into(), |section| Cell::Path(section.path.clone()))
        })
        .column(Shown::HTML, ">In a step", "", |(_, change)| {
            let section = section(change);
            let (before, after) = (section.map(|row| row.before_ns), section.map(|row| row.after_ns));
            moved("cause/section/", before, after)
        })
        .end();
}
