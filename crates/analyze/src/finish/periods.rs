//! Which steps take longer every so often, and in which phase.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::Mode;

use super::narrow;
use super::numbering::{Numbering, Numbers};
use super::rare;
use super::steps::Steady;
use crate::changes::median;
use crate::dist::RunDist;
use crate::periods::{self, Period};
use crate::points;
use crate::run::RunAcc;
use crate::steps::StepRecord;
use crate::summary::{
    Coverage, PeriodCause, PeriodicSteps, PhaseName, SeriesPoint, Stats, StepPeriod, StepSeries,
};

/// The periods of one mode, of which there are some.
pub(super) struct Periods {
    pub(super) mode: Mode,
    found: Vec<Period>,
    /// Of each the numbers and times of its two longest steps, the longest first.
    longest: Vec<[(u64, u64); 2]>,
}

impl Periods {
    /// Of all steps, and of those from the `steady` one on, where there is a warm-up before it.
    fn of(series: &StepSeries, run: &RunAcc, numbering: &Numbering, steady: Option<u64>) -> Option<Self> {
        let points: Vec<(u64, u64)> = points_from(series, 0).map(|p| (p.step, p.duration_max_ns)).collect();
        let (numbers, times): (Vec<u64>, Vec<u64>) = points.iter().copied().unzip();
        let mut found = periods::periods(&numbers, &times);
        let warm = steady.map(|steady| numbers.partition_point(|&number| number < steady));
        let after = warm.and_then(|warm| Some(periods::periods(numbers.get(warm..)?, times.get(warm..)?)));
        let phases = run.phase_series.get(series.mode as usize);
        let rare = phases
            .map(|phases| rare::periods(&numbering.points(phases), points::numbers(phases.shift), &points));
        let is_told = |found: &[Period], of: &Period| {
            found.iter().any(|other| other.every == of.every && other.first % of.every == of.first % of.every)
        };
        for period in after.into_iter().flatten() {
            if !is_told(&found, &period) {
                found.push(period);
            }
        }
        // Of a class that holds all steps of a section the others have to be long as well.
        let rare = rare.unwrap_or_default();
        let holds = |of: &Period| rare.iter().any(|rare| rare.every > of.every && of.is_around(rare));
        if found.iter().any(holds) {
            let rest = points.iter().filter(|(number, _)| !rare.iter().any(|rare| rare.holds(*number)));
            let (numbers, times): (Vec<u64>, Vec<u64>) = rest.copied().unzip();
            let beside = periods::periods(&numbers, &times);
            found.retain(|period| !holds(period) || is_told(&beside, period));
        }
        for period in rare {
            if !is_told(&found, &period) {
                found.push(period);
            }
        }
        found.sort_by_key(|period| (Reverse(period.every), period.first));
        let found = with_steps(found, &numbers);
        let longest = found.iter().map(|period| {
            points.iter().filter(|(number, _)| period.holds(*number)).fold([(0, 0); 2], |[a, b], &point| {
                match point.1 {
                    time if time > a.1 => [point, a],
                    time if time > b.1 => [a, point],
                    _ => [a, b],
                }
            })
        });
        let longest = longest.collect();
        (!found.is_empty()).then_some(Self { mode: series.mode, found, longest })
    }

    /// The periods, the rarest first.
    pub(super) fn found(&self) -> &[Period] {
        &self.found
    }

    /// Which of them a step is of.
    fn position(&self, number: u64) -> Option<usize> {
        position(&self.found, number)
    }

    /// The period because of which a step takes as long as it does, if it is of one: its place among all.
    pub(super) fn of_step(&self, number: u64, time_ns: u64) -> Option<usize> {
        self.position(number).filter(|_| self.explain(number, time_ns))
    }

    /// Whether a step takes as long as it does because it is periodic: less than one and a half times as long as the
    /// longest other one of its period.
    pub(super) fn explain(&self, number: u64, time_ns: u64) -> bool {
        let longest = self.position(number).and_then(|at| self.longest.get(at));
        let other = longest.map_or(0, |[a, b]| if a.0 == number { b.1 } else { a.1 });
        u128::from(time_ns) * 2 < u128::from(other) * 3
    }
}

/// Which period a step is of: the rarest that has it.
fn position(periods: &[Period], number: u64) -> Option<usize> {
    periods.iter().position(|period| period.holds(number))
}

/// Those of which there are steps that are of no rarer one, each from the first of these on: where every fourth step and
/// every fourth from the third on are told, every other one is nothing more.
fn with_steps(mut periods: Vec<Period>, numbers: &[u64]) -> Vec<Period> {
    let mut first: BTreeMap<usize, u64> = BTreeMap::new();
    for &number in numbers {
        position(&periods, number).map(|at| first.entry(at).or_insert(number));
    }
    for (at, first) in &first {
        periods.get_mut(*at).into_iter().for_each(|period| period.first = *first);
    }
    let mut at = 0..;
    periods.retain(|_| at.next().is_some_and(|at| first.contains_key(&at)));
    periods
}

/// The periods of every mode that has some; none where only a part of the steps was read, or points hold several. `steady`
/// tells the first step after a mode's warm-up, where there is one and it is known.
pub(super) fn found(
    run: &RunAcc,
    numbers: &Numbers,
    coverage: &Coverage,
    series: &[StepSeries],
    steady: impl Fn(Mode) -> Option<u64>,
) -> Vec<Periods> {
    let is_read = coverage.partly_read().is_none();
    let is_told = |series: &&StepSeries| is_read && series.shift == 0 && numbers.tell_apart(series.mode);
    let told = series.iter().filter(is_told);
    let of =
        |series: &StepSeries| Periods::of(series, run, numbers.of_mode(series.mode), steady(series.mode));
    told.filter_map(of).collect()
}

/// What is said about periods, warm-up left out.
pub(super) fn of(
    run: &RunAcc,
    steps: &Steady<'_>,
    periods: &[Periods],
    series: &[StepSeries],
) -> Vec<PeriodicSteps> {
    let series_of = |periods: &Periods| series.iter().find(|series| series.mode == periods.mode);
    periods.iter().filter_map(|periods| row(run, steps, periods, series_of(periods)?)).collect()
}

fn points_from(series: &StepSeries, first: u64) -> impl Iterator<Item = &SeriesPoint> {
    series.points.iter().filter(move |point| point.count > 0 && point.step >= first)
}

fn row(run: &RunAcc, steps: &Steady<'_>, periods: &Periods, series: &StepSeries) -> Option<PeriodicSteps> {
    let found = &periods.found;
    let points = points_from(series, steps.first_step(series.mode).unwrap_or(0));
    let mut usual = RunDist::default();
    let mut by_period: Vec<Vec<&SeriesPoint>> = vec![Vec::new(); found.len()];
    let mut usual_steps: BTreeSet<u64> = BTreeSet::new();
    for point in points {
        match periods.position(point.step).and_then(|at| by_period.get_mut(at)) {
            Some(mine) => mine.push(point),
            None => {
                usual.record(point.duration_max_ns);
                usual_steps.insert(point.step);
            }
        }
    }
    let usual = Stats::of(&usual.0);
    let usual_ns = usual.p50?;
    let kept = Kept::of(run, steps, series.mode);
    let before = means(&kept.first, |step| usual_steps.contains(&step));
    let periods = found.iter().zip(&by_period).map(|(period, points)| {
        let numbers: BTreeSet<u64> = points.iter().map(|point| point.step).collect();
        let after = means(&kept.all, |step| numbers.contains(&step));
        period_row(period, points, usual_ns, before.as_ref().zip(after.as_ref()))
    });
    Some(PeriodicSteps { mode: series.mode, usual, periods: periods.collect() })
}

type Means = BTreeMap<Option<PhaseName>, u64>;

fn period_row(
    period: &Period,
    points: &[&SeriesPoint],
    usual_ns: u64,
    means: Option<(&Means, &Means)>,
) -> StepPeriod {
    let longest: Vec<u64> = points.iter().map(|point| point.duration_max_ns).collect();
    let above = longest.iter().map(|ns| u128::from(ns.saturating_sub(usual_ns))).sum();
    StepPeriod {
        every: period.every,
        since_step: period.since,
        first_step: points.first().map_or(period.first, |point| point.step),
        steps: points.len() as u64,
        median_ns: (!longest.is_empty()).then(|| median(&longest)),
        above_ns: narrow(above),
        cause: means.and_then(|(usual, periodic)| cause(usual, periodic)),
    }
}

/// The phase that takes most of what is more; of equals the first name.
fn cause(usual: &Means, periodic: &Means) -> Option<PeriodCause> {
    let time = |means: &Means, name: &Option<PhaseName>| means.get(name).copied().unwrap_or(0);
    let more = |name: &Option<PhaseName>| time(periodic, name).saturating_sub(time(usual, name));
    let name = periodic.keys().rev().max_by_key(|name| more(name)).filter(|name| more(name) > 0)?;
    Some(PeriodCause { phase: name.clone(), usual_ns: time(usual, name), periodic_ns: time(periodic, name) })
}

/// Whole steps that are kept singly, by number the longest.
struct Kept<'a> {
    /// The first ones of each process.
    first: BTreeMap<u64, &'a StepRecord>,
    /// And the slowest ones.
    all: BTreeMap<u64, &'a StepRecord>,
}

impl<'a> Kept<'a> {
    fn of(run: &'a RunAcc, steps: &'a Steady<'_>, mode: Mode) -> Self {
        let numbers = steps.numbers.of_mode(mode);
        let mut first = BTreeMap::new();
        let mut slowest: Vec<&StepRecord> = Vec::new();
        for (instance, acc) in &run.instances {
            let mine = acc.steps.get(mode as usize);
            mine.into_iter().flat_map(|acc| &acc.kept).for_each(|record| offer(&mut first, record, numbers));
            let steady = steps.get(Some(mode), instance);
            slowest.extend(steady.into_iter().flat_map(|steady| &steady.sums.slowest));
        }
        let mut all = first.clone();
        slowest.into_iter().for_each(|record| offer(&mut all, record, numbers));
        Self { first, all }
    }
}

/// Mean exposed time by phase of the steps that `is_meant`; none without any.
fn means(of: &BTreeMap<u64, &StepRecord>, is_meant: impl Fn(u64) -> bool) -> Option<Means> {
    let records: Vec<&StepRecord> =
        of.iter().filter(|(step, _)| is_meant(**step)).map(|(_, record)| *record).collect();
    let mut sums: BTreeMap<Option<PhaseName>, u128> = BTreeMap::new();
    for (key, time) in records.iter().flat_map(|record| &record.phases) {
        let sum = sums.entry(key.name()).or_default();
        *sum = sum.saturating_add(time.exposed_ns);
    }
    let count = records.len() as u128;
    (count > 0).then(|| sums.into_iter().map(|(name, sum)| (name, narrow(sum / count))).collect())
}

fn offer<'a>(kept: &mut BTreeMap<u64, &'a StepRecord>, record: &'a StepRecord, numbers: &Numbering) {
    let Some(place) = record.place().filter(|_| record.is_whole) else { return };
    let step = numbers.number(place);
    let longer =
        |other: &StepRecord| (record.duration_ns(), Reverse(record)) > (other.duration_ns(), Reverse(other));
    if kept.get(&step).is_none_or(|other| longer(other)) {
        kept.insert(step, record);
    }
}

#[cfg(test)]
mod tests {
    use super::{Period, with_steps};

    const fn period(every: u64, first: u64, since: Option<u64>) -> Period {
        Period { every, first, since }
    }

    #[test]
    fn a_period_has_steps_that_are_of_no_rarer_one() {
        let numbers: Vec<u64> = (0..100).collect();
        let thirds = period(4, 3, None);
        let of = |since, numbers| with_steps(vec![period(4, 1, since), thirds, period(2, 1, None)], numbers);
        assert_eq!(of(None, &numbers[..]), [period(4, 1, None), thirds]);
        let late = period(4, 9, Some(9));
        assert_eq!(of(Some(9), &numbers), [late, thirds, period(2, 1, None)]);
        // The first step is not there.
        assert_eq!(of(Some(9), &numbers[2..]), [late, thirds, period(2, 5, None)]);
    }
}
