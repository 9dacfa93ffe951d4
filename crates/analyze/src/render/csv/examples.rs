//! Tables of the steps that were kept with their spans.

use super::table::Table;
use crate::report::Report;
use crate::summary::{Example, ExampleBatch, ExamplePiece, ExampleRole, ExampleRun, ExampleSpan, Lane};

pub(super) fn examples(report: &Report) -> String {
    Table::<&Example>::new()
        .column("mode", |row| row.mode.as_str().into())
        .column("step", |row| row.step.step.into())
        .column("trace_id", |row| row.step.trace_id.as_str().into())
        .column("span_id", |row| row.span_id.as_str().into())
        .column("roles", |row| {
            row.roles.iter().map(|role| ExampleRole::as_str(*role)).collect::<Vec<_>>().join(" ").into()
        })
        .column("is_warmup", |row| row.is_warmup.into())
        .column("rank", |row| row.step.rank.into())
        .column("start_ns", |row| row.step.start_ns.into())
        .column("duration_ns", |row| row.step.duration_ns.into())
        .column("unattributed_ns", |row| row.step.unattributed_ns.into())
        .column("spans_in_step", |row| row.spans_in_step.into())
        .of(&report.examples)
}

/// A span and the example that it is of; its number is its place there.
type Row<'a> = (&'a Example, u64, &'a ExampleSpan);

fn lane<'a>(row: &Row<'a>) -> Option<&'a Lane> {
    row.0.lanes.get(usize::try_from(row.2.lane).ok()?)
}

fn batch<'a>(row: &Row<'a>) -> Option<&'a ExampleBatch> {
    row.2.batch.as_ref()
}

pub(super) fn spans(report: &Report) -> String {
    let rows = report
        .examples
        .iter()
        .flat_map(|example| example.spans.iter().zip(0..).map(move |(span, number)| (example, number, span)));
    Table::<Row<'_>>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.0.step.step.into())
        .column("trace_id", |row| row.0.step.trace_id.as_str().into())
        .column("span", |row| row.1.into())
        .column("parent_span", |row| row.2.parent.into())
        .column("name", |row| row.2.name.as_str().into())
        .column("phase", |row| row.2.phase.as_ref().map(|phase| phase.as_str()).into())
        .column("lane", |row| row.2.lane.into())
        .column("thread_id", |row| lane(row).and_then(|lane| lane.thread_id).into())
        .column("thread_name", |row| lane(row).and_then(|lane| lane.thread_name.as_ref()).into())
        .column("offset_ns", |row| row.2.offset_ns.into())
        .column("duration_ns", |row| row.2.duration_ns.into())
        .column("critical_ns", |row| row.2.critical_ns.into())
        .column("is_error", |row| row.2.is_error.into())
        .column("batch_trace_id", |row| batch(row).and_then(|batch| batch.trace_id.as_ref()).into())
        .column("batch_produce_ns", |row| batch(row).and_then(|batch| batch.produce_ns).into())
        .column("batch_queue_ns", |row| batch(row).and_then(|batch| batch.queue_ns).into())
        .of(rows)
}

pub(super) fn runs(report: &Report) -> String {
    let rows = report.examples.iter().flat_map(|example| {
        let spans = example.spans.iter().zip(0..);
        spans.flat_map(move |(span, number)| span.running.iter().map(move |run| (example, number, run)))
    });
    Table::<(&Example, u64, &ExampleRun)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.0.step.step.into())
        .column("trace_id", |row| row.0.step.trace_id.as_str().into())
        .column("span", |row| row.1.into())
        .column("offset_ns", |row| row.2.offset_ns.into())
        .column("duration_ns", |row| row.2.duration_ns.into())
        .of(rows)
}

pub(super) fn paths(report: &Report) -> String {
    let rows = report
        .examples
        .iter()
        .flat_map(|example| example.critical_path.iter().map(move |piece| (example, piece)));
    Table::<(&Example, &ExamplePiece)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.0.step.step.into())
        .column("trace_id", |row| row.0.step.trace_id.as_str().into())
        .column("span", |row| row.1.span.into())
        .column("offset_ns", |row| row.1.offset_ns.into())
        .column("duration_ns", |row| row.1.duration_ns.into())
        .of(rows)
}
