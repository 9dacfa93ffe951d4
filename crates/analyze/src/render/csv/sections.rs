//! Tables of sections: their figures, and their part in the steps of each mode.

use super::table::{Named, Table};
use crate::render::common::names::word;
use crate::report::Report;
use crate::summary::{InSteps, PhaseName, SectionMemory, SectionRow};

pub(super) fn sections(report: &Report) -> String {
    let table = Table::<&SectionRow>::new()
        .column("path", |row| row.path.as_str().into())
        .column("name", |row| row.name.as_str().into())
        .column("depth", |row| row.depth.into())
        .column("kind", |row| row.kind.as_str().into())
        .column("phase", |row| row.phase.as_ref().map(PhaseName::as_str).into())
        .column("phase_source", |row| row.phase_source.as_ref().map(word).into())
        .column("source", |row| word(&row.source).into())
        .stats("", "_ns", |row| row.stats)
        .column("self_ns", |row| row.self_ns.into())
        .column("self_busy_ns", |row| row.self_busy_ns.into())
        .column("collapsed_calls", |row| row.collapsed_calls.into())
        .column("slow_excess_ns", |row| row.slow_excess_ns.into())
        .sum("busy_ns", |row| row.busy_ns)
        .sum("idle_ns", |row| row.idle_ns)
        .sum("cpu_ns", |row| row.cpu_ns)
        .sum("run_queue_ns", |row| row.run_queue_ns)
        .sum("samples", |row| row.samples)
        .sum("tokens", |row| row.tokens)
        .sum("bytes", |row| row.bytes)
        .sum("flops", |row| row.flops);
    allocations(table)
        .column("errors", |row| row.errors.into())
        .column("device_calls", |row| row.device_calls.into())
        .of(&report.sections)
}

fn allocations(table: Table<&SectionRow>) -> Table<&SectionRow> {
    let unsigned: [Named<SectionMemory, Option<u64>>; 6] = [
        ("alloc_spans", |alloc| Some(alloc.spans)),
        ("alloc_bytes", |alloc| Some(alloc.alloc_bytes)),
        ("free_bytes", |alloc| Some(alloc.free_bytes)),
        ("alloc_count", |alloc| Some(alloc.alloc_count)),
        ("self_alloc_bytes", |alloc| alloc.self_alloc_bytes),
        ("self_free_bytes", |alloc| alloc.self_free_bytes),
    ];
    unsigned
        .into_iter()
        .fold(table, |table, (name, figure)| {
            table.column(name, move |row| row.memory.as_ref().and_then(figure).into())
        })
        .column("self_net_bytes", |row| row.memory.and_then(|alloc| alloc.self_net_bytes).into())
        .column("peak_bytes", |row| row.memory.and_then(|alloc| alloc.peak_bytes).into())
}

pub(super) fn in_modes(report: &Report) -> String {
    let rows =
        report.sections.iter().flat_map(|section| section.in_steps.iter().map(move |part| (section, part)));
    Table::<(&SectionRow, &InSteps)>::new()
        .column("path", |row| row.0.path.as_str().into())
        .column("mode", |row| row.1.mode.as_str().into())
        .column("steps", |row| row.1.steps.into())
        .column("calls", |row| row.1.calls.into())
        .column("max_calls", |row| row.1.max_calls.into())
        .column("total_ns", |row| row.1.total_ns.into())
        .column("driving_ns", |row| row.1.driving_ns.into())
        .column("exposed_ns", |row| row.1.exposed_ns.into())
        .column("warmup_calls", |row| row.1.warmup_calls.into())
        .column("warmup_total_ns", |row| row.1.warmup_total_ns.into())
        .column("warmup_driving_ns", |row| row.1.warmup_driving_ns.into())
        .column("warmup_exposed_ns", |row| row.1.warmup_exposed_ns.into())
        .column("longest_steady_ns", |row| row.1.longest_steady_ns.into())
        .column("heaviest_steady_calls", |row| row.1.heaviest_steady_calls.into())
        .column("heaviest_steady_ns", |row| row.1.heaviest_steady_ns.into())
        .of(rows)
}
