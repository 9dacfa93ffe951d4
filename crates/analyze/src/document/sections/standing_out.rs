//! Sections that vary, that were suspended, that are longest or called most: short lists.

use std::cmp::Reverse;

use super::{own, own_ns};
use crate::document::cell::{UNKNOWN, bar, count, ns, path, share};
use crate::document::{Cell, Document, Palette, Shown};
use crate::report::Report;
use crate::summary::SectionRow;

/// Rows of the lists of sections that stand out.
const STANDING_OUT: usize = 10;

/// Suspended sections, and the share of its time from which a section's idleness is worth a line.
const SUSPENDED: usize = 8;
const IDLE: f64 = 0.01;

/// The most variable sections of a terminal, and the MAD of the median below which one is not called variable.
const VARIABLE_ROWS: usize = 5;
const VARIABLE: f64 = 0.1;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    variable(report, doc);
    suspended(report, doc);
    ranked(report, doc);
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
        .column(Shown::TEXT, "", "", |(row, _)| Cell::Plain(row.path.clone()))
        .column(Shown::TEXT, ">MAD/p50", "", |(_, spread)| share(*spread))
        .column(Shown::TEXT, ">p50", "", |(row, _)| ns(row.stats.p50).short())
        .column(Shown::TEXT, ">p95", "", |(row, _)| ns(row.stats.p95).short())
        .column(Shown::TEXT, ">max", "", |(row, _)| ns(row.stats.max).short())
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
        .column(Shown::TEXT, "", "", |(path, ..)| Cell::Plain((*path).clone()))
        .column(Shown::TEXT, ">calls", "", |(_, idle, ..)| count(idle.spans).short())
        .column(Shown::TEXT, ">busy", "", |(.., busy, _)| ns(busy.map(|busy| busy.sum)).short())
        .column(Shown::TEXT, ">idle", "", |(_, idle, ..)| ns(idle.sum).short())
        .column(Shown::TEXT, ">idle %", "", |(.., part)| part.map_or(UNKNOWN, |part| share(part).short()))
        .end();
    doc.more(Shown::TEXT, rows.len(), SUSPENDED, ("with less idle time", "with less idle time"));
}

/// Sections in three orders that the table of all would have to be sorted by: own time, how often they are called, how much
/// they vary. Short lists, for those who read or print the page.
fn ranked(report: &Report, doc: &mut Document) {
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
