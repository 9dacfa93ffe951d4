//! Where step times change, and in which phase. Where steps say how long their threads waited for batches before them, times
//! are those of a step with the input before it.

use std::collections::BTreeMap;

use stepscope_core::{Mode, Phase};

use crate::accumulate::saturate::saturate;
use crate::accumulate::step_series::numbers;
use crate::changepoints::{Change, changes};
use crate::context::Context;
use crate::phases::phase_point::PhasePoint as PhasePointAcc;
use crate::phases::section_time::id_of;
use crate::run::RunAcc;
use crate::steps::numbering::Numbering;
use crate::summary::{
    ChangeCause, ChangeKind, ChangeSection, PhaseName, PhasePoint, PhaseSeries, SectionRow, SeriesPoint,
    StepChange, StepSeries,
};

/// The changes of every mode; none where only a part of the steps was read, which need not be alike.
pub(crate) fn of(context: &Context<'_>, sections: &[SectionRow]) -> Vec<StepChange> {
    let steps = &context.steps;
    if context.coverage.partly_read().is_some() {
        return Vec::new();
    }
    context
        .series
        .iter()
        .filter(|series| steps.numbers.tell_apart(series.mode))
        .flat_map(|series| {
            let first = steps.first_step(series.mode).unwrap_or(0);
            // Points of several steps that are partly warm-up are left out.
            let points: Vec<&SeriesPoint> =
                series.points.iter().filter(|point| point.count > 0 && point.step >= first).collect();
            let found = changes(&points.iter().map(|point| point.mean_taken_ns()).collect::<Vec<u64>>());
            if found.is_empty() {
                return Vec::new();
            }
            let phases = context.phase_series.iter().find(|row| row.mode == series.mode);
            let section_time =
                Sections::of(context.run, steps.numbers.of_mode(series.mode), series.mode, sections);
            found.iter().filter_map(|change| row(series, &points, phases, &section_time, change)).collect()
        })
        .collect()
}

fn row(
    series: &StepSeries,
    points: &[&SeriesPoint],
    phases: Option<&PhaseSeries>,
    sections: &Sections<'_>,
    change: &Change,
) -> Option<StepChange> {
    let steps = |from: usize, to: usize| {
        let part = points.get(from..to).unwrap_or_default();
        part.iter().fold(0u64, |sum, point| sum.saturating_add(point.count))
    };
    let step_numbers = numbers(series.shift);
    let step_of = |at: usize| Some(points.get(at)?.step);
    let (from_step, step) = (step_of(change.from)?, step_of(change.at)?);
    let to_step = step_of(change.to.checked_sub(1)?)?.saturating_add(step_numbers - 1);
    let sides = ((from_step, step.saturating_sub(1)), (step_of(change.last)?, to_step));
    let alone = series
        .says_input()
        .then(|| change.levels_of(&points.iter().map(|point| point.mean_ns()).collect::<Vec<u64>>()));
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
        duration_before_ns: alone.map(|alone| alone.0),
        duration_after_ns: alone.map(|alone| alone.1),
        p_value: change.p_value,
        cause: phases.and_then(|phases| {
            let is_slower = change.after > change.before;
            let mut cause = cause(phases, sides, is_slower, alone.is_some())?;
            if !cause.is_between {
                cause.section = sections.moved_most(cause.phase.as_ref(), sides, is_slower);
            }
            Some(cause)
        }),
    })
}

/// What waits for batches before steps are.
static DATA_WAIT: PhaseName = PhaseName::Known(Phase::DataWait);

/// A part of the time of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part<'a> {
    /// Absent for what no phase covers.
    phase: Option<&'a PhaseName>,
    /// Whether it is before the step.
    is_between: bool,
}

/// The part that moved most in the direction of the change between the two sides, each from step to step.
fn cause(phases: &PhaseSeries, sides: Sides, is_slower: bool, with_input: bool) -> Option<ChangeCause> {
    let before = Means::of(phases, sides.0, with_input)?;
    let after = Means::of(phases, sides.1, with_input)?;
    let inside = |phase| Part { phase, is_between: false };
    let mut parts: Vec<Part<'_>> =
        before.named().chain(after.named()).map(|name| inside(Some(name))).collect();
    parts.push(inside(None));
    parts.push(Part { phase: Some(&DATA_WAIT), is_between: true });
    parts.sort();
    parts.dedup();
    let moved = |part: Part<'_>| {
        let by = i128::from(after.time_of(part)) - i128::from(before.time_of(part));
        if is_slower { by } else { -by }
    };
    // Of equals the first one.
    let part = parts.into_iter().rev().max_by_key(|&part| moved(part)).filter(|&part| moved(part) > 0)?;
    Some(ChangeCause {
        phase: part.phase.cloned(),
        is_between: part.is_between,
        before_ns: before.time_of(part),
        after_ns: after.time_of(part),
        step_before_ns: before.per_step(before.total_ns),
        step_after_ns: after.per_step(after.total_ns),
        section: None,
    })
}

/// First and last step of both sides of a change.
type Sides = ((u64, u64), (u64, u64));

/// Times of sections over the steps of one mode.
struct Sections<'a> {
    /// By the first step number of the point.
    points: BTreeMap<u64, PhasePointAcc>,
    /// The last step number that a point can hold, less its first.
    last: u64,
    rows: &'a [SectionRow],
}

impl<'a> Sections<'a> {
    fn of(run: &RunAcc, numbering: &Numbering, mode: Mode, rows: &'a [SectionRow]) -> Self {
        let series = run.phase_series.get(mode as usize);
        let shift = series.map_or(0, |series| series.shift);
        let points = series.map(|series| numbering.points(series)).unwrap_or_default();
        Self { points, last: numbers(shift) - 1, rows }
    }

    /// The section of a phase that moved most between the two sides, in means of a step; of equals the first path.
    fn moved_most(&self, phase: Option<&PhaseName>, sides: Sides, is_slower: bool) -> Option<ChangeSection> {
        let its = self.rows.iter().filter(|row| row.phase.as_ref() == phase);
        let moved = its.filter_map(|row| {
            let id = id_of(&row.path);
            let (before_ns, after_ns) = (self.mean_of(id, sides.0)?, self.mean_of(id, sides.1)?);
            let by = i128::from(after_ns) - i128::from(before_ns);
            Some((if is_slower { by } else { -by }, row, before_ns, after_ns))
        });
        let most = moved.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.path.cmp(&a.1.path)));
        let (by, row, before_ns, after_ns) = most?;
        (by > 0).then(|| ChangeSection { path: row.path.clone(), before_ns, after_ns })
    }

    /// Mean time in a whole step of one side; absent where a point does not know it.
    fn mean_of(&self, id: u64, (from, to): (u64, u64)) -> Option<u64> {
        let points = self.points.range(from..).take_while(|(step, _)| step.saturating_add(self.last) <= to);
        let (mut steps, mut ns) = (0u64, 0u128);
        for (_, point) in points {
            steps = steps.saturating_add(point.steps);
            ns = ns.saturating_add(point.section_time.of(id)?.into());
        }
        (steps > 0).then(|| saturate(ns / u128::from(steps)))
    }
}

/// Times of the whole steps of one side.
struct Means<'a> {
    points: Vec<&'a PhasePoint>,
    steps: u64,
    /// With the input before them, if that counts.
    total_ns: u128,
    /// Nothing where it does not count.
    input_before_ns: u128,
}

impl<'a> Means<'a> {
    /// Of the points that lie between these steps with all their numbers.
    fn of(series: &'a PhaseSeries, (from, to): (u64, u64), with_input: bool) -> Option<Self> {
        let last = numbers(series.shift) - 1;
        let is_inside = |point: &&PhasePoint| point.step >= from && point.step.saturating_add(last) <= to;
        let points: Vec<&PhasePoint> = series.points.iter().filter(is_inside).collect();
        let steps = points.iter().fold(0u64, |sum, point| sum.saturating_add(point.steps));
        let total_ns: u128 = points.iter().map(|point| u128::from(point.total_ns)).sum();
        let said = points.iter().filter(|_| with_input).filter_map(|point| point.input_before_ns);
        let input_before_ns: u128 = said.map(u128::from).sum();
        (steps > 0).then_some(Self { points, steps, total_ns: total_ns + input_before_ns, input_before_ns })
    }

    fn named(&self) -> impl Iterator<Item = &'a PhaseName> {
        self.points.iter().flat_map(|point| point.exposed.iter().map(|time| &time.phase))
    }

    fn sum_of(&self, part: Part<'_>) -> u128 {
        if part.is_between {
            return self.input_before_ns;
        }
        let time = |point: &PhasePoint| match part.phase {
            Some(name) => {
                let named = point.exposed.iter().filter(|time| time.phase == *name);
                named.map(|time| u128::from(time.exposed_ns)).sum()
            }
            None => u128::from(point.unattributed_ns),
        };
        self.points.iter().map(|point| time(point)).sum()
    }

    /// Time of it in a step.
    fn time_of(&self, part: Part<'_>) -> u64 {
        self.per_step(self.sum_of(part))
    }

    fn per_step(&self, ns: u128) -> u64 {
        saturate(ns / u128::from(self.steps))
    }
}
