//! The slowest steps of a mode, as they are listed: without warm-up, of each number the longest, and without most of those
//! that take as long every so often.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::numbering::Numbering;
use super::periods::Periods;
use super::steps::{SteadySteps, slow};
use crate::config::SLOWEST_STEPS;
use crate::run::{Instance, RunAcc};
use crate::steps::StepRecord;
use crate::summary::SlowStep;

/// Periodic steps that are listed at most: the slowest ones, one of each period.
const PERIODIC: usize = 2;

/// The list, and of each of them of how many processes a step of its number is known, with what these took together.
type Listed = (Vec<SlowStep>, Vec<(u64, u64)>);

/// The list of a mode, slowest first: of each number the longest step, and of equals the smallest.
pub(super) fn by_number(instances: &BTreeMap<&Instance, SteadySteps>, numbering: &Numbering) -> Listed {
    let all = sorted(instances.values().flat_map(|steps| &steps.sums.slowest));
    let mut numbers = BTreeSet::new();
    let longest = all
        .iter()
        .copied()
        .filter(|record| record.place().is_none_or(|place| numbers.insert(numbering.number(place))));
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
    (listed.iter().map(|record| slow(record)).collect(), together.collect())
}

/// Slowest first, and once each.
fn sorted<'a>(records: impl Iterator<Item = &'a StepRecord>) -> Vec<&'a StepRecord> {
    let mut all: Vec<(Reverse<u64>, &StepRecord)> =
        records.map(|record| (Reverse(record.duration_ns()), record)).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|(_, record)| record).collect()
}

/// The same of a mode that has periods.
pub(super) fn beside(
    run: &RunAcc,
    periods: &Periods,
    instances: &BTreeMap<&Instance, SteadySteps>,
    numbering: &Numbering,
) -> Listed {
    let mode = periods.mode as usize;
    // Of instances that were left out nothing is said, and which they are is not known there.
    let beyond = run.slow.get(mode).filter(|_| !run.is_cut).into_iter().flat_map(|slow| slow.kept());
    let kept = instances.iter().flat_map(|(instance, steps)| {
        let acc = run.instances.get(*instance).and_then(|acc| acc.steps.get(mode));
        let kept = acc.into_iter().flat_map(|acc| acc.kept.iter().skip(steps.warmup_steps()));
        kept.chain(&steps.sums.slowest)
    });
    let mut numbers = BTreeSet::new();
    let mut periodic = BTreeSet::new();
    let mut usual = 0;
    let mut listed: Vec<&StepRecord> = Vec::new();
    let all = sorted(beyond.chain(kept));
    for &record in &all {
        let number = record.place().map(|place| numbering.number(place));
        if number.is_some_and(|number| !numbers.insert(number)) {
            continue;
        }
        match number.and_then(|number| periods.of_step(number, record.duration_ns())) {
            Some(period) if periodic.len() < PERIODIC && periodic.insert(period) => listed.push(record),
            Some(_) => {}
            None if usual < SLOWEST_STEPS => {
                usual += 1;
                listed.push(record);
            }
            None => {}
        }
    }
    // The quickest make room for periodic ones.
    listed.truncate(SLOWEST_STEPS);
    told(&listed, &all, numbering)
}
