//! Which steps take longer every so often, and in which phase: told from the series of step times after warm-up.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Mode;

use crate::accumulate::distribution::RunDist;
use crate::accumulate::median::median;
use crate::accumulate::saturate::saturate;
use crate::run::RunAcc;
use crate::steps::StepRecord;
use crate::steps::finish::Steady;
use crate::steps::numbering::Numbering;
use crate::steps::periodicity::{Period, period};
use crate::summary::{Coverage, PeriodCause, PeriodicSteps, PhaseName, Stats, StepPeriod, StepSeries};

/// The periodic steps of every mode that has some; none where only a part of the steps was read, or points hold several.
pub(crate) fn of(
    run: &RunAcc,
    steps: &Steady<'_>,
    coverage: &Coverage,
    series: &[StepSeries],
) -> Vec<PeriodicSteps> {
    let is_told = |series: &&StepSeries| series.shift == 0 && steps.numbers.tell_apart(series.mode);
    let told = series.iter().filter(|_| coverage.partly_read().is_none()).filter(is_told);
    told.filter_map(|series| row(run, steps, series)).collect()
}

fn row(run: &RunAcc, steps: &Steady<'_>, series: &StepSeries) -> Option<PeriodicSteps> {
    let first = steps.first_step(series.mode).unwrap_or(0);
    let points = series.points.iter().filter(|point| point.count > 0 && point.step >= first);
    let (numbers, times): (Vec<u64>, Vec<u64>) =
        points.map(|point| (point.step, point.duration_max_ns)).unzip();
    let found = period(&numbers, &times)?;
    let (mut usual, mut longest) = (RunDist::default(), Vec::new());
    for (&number, &time) in numbers.iter().zip(&times) {
        if found.holds(number) { longest.push(time) } else { usual.record(time) }
    }
    let usual = Stats::of(&usual.0);
    let usual_ns = usual.p50?;
    let above = longest.iter().map(|ns| u128::from(ns.saturating_sub(usual_ns))).sum();
    let period = StepPeriod {
        every: found.every,
        first_step: found.first,
        steps: longest.len() as u64,
        median_ns: median(&longest),
        above_ns: saturate(above),
        cause: cause(run, steps, series.mode, &found),
    };
    Some(PeriodicSteps { mode: series.mode, usual, periods: vec![period] })
}

/// The phase that takes most of what such steps take more, of equals the first name: in means of the whole steps after
/// warm-up that are kept singly, of each number the longest.
fn cause(run: &RunAcc, steps: &Steady<'_>, mode: Mode, period: &Period) -> Option<PeriodCause> {
    let (mut usual, mut periodic) = (BTreeMap::new(), BTreeMap::new());
    let numbering = steps.numbers.of_mode(mode);
    for (instance, acc) in &run.instances {
        let steady = steps.get(Some(mode), instance);
        let kept = acc.steps.get(mode as usize).into_iter().flat_map(|acc| &acc.kept);
        for record in kept.skip(steady.map_or(0, |steady| steady.warmup_steps())) {
            offer(&mut usual, record, numbering, |number| !period.holds(number));
            offer(&mut periodic, record, numbering, |number| period.holds(number));
        }
        for record in steady.into_iter().flat_map(|steady| &steady.sums.slowest) {
            offer(&mut periodic, record, numbering, |number| period.holds(number));
        }
    }
    let (usual, periodic) = (means(&usual)?, means(&periodic)?);
    let time = |means: &Means, name: &Option<PhaseName>| means.get(name).copied().unwrap_or(0);
    let more = |name: &Option<PhaseName>| time(&periodic, name).saturating_sub(time(&usual, name));
    let name = periodic.keys().rev().max_by_key(|name| more(name)).filter(|name| more(name) > 0)?;
    Some(PeriodCause {
        phase: name.clone(),
        usual_ns: time(&usual, name),
        periodic_ns: time(&periodic, name),
    })
}

type Means = BTreeMap<Option<PhaseName>, u64>;
type ByNumber<'a> = BTreeMap<u64, &'a StepRecord>;

/// Mean exposed time by phase; none without steps.
fn means(of: &ByNumber<'_>) -> Option<Means> {
    let mut sums: BTreeMap<Option<PhaseName>, u128> = BTreeMap::new();
    for (key, time) in of.values().flat_map(|record| &record.phases) {
        let sum = sums.entry(key.name()).or_default();
        *sum = sum.saturating_add(time.exposed_ns);
    }
    let count = of.len() as u128;
    (count > 0).then(|| sums.into_iter().map(|(name, sum)| (name, saturate(sum / count))).collect())
}

fn offer<'a>(
    kept: &mut ByNumber<'a>,
    record: &'a StepRecord,
    numbering: &Numbering,
    is_meant: impl Fn(u64) -> bool,
) {
    let Some(place) = record.place().filter(|_| record.is_whole) else { return };
    let step = numbering.number(place);
    let order = |record: &'a StepRecord| (record.duration_ns(), Reverse(record));
    if is_meant(step) && kept.get(&step).is_none_or(|other| order(record) > order(other)) {
        kept.insert(step, record);
    }
}
