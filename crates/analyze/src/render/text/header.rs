//! The head of the text report: verdict, run, step time, throughput.

use super::page::{Look, Page};
use super::width::left;
use crate::loaders::InputVerdict;
use crate::render::common::modes::of_all_ranks;
use crate::render::common::spread;
use crate::report::units::{byte_rate, count, duration, rate, things};
use crate::report::{Report, Run, doubtful_files};
use crate::summary::Throughput;

pub(super) fn render(report: &Report, page: &mut Page) {
    let summary = &report.summary;
    let severe = report.max_severity().unwrap_or(0.0) >= super::findings::NOTICE;
    let look = match summary.input.verdict {
        InputVerdict::High => Look::Alarm,
        InputVerdict::Moderate => Look::Notice,
        _ if !doubtful_files(&report.read_issues).is_empty() => Look::Notice,
        InputVerdict::No if !severe => Look::Good,
        _ => Look::Heading,
    };
    page.paragraph(look, "", &summary.verdict);
    if !report.has_run() {
        return;
    }
    page.blank();
    run(report, page);
    if let Some(time) = summary.step_time.as_ref().filter(|_| summary.steps > 0) {
        let parts = spread::parts(time);
        // Which steps are left of a bounded directory is no matter of chance.
        let of = summary
            .coverage
            .partly_read()
            .map(|_| format!(" (of the {} read)", things(summary.steps, "step", "steps")));
        page.paragraph(
            Look::Plain,
            "Step time   ",
            &format!("{}{}", parts.join(", "), of.unwrap_or_default()),
        );
    }
    let parts = throughput(&summary.throughput, report.run.ranks, summary.coverage.partly_read().is_some());
    if !parts.is_empty() {
        page.paragraph(Look::Plain, "Throughput  ", &parts.join(", "));
    }
    for other in report.detailed_metrics.modes.iter().filter(|row| Some(row.mode.as_str()) != summary.mode) {
        let stats = &other.steady;
        let shown = [("p50", stats.p50), ("p95", stats.p95), ("longest", stats.max)];
        let read = if summary.coverage.partly_read().is_some() { " read" } else { "" };
        let steps = things(stats.count, "step", "steps");
        let mut parts = vec![format!("{steps}{read}{}", warmup(other.warmup.steps))];
        parts.extend(shown.iter().filter_map(|(name, ns)| ns.map(|ns| format!("{name} {}", duration(ns)))));
        page.paragraph(Look::Plain, &format!("{} ", left(other.mode.as_str(), 11)), &parts.join(", "));
    }
}

fn run(report: &Report, page: &mut Page) {
    let run = &report.run;
    let summary = &report.summary;
    let mut who = vec![report.run_name().to_owned()];
    if run.attempt > 0 {
        who.push(format!("attempt {}", run.attempt));
    }
    who.extend(run.service.clone().filter(|service| Some(service) != run.id.as_ref()));
    if let Some(host) = &run.host {
        who.push(if run.hosts.len() > 1 {
            format!("{} hosts", run.hosts.len())
        } else {
            format!("on {host}")
        });
    }
    page.paragraph(Look::Plain, "Run         ", &who.join(", "));
    let mut what = Vec::new();
    if let Some(mode) = summary.mode {
        let kind = if mode == "train" { String::new() } else { format!("{mode} ") };
        let steps = things(summary.steps, "step", "steps");
        let of = of_all_ranks(run);
        what.push(format!("{kind}{steps}{of}{}", warmup(summary.warmup_steps)));
        what.extend(
            summary
                .coverage
                .partly_read()
                .map(|(read, all)| format!("{} of {} read", count(read), count(all))),
        );
    }
    if run.epochs_started > 0 {
        what.push(match (run.epochs_started, run.epochs_ended) {
            (started, ended) if started == ended => things(started, "epoch", "epochs"),
            (started, ended) => {
                format!("{} begun, {} ended", things(started, "epoch", "epochs"), count(ended))
            }
        });
    }
    what.push(ranks(run));
    what.extend(run.elapsed_ns.map(duration));
    what.push(match (run.ended, run.ended_by) {
        (Some(true), Some(signal)) => format!("ended by {signal}"),
        (Some(true), None) => "ended".into(),
        (Some(false), Some(signal)) => format!("did not end (some ranks ended by {signal})"),
        (Some(false), None) => "did not end".into(),
        (None, _) => "end not known".into(),
    });
    page.paragraph(Look::Plain, "            ", &what.join(", "));
}

/// ` (and 2 of warm-up, left out)`.
fn warmup(steps: u64) -> String {
    match steps {
        0 => String::new(),
        steps => format!(" (and {} of warm-up, left out)", count(steps)),
    }
}

fn ranks(run: &Run) -> String {
    let read = things(run.ranks, "rank", "ranks");
    match run.world_size.and_then(|size| u64::try_from(size).ok()) {
        Some(size) if size > run.ranks => format!("{read} of {}", count(size)),
        _ => read,
    }
}

/// Rates by the clock are those of the steps read, so they are lower bounds where others were done meanwhile.
fn throughput(done: &Throughput, ranks: u64, is_bound: bool) -> Vec<String> {
    let mut parts = Vec::new();
    let place = if ranks > 1 { "inside steps on each rank" } else { "inside steps" };
    let bound = if is_bound { "at least " } else { "" };
    let kinds = [
        ("samples", done.samples_per_second, done.samples_per_step_second),
        ("tokens", done.tokens_per_second, done.tokens_per_step_second),
    ];
    for (name, elapsed, stepping) in kinds {
        let inside = stepping.map(|inside| format!("{} {place}", rate(inside, name)));
        match elapsed {
            Some(per_second) => {
                let inside = inside.map(|inside| format!(" ({inside})"));
                parts.push(format!("{bound}{}{}", rate(per_second, name), inside.unwrap_or_default()));
            }
            // Of some steps it is not known.
            None => parts.extend(inside),
        }
    }
    if let Some(bytes) = done.bytes_per_second.filter(|rate| rate.is_finite() && *rate >= 0.0) {
        parts.push(format!("{bound}{}", byte_rate(bytes)));
    }
    parts.extend(done.steps_per_second.map(|per_second| format!("{bound}{}", rate(per_second, "steps"))));
    parts
}
