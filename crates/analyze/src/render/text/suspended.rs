//! Sections that were suspended: open, but for a while entered on no thread, as async ones are at each `await`.

use std::cmp::Reverse;

use super::page::{Look, Page, known, tight_percent};
use super::width::{left, right};
use crate::render::common::names::printable;
use crate::report::Report;
use crate::report::units::{short_count, short_duration};
use crate::summary::{FigureSum, SectionRow};

/// Sections shown.
const ROWS: usize = 8;
const NAME: usize = 44;
/// Share of its time from which a section's idleness is worth a line: below it, it was hardly suspended.
const IDLE: f64 = 0.01;

/// A suspended section.
struct Suspended<'a> {
    path: &'a str,
    idle: FigureSum,
    busy: Option<FigureSum>,
    /// Idle share of the time in which it was open.
    share: Option<f64>,
}

impl<'a> Suspended<'a> {
    fn of(section: &'a SectionRow) -> Option<Self> {
        let (idle, busy) = (section.idle_ns.filter(|idle| idle.sum > 0)?, section.busy_ns);
        let share = busy.map(|busy| idle.sum as f64 / busy.sum.saturating_add(idle.sum) as f64);
        Some(Self { path: &section.path, idle, busy, share })
    }
}

pub(super) fn render(report: &Report, page: &mut Page) {
    let suspended =
        |section| Suspended::of(section).filter(|row| row.share.is_none_or(|share| share >= IDLE));
    let mut rows: Vec<Suspended<'_>> = report.sections.iter().filter_map(suspended).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|row| (Reverse(row.idle.sum), row.path));
    page.heading("Suspended sections (open, but not running: async, mostly)");
    page.line(Look::Dim, &row("", ["calls", "busy", "idle", "idle %"].map(str::to_owned)));
    for suspended in rows.iter().take(ROWS) {
        let cells = [
            short_count(suspended.idle.spans),
            known(suspended.busy, |busy| short_duration(busy.sum)),
            short_duration(suspended.idle.sum),
            known(suspended.share, tight_percent),
        ];
        page.plain(&row(&printable(suspended.path), cells));
    }
    page.more(rows.len(), ROWS, "with less idle time", "with less idle time");
}

fn row(name: &str, cells: [String; 4]) -> String {
    let mut line = left(name, NAME);
    for (cell, columns) in cells.iter().zip([6, 8, 8, 6]) {
        line.push(' ');
        line.push_str(&right(cell, columns));
    }
    line
}
