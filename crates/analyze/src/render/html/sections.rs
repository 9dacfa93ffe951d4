//! The sections: a flame graph, which the script draws from the table, and the table, which is its accessible form.

use serde_json::{Value, json};

use super::page::{bytes, close, code, count, escape, ns, open, paragraph, path, place, share, table_with};
use crate::render::common::names::{named_path, printable, shortened};
use crate::report::Report;
use crate::summary::{PhaseName, SectionRow};

/// Rows of the document, which reads without scripts; what is beyond is in the data, in a tenth of the space.
const ROWS: usize = 120;

/// Where the script puts the flame graph. Without scripts the table below says the same.
pub(super) fn flame(report: &Report, out: &mut String) {
    if report.sections.is_empty() {
        return;
    }
    open("flame", "Flame graph", out);
    out.push_str(
            "<noscript><p>The flame graph needs scripts; the table of sections below holds the same figures.</p></noscript>\n\
             <div id=\"flame-tools\" class=\"tools\" hidden></div>\n\
             <div id=\"flame-graph\" hidden></div>\n<p id=\"flame-said\" class=\"said\" role=\"status\"></p>\n",
        );
    let of_steps = if report.has_steps() {
        " It adds up all steps that were read, of every mode and with warm-up: shares can differ from those of the verdict, \
         which is about one mode after warm-up."
    } else {
        ""
    };
    paragraph(
        &format!(
            "The wider, the longer: time of all calls, children below (callers below, where that is chosen). Children that \
             ran at the same time as each other share the width of their parent. What is too saturate to be seen is one box \
             together.{of_steps} The table of sections holds the same in words."
        ),
        out,
    );
    close(out);
}

/// Places of the sections, longest total first.
fn order(report: &Report) -> impl Iterator<Item = (usize, &SectionRow)> {
    let mut order: Vec<(usize, &SectionRow)> = report.sections.iter().enumerate().collect();
    order.sort_by_key(|(_, row)| (std::cmp::Reverse(row.stats.total), &row.path));
    order.into_iter()
}

/// The sections beyond those that the document holds, for the script: place, path, phase, kind, which figure is its own
/// time, then the columns.
pub(super) fn rest(report: &Report) -> Vec<Value> {
    let row = |(at, row): (usize, &SectionRow)| {
        let (own, own_ns) = match row.self_ns {
            Some(_) => ("self_ns", row.self_ns),
            None => ("self_busy_ns", row.self_busy_ns),
        };
        let alloc = row.memory.as_ref();
        json!([
            at,
            printable(&row.path),
            row.phase.as_ref().map(|phase| printable(phase.as_str())),
            row.kind.as_str(),
            own,
            [
                json!(row.stats.count),
                json!(row.stats.total),
                json!(own_ns),
                json!(row.stats.p50),
                json!(row.stats.p95),
                json!(row.stats.max),
                json!(row.stats.cv),
                json!(alloc.map(|alloc| alloc.alloc_bytes)),
                json!(alloc.and_then(|alloc| alloc.peak_bytes)),
                json!(row.errors),
            ]
        ])
    };
    order(report).skip(ROWS).map(row).collect()
}

pub(super) fn table(report: &Report, out: &mut String) {
    if report.sections.is_empty() {
        return;
    }
    open("sections", "Sections", out);
    out.push_str("<div id=\"section-tools\" class=\"tools\" hidden></div>\n");
    let rows = order(report).take(ROWS).map(|(at, row)| {
        let phase = row.phase.as_ref().map(PhaseName::as_str);
        // Where the name of the row is not the path, it is said beside it.
        let named = named_path(&row.path);
        let other = match shortened(&named) == row.path {
            true => String::new(),
            false => format!(" data-path=\"{}\"", escape(&printable(&row.path))),
        };
        let place = place(&format!("sections/{at}"));
        let attributes = format!("{place}{other} data-kind=\"{}\"", row.kind.as_str());
        let alloc = row.memory.as_ref();
        let cells = [
            path(&named),
            phase.map(code).unwrap_or_default(),
            count("", row.stats.count),
            ns("", row.stats.total),
            match row.self_ns {
                Some(_) => ns("", row.self_ns),
                None => ns("self_busy_ns", row.self_busy_ns),
            },
            ns("", row.stats.p50),
            ns("", row.stats.p95),
            ns("", row.stats.max),
            share("", row.stats.cv),
            bytes("", alloc.map(|alloc| alloc.alloc_bytes)),
            bytes("", alloc.and_then(|alloc| alloc.peak_bytes)),
            count("", row.errors),
        ];
        (attributes, cells)
    });
    table_with(
        " id=\"section-table\"",
        "Sections by time",
        [
            ("Section", ""),
            ("Phase", ""),
            (">Calls", "count"),
            (">Total", "total"),
            (">Self", "self_ns"),
            (">Median", "p50"),
            (">p95", "p95"),
            (">Longest", "max"),
            (">CV", "cv"),
            (">Allocated", "alloc/alloc_bytes"),
            (">Peak", "alloc/peak_bytes"),
            (">Errors", "errors"),
        ],
        rows,
        out,
    );
    let more = report.sections.len().saturating_sub(ROWS);
    if more > 0 {
        out.push_str(&format!(
            "<p id=\"section-more\">{} more sections need scripts to be shown; the JSON and CSV reports hold them too.</p>\n",
            crate::report::units::count(more as u64)
        ));
    }
    out.push_str("<p id=\"section-said\" class=\"said\" role=\"status\"></p>\n");
    close(out);
}
