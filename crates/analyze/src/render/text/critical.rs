//! What held up the end of the steps: the critical path by section, what could have taken longer, and what the
//! waits for batches were for.

use super::page::{Look, Page};
use super::width::{elide, left, right};
use crate::render::common::hedge;
use crate::render::common::names::named_path;
use crate::render::common::windows::held_up;
use crate::report::Report;
use crate::report::units::{count, duration, percent, things};
use crate::summary::{CriticalPath, CriticalSection, WaitParts};

/// Sections shown on the path, and beside it.
const ON_PATH: usize = 8;
const BESIDE: usize = 3;
const NAME: usize = 46;
/// Share below which a section is left out.
const SMALL: f64 = 0.005;

pub(super) fn render(report: &Report, page: &mut Page) {
    let Some(critical) = &report.critical_path else { return };
    let warmup =
        if report.summary.warmup_steps > 0 && critical.mode.is_some() { "; warm-up included" } else { "" };
    // Of steps times are means; of traces, which may be of anything, sums.
    let (divisor, sum) = match critical.mode {
        None if critical.windows > 1 => (1, format!(", {} in all", duration(critical.total_ns))),
        _ => (critical.windows.max(1), String::new()),
    };
    let ends = held_up(critical, &count(critical.windows));
    page.heading(&format!("Critical path (what held up {ends}{sum}{warmup})"));
    let row = |name: &str, share: f64, ns: u64| {
        let name = left(&elide(name, NAME), NAME);
        format!("  {name} {} {}", right(&percent(share), 8), right(&duration(ns / divisor), 10))
    };
    let large = critical.sections.iter().filter(|row| row.share >= SMALL).take(ON_PATH);
    for section in large.clone() {
        page.plain(&row(&named_path(&section.path), section.share, section.on_path_ns));
    }
    let on_path = critical.sections.iter().filter(|row| row.on_path_ns > 0).count();
    match large.count() {
        0 if on_path > 0 => {
            let text = format!(
                "  {}, each for less than {}",
                things(on_path as u64, "section", "sections"),
                percent(SMALL)
            );
            page.line(Look::Dim, &format!("{text} (--format json has them all)"));
        }
        shown => page.more(on_path, shown, "section", "sections"),
    }
    let other = 1.0 - critical.explained_share;
    if other >= SMALL {
        let name = format!("(the {} itself, in no section)", critical.window);
        page.plain(&row(&name, other, critical.other_ns));
    }
    beside(critical, page);
    if let Some(parts) = &critical.waits {
        waits(parts, page);
    }
    if let Some(through) = &critical.through_batches {
        let (linked, making) = (duration(through.linked_ns), duration(through.making_ns));
        if let Some(text) = hedge::through_batches(through, &linked, &making) {
            page.paragraph(Look::Plain, "  ", &text);
        }
    }
}

/// Sections that were never on the path and had room worth telling, those with least first.
fn beside(critical: &CriticalPath, page: &mut Page) {
    let mut rows: Vec<(u64, &CriticalSection)> = critical
        .sections
        .iter()
        .filter(|row| row.on_path_calls == 0)
        .filter_map(|row| Some((row.slack_mean_ns?, row)))
        .filter(|(slack_ns, row)| {
            slack_ns.saturating_mul(row.beside_calls) as f64 >= SMALL * critical.total_ns as f64
        })
        .collect();
    rows.sort_by(|a, b| (a.0, &a.1.path).cmp(&(b.0, &b.1.path)));
    for (slack_ns, row) in rows.into_iter().take(BESIDE) {
        let text = format!("{} (could end {} later on average)", named_path(&row.path), duration(slack_ns));
        page.paragraph(Look::Dim, "  beside it: ", &text);
    }
}

fn waits(parts: &WaitParts, page: &mut Page) {
    let total_ns = parts.behind_ns.saturating_add(parts.making_ns).saturating_add(parts.handover_ns);
    let named = [
        (parts.making_ns, "its batch was being made"),
        (parts.behind_ns, "its loader had not begun it"),
        (parts.handover_ns, "it was made and on its way"),
    ];
    let said: Vec<String> = named
        .iter()
        .filter(|(ns, _)| *ns > 0)
        .map(|(ns, what)| format!("{} {what}", percent(*ns as f64 / total_ns as f64)))
        .collect();
    if !said.is_empty() {
        let waits = things(parts.waits, "wait", "waits");
        let text = format!("of the time of {waits} for a batch: {}", said.join("; "));
        page.paragraph(Look::Plain, "  ", &text);
    }
}
