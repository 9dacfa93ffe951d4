//! Steps that were kept with their spans: which they are, and one of them span by span.

mod layout;

use super::cell::{UNKNOWN, Unit, code, code_or, count, figure, ns, number};
use super::names::named;
use super::{Cell, Document, Shown, cells};
use crate::report::Report;
use crate::report::units::{count as count_words, duration};
use crate::summary::{Example, ExampleRole, ExampleSpan, Lane, PhaseName};

pub(crate) use layout::{Making, Rows, makings, rows};

/// Rows of the table that is there without scripts.
const ROWS: usize = 40;

/// What is said of a waterfall.
const CAPTION: &str = "Spans stand by thread, children below their parents. The thin bar below a span marks the critical \
     path: what held up the end of the step. Where a span was suspended, it is light. Batches that loaders were making while \
     the step waited for them have a lane of their own.";

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if !report.has_run() && !report.has_steps() {
        return;
    }
    doc.part("waterfall", "Steps in detail", "Steps in detail");
    if !report.has_steps() {
        // Why there is nothing to show, and what to do: so does the verdict of a run without steps.
        let text = format!(
            "{} The page then shows how long steps take, over the run and how often, where their time goes, and some of \
             them span by span.",
            report.summary.verdict
        );
        return doc.say(Shown::HTML, text);
    }
    // The median step says most about the run; where there is none, the first.
    let is_median = |example: &&Example| example.roles.contains(&ExampleRole::Median);
    let primary = |example: &&Example| Some(example.mode.as_str()) == report.summary.mode;
    let all = || report.exemplars.iter().filter(primary);
    let Some(shown) = all().find(is_median).or_else(|| all().next()).or(report.exemplars.first()) else {
        return doc.say(Shown::HTML, "No step was read with all its sections, so none can be shown.");
    };
    let at = report.exemplars.iter().position(|example| example == shown).unwrap_or(0);
    doc.blocks.push(super::Block::Graph {
        id: "waterfall",
        without: "The waterfall needs scripts; the table below holds the spans of one step.",
        caption: CAPTION.into(),
    });
    doc.details("waterfall-rows", "The spans as a table", |doc| {
        spans(at, shown, doc);
        if shown.spans.len() > ROWS {
            doc.say(Shown::HTML, format!("{} more spans are in the JSON report.", shown.spans.len() - ROWS));
        }
    });
    kept(report, doc);
}

/// What a step is called: `step 12, median`.
pub(crate) fn title(report: &Report, example: &Example) -> String {
    let mode = match Some(example.mode.as_str()) == report.summary.mode {
        true => String::new(),
        false => format!("{} ", example.mode.as_str()),
    };
    let step = example.step.step.map_or_else(|| "without number".into(), count_words);
    let rank = match example.step.rank.filter(|_| report.ranks.len() > 1) {
        Some(rank) => format!(" of rank {rank}"),
        None => String::new(),
    };
    format!("{mode}step {step}{rank}: {}, {}", roles(example), duration(example.step.duration_ns))
}

fn roles(example: &Example) -> String {
    let roles: Vec<&str> = example.roles.iter().map(|role| role.as_str()).collect();
    roles.join(" and ") + if example.is_warmup { ", warm-up" } else { "" }
}

fn kept(report: &Report, doc: &mut Document) {
    const HTML: Shown = Shown::HTML;
    let caption =
        "Steps that were kept with their spans; a trace viewer that has the traces finds them by these ids";
    doc.table(HTML, caption, report.exemplars.iter().enumerate())
        .at(|(at, _)| format!("exemplars/{at}"))
        .column(HTML, ">Step", "step", |(_, row)| count(row.step.step))
        .column(HTML, "Why", "", |(_, row)| format!("{}, {}", row.mode.as_str(), roles(row)).into())
        .column(HTML, ">Rank", "rank", |(_, row)| number(row.step.rank))
        .column(HTML, ">Time", "duration_ns", |(_, row)| ns(row.step.duration_ns))
        .column(HTML, ">No phase", "unattributed_ns", |(_, row)| ns(row.step.unattributed_ns))
        .column(HTML, ">Spans", "spans_in_step", |(_, row)| count(row.spans_in_step))
        .column(HTML, "Trace", "", |(_, row)| code(&row.step.trace_id))
        .end();
}

/// The name of a thread.
pub(crate) fn lane_name(lane: &Lane, at: usize) -> String {
    let own = if at == 0 { " (the step's)" } else { "" };
    match (&lane.thread_name, lane.thread_id) {
        (Some(name), _) => format!("{name}{own}"),
        (None, Some(id)) => format!("{id}{own}"),
        (None, None) => format!("without a name{own}"),
    }
}

fn spans(at: usize, example: &Example, doc: &mut Document) {
    const HTML: Shown = Shown::HTML;
    let thread = |span: &ExampleSpan| {
        let lane = usize::try_from(span.lane).unwrap_or(usize::MAX);
        Cell::Plain(example.lanes.get(lane).map(|row| lane_name(row, lane)).unwrap_or_default())
    };
    let offset = |offset_ns: i64| {
        let sign = if offset_ns < 0 { "−" } else { "" };
        let words = format!("{sign}{}", duration(offset_ns.unsigned_abs()));
        figure(Some(offset_ns), Unit::Words(words))
    };
    doc.table(HTML, "Spans of the step", example.spans.iter().enumerate().take(ROWS))
        .at(|(n, _)| format!("exemplars/{at}/spans/{n}"))
        .column(HTML, "Section", "", |(_, span)| Cell::Path(named(&span.name)))
        .column(HTML, "Phase", "", |(_, span)| {
            code_or(span.phase.as_ref().map(PhaseName::as_str), Cell::Empty)
        })
        .column(HTML, "Thread", "", |(_, span)| thread(span))
        .column(HTML, ">Begins after", "offset_ns", |(_, span)| offset(span.offset_ns))
        .column(HTML, ">Time", "duration_ns", |(_, span)| ns(span.duration_ns))
        .column(HTML, ">On the critical path", "critical_ns", |(_, span)| ns(span.critical_ns))
        .column(HTML, "~Batch", "", |(_, span)| batch(span))
        .end();
}

/// Where a batch came from.
fn batch(span: &ExampleSpan) -> Cell {
    let Some(batch) = &span.batch else { return Cell::Empty };
    cells![
        "made in ",
        ns(batch.produce_ns).at("batch/produce_ns"),
        ", in the queue for ",
        ns(batch.queue_ns).at("batch/queue_ns"),
        ", trace ",
        code_or(batch.trace_id.as_deref(), UNKNOWN)
    ]
}

/// A batch in words.
pub(crate) fn making_words(example: &Example, making: &Making) -> String {
    let wait = example.spans.get(making.span).map(|span| named(&span.name)).unwrap_or_default();
    format!("the batch that {wait} waited for, made in {}", duration(making.duration_ns))
}
