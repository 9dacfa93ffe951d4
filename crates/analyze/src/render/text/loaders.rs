//! Loaders, their batches, and who waited for them.

use super::page::{Look, Page, known};
use crate::render::common::waiters::waiters;
use crate::report::Report;
use crate::report::units::{count, duration, percent, things};

/// Loaders shown.
const LOADERS: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    let (batches, waits) = (&report.detailed_metrics.batches, &report.detailed_metrics.waits);
    if batches.loaders.is_empty() && waits.wait.count == 0 {
        return;
    }
    page.heading("Batches");
    for loader in batches.loaders.iter().take(LOADERS) {
        let waits = loader.waits.wait.count;
        let waits = (waits > 0 && batches.loaders.len() > 1).then(|| {
            let all = duration(loader.waits.wait.total);
            let who: Vec<String> = waiters(loader)
                .map(|waiter| format!("{} {}", waiter.who.replace('`', ""), duration(waiter.total_ns)))
                .collect();
            let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
            format!("; {} for it took {all}{who}", things(waits, "wait", "waits"))
        });
        let waits = waits.unwrap_or_default();
        if loader.produce.count == 0 {
            page.paragraph(Look::Plain, "  ", &format!("{}: no batch was read{waits}", loader.name));
            continue;
        }
        let slots = loader
            .slot_wait_share
            .map(|share| format!(", waiting for a place in the queue {}", percent(share)));
        let lifetimes = loader.workers.iter().map(|worker| worker.last_ns.saturating_sub(worker.first_ns));
        let possible_ns = lifetimes.fold(0, u64::saturating_add);
        let others = (loader.waiting_ns > 0 && possible_ns > 0).then(|| {
            format!(", waiting for other loaders {}", percent(loader.waiting_ns as f64 / possible_ns as f64))
        });
        let workers = loader.workers.len() as u64;
        let fewer = loader.workers_at_once.filter(|&at_once| at_once < workers);
        let at_once = fewer.map(|at_once| format!(" ({} at once in a process)", count(at_once)));
        let text = format!(
            "{} by {}{}, busy {} of the time{}{}; a batch takes p50 {}, p95 {}",
            things(loader.produce.count, "batch", "batches"),
            things(workers, "worker", "workers"),
            at_once.unwrap_or_default(),
            known(loader.utilisation, percent),
            others.unwrap_or_default(),
            slots.unwrap_or_default(),
            known(loader.produce.p50, duration),
            known(loader.produce.p95, duration),
        );
        page.paragraph(Look::Plain, "  ", &format!("{}: {text}{waits}", loader.name));
    }
    page.more(batches.loaders.len(), LOADERS, "loader", "loaders");
    if waits.wait.count > 0 {
        let mut parts = vec![format!(
            "{}: p50 {}, p95 {}, longest {}",
            things(waits.wait.count, "wait", "waits"),
            known(waits.wait.p50, duration),
            known(waits.wait.p95, duration),
            known(waits.wait.max, duration)
        )];
        parts.extend(waits.queue.p50.map(|ns| format!("batches lay ready for {} (median)", duration(ns))));
        parts.extend(waits.depth.p50.map(|depth| format!("{} in the queue", count(depth))));
        page.paragraph(Look::Plain, "  ", &parts.join("; "));
    }
}
