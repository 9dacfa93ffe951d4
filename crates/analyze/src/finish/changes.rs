//! Where step times change, and in which phase.

use super::narrow;
use super::steps::Steady;
use crate::changes::{self, Change};
use crate::summary::{
    ChangeCause, ChangeKind, Coverage, PhaseName, PhasePoint, PhaseSeries, SeriesPoint, StepChange,
    StepSeries,
};

/// The changes of every mode; none where only a part of the steps was read, which need not be alike.
pub(super) fn of(
    steps: &Steady<'_>,
    coverage: &Coverage,
    series: &[StepSeries],
    phases: &[PhaseSeries],
) -> Vec<StepChange> {
    if coverage.partly_read().is_some() {
        return Vec::new();
    }
    series
        .iter()
        .filter(|series| steps.numbers.tell_apart(series.mode))
        .flat_map(|series| {
            let first = steps.first_step(series.mode).unwrap_or(0);
            // Points of several steps that are partly warm-up are left out.
            let points: Vec<&SeriesPoint> =
                series.points.iter().filter(|point| point.count > 0 && point.step >= first).collect();
            let times: Vec<u64> = points.iter().map(|point| mean_ns(point)).collect();
            let phases = phases.iter().find(|row| row.mode == series.mode);
            let found = changes::changes(&times);
            found.into_iter().filter_map(|change| row(series, &points, phases, &change)).collect::<Vec<_>>()
        })
        .collect()
}

fn mean_ns(point: &SeriesPoint) -> u64 {
    point.duration_sum_ns.checked_div(point.count).unwrap_or(0)
}

fn row(
    series: &StepSeries,
    points: &[&SeriesPoint],
    phases: Option<&PhaseSeries>,
    change: &Change,
) -> Option<StepChange> {
    let steps = |from: usize, to: usize| {
        let part = points.get(from..to).unwrap_or_default();
        part.iter().fold(0u64, |sum, point| sum.saturating_add(point.count))
    };
    let step_numbers = 1u64 << series.shift.min(63);
    let from_step = points.get(change.from)?.step;
    let step = points.get(change.at)?.step;
    let last = points.get(change.to.checked_sub(1)?)?.step;
    let to_step = last.saturating_add(step_numbers - 1);
    let sides = if change.is_gradual {
        let third = (to_step - from_step) / 3;
        ((from_step, from_step + third), (to_step - third, to_step))
    } else {
        ((from_step, step.saturating_sub(1)), (step, to_step))
    };
    Some(StepChange {
        mode: series.mode,
        kind: if change.is_gradual { ChangeKind::Gradual } else { ChangeKind::Sudden },
        from_step,
        step,
        to_step,
        step_numbers,
        steps_before: steps(change.from, change.at),
        steps_after: steps(change.at, change.to),
        before_ns: change.before,
        after_ns: change.after,
        p_value: change.p_value,
        cause: phases.and_then(|phases| cause(phases, sides, change.after > change.before)),
    })
}

/// The phase that moved most in the direction of the change between the two sides, each from step to step.
fn cause(phases: &PhaseSeries, sides: ((u64, u64), (u64, u64)), is_slower: bool) -> Option<ChangeCause> {
    let before = Means::of(phases, sides.0)?;
    let after = Means::of(phases, sides.1)?;
    let mut names: Vec<Option<&PhaseName>> = before.named().chain(after.named()).map(Some).collect();
    names.push(None);
    names.sort();
    names.dedup();
    let moved = |name: Option<&PhaseName>| {
        let by = i128::from(after.time_of(name)) - i128::from(before.time_of(name));
        if is_slower { by } else { -by }
    };
    // Of equals the first name.
    let name = names.into_iter().rev().max_by_key(|&name| moved(name)).filter(|&name| moved(name) > 0)?;
    Some(ChangeCause {
        phase: name.cloned(),
        before_ns: before.time_of(name),
        after_ns: after.time_of(name),
        step_before_ns: before.per_step(before.total_ns),
        step_after_ns: after.per_step(after.total_ns),
    })
}

/// Times of the whole steps of one side.
struct Means<'a> {
    points: Vec<&'a PhasePoint>,
    steps: u64,
    total_ns: u128,
}

impl<'a> Means<'a> {
    /// Of the points that lie between these steps with all their numbers.
    fn of(series: &'a PhaseSeries, (from, to): (u64, u64)) -> Option<Self> {
        let last = (1u64 << series.shift.min(63)) - 1;
        let is_inside = |point: &&PhasePoint| point.step >= from && point.step.saturating_add(last) <= to;
        let points: Vec<&PhasePoint> = series.points.iter().filter(is_inside).collect();
        let steps = points.iter().fold(0u64, |sum, point| sum.saturating_add(point.steps));
        let total_ns = points.iter().map(|point| u128::from(point.total_ns)).sum();
        (steps > 0).then_some(Self { points, steps, total_ns })
    }

    fn named(&self) -> impl Iterator<Item = &'a PhaseName> {
        self.points.iter().flat_map(|point| point.exposed.iter().map(|time| &time.phase))
    }

    /// Time of a phase in a step; of none, what no phase covers.
    fn sum_of(&self, name: Option<&PhaseName>) -> u128 {
        let time = |point: &PhasePoint| match name {
            Some(name) => {
                let named = point.exposed.iter().filter(|time| time.phase == *name);
                named.map(|time| u128::from(time.exposed_ns)).sum()
            }
            None => u128::from(point.unattributed_ns),
        };
        self.points.iter().map(|point| time(point)).sum()
    }

    fn time_of(&self, name: Option<&PhaseName>) -> u64 {
        self.per_step(self.sum_of(name))
    }

    fn per_step(&self, ns: u128) -> u64 {
        narrow(ns / u128::from(self.steps))
    }
}
