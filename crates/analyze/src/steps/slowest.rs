//! The slowest steps of a mode, as they are listed: without warm-up, of each number the longest, and without most of those
//! that take as long every so often.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::Mode;

use crate::accumulate::saturate::saturate;
use crate::config::SLOWEST_STEPS;
use crate::phases::PhaseKey;
use crate::run::{Instance, RunAcc};
use crate::steps::numbering::Numbering;
use crate::steps::steady::SteadySteps;
use crate::steps::{StepRecord, hexadecimal};
use crate::summary::{PeriodicSteps, SlowStep, StepPhase};

/// The list of a mode, slowest first: of each number the longest step, of equals the smallest, and of periodic ones the slowest.
/// And of each of them of how many processes a step of its number is known, with what these took together.
pub(crate) fn by_number(
    (run, mode): (&RunAcc, Mode),
    periodic: Option<&PeriodicSteps>,
    instances: &BTreeMap<&Instance, SteadySteps>,
    numbering: &Numbering,
) -> (Vec<SlowStep>, Vec<(u64, u64)>) {
    // Beside periodic ones those are not kept by instance that are slow among the others.
    let beside = periodic.into_iter().flat_map(|_| beside(run, mode, instances));
    let all = sorted(beside.chain(instances.values().flat_map(|steps| &steps.sums.slowest)));
    let (mut numbers, mut has_periodic) = (BTreeSet::new(), false);
    let longest = all.iter().filter(|record| {
        let Some(number) = record.place().map(|place| numbering.number(place)) else { return true };
        let is_periodic = periodic.is_some_and(|periodic| periodic.every(number).is_some());
        numbers.insert(number) && !(is_periodic && std::mem::replace(&mut has_periodic, true))
    });
    let number = |record: &StepRecord| record.place().map(|place| numbering.number(place));
    let together = |record: &StepRecord| {
        let is_same = |other: &&&StepRecord| {
            **other == record || number(record).is_some_and(|of| number(other) == Some(of))
        };
        all.iter()
            .filter(is_same)
            .fold((0, 0), |(count, ns), other| (count + 1, other.duration_ns().saturating_add(ns)))
    };
    longest.take(SLOWEST_STEPS).map(|&record| (slow_step(record), together(record))).unzip()
}

/// Slowest first, and once each.
fn sorted<'a>(records: impl Iterator<Item = &'a StepRecord>) -> Vec<&'a StepRecord> {
    let mut all: Vec<(Reverse<u64>, &StepRecord)> =
        records.map(|record| (Reverse(record.duration_ns()), record)).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|(_, record)| record).collect()
}

/// The first steps after warm-up, and those that are kept as examples: the slowest ones of the run, whatever class of numbers
/// they are of.
fn beside<'a>(
    run: &'a RunAcc,
    mode: Mode,
    instances: &'a BTreeMap<&Instance, SteadySteps>,
) -> impl Iterator<Item = &'a StepRecord> {
    let at = mode as usize;
    let kept = move |(instance, steps): (&&Instance, &SteadySteps)| {
        let kept = run.instances.get(*instance).and_then(|acc| acc.steps.get(at)).map(|acc| &acc.kept[..]);
        kept.unwrap_or_default().split_at_checked(steps.warmup_steps()).unwrap_or_default()
    };
    let is_warm_up = move |record: &StepRecord| {
        instances.iter().any(|instance| kept(instance).0.binary_search(record).is_ok())
    };
    // Of instances that were left out nothing is said, and which they are is not known there.
    let examples = run.examples.get(at).filter(|_| !run.is_cut).into_iter().flat_map(|all| all.kept.values());
    examples
        .map(|(record, _)| record)
        .filter(move |record| !is_warm_up(record))
        .chain(instances.iter().flat_map(move |of| kept(of).1))
        .filter(|record| !record.is_deep)
}

/// What is listed of a step: its phases, the longest exposed first.
pub(crate) fn slow_step(record: &StepRecord) -> SlowStep {
    let mut phases: Vec<StepPhase> = record
        .phases
        .iter()
        .filter_map(|(key, time)| {
            Some(StepPhase {
                phase: key.name()?,
                exposed_ns: saturate(time.exposed_ns),
                total_ns: saturate(time.total_ns),
            })
        })
        .collect();
    phases.sort_by(|a, b| {
        (Reverse(a.exposed_ns), Reverse(a.total_ns), &a.phase).cmp(&(
            Reverse(b.exposed_ns),
            Reverse(b.total_ns),
            &b.phase,
        ))
    });
    let absent = record.phases.iter().find(|(key, _)| *key == PhaseKey::Absent);
    SlowStep {
        step: record.step,
        rank: record.rank,
        duration_ns: record.duration_ns(),
        start_ns: record.start_ns,
        trace_id: hexadecimal(&record.trace),
        phases,
        unattributed_ns: absent.map_or(0, |(_, time)| saturate(time.exposed_ns)),
    }
}
