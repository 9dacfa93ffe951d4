//! Where step times change, all of them or periodic ones alone, and in which phase. Where steps say how long their threads
//! waited for batches before them, times are those of a step with the input before it.

mod rounds;

use std::collections::BTreeMap;
use std::ops::Range;

use stepscope_core::{Mode, Phase};

use super::narrow;
use super::numbering::Numbering;
use super::periods::Periods;
use super::steps::Steady;
use crate::changes::{self, Change};
use crate::periods::Period;
use crate::points::{PhasePoint as PhasePointAcc, numbers};
use crate::run::RunAcc;
use crate::spent::id_of;
use crate::summary::{
    ChangeCause, ChangeKind, ChangeSection, Coverage, PhaseName, PhasePoint, PhaseSeries, SectionRow,
    SeriesPoint, StepChange, StepSeries,
};

/// The changes of every mode; none where only a part of the steps was read, which need not be alike.
pub(super) fn of(
    steps: &Steady<'_>,
    coverage: &Coverage,
    series: &[StepSeries],
    phases: &[PhaseSeries],
    (run, sections): (&RunAcc, &[SectionRow]),
    periods: &[Periods],
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
            let its = periods.iter().filter(|periods| periods.mode == series.mode);
            let found = found(&points, its.flat_map(Periods::found));
            if found.is_empty() {
                return Vec::new();
            }
            let phases = phases.iter().find(|row| row.mode == series.mode);
            let spent = Sections::of(run, steps.numbers.of_mode(series.mode), series.mode, sections);
            let of = |found| row(series, &points, phases, &spent, &found);
            found.into_iter().filter_map(of).collect::<Vec<_>>()
        })
        .collect()
}

/// A change of the points of a series.
struct Found {
    change: Change,
    in_every: Option<u64>,
    /// What the steps alone take before and after, where the change is of steps with the input before them.
    alone: Option<(u64, u64)>,
}

impl Found {
    /// The changes of some times; `alone` are those without the input before the steps.
    fn of(times: &[u64], alone: Option<&[u64]>) -> Vec<Self> {
        let of = |change: Change| {
            let alone = alone.map(|alone| change.levels_of(alone));
            Self { change, in_every: None, alone }
        };
        changes::changes(times).into_iter().map(of).collect()
    }
}

/// The changes of steps with the input before them, where that comes in bursts of means over several. Where that hides them, of
/// the steps alone, but for what the input before them makes good.
fn found<'a>(points: &[&SeriesPoint], periods: impl Iterator<Item = &'a Period> + Clone) -> Vec<Found> {
    let numbers: Vec<u64> = points.iter().map(|point| point.step).collect();
    let taken: Vec<u64> = points.iter().map(|point| point.mean_taken_ns()).collect();
    let look = |times: &[u64], alone: Option<&[u64]>| {
        let found = Found::of(times, alone);
        let of_period = |period| rounds::of_period(period, &numbers, times, alone);
        if found.is_empty() { periods.clone().find_map(of_period).unwrap_or_default() } else { found }
    };
    if points.iter().all(|point| point.input_before_ns.is_none()) {
        return look(&taken, None);
    }
    let alone: Vec<u64> = points.iter().map(|point| point.mean_ns()).collect();
    let input: Vec<u64> =
        taken.iter().zip(&alone).map(|(taken, alone)| taken.saturating_sub(*alone)).collect();
    let together = changes::steadiest(&input, &taken);
    let mut found = together
        .filter(|&count| count > 1)
        .map_or_else(Vec::new, |count| rounds::in_a_row(&taken, &alone, count));
    found.retain(|found| is_borne_out(found, &input));
    if found.is_empty() && !changes::comes_in_bursts(&input, &taken) {
        found = look(&taken, Some(&alone));
        found.retain(|found| is_borne_out(found, &input));
    }
    if found.is_empty() {
        found = look(&alone, None);
        found.retain(|found| !is_made_good(&found.change, &alone, &input));
    }
    found
}

/// Whether what the usual step takes more with its input is what all of them do: what the input has moved by is in means what
/// it is in levels, but for half of the change.
fn is_borne_out(found: &Found, input: &[u64]) -> bool {
    let Some((alone_before, alone_after)) = found.alone else { return true };
    let (before, after) = found.change.sides();
    let means = mean_of(input, after).0 - mean_of(input, before).0;
    let by = found.change.after as f64 - found.change.before as f64;
    let levels = by - (alone_after as f64 - alone_before as f64);
    (means - levels).abs() * 2.0 <= by.abs()
}

/// Deviations of its mean from which the input before steps has clearly moved.
const CLEARLY: f64 = 2.0;

/// Whether the input before steps makes good half or more of what the steps alone take more, or less, as a loader does that
/// is always behind: then a run takes no longer. In means, as what a run takes, and as far as that is clear.
fn is_made_good(change: &Change, alone: &[u64], input: &[u64]) -> bool {
    let (before, after) = change.sides();
    let [moved, input] = [alone, input].map(|times| {
        let ((from, from_variance), (to, to_variance)) =
            (mean_of(times, before.clone()), mean_of(times, after.clone()));
        (to - from, (from_variance + to_variance).sqrt())
    });
    let against = -input.0 * moved.0.signum();
    against * 2.0 >= moved.0.abs() && against >= CLEARLY * input.1
}

/// One in so many times is an outlier, and counts as the longest of the others.
const OUTLIERS: usize = 50;

/// The mean of some of these, outliers aside, and its variance.
fn mean_of(times: &[u64], side: Range<usize>) -> (f64, f64) {
    let mut side = times.get(side).unwrap_or_default().to_vec();
    side.sort_unstable();
    let usual = side.len() - side.len().div_ceil(OUTLIERS);
    let longest = side.get(usual.saturating_sub(1)).copied().unwrap_or(0);
    side.iter_mut().for_each(|time| *time = longest.min(*time));
    let count = side.len().max(1) as f64;
    let mean = side.iter().map(|&time| time as f64).sum::<f64>() / count;
    let squares = side.iter().map(|&time| (time as f64 - mean).powi(2)).sum::<f64>();
    (mean, squares / count / count)
}

fn row(
    series: &StepSeries,
    points: &[&SeriesPoint],
    phases: Option<&PhaseSeries>,
    sections: &Sections<'_>,
    found: &Found,
) -> Option<StepChange> {
    let change = &found.change;
    let steps = |from: usize, to: usize| {
        let part = points.get(from..to).unwrap_or_default();
        part.iter().fold(0u64, |sum, point| sum.saturating_add(point.count))
    };
    let step_numbers = numbers(series.shift);
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
        duration_before_ns: found.alone.map(|alone| alone.0),
        duration_after_ns: found.alone.map(|alone| alone.1),
        in_every: found.in_every,
        means_over: (found.in_every.is_none() && change.over > 1).then_some(change.over as u64),
        p_value: change.p_value,
        cause: phases.and_then(|phases| {
            let is_slower = change.after > change.before;
            let mut cause = cause(phases, sides, is_slower, found.alone.is_some())?;
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
            ns = ns.saturating_add(point.spent.of(id)?.into());
        }
        (steps > 0).then(|| narrow(ns / u128::from(steps)))
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
        narrow(ns / u128::from(self.steps))
    }
}
