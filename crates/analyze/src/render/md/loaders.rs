//! Loaders: how long their batches take to make, and who waited for which of them.

use super::page::{Page, code, known, prose};
use crate::render::common::waiters::waiters;
use crate::report::Report;
use crate::report::units::{count, duration, percent};

/// Loaders shown.
const LOADERS: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    let loaders = &report.detailed_metrics.batches.loaders;
    if loaders.is_empty() {
        return;
    }
    page.heading(3, "Batches");
    let shown = || loaders.iter().take(LOADERS);
    let rows = shown().map(|row| {
        [
            code(&row.name),
            count(row.produce.count),
            count(row.workers.len() as u64),
            known(row.utilisation, percent),
            known(row.while_awaited.map(|then| then.utilisation), percent),
            known(row.slot_wait_share, percent),
            known(row.produce.p50, duration),
            known(row.produce.p95, duration),
        ]
    });
    page.table(
        ["Loader", ">Batches", ">Workers", ">Busy", ">Busy while awaited", ">Queue full", ">p50", ">p95"],
        rows,
    );
    let rows = shown().flat_map(|loader| {
        waiters(loader).map(|waiter| {
            [code(&loader.name), prose(&waiter.who), count(waiter.waits), duration(waiter.total_ns)]
        })
    });
    page.table(["Waited for", "Who waited", ">Waits", ">Time"], rows);
    page.more(loaders.len(), LOADERS, "loaders");
}
