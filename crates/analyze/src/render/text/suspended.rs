//! Sections that were suspended: open, but for a while entered on no thread, as async ones are at each `await`.

use std::cmp::Reverse;

use super::page::{Look, Page, tight_percent};
use super::width::{left, printable, right};
use crate::report::units::{short_count, short_duration};
use crate::report::{Report, Section};
use crate::summary::FigureSum;

/// Sections shown.
const ROWS: usize = 8;
const NAME: usize = 44;

/// A suspended section, its idle and its busy time.
type Suspended<'a> = (&'a Section, FigureSum, Option<FigureSum>);

pub(super) fn render(report: &Report, page: &mut Page) {
    let mut rows: Vec<Suspended<'_>> = report
        .sections
        .iter()
        .filter_map(|section| Some((section, section.idle_ns.filter(|idle| idle.sum > 0)?, section.busy_ns)))
        .collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| (Reverse(a.1.sum), &a.0.path).cmp(&(Reverse(b.1.sum), &b.0.path)));
    page.heading("Suspended sections (open, but not running: async, mostly)");
    page.line(Look::Dim, &row("", ["calls", "busy", "idle", "idle %"].map(str::to_owned)));
    for (section, idle, busy) in rows.iter().take(ROWS) {
        let open_ns = busy.map(|busy| busy.sum.saturating_add(idle.sum)).filter(|&open_ns| open_ns > 0);
        let cells = [
            short_count(idle.spans),
            busy.map_or_else(|| "-".into(), |busy| short_duration(busy.sum)),
            short_duration(idle.sum),
            open_ns.map_or_else(|| "-".into(), |open_ns| tight_percent(idle.sum as f64 / open_ns as f64)),
        ];
        page.plain(&row(&printable(&section.path), cells));
    }
    page.more(rows.len(), ROWS, "with less idle time");
}

fn row(name: &str, cells: [String; 4]) -> String {
    let mut line = left(name, NAME);
    for (cell, columns) in cells.iter().zip([6, 8, 8, 6]) {
        line.push(' ');
        line.push_str(&right(cell, columns));
    }
    line
}
