//! The slowest steps, each with the phases it spent its time in, and the traces worth opening.

use super::page::{Look, Page, tight_percent};
use super::width::right;
use crate::render::common::periods;
use crate::report::Report;
use crate::report::units::{count, duration, every_step, short_duration};
use crate::summary::{Example, ExampleRole};

/// Steps shown.
const ROWS: usize = 5;
/// Phases shown of each.
const PHASES: usize = 3;

pub(super) fn render(report: &Report, page: &mut Page) {
    let Some(mode) =
        report.detailed_metrics.modes.iter().find(|row| Some(row.mode.as_str()) == report.summary.mode)
    else {
        return;
    };
    let ranks = report.ranks.len() > 1;
    if mode.slowest.is_empty() || mode.steady.count < 2 {
        return;
    }
    page.heading("Slowest steps");
    let rank_head = if ranks { "   rank" } else { "" };
    page.line(Look::Dim, &format!("{:>10}{rank_head} {:>9} {:>7}  where", "step", "time", "x p50"));
    for step in mode.slowest.iter().take(ROWS) {
        let number = step.step.map_or_else(|| "-".into(), count);
        let rank = match (ranks, step.rank) {
            (false, _) => String::new(),
            (true, Some(rank)) => format!(" {}", right(&rank.to_string(), 6)),
            (true, None) => " ".repeat(7),
        };
        let ratio = mode.steady.p50.filter(|&p50| p50 > 0).map(|p50| step.duration_ns as f64 / p50 as f64);
        let mut phases: Vec<String> = step
            .phases
            .iter()
            .filter(|part| part.exposed_ns > 0)
            .take(PHASES)
            .map(|part| {
                let share = part.exposed_ns as f64 / step.duration_ns.max(1) as f64;
                format!("{} {}", part.phase, tight_percent(share))
            })
            .collect();
        phases.extend(periods::every(report, mode.mode, step.step).map(every_step));
        page.plain(&format!(
            "{}{rank} {} {}  {}",
            right(&number, 10),
            right(&short_duration(step.duration_ns), 9),
            right(&ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.1}")), 7),
            phases.join(", ")
        ));
    }
    if let Some(slowest) = mode.slowest.first() {
        page.plain(&format!("  slowest step: trace {}", slowest.trace_id));
    }
    let is_median =
        |example: &&Example| example.mode == mode.mode && example.roles.contains(&ExampleRole::Median);
    if let Some(Example { step, .. }) = report.examples.iter().find(is_median) {
        let number = step.step.map_or_else(|| "-".into(), count);
        page.plain(&format!(
            "  median step:  trace {} (step {number}, {})",
            step.trace_id,
            duration(step.duration_ns)
        ));
    }
}
