//! What run it is, its steps, their times and throughput.

use super::cell::{UNKNOWN, code, count, float, ns, number, share};
use super::{Cell, Document, Shown, Tone, Unit, cells, findings, recording};
use crate::loaders::InputVerdict;
use crate::report::units::{byte_rate, count as count_words, duration, percent, rate, things};
use crate::report::{Report, coverage, doubtful_files};
use crate::summary::{ModeSummary, Stats, Throughput};

/// How much the verdict stands out.
pub(super) fn tone(report: &Report) -> Tone {
    let severe = report.max_severity().unwrap_or(0.0) >= findings::NOTICE;
    match report.summary.input.verdict {
        InputVerdict::High => Tone::Alarm,
        InputVerdict::Moderate => Tone::Notice,
        _ if !doubtful_files(&report.read_issues, &report.inputs).is_empty() => Tone::Notice,
        InputVerdict::No if !severe => Tone::Good,
        _ => Tone::Strong,
    }
}

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if !report.has_run() {
        return;
    }
    doc.part("run", "", "The run");
    let facts = if doc.is(Shown::BRIEF) { brief(report) } else { facts(report) };
    doc.blocks.push(super::Block::Facts(facts));
    modes(report, doc);
    if let Some(text) = coverage::read(&report.summary.coverage) {
        let because = coverage::unread_because(&report.summary.coverage);
        doc.say(Shown::HTML, Cell::Plain(format!("{text}. {because}")));
    }
}

/// Facts of a page.
fn facts(report: &Report) -> Vec<(Cell, Cell)> {
    let (run, summary) = (&report.run, &report.summary);
    let mut facts: Vec<(&str, Cell)> = Vec::new();
    if let Some(mode) = summary.mode {
        let steps = count(summary.steps).at("summary/steps");
        facts.extend([
            ("Input share", share(summary.input.share).at("summary/input/share")),
            ("Steps", cells![steps, format!(" ({mode}){}", of_all_ranks(report))]),
            ("Warm-up, left out", count(summary.warmup_steps).at("summary/warmup_steps")),
        ]);
    }
    if let Some(time) = summary.step_time.as_ref().filter(|_| summary.steps > 0) {
        let scatter = match time.mad_is_below() {
            Some(_) => Cell::Words(mad(time).unwrap_or_default()),
            None => ns(time.mad).at("summary/step_time/mad"),
        };
        facts.extend([
            ("Median step", ns(time.p50).at("summary/step_time/p50")),
            ("p95 of steps", ns(time.p95).at("summary/step_time/p95")),
            ("p99 of steps", ns(time.p99).at("summary/step_time/p99")),
            ("MAD of steps", scatter),
            ("CV of steps", share(time.cv).at("summary/step_time/cv")),
        ]);
    }
    let done = &summary.throughput;
    let rates = [
        ("Samples", "samples_per_second", done.samples_per_second, Unit::Rate("samples")),
        ("Tokens", "tokens_per_second", done.tokens_per_second, Unit::Rate("tokens")),
        ("Step rate", "steps_per_second", done.steps_per_second, Unit::Rate("steps")),
        ("Bytes", "bytes_per_second", done.bytes_per_second.filter(|value| *value >= 0.0), Unit::ByteRate),
    ];
    for (title, name, value, unit) in rates.into_iter().filter(|(_, _, value, _)| value.is_some()) {
        facts.push((title, float(value, unit).at(format!("summary/throughput/{name}"))));
    }
    let world =
        run.world_size.map_or(Cell::Empty, |_| cells![" of ", number(run.world_size).at("run/world_size")]);
    let said = |value: &Option<String>| value.clone().map_or(UNKNOWN, Cell::Words);
    facts.extend([
        ("Elapsed", ns(run.elapsed_ns).at("run/elapsed_ns")),
        ("Epochs ended", count(run.epochs_ended).at("run/epochs_ended")),
        ("Processes", cells![count(run.ranks).at("run/ranks"), world]),
        ("Finished cleanly", recording::finished_cleanly(run).into()),
        ("Program", said(&run.service)),
        ("Host", said(&Some(run.hosts.join(", ")).filter(|hosts| !hosts.is_empty()))),
        ("Level", said(&run.level)),
    ]);
    facts.into_iter().map(|(title, cell)| (title.into(), cell)).collect()
}

/// Facts where there is little room: a line each.
fn brief(report: &Report) -> Vec<(Cell, Cell)> {
    let summary = &report.summary;
    let is_partly_read = summary.coverage.partly_read().is_some();
    let mut lines = vec![
        ("Run", who(report)),
        ("Steps", what(report)),
        ("Step time", step_time(report).into_iter().collect()),
        ("Throughput", throughput(&summary.throughput, ranks(report), is_partly_read)),
    ];
    for other in report.detailed_metrics.modes.iter().filter(|row| Some(row.mode.as_str()) != summary.mode) {
        let stats = &other.steady;
        let shown = [("p50", stats.p50), ("p95", stats.p95), ("longest", stats.max)];
        let read = if is_partly_read { " read" } else { "" };
        let steps = things(stats.count, "step", "steps");
        let mut parts = vec![format!("{steps}{read}{}", warmup(other.warmup.steps))];
        parts.extend(shown.iter().filter_map(|(name, ns)| ns.map(|ns| format!("{name} {}", duration(ns)))));
        lines.push((other.mode.as_str(), parts));
    }
    lines.retain(|(_, parts)| !parts.is_empty());
    lines.into_iter().map(|(title, parts)| (title.into(), Cell::Plain(parts.join(", ")))).collect()
}

/// The modes with their places, and each one's share of the time of all steps after warm-up; none where there is one mode.
fn several(report: &Report) -> Vec<(usize, &ModeSummary, f64)> {
    let modes = &report.detailed_metrics.modes;
    if modes.len() < 2 {
        return Vec::new();
    }
    let all_ns: u128 = modes.iter().map(|mode| u128::from(mode.steady_ns)).sum();
    let share = |mode: &ModeSummary| mode.steady_ns as f64 / all_ns.max(1) as f64;
    modes.iter().enumerate().map(|(at, mode)| (at, mode, share(mode))).collect()
}

/// Steps of all modes, where there are several.
fn modes(report: &Report, doc: &mut Document) {
    doc.table(Shown::TABLES, "Steps by mode, without warm-up", several(report))
        .at(|(at, ..)| format!("detailed_metrics/modes/{at}"))
        .column(Shown::TABLES, "Mode", "", |(_, mode, _)| code(mode.mode.as_str()))
        .column(Shown::TABLES, ">Steps", "steady/count", |(_, mode, _)| count(mode.steady.count))
        .column(Shown::TABLES, ">p50|Median", "steady/p50", |(_, mode, _)| ns(mode.steady.p50))
        .column(Shown::TABLES, ">p95", "steady/p95", |(_, mode, _)| ns(mode.steady.p95))
        .column(Shown::TABLES, ">Mean", "steady/mean", |(_, mode, _)| float(mode.steady.mean, Unit::Time))
        .column(Shown::TABLES, ">Longest", "steady/max", |(_, mode, _)| ns(mode.steady.max))
        .column(Shown::TABLES, ">Time", "steady_ns", |(_, mode, _)| ns(mode.steady_ns))
        .column(Shown::TABLES, ">Share", "", |(.., share)| Cell::Raw(percent(*share)))
        .end();
}

fn who(report: &Report) -> Vec<String> {
    let run = &report.run;
    let mut who = vec![report.run_name().to_owned()];
    if run.attempt > 0 {
        who.push(format!("attempt {}", run.attempt));
    }
    who.extend(run.service.clone().filter(|service| Some(service) != run.id.as_ref()));
    who.extend(run.host.as_ref().map(|host| match run.hosts.len() {
        0 | 1 => format!("on {host}"),
        hosts => format!("{hosts} hosts"),
    }));
    who
}

fn what(report: &Report) -> Vec<String> {
    let (run, summary) = (&report.run, &report.summary);
    let mut what = Vec::new();
    if let Some(mode) = summary.mode {
        let kind = if mode == "train" { String::new() } else { format!("{mode} ") };
        let steps = things(summary.steps, "step", "steps");
        what.push(format!("{kind}{steps}{}{}", of_all_ranks(report), warmup(summary.warmup_steps)));
        let read = summary.coverage.partly_read();
        what.extend(read.map(|(read, all)| format!("{} of {} read", count_words(read), count_words(all))));
    }
    if run.epochs_started > 0 {
        let epochs = things(run.epochs_started, "epoch", "epochs");
        what.push(match run.epochs_ended {
            ended if run.epochs_started == ended => epochs,
            ended => format!("{epochs} begun, {} ended", count_words(ended)),
        });
    }
    let number = ranks(report);
    let ranks = things(number, "rank", "ranks");
    what.push(match run.world_size.and_then(|size| u64::try_from(size).ok()) {
        Some(size) if size > number => format!("{ranks} of {}", count_words(size)),
        _ => ranks,
    });
    what.extend(run.elapsed_ns.map(duration));
    what.push(match (run.ended, run.ended_by) {
        (Some(true), Some(signal)) => format!("ended by {signal}"),
        (Some(true), None) => "ended".into(),
        (Some(false), Some(signal)) => format!("did not end (some ranks ended by {signal})"),
        (Some(false), None) => "did not end".into(),
        (None, _) => "end not known".into(),
    });
    what
}

/// How many processes do the steps. Another program's run may have some that help it, such as those that load its data.
fn ranks(report: &Report) -> u64 {
    let with_steps = report.ranks.iter().filter(|row| row.steps.count > 0).count() as u64;
    if report.run.is_foreign && with_steps > 0 { with_steps } else { report.run.ranks }
}

/// What is said behind a number of steps where several ranks did them, each its own; nothing of one.
fn of_all_ranks(report: &Report) -> &'static str {
    if ranks(report) > 1 { " of all ranks together" } else { "" }
}

/// ` (and 2 of warm-up, left out)`.
fn warmup(steps: u64) -> String {
    match steps {
        0 => String::new(),
        steps => format!(" (and {} of warm-up, left out)", count_words(steps)),
    }
}

/// Quantiles of the step times, and how far they scatter. Which steps are left of a bounded directory is no matter of chance.
fn step_time(report: &Report) -> Option<String> {
    let summary = &report.summary;
    let time = summary.step_time.as_ref().filter(|_| summary.steps > 0)?;
    let shown = [("p50", time.p50), ("p95", time.p95), ("p99", time.p99)];
    let mut parts: Vec<String> =
        shown.iter().filter_map(|(name, ns)| ns.map(|ns| format!("{name} {}", duration(ns)))).collect();
    parts.extend(mad(time).map(|words| format!("MAD {words}")));
    parts.extend(time.cv.map(|cv| format!("CV {}", percent(cv))));
    let of = summary
        .coverage
        .partly_read()
        .map_or_else(String::new, |_| format!(" (of the {} read)", things(summary.steps, "step", "steps")));
    Some(parts.join(", ") + &of)
}

/// The median deviation; where times are known to no finer than that, what it is below.
fn mad(time: &Stats) -> Option<String> {
    let below = || time.mad_is_below().map(|ns| format!("below {}", duration(ns)));
    time.mad.map(duration).or_else(below)
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
                let inside = inside.map_or_else(String::new, |inside| format!(" ({inside})"));
                parts.push(format!("{bound}{}{inside}", rate(per_second, name)));
            }
            // Of some steps it is not known.
            None => parts.extend(inside),
        }
    }
    let bytes = done.bytes_per_second.filter(|rate| rate.is_finite() && *rate >= 0.0);
    parts.extend(bytes.map(|rate| format!("{bound}{}", byte_rate(rate))));
    parts.extend(done.steps_per_second.map(|per_second| format!("{bound}{}", rate(per_second, "steps"))));
    parts
}

#[cfg(test)]
mod tests;
