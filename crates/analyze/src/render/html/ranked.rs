//! Sections in three orders that the table of all would have to be sorted by: own time, how much they vary, how often
//! they are called. Short lists, for those who read or print the page.

use std::cmp::Reverse;

use super::page::{close, count, ns, open, path, share, table};
use super::palette::Palette;
use super::svg;
use crate::render::common::names::named_path;
use crate::report::Report;
use crate::summary::SectionRow;

/// Rows of each list.
const ROWS: usize = 10;

pub(super) fn render(report: &Report, out: &mut String) {
    if report.detailed_metrics.slowest_sections.is_empty() {
        return;
    }
    let frequent = frequent(report);
    let title = if frequent.is_empty() {
        "Longest and most variable sections"
    } else {
        "Longest, most frequent and most variable sections"
    };
    open("ranked", title, out);
    let palette = Palette::of(report);
    // A bar is as long as its section's part of the longest one of the list.
    let bar = |row: &SectionRow, value: u64, longest: u64| {
        svg::bar(value as f64 / longest.max(1) as f64, &palette.of_phase(row.phase.as_ref()))
    };
    let metrics = &report.detailed_metrics;
    let own = |row: &SectionRow| row.self_ns.or(row.self_busy_ns);
    let slowest = of(report, &metrics.slowest_sections);
    let longest = slowest.iter().filter_map(|(_, row)| own(row)).max().unwrap_or(0);
    let rows = slowest.into_iter().filter_map(|(at, row)| {
        let name = if row.self_ns.is_some() { "self_ns" } else { "self_busy_ns" };
        let own = own(row).filter(|own| *own > 0)?;
        let cells = [
            path(&named_path(&row.path)),
            bar(row, own, longest),
            ns(name, own),
            count("count", row.stats.count),
        ];
        Some((format!("sections/{at}"), cells))
    });
    table("Sections with most time of their own", ["Section", "Own time", ">Self", ">Calls"], rows, out);
    let most = frequent.first().map_or(0, |(_, row)| row.stats.count);
    let rows = frequent.into_iter().map(|(at, row)| {
        let cells = [
            path(&named_path(&row.path)),
            bar(row, row.stats.count, most),
            count("count", row.stats.count),
            ns("p50", row.stats.p50),
            ns("total", row.stats.total),
        ];
        (format!("sections/{at}"), cells)
    });
    table(
        "Sections that are called most",
        ["Section", "How often", ">Calls", ">Median", ">Total"],
        rows,
        out,
    );
    let rows = of(report, &metrics.most_variable_sections).into_iter().map(|(at, row)| {
        let cells = [
            path(&named_path(&row.path)),
            share("robust_cv", row.stats.robust_cv),
            share("cv", row.stats.cv),
            ns("p50", row.stats.p50),
            ns("p95", row.stats.p95),
            ns("max", row.stats.max),
        ];
        (format!("sections/{at}"), cells)
    });
    table(
        "Sections whose durations vary most",
        ["Section", ">Robust CV", ">CV", ">Median", ">p95", ">Longest"],
        rows,
        out,
    );
    close(out);
}

/// The sections that are called most, with their places; none where all of these are called alike.
fn frequent(report: &Report) -> Vec<(usize, &SectionRow)> {
    let mut all: Vec<(usize, &SectionRow)> =
        report.sections.iter().enumerate().filter(|(_, row)| row.is_part()).collect();
    all.sort_by_key(|(_, row)| (Reverse(row.stats.count), Reverse(row.stats.total), &row.path));
    all.truncate(ROWS);
    let calls = |row: Option<&(usize, &SectionRow)>| row.map(|(_, row)| row.stats.count);
    if calls(all.first()) == calls(all.last()) { Vec::new() } else { all }
}

/// The first rows of a list of paths, with their places.
fn of<'a>(report: &'a Report, paths: &[String]) -> Vec<(usize, &'a SectionRow)> {
    let find = |path: &String| report.sections.iter().enumerate().find(|(_, row)| row.path == *path);
    paths.iter().take(ROWS).filter_map(find).collect()
}
