//! Loaders: how long their batches take to make, who waited for which of them, and what they waited for.

use super::cell::{code, count, ns, share};
use super::names::named;
use super::{Cell, Document, Shown};
use crate::report::Report;
use crate::report::units::count as count_words;
use crate::summary::{BatchSummary, LoaderRow, Stats};

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
    if batches.loaders.is_empty() && waits.wait.count == 0 {
        return;
    }
    doc.part("loaders", "Batches", "Batches");
    doc.heading(Shown::BRIEF, "Batches");
    tables(batches, doc);
    let kinds = [
        ("Waits", "wait", waits.wait),
        ("Making", "produce", waits.produce),
        ("In the queue", "queue", waits.queue),
    ];
    let kinds = kinds.into_iter().filter(|(.., stats)| stats.count > 0);
    let figure = |figure: fn(&Stats) -> Option<u64>| move |row: &(&str, &str, Stats)| ns(figure(&row.2));
    doc.table(Shown::ALL, "Batches as the training thread saw them", kinds)
        .at(|(_, name, _)| format!("detailed_metrics/waits/{name}"))
        .column(Shown::ALL, "As the training thread saw them|What", "", |(title, ..)| (*title).into())
        .column(Shown::ALL, ">Batches", "count", |(.., stats)| count(stats.count))
        .column(Shown::ALL, ">Total", "total", figure(|stats| Some(stats.total)))
        .column(Shown::ALL, ">p50|Median", "p50", figure(|stats| stats.p50))
        .column(Shown::ALL, ">p95", "p95", figure(|stats| stats.p95))
        .column(Shown::ALL, ">Longest", "max", figure(|stats| stats.max))
        .end();
}

fn tables(batches: &BatchSummary, doc: &mut Document) {
    const ALL: Shown = Shown::ALL;
    let all = batches.loaders.len();
    let most = if doc.is(Shown::BRIEF) { LOADERS } else { all };
    let shown = || batches.loaders.iter().take(most).enumerate();
    doc.table(ALL, "Loaders: how long a batch takes, and what their threads did", shown())
        .at(|(at, _)| format!("detailed_metrics/batches/loaders/{at}"))
        .column(ALL, "Loader", "", |(_, row)| code(&row.name))
        .column(ALL, ">Batches", "produce/count", |(_, row)| count(row.produce.count))
        .column(ALL, ">Workers", "", |(_, row)| Cell::Raw(count_words(row.workers.len() as u64)))
        .column(ALL, ">Busy", "utilisation", |(_, row)| share(row.utilisation))
        .column(ALL, ">Busy while awaited", "under_demand/utilisation", |(_, row)| {
            share(row.under_demand.map(|then| then.utilisation))
        })
        .column(ALL, ">Queue full", "slot_wait_share", |(_, row)| share(row.slot_wait_share))
        .column(ALL, ">p50|Median", "produce/p50", |(_, row)| ns(row.produce.p50))
        .column(ALL, ">p95", "produce/p95", |(_, row)| ns(row.produce.p95))
        .column(Shown::HTML, ">Busy in all", "busy_ns", |(_, row)| ns(row.busy_ns))
        .column(Shown::HTML, ">Waiting for loaders", "waiting_ns", |(_, row)| ns(row.waiting_ns))
        .column(Shown::HTML, ">Computing", "computing_ns", |(_, row)| ns(row.computing_ns))
        .end();
    doc.table(ALL, "Who waited for which loader", shown().flat_map(waiters))
        .below("detailed_metrics/batches/loaders")
        .at(|waiter| waiter.place.clone())
        .column(ALL, "Waited for|Loader", "", |waiter| code(&waiter.loader))
        .column(ALL, "Who waited", "", |waiter| waiter.who.as_str().into())
        .column(ALL, ">Waits", "waits", |waiter| count(waiter.waits))
        .column(ALL, ">Time", "total_ns", |waiter| ns(waiter.total_ns))
        .end();
    doc.more(Shown::BRIEF, all, LOADERS, ("loader", "loaders"));
}
