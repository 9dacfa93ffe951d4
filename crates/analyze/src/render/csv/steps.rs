//! Tables of steps: the overview, modes, phases, figures over step numbers, the slowest ones, the user's own values.

use super::table::{Named, Table};
use crate::render::common::names::word;
use crate::render::common::periods::every;
use crate::report::Report;
use crate::summary::{
    ChangeSection, DurationBucket, Gauge, ModeSummary, Pause, PeriodicSteps, PhaseName, PhasePoint, PhaseRow,
    PhaseSeries, PhaseSum, SeriesPoint, SlowStep, StepChange, StepPeriod, StepPhase, StepSeries, ValuePoint,
    ValueSeries,
};

/// One row: the run, the verdict, and the figures it rests on.
pub(super) fn summary(report: &Report) -> String {
    Table::<&Report>::new()
        .column("schema_version", |row| row.schema_version.into())
        .column("tool", |row| row.tool.name.into())
        .column("tool_version", |row| row.tool.version.into())
        .column("run_id", |row| row.run.id.as_ref().into())
        .column("attempt", |row| row.run.attempt.into())
        .column("is_foreign", |row| row.run.is_foreign.into())
        .column("service", |row| row.run.service.as_ref().into())
        .column("hosts", |row| row.run.hosts.join(" ").into())
        .column("ranks", |row| row.run.ranks.into())
        .column("world_size", |row| row.run.world_size.into())
        .column("level", |row| row.run.level.as_ref().into())
        .column("started_ns", |row| row.run.started_ns.into())
        .column("last_ns", |row| row.run.last_ns.into())
        .column("run_elapsed_ns", |row| row.run.elapsed_ns.into())
        .column("ended", |row| row.run.ended.into())
        .column("ended_by", |row| row.run.ended_by.into())
        .column("epochs_started", |row| row.run.epochs_started.into())
        .column("epochs_ended", |row| row.run.epochs_ended.into())
        .column("traces", |row| row.run.traces.into())
        .column("spans", |row| row.run.spans.into())
        .column("errors", |row| row.run.errors.into())
        .column("verdict", |row| row.summary.verdict.as_str().into())
        .column("input_verdict", |row| word(&row.summary.input.verdict).into())
        .column("input_share", |row| row.summary.input.share.into())
        .column("input_in_steps_ns", |row| row.summary.input.in_steps_ns.into())
        .column("input_between_ns", |row| row.summary.input.between_ns.into())
        .column("input_steps_ns", |row| row.summary.input.steps_ns.into())
        .column("input_steps", |row| row.summary.input.steps.into())
        .column("input_min_steps", |row| row.summary.input.min_steps.into())
        .column("mode", |row| row.summary.mode.into())
        .column("steps", |row| row.summary.steps.into())
        .column("warmup_steps", |row| row.summary.warmup_steps.into())
        .column("steps_ns", |row| row.summary.steps_ns.into())
        .column("whole_steps", |row| row.summary.whole.steps.into())
        .column("whole_steps_ns", |row| row.summary.whole.total_ns.into())
        .column("unattributed_ns", |row| row.summary.unattributed_ns.into())
        .column("batches", |row| row.detailed_metrics.batches.count.into())
        .column("spans_dropped", |row| row.losses.dropped_total.into())
        .column("spans_lost", |row| row.losses.lost.into())
        .column("spans_absent", |row| row.losses.absent.into())
        .column("recorded_steps", |row| row.summary.coverage.recorded_steps.into())
        .column("read_steps", |row| row.summary.coverage.read_steps.into())
        .column("read_whole_steps", |row| row.summary.coverage.whole_steps.into())
        .column("unread_because", |row| row.summary.coverage.unread_because.as_ref().map(word).into())
        .column("parts_because", |row| row.summary.coverage.parts_because.as_ref().map(word).into())
        .column("spans_missing", |row| row.losses.missing_spans.into())
        .column("spans_unplaced", |row| row.losses.unplaced.into())
        .column("incomplete_traces", |row| row.losses.incomplete_traces.into())
        .throughput(|row| row.summary.throughput)
        .of([report])
}

pub(super) fn modes(report: &Report) -> String {
    Table::<&ModeSummary>::new()
        .column("mode", |row| row.mode.as_str().into())
        .column("first_step", |row| row.step_range.map(|range| range.0).into())
        .column("last_step", |row| row.step_range.map(|range| range.1).into())
        .column("warmup_steps", |row| row.warmup.steps.into())
        .column("warmup_max_steps_per_instance", |row| row.warmup.max_per_instance.into())
        .column("warmup_total_ns", |row| row.warmup.total_ns.into())
        .column("warmup_usual_ns", |row| row.warmup.usual_ns.into())
        .column("whole_steps", |row| row.whole.steps.into())
        .column("whole_ns", |row| row.whole.total_ns.into())
        .column("whole_all_steps", |row| row.whole_all.steps.into())
        .column("whole_all_ns", |row| row.whole_all.total_ns.into())
        .column("whole_warmup_steps", |row| row.whole_warmup.steps.into())
        .column("whole_warmup_ns", |row| row.whole_warmup.total_ns.into())
        .column("steady_ns", |row| row.steady_ns.into())
        .column("unattributed_ns", |row| row.unattributed_ns.into())
        .column("quick_without_waiting_ns", |row| row.quick_without_waiting_ns.into())
        .column("quick_without_preparation_ns", |row| row.quick_without_preparation_ns.into())
        .column("input_between_ns", |row| row.input_between_ns.into())
        .stats("steady_", "_ns", |row| row.steady)
        .stats("all_", "_ns", |row| row.all)
        .throughput(|row| row.throughput)
        .of(&report.detailed_metrics.modes)
}

/// How many steps take how long.
pub(super) fn times(report: &Report) -> String {
    let modes = &report.detailed_metrics.modes;
    let rows = modes.iter().flat_map(|mode| mode.distribution.iter().map(move |bucket| (mode, bucket)));
    Table::<(&ModeSummary, &DurationBucket)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("from_ns", |row| row.1.from_ns.into())
        .column("to_ns", |row| row.1.to_ns.into())
        .column("count", |row| row.1.count.into())
        .of(rows)
}

pub(super) fn phases(report: &Report) -> String {
    let modes = &report.detailed_metrics.modes;
    let rows = modes.iter().flat_map(|mode| mode.phases.iter().map(move |phase| (mode, phase)));
    Table::<(&ModeSummary, &PhaseRow)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("phase", |row| row.1.phase.as_str().into())
        .column("spans", |row| row.1.spans.into())
        .column("exposed_ns", |row| row.1.exposed_ns.into())
        .column("exposed_share", |row| row.1.exposed_share.into())
        .column("total_ns", |row| row.1.total_ns.into())
        .column("total_share", |row| row.1.total_share.into())
        .column("self_ns", |row| row.1.self_ns.into())
        .of(rows)
}

pub(super) fn phase_sums(report: &Report) -> String {
    Table::<&PhaseSum>::new()
        .column("phase", |row| row.phase.as_ref().map(PhaseName::as_str).into())
        .column("calls", |row| row.calls.into())
        .column("total_ns", |row| row.total_ns.into())
        .column("total_share", |row| row.share.into())
        .of(&report.summary.phase_sums)
}

/// Smallest step numbers of points, `2^shift` numbers each.
fn width(shift: u32) -> Option<u64> {
    1_u64.checked_shl(shift)
}

pub(super) fn series(report: &Report) -> String {
    let series = &report.detailed_metrics.series;
    let rows = series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let mut table = Table::<(&StepSeries, &SeriesPoint)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.1.step.into())
        .column("step_numbers", |row| width(row.0.shift).into())
        .column("count", |row| row.1.count.into())
        .column("duration_sum_ns", |row| row.1.duration_sum_ns.into())
        .column("duration_min_ns", |row| row.1.duration_min_ns.into())
        .column("duration_max_ns", |row| row.1.duration_max_ns.into())
        .column("wait_ns", |row| row.1.wait_ns.into())
        .column("run_queue_ns", |row| row.1.run_queue_ns.into())
        .column("input_before_ns", |row| row.1.input_before_ns.into())
        .column("samples", |row| row.1.samples.into());
    let gauges: [Named<SeriesPoint, Option<Gauge>>; 2] =
        [("live", |point| point.live_bytes), ("rss", |point| point.rss_bytes)];
    for (name, gauge) in gauges {
        table = table
            .column(format!("{name}_count"), move |row| gauge(row.1).map(|gauge| gauge.count).into())
            .column(format!("{name}_min_bytes"), move |row| gauge(row.1).map(|gauge| gauge.min).into())
            .column(format!("{name}_mean_bytes"), move |row| gauge(row.1).map(|gauge| gauge.mean).into())
            .column(format!("{name}_max_bytes"), move |row| gauge(row.1).map(|gauge| gauge.max).into());
    }
    table.of(rows)
}

/// A row for each phase of a point, and one without a phase for what none covers.
pub(super) fn phase_series(report: &Report) -> String {
    let series = &report.detailed_metrics.phase_series;
    let points = series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let rows = points.flat_map(|(series, point)| {
        let phases = point.exposed.iter().map(|time| (Some(time.phase.as_str()), time.exposed_ns));
        phases
            .chain([(None, point.unattributed_ns)])
            .map(move |(phase, exposed_ns)| (series, point, phase, exposed_ns))
    });
    Table::<(&PhaseSeries, &PhasePoint, Option<&str>, u64)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.1.step.into())
        .column("step_numbers", |row| width(row.0.shift).into())
        .column("whole_steps", |row| row.1.steps.into())
        .column("whole_steps_ns", |row| row.1.total_ns.into())
        .column("input_before_ns", |row| row.1.input_before_ns.into())
        .column("phase", |row| row.2.into())
        .column("exposed_ns", |row| row.3.into())
        .of(rows)
}

fn section_of(change: &StepChange) -> Option<&ChangeSection> {
    change.cause.as_ref()?.section.as_ref()
}

pub(super) fn changes(report: &Report) -> String {
    Table::<&StepChange>::new()
        .column("mode", |row| row.mode.as_str().into())
        .column("kind", |row| word(&row.kind).into())
        .column("from_step", |row| row.from_step.into())
        .column("step", |row| row.step.into())
        .column("to_step", |row| row.to_step.into())
        .column("step_numbers", |row| row.step_numbers.into())
        .column("steps_before", |row| row.steps_before.into())
        .column("steps_after", |row| row.steps_after.into())
        .column("before_ns", |row| row.before_ns.into())
        .column("after_ns", |row| row.after_ns.into())
        .column("duration_before_ns", |row| row.duration_before_ns.into())
        .column("duration_after_ns", |row| row.duration_after_ns.into())
        .column("p_value", |row| row.p_value.into())
        .column("cause_phase", |row| {
            row.cause.as_ref().and_then(|cause| cause.phase.as_ref()).map(PhaseName::as_str).into()
        })
        .column("cause_is_between", |row| row.cause.as_ref().map(|cause| cause.is_between).into())
        .column("cause_before_ns", |row| row.cause.as_ref().map(|cause| cause.before_ns).into())
        .column("cause_after_ns", |row| row.cause.as_ref().map(|cause| cause.after_ns).into())
        .column("cause_step_before_ns", |row| row.cause.as_ref().map(|cause| cause.step_before_ns).into())
        .column("cause_step_after_ns", |row| row.cause.as_ref().map(|cause| cause.step_after_ns).into())
        .column("cause_section_path", |row| section_of(row).map(|section| section.path.as_str()).into())
        .column("cause_section_before_ns", |row| section_of(row).map(|section| section.before_ns).into())
        .column("cause_section_after_ns", |row| section_of(row).map(|section| section.after_ns).into())
        .of(&report.detailed_metrics.changes)
}

pub(super) fn periods(report: &Report) -> String {
    let all = &report.detailed_metrics.periodic;
    let rows = all.iter().flat_map(|steps| steps.periods.iter().map(move |period| (steps, period)));
    Table::<(&PeriodicSteps, &StepPeriod)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("every", |row| row.1.every.into())
        .column("first_step", |row| row.1.first_step.into())
        .column("steps", |row| row.1.steps.into())
        .column("median_ns", |row| row.1.median_ns.into())
        .column("above_ns", |row| row.1.above_ns.into())
        .column("cause_phase", |row| {
            row.1.cause.as_ref().and_then(|cause| cause.phase.as_ref()).map(PhaseName::as_str).into()
        })
        .column("cause_usual_ns", |row| row.1.cause.as_ref().map(|cause| cause.usual_ns).into())
        .column("cause_periodic_ns", |row| row.1.cause.as_ref().map(|cause| cause.periodic_ns).into())
        .stats("usual_", "_ns", |row| row.0.usual)
        .of(rows)
}

fn slow_steps(report: &Report) -> impl Iterator<Item = (&ModeSummary, &SlowStep)> {
    report.detailed_metrics.modes.iter().flat_map(|mode| mode.slowest.iter().map(move |step| (mode, step)))
}

pub(super) fn slowest(report: &Report) -> String {
    let rows = slow_steps(report).map(|(mode, step)| (mode, step, every(report, mode.mode, step.step)));
    Table::<(&ModeSummary, &SlowStep, Option<u64>)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.1.step.into())
        .column("rank", |row| row.1.rank.into())
        .column("duration_ns", |row| row.1.duration_ns.into())
        .column("start_ns", |row| row.1.start_ns.into())
        .column("trace_id", |row| row.1.trace_id.as_str().into())
        .column("unattributed_ns", |row| row.1.unattributed_ns.into())
        .column("every", |row| row.2.into())
        .of(rows)
}

/// The longest times between steps.
pub(super) fn pauses(report: &Report) -> String {
    let modes = &report.detailed_metrics.modes;
    let rows = modes.iter().flat_map(|mode| mode.pauses.iter().map(move |pause| (mode, pause)));
    Table::<(&ModeSummary, &Pause)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.1.step.into())
        .column("step_numbers", |row| row.1.step_numbers.into())
        .column("start_ns", |row| row.1.start_ns.into())
        .column("pause_ns", |row| row.1.pause_ns.into())
        .of(rows)
}

pub(super) fn slowest_phases(report: &Report) -> String {
    let rows =
        slow_steps(report).flat_map(|(mode, step)| step.phases.iter().map(move |phase| (mode, step, phase)));
    Table::<(&ModeSummary, &SlowStep, &StepPhase)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.1.step.into())
        .column("trace_id", |row| row.1.trace_id.as_str().into())
        .column("phase", |row| row.2.phase.as_str().into())
        .column("exposed_ns", |row| row.2.exposed_ns.into())
        .column("total_ns", |row| row.2.total_ns.into())
        .of(rows)
}

/// Values that belong to no numbered step have no step number.
pub(super) fn values(report: &Report) -> String {
    let rows = report.detailed_metrics.values.iter().flat_map(|series| {
        let numbered = series.points.iter().map(move |point| (series, Some(point.step), point));
        let elsewhere = series.elsewhere.iter().map(move |point| (series, None, point));
        numbered.chain(elsewhere)
    });
    Table::<(&ValueSeries, Option<u64>, &ValuePoint)>::new()
        .column("name", |row| row.0.name.as_str().into())
        .column("step", |row| row.1.into())
        .column("step_numbers", |row| row.1.and_then(|_| width(row.0.shift)).into())
        .column("count", |row| row.2.count.into())
        .column("mean", |row| row.2.mean.into())
        .column("min", |row| row.2.min.into())
        .column("max", |row| row.2.max.into())
        .column("last", |row| row.2.last.into())
        .column("not_finite_in_series", |row| row.0.not_finite.into())
        .of(rows)
}
