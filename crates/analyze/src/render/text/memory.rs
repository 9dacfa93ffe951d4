//! Memory over the steps.

use super::page::{Look, Page};
use super::width::left;
use crate::accumulate::saturate::saturate_signed;
use crate::report::Report;
use crate::report::units::{bytes, signed_bytes};
use crate::summary::TrendPair;

/// Processes shown.
const PROCESSES: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    let Some(memory) = &report.memory else { return };
    let at_steps = memory.live.is_some() || memory.rss.is_some();
    page.heading(if at_steps { "Memory (at the ends of steps)" } else { "Memory" });
    let is_live_known = memory.processes.iter().any(|process| process.live_max_bytes.is_some());
    for (name, pair) in [("live", &memory.live), ("resident", &memory.rss)] {
        match pair {
            Some(pair) => page.paragraph(Look::Plain, &format!("  {} ", left(name, 9)), &line(pair)),
            None if name == "live" && !is_live_known => page.paragraph(
                Look::Dim,
                "  live      ",
                "not recorded: install `stepscope::Alloc` as the global allocator",
            ),
            None => {}
        }
    }
    for process in memory.processes.iter().take(PROCESSES) {
        let parts: Vec<String> = [
            process.rss_max_bytes.map(|size| format!("resident at most {}", bytes(size))),
            process.live_max_bytes.map(|size| format!("live at most {}", bytes(size))),
        ]
        .into_iter()
        .flatten()
        .collect();
        let who = process.rank.map_or_else(|| "process".into(), |rank| format!("rank {rank}"));
        if !parts.is_empty() {
            page.paragraph(Look::Plain, &format!("  {} ", left(&who, 9)), &parts.join(", "));
        }
    }
    page.more(memory.processes.len(), PROCESSES, "process", "processes");
}

fn line(pair: &TrendPair) -> String {
    let change = saturate_signed(i128::from(pair.last_bytes) - i128::from(pair.first_bytes));
    let mut text = format!(
        "{} at first, {} at last ({}), {} at most",
        bytes(pair.first_bytes),
        bytes(pair.last_bytes),
        signed_bytes(change),
        bytes(pair.max_bytes)
    );
    if let Some(trend) = pair.whole.filter(|trend| trend.slope_per_step.abs() >= 0.5 && trend.is_clear()) {
        text.push_str(&format!("; {} a step", signed_bytes(trend.slope_per_step.round() as i64)));
    }
    text
}
