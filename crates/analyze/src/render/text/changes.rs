//! Where step times change.

use super::page::{Look, Page};
use crate::render::common::changes::{because, how_much_of_it, much, shown, steps};
use crate::report::Report;
use crate::report::units::duration;

/// Changes shown.
const ROWS: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    let all = shown(report).count();
    if all == 0 {
        return;
    }
    page.heading("Changes of the step time");
    for (_, change) in shown(report).take(ROWS) {
        let mut text = format!(
            "from {}: {}, {} → {}",
            steps(change),
            much(change),
            duration(change.before_ns),
            duration(change.after_ns)
        );
        let because = because(change);
        if !because.is_empty() {
            text.push_str(&format!("; {}: {because}", how_much_of_it(change)));
        }
        page.paragraph(Look::Plain, "  ", &text);
    }
    page.more(all, ROWS, "change", "changes");
}
