//! Tables of input: what happens between steps, loaders, their workers, waits for batches.

use super::table::Table;
use crate::report::Report;
use crate::summary::{HeldUp, LoaderRow, OutsideRow, PhaseName, Stats, WaitedBy, WorkerRow};

pub(super) fn outside(report: &Report) -> String {
    Table::<&OutsideRow>::new()
        .column("phase", |row| row.phase.as_ref().map(PhaseName::as_str).into())
        .column("exposed_ns", |row| row.exposed_ns.into())
        .stats("", "_ns", |row| row.stats)
        .of(&report.detailed_metrics.outside)
}

pub(super) fn loaders(report: &Report) -> String {
    Table::<&LoaderRow>::new()
        .column("name", |row| row.name.as_str().into())
        .column("workers", |row| row.workers.len().into())
        .column("busy_ns", |row| row.busy_ns.into())
        .column("waiting_ns", |row| row.waiting_ns.into())
        .column("computing_ns", |row| row.computing_ns.into())
        .column("elapsed_ns", |row| row.elapsed_ns.into())
        .column("utilisation_share", |row| row.utilisation.into())
        .column("workers_at_once", |row| row.workers_at_once.into())
        .column("slot_wait_ns", |row| row.slot_wait_ns.into())
        .column("slot_wait_share", |row| row.slot_wait_share.into())
        .column("steady_utilisation_share", |row| row.after_warmup.and_then(|then| then.utilisation).into())
        .column("steady_produce_mean_ns", |row| row.after_warmup.map(|then| then.produce_mean_ns).into())
        .column("steady_slot_wait_share", |row| row.after_warmup.and_then(|then| then.slot_wait_share).into())
        .column("slowest_rank", |row| row.slowest.and_then(|process| process.rank).into())
        .column("slowest_workers_at_once", |row| row.slowest.map(|process| process.workers_at_once).into())
        .column("slowest_produce_mean_ns", |row| {
            row.slowest.map(|process| process.after_warmup.produce_mean_ns).into()
        })
        .column("slowest_utilisation_share", |row| {
            row.slowest.and_then(|process| process.after_warmup.utilisation).into()
        })
        .column("awaited_utilisation_share", |row| row.while_awaited.map(|then| then.utilisation).into())
        .column("awaited_produce_mean_ns", |row| row.while_awaited.map(|then| then.produce_mean_ns).into())
        .column("awaited_at_once_ns", |row| row.while_awaited.and_then(|then| then.at_once_ns).into())
        .column("samples", |row| row.samples.into())
        .stats("produce_", "_ns", |row| row.produce)
        .stats("wait_", "_ns", |row| row.waits.wait)
        .stats("wait_produce_", "_ns", |row| row.waits.produce)
        .stats("wait_queue_", "_ns", |row| row.waits.queue)
        .stats("wait_depth_", "_batches", |row| row.waits.depth)
        .of(&report.detailed_metrics.batches.loaders)
}

pub(super) fn workers(report: &Report) -> String {
    let loaders = &report.detailed_metrics.batches.loaders;
    let rows = loaders.iter().flat_map(|loader| loader.workers.iter().map(move |worker| (loader, worker)));
    Table::<(&LoaderRow, &WorkerRow)>::new()
        .column("loader", |row| row.0.name.as_str().into())
        .column("rank", |row| row.1.rank.into())
        .column("thread", |row| row.1.thread.into())
        .column("drives_steps", |row| row.1.drives_steps.into())
        .column("batches", |row| row.1.batches.into())
        .column("busy_ns", |row| row.1.busy_ns.into())
        .column("waiting_ns", |row| row.1.waiting_ns.into())
        .column("slot_wait_ns", |row| row.1.slot_wait_ns.into())
        .column("idle_ns", |row| row.1.idle_ns.into())
        .column("first_ns", |row| row.1.first_ns.into())
        .column("last_ns", |row| row.1.last_ns.into())
        .of(rows)
}

pub(super) fn waited_by(report: &Report) -> String {
    let loaders = &report.detailed_metrics.batches.loaders;
    let rows = loaders.iter().flat_map(|loader| loader.waited_by.iter().map(move |row| (loader, row)));
    Table::<(&LoaderRow, &WaitedBy)>::new()
        .column("loader", |row| row.0.name.as_str().into())
        .column("waited_by", |row| row.1.loader.as_str().into())
        .column("waits", |row| row.1.waits.into())
        .column("total_ns", |row| row.1.total_ns.into())
        .of(rows)
}

pub(super) fn held_up(report: &Report) -> String {
    let loaders = &report.detailed_metrics.batches.loaders;
    let rows = loaders.iter().flat_map(|loader| loader.held_up.iter().map(move |held| (loader, held)));
    Table::<(&LoaderRow, &HeldUp)>::new()
        .column("loader", |row| row.0.name.as_str().into())
        .column("mode", |row| row.1.mode.map(stepscope_core::Mode::as_str).into())
        .column("waits", |row| row.1.waits.into())
        .column("total_ns", |row| row.1.total_ns.into())
        .of(rows)
}

/// A row a figure: its unit is in its name, since the depth of a queue is a count.
pub(super) fn waits(report: &Report) -> String {
    let waits = &report.detailed_metrics.waits;
    let rows = [
        ("wait_ns", waits.wait),
        ("produce_ns", waits.produce),
        ("queue_ns", waits.queue),
        ("depth_batches", waits.depth),
    ];
    Table::<(&str, Stats)>::new().column("figure", |row| row.0.into()).stats("", "", |row| row.1).of(rows)
}
