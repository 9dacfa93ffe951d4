//! The slowest steps of a mode, as they are listed: without warm-up, of each number the longest, and without most of those
//! that take as long every so often.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::Mode;

use crate::config::SLOWEST_STEPS;
use crate::run::{Instance, RunAcc};
use crate::steps::StepRecord;
use crate::steps::numbering::Numbering;
use crate::steps::slowest::slow_step::slow_step;
use crate::steps::steady::SteadySteps;
use crate::summary::{PeriodicSteps, SlowStep};

/// The list, and of each of them of how many processes a step of its number is known, with what these took together.
type Listed = (Vec<SlowStep>, Vec<(u64, u64)>);

/// The list of a mode, slowest first: of each number the longest step, of equals the smallest, and of periodic ones the slowest.
pub(crate) fn by_number(
    (run, mode): (&RunAcc, Mode),
    periodic: Option<&PeriodicSteps>,
    instances: &BTreeMap<&Instance, SteadySteps>,
    numbering: &Numbering,
) -> Listed {
    // Beside periodic ones those are not kept by instance that are slow among the others.
    let beside = periodic.into_iter().flat_map(|_| beside(run, mode, instances));
    let all = sorted(beside.chain(instances.values().flat_map(|steps| &steps.sums.slowest)));
    let (mut numbers, mut has_periodic) = (BTreeSet::new(), false);
    let longest = all.iter().copied().filter(|record| {
        let Some(number) = record.place().map(|place| numbering.number(place)) else { return true };
        let is_periodic = periodic.is_some_and(|periodic| periodic.every(number).is_some());
        numbers.insert(number) && !(is_periodic && std::mem::replace(&mut has_periodic, true))
    });
    let listed: Vec<&StepRecord> = longest.take(SLOWEST_STEPS).collect();
    told(&listed, &all, numbering)
}

/// What is told of these steps, of all that are known.
fn told(listed: &[&StepRecord], all: &[&StepRecord], numbering: &Numbering) -> Listed {
    let number = |record: &StepRecord| record.place().map(|place| numbering.number(place));
    let together = listed.iter().map(|&record| {
        let same = all
            .iter()
            .filter(|other| **other == record || number(record).is_some() && number(other) == number(record));
        same.fold((0, 0), |(count, ns), other| (count + 1, other.duration_ns().saturating_add(ns)))
    });
    (listed.iter().map(|record| slow_step(record)).collect(), together.collect())
}

/// Slowest first, and once each.
fn sorted<'a>(records: impl Iterator<Item = &'a StepRecord>) -> Vec<&'a StepRecord> {
    let mut all: Vec<(Reverse<u64>, &StepRecord)> =
        records.map(|record| (Reverse(record.duration_ns()), record)).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|(_, record)| record).collect()
}

/// The first steps after warm-up, and the slowest ones of the run, whatever class of numbers they are of.
fn beside<'a>(
    run: &'a RunAcc,
    mode: Mode,
    instances: &'a BTreeMap<&Instance, SteadySteps>,
) -> impl Iterator<Item = &'a StepRecord> {
    let at = mode as usize;
    // Of instances that were left out nothing is said, and which they are is not known there.
    let beyond = run.slow.get(at).filter(|_| !run.is_cut).into_iter().flat_map(|slow| slow.kept());
    let kept = instances.iter().flat_map(move |(instance, steps)| {
        let acc = run.instances.get(*instance).and_then(|acc| acc.steps.get(at));
        acc.into_iter().flat_map(|acc| acc.kept.iter().skip(steps.warmup_steps()))
    });
    beyond.chain(kept)
}
