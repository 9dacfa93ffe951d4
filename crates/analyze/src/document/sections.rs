//! The sections: a flame graph, all of them by time, those that were suspended, and those that stand out.

mod standing_out;
mod tree;

use std::cmp::Reverse;

use stepscope_core::Mode;

use super::cell::{bytes, code_or, count, ns, path, share};
use super::names::{named_path, printable, shortened};
use super::{Block, Cell, Document, Row, Shown, Tone};
use crate::report::Report;
use crate::report::units::{count as count_words, things};
use crate::summary::{PhaseName, SectionRow};

/// Sections of a comment, and of a page, which reads without scripts; what is beyond is in the data, in a tenth of the space.
const BRIEF: usize = 20;
pub(crate) const ROWS: usize = 120;
pub(super) fn fill(report: &Report, doc: &mut Document) {
    if doc.is(Shown::HTML) && !report.sections.is_empty() {
        flame(report, doc);
        page(report, doc);
    } else if !report.sections.is_empty() {
        doc.heading(Shown::BRIEF, "Sections");
        tree(report, doc);
        brief(report, doc);
    }
    standing_out::fill(report, doc);
}

/// Where the script puts the flame graph. Without scripts the table says the same.
fn flame(report: &Report, doc: &mut Document) {
    doc.part("flame", "Flame graph", "Flame graph");
    let of_steps = match report.has_steps() {
        true => {
            " It adds up all steps that were read, of every mode and with warm-up: shares can differ from those of the \
             verdict, which is about one mode after warm-up."
        }
        false => "",
    };
    let caption = format!(
        "The wider, the longer: time of all calls, children below (callers below, where that is chosen). Children that ran \
         at the same time as each other share the width of their parent. What is too narrow to be seen is one box \
         together.{of_steps} The table of sections holds the same in words."
    );
    doc.blocks.push(Block::Graph {
        id: "flame",
        without: "The flame graph needs scripts; the table of sections below holds the same figures.",
        caption: caption.into(),
    });
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
        .column(Shown::TEXT, "", "", |(.., name)| Cell::Plain(name.clone()))
        .column(Shown::TEXT, ">calls", "", |(row, ..)| count(row.stats.count).short())
        .column(Shown::TEXT, ">total", "", |(row, ..)| ns(row.stats.total).short())
        .column(Shown::TEXT, ">self", "", |(row, ..)| ns(own_ns(row)).short())
        .column(Shown::TEXT, ">p50", "", |(row, ..)| ns(row.stats.p50).short())
        .column(Shown::TEXT, ">p95", "", |(row, ..)| ns(row.stats.p95).short())
        .column(Shown::TEXT, ">share", "", |(row, ..)| share(share_of(row)).short().or_empty())
        .column(Shown::TEXT, ">alloc", "", |(row, ..)| alloc(row))
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
