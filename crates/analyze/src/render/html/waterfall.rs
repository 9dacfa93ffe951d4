//! Steps that were kept with their spans: which they are, and one of them as a waterfall, drawn and as a table. The
//! script draws any of them, with zoom.

mod layout;

use stepscope_core::Phase;

use super::page::{
    UNKNOWN, close, code, count, escape, figure, ns, number, open, paragraph, path, prose, table,
};
use super::palette::Palette;
use super::svg;
use crate::render::common::letters::letters;
use crate::render::common::names::named;
use crate::report::Report;
use crate::report::units::{duration, things};
use crate::summary::{Example, ExampleRole, ExampleSpan, Lane};

pub(super) use layout::{Making, Rows, makings, rows};

/// Rows of the table that is there without scripts.
const ROWS: usize = 40;

/// Width at which names are left out that have no room; where it is less, they are cut.
const WIDTH: f64 = 800.0;
const ROW: f64 = 22.0;
/// Height of a row's bar; the mark of the critical path is below it.
const BAR: f64 = 15.0;
const MARK: f64 = 4.0;
/// Height of a lane's name, and of the axis.
const HEAD: f64 = 18.0;
/// Width of a letter of a bar's name, about.
const LETTER: f64 = 6.6;

/// Phases in the order in which they are listed: those of the table of phases, then those of sections, by name.
pub(super) fn phases(report: &Report) -> Vec<&str> {
    let mut all: Vec<&str> = report.summary.phases.iter().map(|row| row.phase.as_str()).collect();
    let sections = report.sections.iter().filter_map(|row| row.phase.as_ref()).map(|phase| phase.as_str());
    let others: std::collections::BTreeSet<&str> = sections.filter(|phase| !all.contains(phase)).collect();
    all.extend(others);
    all
}

/// Says why there is nothing to show, and what to do: so does the verdict of a run without steps.
pub(super) fn without_steps(report: &Report, out: &mut String) {
    open("waterfall", "Steps in detail", out);
    paragraph(
        &format!(
            "{} The page then shows how long steps take, over the run and how often, where their time goes, and some of \
             them span by span.",
            prose(&report.summary.verdict)
        ),
        out,
    );
    close(out);
}

pub(super) fn render(report: &Report, out: &mut String) {
    open("waterfall", "Steps in detail", out);
    // The median step says most about the run; where there is none, the first.
    let is_median = |example: &&Example| example.roles.contains(&ExampleRole::Median);
    let primary = |example: &&Example| Some(example.mode.as_str()) == report.summary.mode;
    let all = || report.examples.iter().filter(primary);
    let Some(shown) = all().find(is_median).or_else(|| all().next()).or(report.examples.first()) else {
        paragraph("No step was read with all its sections, so none can be shown.", out);
        return close(out);
    };
    let at = report.examples.iter().position(|example| example == shown).unwrap_or(0);
    out.push_str("<div id=\"waterfall-tools\" class=\"tools\" hidden></div>\n");
    out.push_str(&format!("<figure id=\"plot-waterfall\" data-example=\"{at}\">\n<div class=\"still\">\n"));
    draw(&Palette::of(report), shown, out);
    out.push_str("</div>\n<div id=\"waterfall-graph\" hidden></div>\n");
    out.push_str("<p id=\"waterfall-said\" class=\"said\" role=\"status\"></p>\n");
    out.push_str(&format!(
        "<figcaption>Shown is <span id=\"waterfall-title\">{}, {} of {} spans</span>. Spans stand by thread, children \
         below their parents. The thin bar below a span marks the critical path: what held up the end of the step. \
         Where a span was suspended, it is light. \
         Batches that loaders were making while the step waited for them have a lane of their own.</figcaption>\n</figure>\n",
        escape(&title(report, shown)),
        shown.spans.len(),
        shown.spans_in_step
    ));
    out.push_str("<details id=\"waterfall-rows\"><summary>The spans as a table</summary>\n<div>\n");
    spans(at, shown, out);
    if shown.spans.len() > ROWS {
        let more = format!("{} more spans are in the JSON report.", shown.spans.len() - ROWS);
        paragraph(&more, out);
    }
    out.push_str("</div></details>\n");
    kept(report, out);
    close(out);
}

/// What a step is called: `step 12, median`.
pub(super) fn title(report: &Report, example: &Example) -> String {
    let roles: Vec<&str> = example.roles.iter().map(|role| role.as_str()).collect();
    let mode = match Some(example.mode.as_str()) == report.summary.mode {
        true => String::new(),
        false => format!("{} ", example.mode.as_str()),
    };
    let step = example.step.step.map_or_else(|| "without number".into(), crate::report::units::count);
    let rank = match example.step.rank.filter(|_| report.ranks.len() > 1) {
        Some(rank) => format!(" of rank {rank}"),
        None => String::new(),
    };
    let warm = if example.is_warmup { ", warm-up" } else { "" };
    format!("{mode}step {step}{rank}: {}{warm}, {}", roles.join(" and "), duration(example.step.duration_ns))
}

fn kept(report: &Report, out: &mut String) {
    let rows = report.examples.iter().enumerate().map(|(at, example)| {
        let roles: Vec<&str> = example.roles.iter().map(|role| role.as_str()).collect();
        let warm = if example.is_warmup { ", warm-up" } else { "" };
        let cells = [
            count("step", example.step.step),
            format!("{}, {}{warm}", example.mode.as_str(), roles.join(" and ")),
            number("rank", example.step.rank),
            ns("duration_ns", example.step.duration_ns),
            ns("unattributed_ns", example.step.unattributed_ns),
            count("spans_in_step", example.spans_in_step),
            code(&example.step.trace_id),
        ];
        (format!("examples/{at}"), cells)
    });
    table(
        "Steps that were kept with their spans; a trace viewer that has the traces finds them by these ids",
        [">Step", "Why", ">Rank", ">Time", ">No phase", ">Spans", "Trace"],
        rows,
        out,
    );
}

/// The name of a thread.
pub(super) fn lane_name(lane: &Lane, at: usize) -> String {
    let own = if at == 0 { " (the step's)" } else { "" };
    match (&lane.thread_name, lane.thread_id) {
        (Some(name), _) => format!("{name}{own}"),
        (None, Some(id)) => format!("{id}{own}"),
        (None, None) => format!("without a name{own}"),
    }
}

/// What a lane is called: many threads have names that say what they are.
fn thread_words(name: &str) -> String {
    let says = name.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("thread"));
    if says { name.to_owned() } else { format!("thread {name}") }
}

fn spans(at: usize, example: &Example, out: &mut String) {
    let rows = example.spans.iter().enumerate().take(ROWS).map(|(n, span)| {
        let lane = usize::try_from(span.lane).unwrap_or(usize::MAX);
        let cells = [
            path(&named(&span.name)),
            span.phase.as_ref().map(|phase| code(phase.as_str())).unwrap_or_default(),
            escape(&example.lanes.get(lane).map(|row| lane_name(row, lane)).unwrap_or_default()),
            offset(span.offset_ns),
            ns("", span.duration_ns),
            ns("", span.critical_ns),
            batch(span),
        ];
        (format!("examples/{at}/spans/{n}"), cells)
    });
    table(
        "Spans of the step",
        [
            ("Section", ""),
            ("Phase", ""),
            ("Thread", ""),
            (">Begins after", "offset_ns"),
            (">Time", "duration_ns"),
            (">On the critical path", "critical_ns"),
            ("~Batch", ""),
        ],
        rows,
        out,
    );
}

fn offset(offset_ns: i64) -> String {
    let sign = if offset_ns < 0 { "−" } else { "" };
    figure("", offset_ns, &format!("{sign}{}", duration(offset_ns.unsigned_abs())))
}

/// Where a batch came from.
fn batch(span: &ExampleSpan) -> String {
    let Some(batch) = &span.batch else { return String::new() };
    let trace = batch.trace_id.as_deref().map_or_else(|| UNKNOWN.into(), code);
    format!(
        "made in {}, in the queue for {}, trace {trace}",
        ns("batch/produce_ns", batch.produce_ns),
        ns("batch/queue_ns", batch.queue_ns),
    )
}

/// For how long a span ran that was suspended.
fn running_words(span: &ExampleSpan) -> Option<String> {
    let sum = span.running.iter().fold(0u64, |sum, run| sum.saturating_add(run.duration_ns));
    let parts = things(span.running.len() as u64, "part", "parts");
    (!span.running.is_empty())
        .then(|| format!("ran for {} in {parts} and was suspended otherwise", duration(sum)))
}

/// What stands at the lane of batches.
const MAKINGS: &str = "loaders: batches that were waited for";

/// A batch in words.
pub(super) fn making_words(example: &Example, making: &Making) -> String {
    let wait = example.spans.get(making.span).map(|span| named(&span.name)).unwrap_or_default();
    format!("the batch that {wait} waited for, made in {}", duration(making.duration_ns))
}

fn draw(palette: &Palette<'_>, example: &Example, out: &mut String) {
    let Rows { of_spans, by_lane } = rows(example);
    let total: usize = by_lane.iter().sum();
    let makings = makings(example);
    let makings_rows = makings.iter().map(|making| making.row + 1).max().unwrap_or(0);
    let lanes = by_lane.len() + usize::from(makings_rows > 0);
    let height = HEAD + lanes as f64 * HEAD + (total + makings_rows) as f64 * ROW + 4.0;
    let whole_ns = example.step.duration_ns.max(1) as f64;
    let x = |offset_ns: f64| 100.0 * (offset_ns / whole_ns).clamp(0.0, 1.0);
    svg::open(" waterfall", "Waterfall of the spans of a step", height, out);
    for part in [0.0, 0.5, 1.0] {
        let at = x(part * whole_ns);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{at:.0}%\" x2=\"{at:.0}%\" y1=\"{HEAD}\" y2=\"{height}\"/>\
             <text class=\"tick\" x=\"{at:.0}%\" y=\"12\" text-anchor=\"{}\">{}</text>\n",
            svg::anchor(part),
            escape(&duration((part * whole_ns) as u64))
        ));
    }
    // Where each lane begins.
    let mut tops = Vec::new();
    let mut top = HEAD;
    for (at, rows) in by_lane.iter().enumerate() {
        let name = example.lanes.get(at).map(|lane| lane_name(lane, at)).unwrap_or_default();
        out.push_str(&format!(
            "<text class=\"lane\" x=\"0\" y=\"{:.0}\">{}</text>\n",
            top + HEAD - 5.0,
            escape(&thread_words(&name))
        ));
        tops.push(top + HEAD);
        top += HEAD + *rows as f64 * ROW;
    }
    if makings_rows > 0 {
        let y = top + HEAD - 5.0;
        out.push_str(&format!("<text class=\"lane\" x=\"0\" y=\"{y:.0}\">{MAKINGS}</text>\n"));
    }
    for making in &makings {
        let class = palette.class(Phase::DataLoading.as_str());
        let from = x(making.offset_ns as f64);
        let width = (x(making.offset_ns as f64 + making.duration_ns as f64) - from).max(0.1);
        let y = top + HEAD + making.row as f64 * ROW;
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{from:.2}%\" y=\"{y:.1}\" width=\"{width:.2}%\" height=\"{BAR}\"><title>{}</title></rect>\n",
            escape(&making_words(example, making))
        ));
    }
    let y = |span: usize| {
        let lane = example.spans.get(span).and_then(|span| tops.get(usize::try_from(span.lane).ok()?));
        lane.copied().unwrap_or(HEAD) + of_spans.get(span).copied().unwrap_or(0) as f64 * ROW
    };
    for (n, span) in example.spans.iter().enumerate() {
        let from = x(span.offset_ns as f64);
        let to = x(span.offset_ns as f64 + span.duration_ns as f64);
        let width = (to - from).max(0.1);
        let class = palette.of_phase(span.phase.as_ref());
        let name = named(&span.name);
        let light = if span.running.is_empty() { "" } else { "light " };
        out.push_str(&format!(
            "<rect class=\"{light}{class}\" x=\"{from:.2}%\" y=\"{:.1}\" width=\"{width:.2}%\" height=\"{BAR}\"><title>{}, {}{}</title></rect>\n",
            y(n),
            escape(&name),
            escape(&duration(span.duration_ns)),
            escape(&running_words(span).map(|words| format!(", {words}")).unwrap_or_default())
        ));
        for run in &span.running {
            let from = x(run.offset_ns as f64);
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{from:.2}%\" y=\"{:.1}\" width=\"{:.2}%\" height=\"{BAR}\"/>\n",
                y(n),
                (x(run.offset_ns as f64 + run.duration_ns as f64) - from).max(0.1)
            ));
        }
        let room = (width / 100.0 * WIDTH / LETTER) as usize;
        if room >= 4 {
            // A drawing inside cuts what has no room.
            let short = letters(&name).into_iter().take(2 * room).collect::<String>();
            out.push_str(&format!(
                "<svg class=\"in\" x=\"{from:.2}%\" y=\"{:.1}\" width=\"{width:.2}%\" height=\"{BAR}\"><text x=\"3\" y=\"11.5\">{}</text></svg>\n",
                y(n),
                escape(&short)
            ));
        }
    }
    for piece in &example.critical_path {
        let from = x(piece.offset_ns as f64);
        let to = x(piece.offset_ns.saturating_add(piece.duration_ns) as f64);
        out.push_str(&format!(
            "<rect class=\"path\" x=\"{from:.2}%\" y=\"{:.1}\" width=\"{:.2}%\" height=\"{MARK}\"/>\n",
            y(usize::try_from(piece.span).unwrap_or(usize::MAX)) + BAR + 1.0,
            (to - from).max(0.08)
        ));
    }
    out.push_str("</svg>\n");
}
