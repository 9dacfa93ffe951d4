//! State, instances, losses and limits of a run.

use std::collections::{BTreeMap, BTreeSet};

use crate::accumulate::median::median;
use crate::accumulate::saturate::saturate;
use crate::between_steps::finish::BetweenSteps;
use crate::between_steps::step_times::{first_steps, other_steps_ns};
use crate::losses::LossKey;
use crate::phases::PhaseKey;
use crate::phases::per_step::by_step;
use crate::run::{InstanceAcc, RunAcc};
use crate::sections::paths::UNCUT;
use crate::steps::StepSums;
use crate::steps::finish::{Steady, throughput};
use crate::summary::{InstanceRow, Limit, LossRow, Losses, PhaseTime, RunState, Stats, Throughput};

use stepscope_core::{Mode, Phase};

/// How far the run came.
pub(crate) fn state(run: &RunAcc) -> RunState {
    let count = |is: fn(&InstanceAcc) -> bool| run.instances.values().filter(|acc| is(acc)).count() as u64;
    let tally = &run.tally;
    RunState {
        first_ns: tally.first_ns,
        last_ns: tally.last_ns,
        started: count(|acc| acc.tally.has_started),
        ended: count(|acc| acc.tally.has_ended),
        instances: run.instances.len() as u64,
        world_size: run.instances.keys().filter_map(|instance| instance.0.world_size).max(),
        epochs_started: tally.epochs_started,
        epochs_ended: tally.epochs_ended,
        traces: tally.traces,
        spans: tally.spans,
        incomplete_traces: tally.incomplete_traces,
        missing_spans: tally.missing_spans,
        dropped_spans: tally.dropped_spans,
        errors: tally.errors,
        is_ours: tally.is_ours,
        ended_by: tally.ended_by,
    }
}

/// The table of processes.
pub(crate) fn instances(
    run: &RunAcc,
    steps: &Steady<'_>,
    primary: Option<Mode>,
    outside: &BetweenSteps,
) -> Vec<InstanceRow> {
    let mut rows: Vec<InstanceRow> = run
        .instances
        .iter()
        .zip(outside.by_instance())
        .map(|((instance, acc), between)| {
            let steady = steps.get(primary, instance);
            let gaps = gaps(acc);
            InstanceRow {
                resource: (*instance.0).clone(),
                first_ns: acc.tally.first_ns,
                last_ns: acc.tally.last_ns,
                started: acc.tally.has_started,
                ended: acc.tally.has_ended,
                ended_by: acc.tally.ended_by,
                traces: acc.tally.traces,
                steps: steady.map_or_else(Stats::default, |steady| steady.sums.stats()),
                work_time: steady
                    .map_or_else(Stats::default, |steady| Stats::of(&steady.sums.without_exchange.0)),
                warmup_steps: steady.map_or(0, |steady| steady.warmup_steps),
                throughput: steady.map_or_else(Throughput::default, |steady| throughput(&steady.sums)),
                communication_per_step_ns: steady.and_then(|steady| communication_ns(&steady.sums)),
                phases_per_step: steady.map_or_else(Vec::new, |steady| phases_per_step(&steady.sums)),
                phases_between_steps: between.clone(),
                other_steps_ns: steady.map_or(0, |steady| other_steps_ns(acc, primary, steady)),
                usual_gap_ns: gaps.as_ref().filter(|gaps| !gaps.is_empty()).map(|gaps| median(gaps)),
                steps_overlap: gaps.is_none(),
                memory_limit: acc.account.memory_limit(),
            }
        })
        .collect();
    // Stable: instances of one rank stay in the order of their resources.
    rows.sort_by_key(|row| row.resource.rank);
    rows
}

/// Times between the first steps of a process, as far as those of all modes are kept; absent where they overlap.
fn gaps(acc: &InstanceAcc) -> Option<Vec<u64>> {
    let (times, _) = first_steps(acc);
    times.iter().zip(times.iter().skip(1)).map(|(a, b)| b.0.checked_sub(a.1)).collect()
}

/// Exposed communication of a whole step, the mean.
fn communication_ns(sums: &StepSums) -> Option<u64> {
    let its = sums.phases.iter().filter(|(key, _)| **key == PhaseKey::known(Phase::Communication));
    let exposed_ns = its.fold(0u128, |sum, (_, time)| sum.saturating_add(time.exposed_ns));
    exposed_ns.checked_div(sums.whole_steps.into()).map(saturate)
}

/// Exposed time of a whole step by phase, the means; longest first.
fn phases_per_step(sums: &StepSums) -> Vec<PhaseTime> {
    by_step(sums.phases.iter().map(|(key, time)| (key, time.exposed_ns)), sums.whole_steps)
}

/// Spans of a process that ended and were not read; absent where it said nothing.
fn absent(acc: &InstanceAcc) -> Option<u64> {
    let counts = &acc.account.losses;
    if counts.is_empty() {
        return None;
    }
    let spans = acc.tally.spans;
    let emitted = counts.get(&LossKey::Emitted).map(|latest| latest.value);
    match emitted {
        Some(emitted) if acc.tally.has_ended && emitted >= spans => Some(emitted - spans),
        // A killed process has not sent its last count; what it counted as lost is lost all the same.
        _ => Some(emitted.unwrap_or(0).saturating_sub(spans).max(lost_anyway(acc))),
    }
}

/// Spans that no sink can have: lost before them, and as many as the best of them lost.
fn lost_anyway(acc: &InstanceAcc) -> u64 {
    let mut before: u64 = 0;
    let mut by_sink: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, latest) in &acc.account.losses {
        match key {
            LossKey::Dropped(sink, _) if sink.is_empty() => before = before.saturating_add(latest.value),
            LossKey::Dropped(sink, _) => {
                let sum = by_sink.entry(sink).or_default();
                *sum = sum.saturating_add(latest.value);
            }
            LossKey::Exported(sink) => drop(by_sink.entry(sink).or_default()),
            LossKey::Emitted => {}
        }
    }
    before.saturating_add(by_sink.into_values().min().unwrap_or(0))
}

/// Tells which losses the input lacks: those before any sink, and those of the sink that it came through, which
/// is the one whose losses come closest to what is absent.
fn attribute(losses: &mut Losses) {
    let of = |losses: &Losses, sink: &str| {
        let rows = losses.dropped.iter().filter(|row| row.sink == sink);
        rows.fold(0u64, |sum, row| sum.saturating_add(row.spans))
    };
    let after = losses.absent.unwrap_or(0).saturating_sub(of(losses, ""));
    let exported = losses.exported.iter().map(|(sink, _)| sink);
    let sinks: BTreeSet<&String> =
        exported.chain(losses.dropped.iter().map(|row| &row.sink)).filter(|sink| !sink.is_empty()).collect();
    let source = sinks.into_iter().min_by_key(|sink| of(losses, sink).abs_diff(after)).cloned();
    for row in &mut losses.dropped {
        row.is_missing_here = row.sink.is_empty() || (after > 0 && Some(&row.sink) == source.as_ref());
    }
}

/// Losses, summed over instances.
pub(crate) fn losses(run: &RunAcc) -> Losses {
    let mut sums: BTreeMap<&LossKey, u64> = BTreeMap::new();
    for acc in run.instances.values() {
        for (key, latest) in &acc.account.losses {
            let sum = sums.entry(key).or_default();
            *sum = sum.saturating_add(latest.value);
        }
    }
    let mut losses = Losses::default();
    for (key, spans) in sums {
        match key {
            LossKey::Emitted => losses.emitted = Some(spans),
            LossKey::Exported(sink) => losses.exported.push((sink.to_string(), spans)),
            LossKey::Dropped(..) if spans == 0 => {}
            LossKey::Dropped(sink, reason) => {
                losses.dropped.push(LossRow {
                    sink: sink.to_string(),
                    reason: LossKey::reason(*reason),
                    spans,
                    is_missing_here: false,
                });
            }
        }
    }
    let absent = run.instances.values().filter_map(absent);
    losses.absent = absent.fold(None, |sum: Option<u64>, spans| Some(sum.unwrap_or(0).saturating_add(spans)));
    attribute(&mut losses);
    losses
}

/// The bounds that were reached.
pub(crate) fn limits(run: &RunAcc, outside: &BetweenSteps, runs_are_cut: bool) -> Vec<Limit> {
    let any = |is: fn(&InstanceAcc) -> bool| run.instances.values().any(is);
    let depth = run.sections.tree().cut();
    let are_phases_folded = |acc: &InstanceAcc| acc.steps.iter().any(|steps| steps.folded.phases.is_folded());
    let reached = [
        (Limit::PathsCut { depth }, depth != UNCUT),
        (Limit::RunsLeftOut, runs_are_cut),
        (Limit::InstancesLeftOut, run.is_cut),
        (Limit::ValuesLeftOut, run.values.is_cut),
        (Limit::PhasesFolded, any(are_phases_folded) || outside.are_phases_folded()),
        (
            Limit::ThreadsLeftOut,
            any(|acc| acc.outside.is_cut || acc.loaders.loaders.values().any(|loader| loader.is_cut)),
        ),
        (Limit::BetweenStepsEstimated, outside.is_estimated),
        (Limit::LoadersLeftOut, run.named_waits.is_any_cut() || any(|acc| acc.loaders.is_cut)),
        (Limit::AggregatesLeftOut, any(|acc| acc.aggregates.is_cut)),
    ];
    reached.into_iter().filter(|&(_, is_reached)| is_reached).map(|(limit, _)| limit).collect()
}
