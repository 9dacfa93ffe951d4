//! Tables of the recording: processes, losses, input files and what was wrong with them, bounds that were reached.

use super::table::{Cell, Table};
use crate::render::common::names::word;
use crate::report::{Input, Report};
use crate::summary::{Disagreement, InstanceRow, Limit, OtherRun, PhaseName, PhaseTime};
use stepscope_model::ReadIssue;

pub(super) fn ranks(report: &Report) -> String {
    Table::<&InstanceRow>::new()
        .column("rank", |row| row.resource.rank.into())
        .column("world_size", |row| row.resource.world_size.into())
        .column("service", |row| some(&row.resource.service_name))
        .column("instance", |row| some(&row.resource.service_instance_id))
        .column("host", |row| some(&row.resource.host_name))
        .column("pid", |row| row.resource.pid.into())
        .column("creation_time", |row| some(&row.resource.creation_time))
        .column("cpus", |row| row.resource.cpus.into())
        .column("level", |row| some(&row.resource.level))
        .column("sdk", |row| some(&row.resource.sdk))
        .column("first_ns", |row| row.first_ns.into())
        .column("last_ns", |row| row.last_ns.into())
        .column("started", |row| row.started.into())
        .column("ended", |row| row.ended.into())
        .column("ended_by", |row| row.ended_by.map(stepscope_core::Signal::as_str).into())
        .column("traces", |row| row.traces.into())
        .column("warmup_steps", |row| row.warmup_steps.into())
        .stats("step_", "_ns", |row| row.steps)
        .stats("works_", "_ns", |row| row.works)
        .throughput(|row| row.throughput)
        .column("communication_per_step_ns", |row| row.communication_per_step_ns.into())
        .column("other_steps_ns", |row| row.other_steps_ns.into())
        .column("usual_gap_ns", |row| row.usual_gap_ns.into())
        .column("steps_overlap", |row| row.steps_overlap.into())
        .of(&report.ranks)
}

/// What each process spends in phases, in its steps and between them.
pub(super) fn rank_phases(report: &Report) -> String {
    let rows = report.ranks.iter().flat_map(|row| {
        let is_inside = |time: &PhaseTime| row.phases_per_step.iter().any(|other| other.phase == time.phase);
        let between = row.phases_between_steps.iter().filter(move |time| !is_inside(time));
        row.phases_per_step.iter().chain(between).map(move |time| (row, &time.phase))
    });
    let of = |times: &[PhaseTime], phase: &PhaseName| {
        times.iter().find(|time| time.phase == *phase).map_or(0, |time| time.exposed_ns)
    };
    Table::<(&InstanceRow, &PhaseName)>::new()
        .column("rank", |row| row.0.resource.rank.into())
        .column("instance", |row| some(&row.0.resource.service_instance_id))
        .column("phase", |row| row.1.as_str().into())
        .column("exposed_per_step_ns", move |row| of(&row.0.phases_per_step, row.1).into())
        .column("exposed_between_per_step_ns", move |row| of(&row.0.phases_between_steps, row.1).into())
        .of(rows)
}

fn some(text: &str) -> Cell {
    (!text.is_empty()).then_some(text).into()
}

/// What became of the spans: how many were emitted, exported by each sink, lost for each reason, missing.
struct Fate<'a> {
    fate: &'static str,
    sink: Option<&'a str>,
    reason: Option<&'static str>,
    spans: u64,
    is_lacking: Option<bool>,
    advice: Option<&'static str>,
}

pub(super) fn losses(report: &Report) -> String {
    let losses = &report.losses;
    let plain = |fate, spans| Fate { fate, sink: None, reason: None, spans, is_lacking: None, advice: None };
    let mut rows: Vec<Fate<'_>> = losses.emitted.map(|spans| plain("emitted", spans)).into_iter().collect();
    rows.extend(
        losses.exported.iter().map(|row| Fate { sink: Some(&row.sink), ..plain("exported", row.spans) }),
    );
    rows.extend(losses.dropped.iter().map(|row| Fate {
        sink: row.sink.as_deref(),
        reason: row.reason,
        is_lacking: Some(row.is_lacking),
        advice: row.advice,
        ..plain("dropped", row.spans)
    }));
    rows.push(plain("missing", losses.missing_spans));
    rows.push(plain("unplaced", losses.unplaced));
    Table::<Fate<'_>>::new()
        .column("fate", |row| row.fate.into())
        .column("sink", |row| row.sink.into())
        .column("reason", |row| row.reason.into())
        .column("spans", |row| row.spans.into())
        .column("is_lacking", |row| row.is_lacking.into())
        .column("advice", |row| row.advice.into())
        .of(rows)
}

pub(super) fn inputs(report: &Report) -> String {
    Table::<&Input>::new()
        .column("path", |row| row.path.as_str().into())
        .column("format", |row| row.format.as_ref().into())
        .column("size_bytes", |row| row.bytes.into())
        .column("spans", |row| row.spans.into())
        .of(&report.inputs)
}

pub(super) fn issues(report: &Report) -> String {
    Table::<&ReadIssue>::new()
        .column("file", |row| some(&row.file))
        .column("kind", |row| word(&row.kind).into())
        .column("offset_bytes", |row| row.offset.into())
        .column("count", |row| row.count.into())
        .column("reason", |row| row.reason.as_str().into())
        .of(&report.read_issues)
}

/// Counts and nanoseconds, as the figure's name says.
pub(super) fn disagreements(report: &Report) -> String {
    Table::<&Disagreement>::new()
        .column("path", |row| row.path.as_str().into())
        .column("figure", |row| row.figure.into())
        .column("by_spans", |row| row.spans.into())
        .column("by_aggregates", |row| row.aggregates.into())
        .of(&report.detailed_metrics.disagreements)
}

pub(super) fn limits(report: &Report) -> String {
    Table::<&Limit>::new()
        .column("limit", |row| match serde_json::to_value(row) {
            Ok(value) => value.get("limit").and_then(|name| name.as_str()).into(),
            Err(_) => Cell::Empty,
        })
        .column("depth", |row| match row {
            Limit::PathsCut { depth } => (*depth).into(),
            _ => Cell::Empty,
        })
        .of(&report.detailed_metrics.limits)
}

pub(super) fn other_runs(report: &Report) -> String {
    Table::<&OtherRun>::new()
        .column("run_id", |row| row.run.id.as_str().into())
        .column("attempt", |row| row.run.attempt.into())
        .column("is_foreign", |row| row.run.is_foreign.into())
        .column("first_ns", |row| row.first_ns.into())
        .column("steps", |row| row.steps.into())
        .of(&report.run.other_runs)
}
