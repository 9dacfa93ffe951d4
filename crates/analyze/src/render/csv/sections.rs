//! Tables of sections: their figures, and their part in the steps of each mode.

use super::table::{Named, Table};
use crate::render::common::names::word;
use crate::report::{Report, Section};
use crate::summary::{InSteps, PhaseName, SectionMemory};

pub(super) fn sections(report: &Report) -> String {
    let table = Table::<&Section>::new()
        .column("path", |row| row.path.as_str().into())
        .column("name", |row| row.name.as_str().into())
        .column("depth", |row| row.depth.into())
        .column("kind", |row| row.kind.as_str().into())
        .column("phase", |row| row.phase.as_ref().map(PhaseName::as_str).into())
        .column("phase_source", |row| row.phase_source.as_ref().map(word).into())
        .column("source", |row| word(&row.source).into())
        .column("count", |row| row.count.into())
        .column("total_ns", |row| row.total_ns.into())
        .column("self_ns", |row| row.self_ns.into())
        .column("self_busy_ns", |row| row.self_busy_ns.into())
        .column("mean_ns", |row| row.mean.into())
        .column("std_ns", |row| row.std.into())
        .column("min_ns", |row| row.min.into())
        .column("max_ns", |row| row.max.into())
        .column("p50_ns", |row| row.p50.into())
        .column("p90_ns", |row| row.p90.into())
        .column("p95_ns", |row| row.p95.into())
        .column("p99_ns", |row| row.p99.into())
        .column("mad_ns", |row| row.mad.into())
        .column("cv_ratio", |row| row.cv.into())
        .column("is_exact", |row| row.is_exact.into())
        .column("collapsed_calls", |row| row.collapsed_calls.into())
        .sum("busy_ns", |row| row.busy_ns)
        .sum("idle_ns", |row| row.idle_ns)
        .sum("cpu_ns", |row| row.cpu_ns)
        .sum("samples", |row| row.samples)
        .sum("tokens", |row| row.tokens)
        .sum("bytes", |row| row.bytes)
        .sum("flops", |row| row.flops);
    allocations(table).column("errors", |row| row.errors.into()).of(&report.sections)
}

fn allocations(table: Table<&Section>) -> Table<&Section> {
    let unsigned: [Named<SectionMemory, u64>; 6] = [
        ("alloc_spans", |alloc| alloc.spans),
        ("alloc_bytes", |alloc| alloc.alloc_bytes),
        ("free_bytes", |alloc| alloc.free_bytes),
        ("alloc_count", |alloc| alloc.alloc_count),
        ("self_alloc_bytes", |alloc| alloc.self_alloc_bytes),
        ("self_free_bytes", |alloc| alloc.self_free_bytes),
    ];
    unsigned
        .into_iter()
        .fold(table, |table, (name, figure)| {
            table.column(name, move |row| row.alloc.as_ref().map(figure).into())
        })
        .column("self_net_bytes", |row| row.alloc.map(|alloc| alloc.self_net_bytes).into())
        .column("peak_bytes", |row| row.alloc.and_then(|alloc| alloc.peak_bytes).into())
}

pub(super) fn in_modes(report: &Report) -> String {
    let rows =
        report.sections.iter().flat_map(|section| section.in_steps.iter().map(move |part| (section, part)));
    Table::<(&Section, &InSteps)>::new()
        .column("path", |row| row.0.path.as_str().into())
        .column("mode", |row| row.1.mode.as_str().into())
        .column("steps", |row| row.1.steps.into())
        .column("calls", |row| row.1.calls.into())
        .column("max_calls", |row| row.1.max_calls.into())
        .column("total_ns", |row| row.1.total_ns.into())
        .column("driving_ns", |row| row.1.driving_ns.into())
        .column("exposed_ns", |row| row.1.exposed_ns.into())
        .of(rows)
}
