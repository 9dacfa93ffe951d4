//! The sections: a flame graph, all of them by time, those that were suspended, and those that stand out.

mod tree;

use std::cmp::Reverse;

use stepscope_core::Mode;

use super::cell::{UNKNOWN, bar, bytes, code_or, count, ns, path, share};
use super::names::{named_path, printable, shortened};
use super::{Block, Cell, Document, Kind, Palette, Row, Shown, Tone};
use crate::report::Report;
use crate::report::units::{count as count_words, things};
use crate::summary::{PhaseName, SectionRow};

/// Sections of a comment, and of a page, which reads without scripts; what is beyond is in the data, in a tenth of the space.
const BRIEF: usize = 20;
pub(crate) const ROWS: usize = 120;
/// Rows of the lists of sections that stand out.
const STANDING_OUT: usize = 10;

/// Suspended sections, and the share of its time from which a section's idleness is worth a line.
const SUSPENDED: usize = 8;
const IDLE: f64 = 0.01;

/// The most variable sections of a terminal, and the MAD of the median below which one is not called variable.
const VARIABLE_ROWS: usize = 5;
const VARIABLE: f64 = 0.1;

pub(super) fn tell(report: &Report, doc: &mut Document) {
    if doc.is(Shown::HTML) && !report.sections.is_empty() {
        flame(report, doc);
        page(report, doc);
    } else if !report.sections.is_empty() {
        doc.heading(Shown::BRIEF, "Sections");
        tree(report, doc);
        brief(report, doc);
    }
    variable(report, doc);
    suspended(report, doc);
    standing_out(report, doc);
}

/// Where the script puts the flame graph. Without scripts the table says the same.
fn flame(report: &Report, doc: &mut Document) {
    doc.part("flame", "Flame graph", "Flame graph");
    doc.blocks.push(Block::Graph {
        id: "flame",
        without: "The flame graph needs scripts; the table of sections below holds the same figures.",
    });
    let of_steps = match report.has_steps() {
        true => {
            " It adds up all steps that were read, of every mode and with warm-up: shares can differ from those of the \
             verdict, which is about one mode after warm-up."
        }
        false => "",
    };
    doc.say(
        Shown::HTML,
        format!(
            "The wider, the longer: time of all calls, children below (callers below, where that is chosen). Children that \
             ran at the same time as each other share the width of their parent. What is too narrow to be seen is one box \
             together.{of_steps} The table of sections holds the same in words."
        ),
    );
}

/// Places of the sections, longest total first.
pub(crate) fn order(report: &Report) -> Vec<(usize, &SectionRow)> {
    let mut order: Vec<(usize, &SectionRow)> = report.sections.iter().enumerate().collect();
    order.sort_by_key(|(_, row)| (Reverse(row.stats.total), &row.path));
    order
}

fn own_ns(row: &SectionRow) -> Option<u64> {
    row.self_ns.or(row.self_busy_ns)
}

/// The own time, which is said of a section that is suspended by another figure.
fn own(row: &SectionRow) -> Cell {
    let at = if row.self_ns.is_some() { "" } else { "self_busy_ns" };
    ns(own_ns(row)).at(at)
}

fn page(report: &Report, doc: &mut Document) {
    doc.part("sections", "Sections", "Sections");
    doc.blocks.push(Block::Tools("section"));
    let of_row = |(at, row): &(usize, &SectionRow), shown: &mut Row| {
        shown.at = format!("sections/{at}");
        // Where the name of the row is not the path, it is said beside it.
        if shortened(&named_path(&row.path)) != row.path {
            shown.data.push(("path", printable(&row.path)));
        }
        shown.data.push(("kind", row.kind.as_str().into()));
    };
    doc.table(Shown::HTML, "Sections by time", order(report).into_iter().take(ROWS))
        .id("section-table")
        .each(of_row)
        .column(Shown::HTML, "Section", "", |(_, row)| path(&row.path))
        .column(Shown::HTML, "Phase", "", |(_, row)| {
            code_or(row.phase.as_ref().map(PhaseName::as_str), Cell::Empty)
        })
        .column(Shown::HTML, ">Calls", "count", |(_, row)| count(row.stats.count))
        .column(Shown::HTML, ">Total", "total", |(_, row)| ns(row.stats.total))
        .column(Shown::HTML, ">Self", "self_ns", |(_, row)| own(row))
        .column(Shown::HTML, ">Median", "p50", |(_, row)| ns(row.stats.p50))
        .column(Shown::HTML, ">p95", "p95", |(_, row)| ns(row.stats.p95))
        .column(Shown::HTML, ">Longest", "max", |(_, row)| ns(row.stats.max))
        .column(Shown::HTML, ">CV", "cv", |(_, row)| share(row.stats.cv))
        .column(Shown::HTML, ">Allocated", "alloc/alloc_bytes", |(_, row)| {
            bytes(row.memory.as_ref().map(|alloc| alloc.alloc_bytes))
        })
        .column(Shown::HTML, ">Peak", "alloc/peak_bytes", |(_, row)| {
            bytes(row.memory.as_ref().and_then(|alloc| alloc.peak_bytes))
        })
        .column(Shown::HTML, ">Errors", "errors", |(_, row)| count(row.errors))
        .end();
    let more = report.sections.len().saturating_sub(ROWS);
    if more > 0 {
        let more = count_words(more as u64);
        let text =
            format!("{more} more sections need scripts to be shown; the JSON and CSV reports hold them too.");
        doc.blocks.push(Block::Paragraph(super::Paragraph {
            id: "section-more",
            text: text.into(),
            ..super::Paragraph::default()
        }));
    }
    doc.blocks.push(Block::Status("section"));
}

fn brief(report: &Report, doc: &mut Document) {
    const MD: Shown = Shown::MD;
    doc.table(MD, "", order(report).into_iter().take(BRIEF))
        .column(MD, "Section", "", |(_, row)| path(&row.path))
        .column(MD, ">Calls", "", |(_, row)| count(row.stats.count))
        .column(MD, ">Total", "", |(_, row)| ns(row.stats.total))
        .column(MD, ">Self", "", |(_, row)| ns(row.self_ns))
        .column(MD, ">p50", "", |(_, row)| ns(row.stats.p50))
        .column(MD, ">p95", "", |(_, row)| ns(row.stats.p95))
        .column(MD, ">Max", "", |(_, row)| ns(row.stats.max))
        .column(MD, ">Allocated", "", |(_, row)| bytes(row.memory.map(|alloc| alloc.alloc_bytes)))
        .end();
    doc.more(MD, report.sections.len(), BRIEF, ("", "sections with less time"));
}

/// The mode of the report and the time of all its whole steps, warm-up included, as sections count it.
fn steps_total(report: &Report) -> Option<(Mode, u64)> {
    let mode = Mode::parse(report.summary.mode?)?;
    let row = report.detailed_metrics.modes.iter().find(|row| row.mode == mode)?;
    Some((mode, row.whole_all.total_ns))
}

/// The sections of a terminal under their parents.
fn tree(report: &Report, doc: &mut Document) {
    if !doc.is(Shown::TEXT) {
        return;
    }
    let steps = steps_total(report);
    let share_of = |row: &SectionRow| {
        let (mode, total_ns) = steps?;
        let part = row.in_mode(mode)?;
        (total_ns > 0).then(|| part.total_ns as f64 / total_ns as f64)
    };
    let alloc = |row: &SectionRow| {
        let alloc = row.memory.map(|alloc| alloc.alloc_bytes / row.stats.count.max(1));
        bytes(alloc.filter(|&size| size > 0)).short().or_empty()
    };
    let rows = tree::rows(&report.sections);
    let shown = rows.len();
    doc.table(Shown::TEXT, "", rows)
        .each(|(_, depth, _), row| row.depth = (*depth).min(8))
        .text("", Kind::Words, 27, |(.., name)| Cell::Plain(name.clone()))
        .text("calls", Kind::Figures, 6, |(row, ..)| count(row.stats.count).short())
        .text("total", Kind::Figures, 7, |(row, ..)| ns(row.stats.total).short())
        .text("self", Kind::Figures, 7, |(row, ..)| ns(own_ns(row)).short())
        .text("p50", Kind::Figures, 7, |(row, ..)| ns(row.stats.p50).short())
        .text("p95", Kind::Figures, 7, |(row, ..)| ns(row.stats.p95).short())
        .text("share", Kind::Figures, 5, |(row, ..)| share(share_of(row)).short().or_empty())
        .text("alloc", Kind::Figures, 7, |(row, ..)| alloc(row))
        .end();
    doc.more(Shown::TEXT, report.sections.len(), shown, ("with less time", "with less time"));
    doc.line(Tone::Dim, "  share: of the step time, on any thread; alloc: bytes allocated a call");
    let coverage = &report.summary.coverage;
    if coverage.partly_read().is_some() || coverage.partly_whole().is_some() {
        let all = coverage.recorded_steps.map_or("the spans read", |_| "the whole run");
        let whole = things(coverage.whole_steps, "step", "steps");
        let text =
            format!("calls, times and alloc: of {all}; share: of the {whole} read with all their sections");
        doc.lead(Shown::TEXT, Tone::Dim, "  ", text);
    }
}

/// The first rows of a list of paths, with their places.
fn of<'a>(report: &'a Report, paths: &[String]) -> Vec<(usize, &'a SectionRow)> {
    let find = |path: &String| report.sections.iter().enumerate().find(|(_, row)| row.path == *path);
    paths.iter().filter_map(find).collect()
}

fn variable(report: &Report, doc: &mut Document) {
    if !doc.is(Shown::TEXT) {
        return;
    }
    let spread = |row: &SectionRow| {
        let (p50, mad) = (row.stats.p50?, row.stats.mad?);
        (p50 > 0).then(|| mad as f64 / p50 as f64).filter(|&spread| spread >= VARIABLE)
    };
    let rows = of(report, &report.detailed_metrics.most_variable_sections);
    let rows = rows.into_iter().filter_map(|(_, row)| Some((row, spread(row)?))).take(VARIABLE_ROWS);
    let rows: Vec<(&SectionRow, f64)> = rows.collect();
    if rows.is_empty() {
        return;
    }
    doc.heading(Shown::TEXT, "Most variable sections");
    doc.table(Shown::TEXT, "", rows)
        .text("", Kind::Words, 36, |(row, _)| Cell::Plain(row.path.clone()))
        .text("MAD/p50", Kind::Figures, 8, |(_, spread)| share(*spread))
        .text("p50", Kind::Figures, 9, |(row, _)| ns(row.stats.p50).short())
        .text("p95", Kind::Figures, 9, |(row, _)| ns(row.stats.p95).short())
        .text("max", Kind::Figures, 9, |(row, _)| ns(row.stats.max).short())
        .end();
}

/// Sections that were open, but for a while entered on no thread, as async ones are at each `await`.
fn suspended(report: &Report, doc: &mut Document) {
    if !doc.is(Shown::TEXT) {
        return;
    }
    // Below a share it was hardly suspended.
    let mut rows: Vec<_> = report
        .sections
        .iter()
        .filter_map(|row| {
            let (idle, busy) = (row.idle_ns.filter(|idle| idle.sum > 0)?, row.busy_ns);
            let share = busy.map(|busy| idle.sum as f64 / busy.sum.saturating_add(idle.sum) as f64);
            share.is_none_or(|share| share >= IDLE).then_some((&row.path, idle, busy, share))
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|(path, idle, ..)| (Reverse(idle.sum), *path));
    doc.heading(Shown::TEXT, "Suspended sections (open, but not running: async, mostly)");
    doc.table(Shown::TEXT, "", rows.iter().take(SUSPENDED))
        .text("", Kind::Words, 44, |(path, ..)| Cell::Plain((*path).clone()))
        .text("calls", Kind::Figures, 6, |(_, idle, ..)| count(idle.spans).short())
        .text("busy", Kind::Figures, 8, |(.., busy, _)| ns(busy.map(|busy| busy.sum)).short())
        .text("idle", Kind::Figures, 8, |(_, idle, ..)| ns(idle.sum).short())
        .text("idle %", Kind::Figures, 6, |(.., part)| part.map_or(UNKNOWN, |part| share(part).short()))
        .end();
    doc.more(Shown::TEXT, rows.len(), SUSPENDED, ("with less idle time", "with less idle time"));
}

/// Sections in three orders that the table of all would have to be sorted by: own time, how often they are called, how much
/// they vary. Short lists, for those who read or print the page.
fn standing_out(report: &Report, doc: &mut Document) {
    const HTML: Shown = Shown::HTML;
    let metrics = &report.detailed_metrics;
    if metrics.slowest_sections.is_empty() || !doc.is(HTML) {
        return;
    }
    let frequent = frequent(report);
    let title = match frequent.is_empty() {
        true => "Longest and most variable sections",
        false => "Longest, most frequent and most variable sections",
    };
    doc.part("ranked", "", title);
    let palette = Palette::of(report);
    // A bar is as long as its section's part of the longest one of the list.
    let bar_of = |row: &SectionRow, value: u64, longest: u64| {
        bar(value as f64 / longest.max(1) as f64, palette.of_phase(row.phase.as_ref()))
    };
    let at = |(at, _): &(usize, &SectionRow)| format!("sections/{at}");
    let name = |(_, row): &(usize, &SectionRow)| path(&row.path);
    let slowest = of(report, &metrics.slowest_sections).into_iter().take(STANDING_OUT);
    let slowest: Vec<_> = slowest.filter(|(_, row)| own_ns(row).is_some_and(|own| own > 0)).collect();
    let longest = slowest.iter().filter_map(|(_, row)| own_ns(row)).max().unwrap_or(0);
    doc.table(HTML, "Sections with most time of their own", slowest)
        .at(at)
        .column(HTML, "Section", "", name)
        .column(HTML, "Own time", "", |(_, row)| bar_of(row, own_ns(row).unwrap_or(0), longest))
        .column(HTML, ">Self", "self_ns", |(_, row)| own(row))
        .column(HTML, ">Calls", "count", |(_, row)| count(row.stats.count))
        .end();
    let most = frequent.first().map_or(0, |(_, row)| row.stats.count);
    doc.table(HTML, "Sections that are called most", frequent)
        .at(at)
        .column(HTML, "Section", "", name)
        .column(HTML, "How often", "", |(_, row)| bar_of(row, row.stats.count, most))
        .column(HTML, ">Calls", "count", |(_, row)| count(row.stats.count))
        .column(HTML, ">Median", "p50", |(_, row)| ns(row.stats.p50))
        .column(HTML, ">Total", "total", |(_, row)| ns(row.stats.total))
        .end();
    let variable = of(report, &metrics.most_variable_sections).into_iter().take(STANDING_OUT);
    doc.table(HTML, "Sections whose durations vary most", variable)
        .at(at)
        .column(HTML, "Section", "", name)
        .column(HTML, ">Robust CV", "robust_cv", |(_, row)| share(row.stats.robust_cv))
        .column(HTML, ">CV", "cv", |(_, row)| share(row.stats.cv))
        .column(HTML, ">Median", "p50", |(_, row)| ns(row.stats.p50))
        .column(HTML, ">p95", "p95", |(_, row)| ns(row.stats.p95))
        .column(HTML, ">Longest", "max", |(_, row)| ns(row.stats.max))
        .end();
}

/// The sections that are called most, with their places; none where all of these are called alike.
fn frequent(report: &Report) -> Vec<(usize, &SectionRow)> {
    let mut all: Vec<(usize, &SectionRow)> =
        report.sections.iter().enumerate().filter(|(_, row)| row.is_part()).collect();
    all.sort_by_key(|(_, row)| (Reverse(row.stats.count), Reverse(row.stats.total), &row.path));
    all.truncate(STANDING_OUT);
    let calls = |row: Option<&(usize, &SectionRow)>| row.map(|(_, row)| row.stats.count);
    if calls(all.first()) == calls(all.last()) { Vec::new() } else { all }
}
