//! Steps over the run, and the slowest of them.

use super::cell::{code, count, keyed, ns, number};
use super::plot::{MarkedChange, MarkedPeriod, Marks, Plot};
use super::series::{primary, series, together};
use super::{Cell, Document, Shown, cells, changes, periods};
use crate::report::Report;
use crate::report::units::{count as count_words, duration, every_step};
use crate::summary::{ChangeKind, Example, ExampleRole, ModeSummary, SlowStep};

/// Steps shown where there is little room.
const ROWS: usize = 5;
/// Phases named of each: briefly, and on a page.
const PHASES: usize = 3;
const PHASES_OF_PAGE: usize = 4;

pub(super) fn over_steps(report: &Report, doc: &mut Document) {
    if !report.has_steps() {
        return;
    }
    doc.part("timeline", "Steps", "Steps");
    let Some((_, series)) = series(report) else {
        return doc.say(Shown::HTML, "No step has a number, so nothing can be drawn over them.");
    };
    let median = report.summary.step_time.as_ref().and_then(|time| time.p50);
    doc.plot(Plot {
        id: "steps".into(),
        title: "Step time over step numbers: shortest, mean and longest".into(),
        heading: Cell::Empty,
        caption: cells![
            "Step time over step numbers. The line is the mean, the band reaches from the shortest to the longest step; \
             the median of all steps after warm-up is ",
            ns(median).at("summary/step_time/p50"),
            ".",
            meaning(report),
            together(series.shift)
        ],
    });
    changes::fill(report, doc);
    periods::fill(report, doc);
}

/// What stands in the plot of the steps.
pub(crate) fn marks(report: &Report) -> Marks {
    let changes = changes::shown(report).map(|(_, change)| {
        let to = if change.kind == ChangeKind::Gradual { change.to_step } else { change.step };
        MarkedChange { from: change.step, to, words: changes::much(change) }
    });
    let periods = periods::shown(report).into_iter().flat_map(|(_, row)| periods::told(row));
    let periods = periods.map(|(_, period, _)| MarkedPeriod {
        every: period.every,
        first: period.first_step,
        words: every_step(period.every),
    });
    let steady = primary(report).and_then(|(_, mode)| mode.warmup.steady_step);
    Marks { changes: changes.collect(), periods: periods.collect(), steady }
}

/// What the marks mean.
fn meaning(report: &Report) -> Cell {
    let Marks { changes, periods, steady } = marks(report);
    let mut parts = Vec::new();
    if steady.is_some() {
        parts.push(cells![" ", keyed("warm", "Warm-up"), " at the start."]);
    }
    if !changes.is_empty() {
        let has_input = changes::shown(report).any(|(_, change)| change.has_input());
        let with = if has_input { ", with the input before each step, which is not drawn" } else { "" };
        parts.push(format!(" Dashed: where step times change{with}.").into());
    }
    for MarkedPeriod { words, .. } in periods {
        parts.push(cells![" ", keyed("beat", capitalised(&words)), " takes longer."]);
    }
    Cell::Row(parts)
}

/// `every 25th step` at the beginning of a sentence.
fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub(super) fn slowest(report: &Report, doc: &mut Document) {
    let Some((at, mode)) = primary(report).filter(|(_, mode)| !mode.slowest.is_empty()) else { return };
    let is_page = doc.is(Shown::HTML);
    if is_page && !report.has_steps() || !is_page && mode.steady.count < 2 {
        return;
    }
    doc.part("slowest", "", "Slowest steps");
    doc.heading(Shown::BRIEF, "Slowest steps");
    let most = if is_page { mode.slowest.len() } else { ROWS };
    let ranks = if report.ranks.len() > 1 { Shown::ALL } else { Shown::TABLES };
    let where_ = |step: &SlowStep, part: &dyn Fn((usize, &crate::summary::StepPhase)) -> Cell| {
        let phases = step.phases.iter().enumerate().filter(|(_, part)| part.exposed_ns > 0);
        let phases = phases.take(if is_page { PHASES_OF_PAGE } else { PHASES }).map(part);
        // On the page it has a column.
        let rest_ns = step.unattributed_ns;
        let is_told = !is_page && rest_ns >= step.duration_ns / 10 && rest_ns > 0;
        let rest = is_told.then(|| cells!["in no phase ", ns(rest_ns)]);
        let every = periods::every(report, mode.mode, step.step).map(|every| every_step(every).into());
        Cell::joined(phases.chain(rest).chain(every), ", ")
    };
    let median = mode.steady.p50.filter(|&p50| p50 > 0);
    doc.table(Shown::ALL, "The slowest steps after warm-up", mode.slowest.iter().take(most).enumerate())
        .at(|(n, _)| format!("detailed_metrics/modes/{at}/slowest/{n}"))
        .column(Shown::ALL, ">Step", "step", |(_, step)| count(step.step))
        .column(ranks, ">Rank", "rank", |(_, step)| number(step.rank))
        .column(Shown::ALL, ">Time", "duration_ns", |(_, step)| ns(step.duration_ns))
        .column(Shown::BRIEF, ">x p50", "", |(_, step)| {
            let ratio = median.map(|p50| step.duration_ns as f64 / p50 as f64);
            ratio.map_or(super::cell::UNKNOWN, |ratio| Cell::Raw(format!("{ratio:.1}")))
        })
        .column(Shown::BRIEF, "Exposed", "", |(_, step)| {
            where_(step, &|(_, part)| cells![code(part.phase.as_str()), " ", ns(part.exposed_ns)])
        })
        .column(Shown::HTML, "~Exposed", "", |(_, step)| {
            where_(step, &|(m, part)| {
                let exposed = ns(part.exposed_ns).at(format!("phases/{m}/exposed_ns"));
                cells![code(part.phase.as_str()), " ", exposed].together()
            })
        })
        .column(Shown::HTML, ">No phase", "unattributed_ns", |(_, step)| ns(step.unattributed_ns))
        .column(Shown::TABLES, "Trace", "", |(_, step)| code(&step.trace_id))
        .end();
    traces(report, mode, doc);
}

/// The traces worth opening.
fn traces(report: &Report, mode: &ModeSummary, doc: &mut Document) {
    if let Some(slowest) = mode.slowest.first() {
        doc.line(super::Tone::Plain, format!("  slowest step: trace {}", slowest.trace_id));
    }
    let is_median =
        |example: &&Example| example.mode == mode.mode && example.roles.contains(&ExampleRole::Median);
    if let Some(Example { step, .. }) = report.exemplars.iter().find(is_median) {
        let number = step.step.map_or_else(|| "-".into(), count_words);
        let duration = duration(step.duration_ns);
        let text = format!("  median step:  trace {} (step {number}, {duration})", step.trace_id);
        doc.line(super::Tone::Plain, text);
    }
}
