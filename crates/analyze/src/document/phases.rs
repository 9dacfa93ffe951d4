//! Where the step time goes: phase by phase, over the steps, and what happens between steps.

use super::cell::{bar, code, count, keyed, ns, share};
use super::palette::NO_PHASE as PLAIN;
use super::plot::Stack;
use super::{Block, Cell, Document, Palette, Row, Shown, Tone, cells};
use crate::report::Report;
use crate::report::units::percent;
use crate::summary::{BetweenStepsRow, PhaseName};

/// What no phase covers.
const NO_PHASE: &str = "(no phase)";

/// The name of a phase, or that there is none.
pub(super) fn named(phase: Option<&PhaseName>) -> Cell {
    phase.map_or(NO_PHASE.into(), |phase| code(phase.as_str()))
}

fn word(phase: Option<&PhaseName>) -> &str {
    phase.map_or(NO_PHASE, PhaseName::as_str)
}

fn outside(report: &Report) -> Vec<(usize, &BetweenStepsRow)> {
    // Phases that only occur inside sections of others have no sections of their own.
    report.detailed_metrics.between_steps.iter().enumerate().filter(|(_, row)| row.stats.count > 0).collect()
}

/// Formats that have bars.
const BARS: Shown = Shown::NO_COMMENT;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let summary = &report.summary;
    if !report.has_steps() && outside(report).is_empty() {
        return;
    }
    doc.part("phases", "Where time goes", "Where the step time goes");
    if !summary.phase_sums.is_empty() {
        doc.heading(Shown::BRIEF, "Where the step time goes");
        sums(report, doc);
    } else if summary.whole.total_ns > 0 {
        doc.heading(Shown::BRIEF, "Where the step time goes");
        exposed(report, doc);
    } else {
        doc.say(Shown::HTML, "No step was read with all its sections.");
    }
    between(report, doc);
}

fn between(report: &Report, doc: &mut Document) {
    let outside = outside(report);
    if outside.is_empty() {
        return;
    }
    doc.heading(Shown::BRIEF, "Between the steps, on the same threads");
    if report.summary.coverage.partly_read().is_some() {
        doc.line(Tone::Dim, "  as far as it was read; the sections below count all of it");
    }
    doc.table(Shown::ALL, "Between the steps, on the same threads", outside)
        .at(|(at, _)| format!("detailed_metrics/between_steps/{at}"))
        .column(Shown::ALL, "Phase", "", |(_, row)| named(row.phase.as_ref()))
        .column(Shown::ALL, ">Sections", "stats/count", |(_, row)| count(row.stats.count))
        .column(Shown::ALL, ">Total", "stats/total", |(_, row)| ns(row.stats.total))
        .column(Shown::ALL, ">p50|Median", "stats/p50", |(_, row)| ns(row.stats.p50))
        .column(Shown::ALL, ">Longest", "stats/max", |(_, row)| ns(row.stats.max))
        .end();
}

/// By what the training thread does.
fn exposed(report: &Report, doc: &mut Document) {
    let summary = &report.summary;
    let (whole_ns, steps) = (summary.whole.total_ns, summary.whole.steps);
    let palette = Palette::of(report);
    let class = |phase: &PhaseName| palette.class(phase.as_str());
    let parts = summary.phases.iter().map(|row| (class(&row.phase), row.phase.as_str(), row.exposed_ns));
    stack(parts.chain([(PLAIN.into(), NO_PHASE, summary.unattributed_ns)]), whole_ns, doc);
    let a_step = |ns_: u64| ns(ns_ / steps.max(1));
    let unattributed = summary.unattributed_share();
    let cells = [
        (Shown::ALL, keyed(PLAIN, NO_PHASE)),
        (BARS, bar(unattributed, PLAIN)),
        (Shown::ALL, Cell::Raw(percent(unattributed))),
        (Shown::BRIEF, a_step(summary.unattributed_ns)),
        (Shown::TABLES, ns(summary.unattributed_ns).at("unattributed_ns")),
    ];
    let cells = cells.into_iter().filter(|(shown, _)| doc.is(*shown)).map(|(_, cell)| cell).collect();
    let rest = Row { at: "summary".into(), cells, ..Row::default() };
    let has_rest = doc.is(Shown::HTML) || summary.unattributed_ns > 0;
    doc.table(Shown::ALL, "Time of the steps by phase", summary.phases.iter().enumerate())
        .at(|(at, _)| format!("summary/phases/{at}"))
        .column(Shown::ALL, "Phase", "", |(_, row)| keyed(class(&row.phase), code(row.phase.as_str())))
        .column(BARS, "Exposed", "", |(_, row)| {
            bar(row.exposed_ns as f64 / whole_ns as f64, class(&row.phase))
        })
        .column(Shown::ALL, ">Share", "exposed_share", |(_, row)| share(row.exposed_share))
        .column(Shown::BRIEF, ">A step", "", |(_, row)| a_step(row.exposed_ns))
        .column(Shown::TABLES, ">Time", "exposed_ns", |(_, row)| ns(row.exposed_ns))
        .column(Shown::ALL, ">On any thread|Share on any thread", "total_share", |(_, row)| {
            share(row.total_share)
        })
        .column(Shown::HTML, ">Time|Time on any thread", "total_ns", |(_, row)| ns(row.total_ns))
        .column(Shown::HTML, ">Spans", "spans", |(_, row)| count(row.spans))
        .rest(has_rest, rest)
        .end();
    doc.say(
        Shown::ALL,
        cells![
            "Exposed: time of the training thread in a phase while nothing of higher rank runs there, in ",
            count(steps).at("summary/whole/steps"),
            if steps == 1 { " step" } else { " steps" },
            " read with all their sections. Work of other threads is exposed only where the training thread waits for it."
        ],
    );
}

/// By the sums of sections, where these tell it rather than the steps read.
fn sums(report: &Report, doc: &mut Document) {
    let summary = &report.summary;
    let (steps, rows) = (summary.input.steps, &summary.phase_sums);
    let palette = Palette::of(report);
    let class = |phase: Option<&PhaseName>| palette.of_phase(phase);
    // Of sections that ran at the same time the bar is as long as they are together.
    let all_ns = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.total_ns));
    let parts = rows.iter().map(|row| (class(row.phase.as_ref()), word(row.phase.as_ref()), row.total_ns));
    stack(parts, summary.input.steps_ns.max(all_ns), doc);
    doc.table(Shown::ALL, "Time of the steps by phase", rows.iter().enumerate())
        .at(|(at, _)| format!("summary/phase_sums/{at}"))
        .column(Shown::ALL, "Phase", "", |(_, row)| {
            keyed(class(row.phase.as_ref()), named(row.phase.as_ref()))
        })
        .column(BARS, "Time of sections", "", |(_, row)| bar(row.share, class(row.phase.as_ref())))
        .column(Shown::ALL, ">Share", "share", |(_, row)| share(row.share))
        .column(Shown::BRIEF, ">A step", "", |(_, row)| ns(row.total_ns / steps.max(1)))
        .column(Shown::TABLES, ">Time", "total_ns", |(_, row)| ns(row.total_ns))
        .column(Shown::ALL, ">Calls", "calls", |(_, row)| count(row.calls))
        .end();
    doc.say(
        Shown::ALL,
        cells![
            "By the sums of sections of ",
            count(steps).at("summary/input/steps"),
            if steps == 1 { " step" } else { " steps" },
            ", all modes and warm-up included, on whatever thread; ",
            count(summary.coverage.whole_steps).at("summary/coverage/whole_steps"),
            " of them were read with their sections."
        ],
    );
}

/// The bar of phases.
fn stack<'a>(parts: impl Iterator<Item = (String, &'a str, u64)>, whole: u64, doc: &mut Document) {
    let parts = parts.map(|(class, name, ns)| (class, name.to_owned(), ns)).collect();
    doc.add(Shown::HTML, || Block::Stack(Stack { parts, whole }));
}
