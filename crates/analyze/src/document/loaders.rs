//! Loaders: how long their batches take to make, who waited for which of them, and what they waited for.

use super::cell::{code, count, ns, share};
use super::names::named;
use super::{Cell, Document, Shown};
use crate::report::Report;
use crate::report::units::{count as count_words, duration, percent, things};
use crate::summary::{BatchSummary, LoaderRow, Stats, WaitSummary};

/// Loaders shown where there is little room.
const LOADERS: usize = 8;

/// One who waited for a loader.
struct Waiter {
    /// Below the loaders in the JSON report.
    place: String,
    /// The loader, and who, in words; names stand between backticks.
    loader: String,
    who: String,
    /// Number of waits, and their durations, summed.
    waits: u64,
    total_ns: u64,
}

/// All who waited for a loader: steps, what lies between them, batches of other loaders.
fn waiters((at, loader): (usize, &LoaderRow)) -> Vec<Waiter> {
    let waiter = |place: String, who: String, waits, total_ns| Waiter {
        place: format!("{at}/{place}"),
        loader: loader.name.clone(),
        who,
        waits,
        total_ns,
    };
    let steps = loader.stalls.iter().enumerate().map(|(n, row)| {
        let mode =
            row.mode.map_or_else(|| "outside of steps".into(), |mode| format!("steps ({})", mode.as_str()));
        waiter(format!("stalls/{n}"), mode, row.waits, row.total_ns)
    });
    let others = loader.waited_by.iter().enumerate().map(|(n, row)| {
        let who = format!("batches of `{}`", named(&row.loader));
        waiter(format!("waited_by/{n}"), who, row.waits, row.total_ns)
    });
    steps.chain(others).collect()
}

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let (batches, waits) = (&report.detailed_metrics.batches, &report.detailed_metrics.waits);
    if batches.loaders.is_empty() && (waits.wait.count == 0 || doc.is(Shown::MD)) {
        return;
    }
    doc.part("loaders", "Batches", "Batches");
    doc.heading(Shown::BRIEF, "Batches");
    if doc.is(Shown::TEXT) {
        return lines(batches, waits, doc);
    }
    tables(batches, doc);
    let kinds = [
        ("Waits", "wait", waits.wait),
        ("Making", "produce", waits.produce),
        ("In the queue", "queue", waits.queue),
    ];
    let kinds = kinds.into_iter().filter(|(.., stats)| stats.count > 0);
    let figure = |figure: fn(&Stats) -> Option<u64>| move |row: &(&str, &str, Stats)| ns(figure(&row.2));
    doc.table(Shown::HTML, "Batches as the training thread saw them", kinds)
        .at(|(_, name, _)| format!("detailed_metrics/waits/{name}"))
        .column(Shown::HTML, "What", "", |(title, ..)| (*title).into())
        .column(Shown::HTML, ">Batches", "count", |(.., stats)| count(stats.count))
        .column(Shown::HTML, ">Total", "total", figure(|stats| Some(stats.total)))
        .column(Shown::HTML, ">Median", "p50", figure(|stats| stats.p50))
        .column(Shown::HTML, ">p95", "p95", figure(|stats| stats.p95))
        .column(Shown::HTML, ">Longest", "max", figure(|stats| stats.max))
        .end();
}

fn tables(batches: &BatchSummary, doc: &mut Document) {
    const TABLES: Shown = Shown::TABLES;
    let all = batches.loaders.len();
    let most = if doc.is(Shown::MD) { LOADERS } else { all };
    let shown = || batches.loaders.iter().take(most).enumerate();
    doc.table(TABLES, "Loaders: how long a batch takes, and what their threads did", shown())
        .at(|(at, _)| format!("detailed_metrics/batches/loaders/{at}"))
        .column(TABLES, "Loader", "", |(_, row)| code(&row.name))
        .column(TABLES, ">Batches", "produce/count", |(_, row)| count(row.produce.count))
        .column(TABLES, ">Workers", "", |(_, row)| Cell::Raw(count_words(row.workers.len() as u64)))
        .column(TABLES, ">Busy", "utilisation", |(_, row)| share(row.utilisation))
        .column(TABLES, ">Busy while awaited", "under_demand/utilisation", |(_, row)| {
            share(row.under_demand.map(|then| then.utilisation))
        })
        .column(TABLES, ">Queue full", "slot_wait_share", |(_, row)| share(row.slot_wait_share))
        .column(TABLES, ">p50|Median", "produce/p50", |(_, row)| ns(row.produce.p50))
        .column(TABLES, ">p95", "produce/p95", |(_, row)| ns(row.produce.p95))
        .column(Shown::HTML, ">Busy in all", "busy_ns", |(_, row)| ns(row.busy_ns))
        .column(Shown::HTML, ">Waiting for loaders", "waiting_ns", |(_, row)| ns(row.waiting_ns))
        .column(Shown::HTML, ">Computing", "computing_ns", |(_, row)| ns(row.computing_ns))
        .end();
    doc.table(TABLES, "Who waited for which loader", shown().flat_map(waiters))
        .below("detailed_metrics/batches/loaders")
        .at(|waiter| waiter.place.clone())
        .column(TABLES, "Waited for|Loader", "", |waiter| code(&waiter.loader))
        .column(TABLES, "Who waited", "", |waiter| waiter.who.as_str().into())
        .column(TABLES, ">Waits", "waits", |waiter| count(waiter.waits))
        .column(TABLES, ">Time", "total_ns", |waiter| ns(waiter.total_ns))
        .end();
    doc.more(Shown::MD, all, LOADERS, ("", "loaders"));
}

fn lines(batches: &BatchSummary, waits: &WaitSummary, doc: &mut Document) {
    let loaders = &batches.loaders;
    for (at, loader) in loaders.iter().enumerate().take(LOADERS) {
        let waits = if loaders.len() > 1 { waits_for(at, loader) } else { String::new() };
        let text = if loader.produce.count == 0 { "no batch was read".into() } else { making(loader) };
        doc.say(Shown::TEXT, Cell::Plain(format!("{}: {text}{waits}", loader.name)));
    }
    doc.more(Shown::TEXT, loaders.len(), LOADERS, ("loader", "loaders"));
    if waits.wait.count > 0 {
        let mut parts = vec![format!(
            "{}: p50 {}, p95 {}, longest {}",
            things(waits.wait.count, "wait", "waits"),
            known(waits.wait.p50),
            known(waits.wait.p95),
            known(waits.wait.max)
        )];
        parts.extend(waits.queue.p50.map(|ns| format!("batches lay ready for {} (median)", duration(ns))));
        parts.extend(waits.depth.p50.map(|depth| format!("{} in the queue", count_words(depth))));
        doc.say(Shown::TEXT, parts.join("; "));
    }
}

fn known(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".into(), duration)
}

/// Who waited for one of several loaders, the end of a sentence.
fn waits_for(at: usize, loader: &LoaderRow) -> String {
    let waits = loader.waits.wait;
    if waits.count == 0 {
        return String::new();
    }
    let who: Vec<String> = waiters((at, loader))
        .iter()
        .map(|waiter| format!("{} {}", waiter.who.replace('`', ""), duration(waiter.total_ns)))
        .collect();
    let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
    let number = things(waits.count, "wait", "waits");
    format!("; {number} for it took {}{who}", duration(waits.total))
}

/// What the workers of a loader did.
fn making(loader: &LoaderRow) -> String {
    let slots =
        loader.slot_wait_share.map(|share| format!(", waiting for a place in the queue {}", percent(share)));
    let lifetimes = loader.workers.iter().map(|worker| worker.last_ns.saturating_sub(worker.first_ns));
    let possible_ns = lifetimes.fold(0, u64::saturating_add);
    let others = (loader.waiting_ns > 0 && possible_ns > 0).then(|| {
        format!(", waiting for other loaders {}", percent(loader.waiting_ns as f64 / possible_ns as f64))
    });
    let workers = loader.workers.len() as u64;
    let fewer = loader.workers_at_once.filter(|&at_once| at_once < workers);
    let at_once = fewer.map(|at_once| format!(" ({} at once in a process)", count_words(at_once)));
    format!(
        "{} by {}{}, busy {} of the time{}{}; a batch takes p50 {}, p95 {}",
        things(loader.produce.count, "batch", "batches"),
        things(workers, "worker", "workers"),
        at_once.unwrap_or_default(),
        loader.utilisation.map_or_else(|| "-".into(), percent),
        others.unwrap_or_default(),
        slots.unwrap_or_default(),
        known(loader.produce.p50),
        known(loader.produce.p95),
    )
}
