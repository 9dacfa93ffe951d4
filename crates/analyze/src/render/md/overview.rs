//! The head: verdict, run, step time, throughput.

use super::super::common::{modes, recording::ended_in_order, spread};
use super::page::{Page, code, known, prose};
use crate::report::units::{byte_rate, count, duration, percent, rate, things};
use crate::report::{Report, coverage};
use crate::summary::Throughput;

pub(super) fn render(report: &Report, page: &mut Page) {
    let summary = &report.summary;
    page.heading(2, &prose(&summary.verdict));
    if !report.has_run() {
        return;
    }
    let mut rows = vec![row("Run", who(report))];
    if let Some(mode) = summary.mode {
        rows.push(row(
            "Steps",
            format!("{} ({mode}){}", count(summary.steps), modes::of_all_ranks(&report.run)),
        ));
        rows.extend(coverage::read(&summary.coverage).map(|text| row("Read", text)));
        rows.push(row("Warm-up steps, left out", count(summary.warmup_steps)));
    }
    rows.push(row("Ranks", known(Some(report.run.ranks), count)));
    rows.extend(report.run.elapsed_ns.map(|ns| row("Elapsed", duration(ns))));
    rows.push(row("Ended in order", ended_in_order(&report.run)));
    if let Some(time) = summary.step_time.as_ref().filter(|_| summary.steps > 0) {
        let text = spread::parts(time);
        let of = summary
            .coverage
            .partly_read()
            .map(|_| format!(" (of the {} read)", things(summary.steps, "step", "steps")));
        rows.push(row("Step time", format!("{}{}", text.join(", "), of.unwrap_or_default())));
    }
    rows.extend(throughput(&summary.throughput).map(|text| row("Throughput", text)));
    page.table(["", ""], rows);
    modes(report, page);
}

/// Steps of all modes, where there are several.
fn modes(report: &Report, page: &mut Page) {
    let rows = modes::several(report).into_iter().map(|(_, mode, share)| {
        let stats = &mode.steady;
        [
            code(mode.mode.as_str()),
            count(stats.count),
            known(stats.p50, duration),
            known(stats.p95, duration),
            known(stats.mean, |mean| duration(mean.round() as u64)),
            known(stats.max, duration),
            duration(mode.steady_ns),
            percent(share),
        ]
    });
    page.table(["Mode", ">Steps", ">p50", ">p95", ">Mean", ">Longest", ">Time", ">Share"], rows);
}

fn row(name: &str, text: String) -> [String; 2] {
    [name.into(), text]
}

fn who(report: &Report) -> String {
    let run = &report.run;
    let mut parts = vec![run.id.as_deref().map_or_else(|| prose(report.run_name()), code)];
    if run.attempt > 0 {
        parts.push(format!("attempt {}", run.attempt));
    }
    parts.extend(run.service.as_deref().filter(|service| Some(*service) != run.id.as_deref()).map(code));
    parts.extend(run.host.as_deref().map(|host| match run.hosts.len() {
        0 | 1 => format!("on {}", code(host)),
        hosts => format!("on {hosts} hosts"),
    }));
    parts.join(", ")
}

fn throughput(done: &Throughput) -> Option<String> {
    let rates = [
        ("samples", done.samples_per_second),
        ("tokens", done.tokens_per_second),
        ("steps", done.steps_per_second),
    ];
    let mut parts: Vec<String> =
        rates.iter().filter_map(|(name, per_second)| per_second.map(|value| rate(value, name))).collect();
    let transfer = done.bytes_per_second.filter(|value| value.is_finite() && *value >= 0.0);
    parts.extend(transfer.map(byte_rate));
    (!parts.is_empty()).then(|| parts.join(", "))
}
