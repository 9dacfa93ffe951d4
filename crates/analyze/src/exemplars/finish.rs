//! Which of the steps kept are shown, and what is said about them.

use std::collections::BTreeMap;

use stepscope_core::Mode;

use crate::context::Context;
use crate::exemplars::{Exemplars, NO_PARENT};
use crate::steps::slowest::slow_step;
use crate::steps::steady::SteadySteps;
use crate::steps::{StepRecord, hexadecimal};
use crate::summary::{
    Example, ExampleBatch, ExamplePiece, ExampleRole, ExampleRun, ExampleSpan, Lane, ModeSummary,
};

/// Slow steps that are shown.
const SLOWEST: usize = 4;

/// The examples of every mode: the first in their order, then the median one, then the slowest; where some are periodic,
/// these without them, and the slowest periodic one.
pub(crate) fn of(context: &Context<'_>, modes: &[ModeSummary]) -> Vec<Example> {
    let Context { run, steps: steady, periodic, .. } = context;
    modes
        .iter()
        .filter_map(|mode| Some((mode, run.examples.get(mode.mode as usize)?)))
        .flat_map(|(mode, kept)| {
            let is_warmup = |step: &StepRecord| {
                run.instances.iter().any(|(instance, acc)| {
                    let count = steady.get(Some(mode.mode), instance).map_or(0, SteadySteps::warmup_steps);
                    let steps = acc.steps.get(mode.mode as usize);
                    steps.is_some_and(|steps| steps.kept.iter().take(count).any(|warm| warm == step))
                })
            };
            let periodic = periodic.iter().find(|periodic| periodic.mode == mode.mode);
            let numbering = steady.numbers.of_mode(mode.mode);
            let is_periodic = periodic.map(|periodic| {
                move |step: &StepRecord| {
                    let number = step.place().map(|place| numbering.number(place));
                    number.is_some_and(|number| periodic.every(number).is_some())
                }
            });
            of_mode(mode, kept, is_warmup, is_periodic)
        })
        .collect()
}

fn of_mode(
    mode: &ModeSummary,
    kept: &Exemplars,
    is_warmup: impl Fn(&StepRecord) -> bool,
    is_periodic: Option<impl Fn(&StepRecord) -> bool>,
) -> Vec<Example> {
    // In the order in which they are shown: the place of a step is that of its first role.
    let mut shown: Vec<(&StepRecord, Vec<ExampleRole>)> = Vec::new();
    let mut show = |step, role| match shown.iter_mut().find(|(other, _)| *other == step) {
        Some((_, roles)) => roles.push(role),
        None => shown.push((step, vec![role])),
    };
    let warm: BTreeMap<&StepRecord, bool> = kept.steps().map(|step| (step, is_warmup(step))).collect();
    let is_steady = |step: &StepRecord| !warm.get(step).copied().unwrap_or(false);
    for step in kept.steps().take(crate::exemplars::FIRST) {
        show(step, ExampleRole::First);
    }
    if let Some(median_ns) = mode.steady.p50 {
        let steady = kept.steps().filter(|step| is_steady(step));
        let nearest = steady.min_by_key(|&step| (step.duration_ns().abs_diff(median_ns), step));
        nearest.into_iter().for_each(|step| show(step, ExampleRole::Median));
    }
    let has_ordinary = kept.steps().any(|step| !step.is_deep);
    let mut slowest: Vec<&StepRecord> = kept.steps().filter(|step| !(step.is_deep && has_ordinary)).collect();
    if let Some(is_periodic) = is_periodic {
        // Those that are listed: which of the others that are kept are slow is chance.
        let listed = mode
            .slowest
            .iter()
            .filter_map(|listed| slowest.iter().find(|step| slow_step(step) == *listed).copied());
        let (periodic, usual): (Vec<&StepRecord>, Vec<&StepRecord>) =
            listed.partition(|step| is_periodic(step));
        usual.into_iter().take(SLOWEST).for_each(|step| show(step, ExampleRole::Slowest));
        periodic.into_iter().take(1).for_each(|step| show(step, ExampleRole::Periodic));
        slowest.clear();
    }
    slowest.sort_by_key(|&step| (std::cmp::Reverse(step.duration_ns()), step));
    // Beyond the slowest that are kept, a steady step is slow by chance only.
    let least_ns = slowest.get(crate::exemplars::SLOWEST - 1).map_or(0, |step| step.duration_ns());
    let (steady, warmup): (Vec<_>, Vec<_>) =
        slowest.into_iter().filter(|step| step.duration_ns() >= least_ns).partition(|&step| is_steady(step));
    let chosen = if steady.is_empty() { warmup } else { steady };
    for step in chosen.into_iter().take(SLOWEST) {
        show(step, ExampleRole::Slowest);
    }
    let row = |(step, roles): (&StepRecord, _)| {
        kept.get(step).map(|example| example_of(mode.mode, step, !is_steady(step), roles, example))
    };
    shown.into_iter().filter_map(row).collect()
}

fn example_of(
    mode: Mode,
    step: &StepRecord,
    is_warmup: bool,
    roles: Vec<ExampleRole>,
    example: &crate::exemplars::Example,
) -> Example {
    let mut critical: BTreeMap<u32, u64> = BTreeMap::new();
    for piece in &example.pieces {
        let sum = critical.entry(piece.span).or_default();
        *sum = sum.saturating_add(piece.duration_ns);
    }
    let name = |at: u32| example.names.get(at as usize).map(ToString::to_string).unwrap_or_default();
    let spans = example.spans.iter().zip(0u32..).map(|(span, at)| ExampleSpan {
        name: name(span.name),
        parent: (span.parent != NO_PARENT).then_some(span.parent.into()),
        lane: span.lane.into(),
        phase: span.phase.name(),
        offset_ns: span.offset_ns,
        duration_ns: span.duration_ns,
        critical_ns: critical.get(&at).copied().unwrap_or(0),
        is_error: span.is_error,
        running: sorted(&span.running),
        batch: span.batch.map(|batch| ExampleBatch {
            trace_id: batch.trace.as_ref().map(hexadecimal),
            produce_ns: batch.produce_ns,
            queue_ns: batch.queue_ns,
        }),
    });
    let lanes = example.lanes.iter().map(|lane| Lane {
        thread_id: lane.thread,
        thread_name: (!lane.name.is_empty()).then(|| lane.name.to_string()),
    });
    let pieces = example.pieces.iter().map(|piece| ExamplePiece {
        span: piece.span.into(),
        offset_ns: piece.offset_ns,
        duration_ns: piece.duration_ns,
    });
    Example {
        mode,
        roles,
        is_warmup,
        step: slow_step(step),
        span_id: format!("{:016x}", step.span),
        spans_in_step: example.spans_in_step,
        lanes: lanes.collect(),
        spans: spans.collect(),
        critical_path: pieces.collect(),
    }
}

/// Intervals in the order of time.
fn sorted(running: &[(i64, u64)]) -> Vec<ExampleRun> {
    let mut runs: Vec<ExampleRun> =
        running.iter().map(|&(offset_ns, duration_ns)| ExampleRun { offset_ns, duration_ns }).collect();
    runs.sort_unstable_by_key(|run| (run.offset_ns, run.duration_ns));
    runs
}
