//! Where the step time goes: phase by phase, over the steps, and what happens between steps.

use super::cell::{bar, code, count, keyed, ns, share};
use super::palette::NO_PHASE as PLAIN;
use super::plot::Stack;
use super::{Block, Cell, Document, Kind, Palette, Row, Shown, Tone, cells};
use crate::report::Report;
use crate::report::units::{count as count_words, percent, things};
use crate::summary::{BetweenStepsRow, PhaseName};

/// Share below which a phase is only named on a terminal.
const SMALL: f64 = 0.001;
/// What no phase covers.
const NO_PHASE: &str = "(no phase)";
const NAME: usize = 16;
const BAR: usize = 36;

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

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let summary = &report.summary;
    let is_told = match doc.is(Shown::TEXT) {
        true => summary.mode.is_some(),
        false => report.has_steps() || !outside(report).is_empty() || doc.is(Shown::MD),
    };
    if !is_told {
        return;
    }
    doc.part("phases", "Where time goes", "Where the step time goes");
    if !summary.phase_sums.is_empty() {
        sums(report, doc);
    } else if summary.whole.total_ns > 0 {
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
    doc.heading(Shown::TEXT, "Between the steps (same threads)");
    doc.heading(Shown::MD, "Between the steps");
    if report.summary.coverage.partly_read().is_some() {
        doc.line(Tone::Dim, "  as far as it was read; the sections below count all of it");
    }
    doc.table(Shown::ALL, "Between the steps, on the same threads", outside)
        .at(|(at, _)| format!("detailed_metrics/between_steps/{at}"))
        .column(Shown::TABLES, "Phase", "", |(_, row)| named(row.phase.as_ref()))
        .column(Shown::TABLES, ">Sections", "stats/count", |(_, row)| count(row.stats.count))
        .column(Shown::TABLES, ">Total", "stats/total", |(_, row)| ns(row.stats.total))
        .column(Shown::TABLES, ">p50|Median", "stats/p50", |(_, row)| ns(row.stats.p50))
        .column(Shown::TABLES, ">Longest", "stats/max", |(_, row)| ns(row.stats.max))
        .indented()
        .text("", Kind::Words, NAME + 2, |(_, row)| Cell::Plain(word(row.phase.as_ref()).into()))
        .text("", Kind::Figures, 11, |(_, row)| ns(row.stats.total))
        .text("", Kind::Words, 0, |(_, row)| {
            let longest = row.stats.max.map_or(Cell::Empty, |max| cells![", at most ", ns(max)]);
            cells!["in ", things(row.stats.count, "section", "sections"), longest]
        })
        .end();
}

/// By what the training thread does.
fn exposed(report: &Report, doc: &mut Document) {
    let summary = &report.summary;
    let (whole_ns, steps) = (summary.whole.total_ns, summary.whole.steps);
    doc.heading(Shown::TEXT, "Where the step time goes (of the training thread)");
    doc.heading(Shown::MD, "Where the step time goes");
    if doc.is(Shown::TEXT) {
        if let Some((_, all)) = summary.coverage.partly_whole() {
            let whole = things(steps, "step", "steps");
            let text = format!("  of {whole} read with all their sections; {} were read", count_words(all));
            doc.line(Tone::Dim, text);
        }
        let rows = summary.phases.iter().map(|row| (row.phase.as_str(), row.exposed_ns));
        bars(rows.chain([(NO_PHASE, summary.unattributed_ns)]), whole_ns, steps, doc);
        let hidden = summary.phases.iter().filter(|row| row.exposed_ns == 0 && row.total_ns > 0);
        let hidden: Vec<String> =
            hidden.map(|row| format!("{} {}", row.phase, percent(row.total_share))).collect();
        if !hidden.is_empty() {
            doc.lead(Shown::TEXT, Tone::Dim, "  hidden behind it: ", hidden.join(", "));
        }
        return;
    }
    let palette = Palette::of(report);
    let class = |phase: &PhaseName| palette.class(phase.as_str());
    if doc.is(Shown::HTML) {
        let phases = summary.phases.iter();
        let mut parts: Vec<(String, String, u64)> =
            phases.map(|row| (class(&row.phase), row.phase.as_str().to_owned(), row.exposed_ns)).collect();
        parts.push((PLAIN.into(), NO_PHASE.into(), summary.unattributed_ns));
        doc.blocks.push(Block::Stack(Stack { parts, whole: whole_ns }));
    }
    let is_page = doc.is(Shown::HTML);
    let unattributed = summary.unattributed_share();
    let bar_of_rest = is_page.then(|| bar(unattributed, PLAIN));
    let figures = [Cell::Raw(percent(unattributed)), ns(summary.unattributed_ns).at("unattributed_ns")];
    let cells = [keyed(PLAIN, NO_PHASE)].into_iter().chain(bar_of_rest).chain(figures).collect();
    let rest = Row { at: "summary".into(), cells, ..Row::default() };
    doc.table(Shown::TABLES, "Time of the steps by phase", summary.phases.iter().enumerate())
        .at(|(at, _)| format!("summary/phases/{at}"))
        .column(Shown::TABLES, "Phase", "", |(_, row)| keyed(class(&row.phase), code(row.phase.as_str())))
        .column(Shown::HTML, "Exposed", "", |(_, row)| {
            bar(row.exposed_ns as f64 / whole_ns as f64, class(&row.phase))
        })
        .column(Shown::TABLES, ">Exposed|Share", "exposed_share", |(_, row)| share(row.exposed_share))
        .column(Shown::TABLES, ">Time", "exposed_ns", |(_, row)| ns(row.exposed_ns))
        .column(Shown::TABLES, ">On any thread|Share on any thread", "total_share", |(_, row)| {
            share(row.total_share)
        })
        .column(Shown::TABLES, ">Time|Time on any thread", "total_ns", |(_, row)| ns(row.total_ns))
        .column(Shown::HTML, ">Spans", "spans", |(_, row)| count(row.spans))
        .rest(is_page || summary.unattributed_ns > 0, rest)
        .end();
    let of = things(steps, "step", "steps");
    doc.say(
        Shown::MD,
        format!("Exposed: on the training thread while nothing of higher rank runs there, in {of}."),
    );
    doc.say(
        Shown::HTML,
        cells![
            "Exposed is time of the training thread in a phase while nothing of higher rank runs there, in ",
            count(steps).at("summary/whole/steps"),
            if steps == 1 { " step" } else { " steps" },
            " read with all their sections. Work of other threads is exposed only where the training thread waits for it."
        ],
    );
}

/// By the sums of sections, where these tell it rather than the steps read.
fn sums(report: &Report, doc: &mut Document) {
    let summary = &report.summary;
    let (steps, whole) = (summary.input.steps, summary.coverage.whole_steps);
    let all = things(steps, "step", "steps");
    let rows = &summary.phase_sums;
    doc.heading(Shown::TEXT, "Where the step time goes (by the sums of sections)");
    doc.heading(Shown::MD, "Where the step time goes");
    if doc.is(Shown::TEXT) {
        let read = match whole {
            0 => "none was read with its sections".into(),
            whole => format!(
                "only {} of them were read with their sections, which need not be typical",
                count_words(whole)
            ),
        };
        let text = format!("of {all}, all modes and warm-up included; {read}");
        doc.lead(Shown::TEXT, Tone::Dim, "  ", text);
        let rows = rows.iter().map(|row| (word(row.phase.as_ref()), row.total_ns));
        return bars(rows, summary.input.steps_ns, steps, doc);
    }
    let palette = Palette::of(report);
    let class = |phase: Option<&PhaseName>| palette.of_phase(phase);
    if doc.is(Shown::HTML) {
        let named = |phase: Option<&PhaseName>| (class(phase), word(phase).to_owned());
        let parts = rows.iter().map(|row| (named(row.phase.as_ref()), row.total_ns));
        let parts: Vec<(String, String, u64)> = parts.map(|((class, name), ns)| (class, name, ns)).collect();
        // Of sections that ran at the same time the bar is as long as they are together.
        let all_ns = parts.iter().fold(0u64, |sum, (_, _, ns)| sum.saturating_add(*ns));
        doc.blocks.push(Block::Stack(Stack { parts, whole: summary.input.steps_ns.max(all_ns) }));
    }
    doc.table(Shown::TABLES, "Time of the steps by phase", rows.iter().enumerate())
        .at(|(at, _)| format!("summary/phase_sums/{at}"))
        .column(Shown::TABLES, "Phase", "", |(_, row)| {
            keyed(class(row.phase.as_ref()), named(row.phase.as_ref()))
        })
        .column(Shown::HTML, "Time of sections", "", |(_, row)| bar(row.share, class(row.phase.as_ref())))
        .column(Shown::TABLES, ">Share", "share", |(_, row)| share(row.share))
        .column(Shown::TABLES, ">Time", "total_ns", |(_, row)| ns(row.total_ns))
        .column(Shown::TABLES, ">Calls", "calls", |(_, row)| count(row.calls))
        .end();
    let read = count_words(whole);
    doc.say(
        Shown::MD,
        format!(
            "By the sums of sections of {all}, all modes and warm-up included; {read} of them were read with their \
             sections."
        ),
    );
    doc.say(
        Shown::HTML,
        cells![
            "By the sums of sections of ",
            count(steps).at("summary/input/steps"),
            if steps == 1 { " step" } else { " steps" },
            ", all modes and warm-up included, on whatever thread; ",
            count(whole).at("summary/coverage/whole_steps"),
            " of them were read with their sections."
        ],
    );
}

/// A bar a phase with its share and its time a step; small ones are only named.
fn bars<'a>(rows: impl Iterator<Item = (&'a str, u64)>, whole_ns: u64, steps: u64, doc: &mut Document) {
    let share_of = |ns: u64| ns as f64 / whole_ns.max(1) as f64;
    let (small, large): (Vec<_>, Vec<_>) =
        rows.filter(|row| row.1 > 0).partition(|row| share_of(row.1) < SMALL);
    doc.table(Shown::TEXT, "", large)
        .indented()
        .text("", Kind::Words, NAME + 2, |(name, _)| Cell::Plain((*name).into()))
        .text("", Kind::Words, BAR, |(_, ns)| bar(share_of(*ns), ""))
        .text("", Kind::Figures, 8, |(_, ns)| share(share_of(*ns)))
        .text("", Kind::Figures, 11, |(_, all_ns)| ns(all_ns / steps.max(1)))
        .end();
    if !small.is_empty() {
        let names: Vec<&str> = small.iter().map(|(name, _)| *name).collect();
        doc.lead(Shown::TEXT, Tone::Dim, &format!("  below {}: ", percent(SMALL)), names.join(", "));
    }
}
