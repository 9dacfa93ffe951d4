//! Steps: warm-up told from the rest, then figures by mode.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Mode;

use crate::accumulate::distribution::RunDist;
use crate::accumulate::saturate::{saturate, share};
use crate::accumulate::{Merge, earliest};
use crate::config::Config;
use crate::phases::PhaseKey;
use crate::run::{Instance, RunAcc};
use crate::steps::numbering::{Numbering, Numbers};
use crate::steps::slowest::{self, slow_step};
use crate::steps::steady::SteadySteps;
use crate::steps::warmup::warm_up;
use crate::steps::{DeepSteps, PhaseTime, StepAcc, StepRecord, StepSums, Work};
use crate::summary::{
    DurationBucket, ModeSummary, PeriodicSteps, PhaseRow, Stats, Throughput, Warmup, WholeSteps,
};

/// The steps of a run, by mode and instance.
pub(crate) struct Steady<'a> {
    by_mode: [BTreeMap<&'a Instance, SteadySteps>; 3],
    pub(crate) numbers: Numbers,
}

impl<'a> Steady<'a> {
    /// Tells the warm-up of every instance.
    pub(crate) fn of(run: &'a RunAcc, config: &Config) -> Self {
        let mut by_mode: [BTreeMap<&Instance, SteadySteps>; 3] = Default::default();
        for (instance, acc) in &run.instances {
            for (steps, by_instance) in acc.steps.iter().zip(&mut by_mode) {
                if steps.count() > 0 {
                    let warmup = warm_up_of(steps);
                    by_instance.insert(instance, steady(steps, warmup, config));
                }
            }
        }
        Self { by_mode, numbers: Numbers::of(run) }
    }

    /// Whether there are steps of a mode.
    pub(crate) fn has(&self, mode: Mode) -> bool {
        self.by_mode.get(mode as usize).is_some_and(|instances| !instances.is_empty())
    }

    /// The steps of one (mode, instance).
    pub(crate) fn get(&self, mode: Option<Mode>, instance: &Instance) -> Option<&SteadySteps> {
        self.by_mode.get(mode? as usize)?.get(instance)
    }

    /// The first number in the series at which no instance is warming up; absent where none does.
    pub(crate) fn first_step(&self, mode: Mode) -> Option<u64> {
        let first = self.by_mode.get(mode as usize)?.values().filter_map(|steps| steps.first_place).max()?;
        Some(self.numbers.of_mode(mode).number(first))
    }

    /// When the last process of those that warm up has done so; the beginning where none does.
    pub(crate) fn warm_until_ns(&self, mode: Option<Mode>) -> u64 {
        let instances = mode.and_then(|mode| self.by_mode.get(mode as usize));
        let warm = instances.into_iter().flat_map(BTreeMap::values).filter(|steps| steps.warmup_steps > 0);
        warm.filter_map(|steps| steps.first_ns).max().unwrap_or(0)
    }

    /// Figures by mode.
    pub(crate) fn modes(
        &self,
        run: &RunAcc,
        periodic: &[PeriodicSteps],
        config: &Config,
    ) -> Vec<ModeSummary> {
        Mode::ALL
            .iter()
            .zip(&self.by_mode)
            .filter(|(_, instances)| !instances.is_empty())
            .map(|(&mode, instances)| {
                let mut row = summary(mode, instances, self.numbers.of_mode(mode), config);
                let numbering = self.numbers.of_mode(mode);
                let periodic = periodic.iter().find(|periodic| periodic.mode == mode);
                if self.numbers.tell_apart(mode) {
                    (row.slowest, row.slowest_together) =
                        slowest::by_number((run, mode), periodic, instances, numbering);
                }
                row.warmup.steady_step = self.first_step(mode).filter(|_| self.numbers.tell_apart(mode));
                row
            })
            .collect()
    }
}

/// How many of the first steps are warm-up: told by those that are not deep, with the deep ones before the last of them.
fn warm_up_of(steps: &StepAcc) -> usize {
    let places = || steps.kept.iter().enumerate().filter(|(_, record)| !record.is_deep);
    let first: Vec<u64> = places().map(|(_, record)| record.duration_ns()).collect();
    let deep = (steps.kept.len() - first.len()) as u64;
    let count = warm_up(&first, steps.count().saturating_sub(steps.folded.deep.steps).saturating_sub(deep));
    count.checked_sub(1).and_then(|last| places().nth(last)).map_or(0, |(place, _)| place + 1)
}

/// The mode that verdicts are about; as `Summary::primary` says.
pub(crate) fn primary(modes: &[ModeSummary]) -> Option<Mode> {
    let train = modes.iter().find(|row| row.mode == Mode::Train);
    train.or_else(|| modes.iter().max_by_key(|row| (row.all.count, Reverse(row.mode)))).map(|row| row.mode)
}

fn steady(steps: &StepAcc, count: usize, config: &Config) -> SteadySteps {
    let mut all = steps.folded.durations.clone();
    let ordinary = steps.kept.iter().filter(|record| !record.is_deep);
    ordinary.for_each(|record| all.record(record.duration_ns()));
    let (warmup, rest) = steps.kept.split_at(count.min(steps.kept.len()));
    let mut sums = steps.folded.clone();
    let customs = config.bounds.custom_phases;
    rest.iter().for_each(|record| sums.add(record, customs));
    let first = rest.first().filter(|_| count > 0);
    let mut deep = steps.folded.deep;
    steps.kept.iter().filter(|record| record.is_deep).for_each(|record| deep.add(record));
    SteadySteps {
        deep,
        warmup_steps: count as u64,
        warmup_ns: warmup.iter().map(|record| u128::from(record.duration_ns())).sum(),
        warmup_whole: warmup
            .iter()
            .filter(|record| record.is_whole)
            .fold((0, 0), |(steps, ns), record| (steps + 1, ns + u128::from(record.duration_ns()))),
        smallest: earliest(sums.smallest, warmup.iter().filter_map(|record| record.step).min()),
        largest: sums.largest.max(warmup.iter().filter_map(|record| record.step).max()),
        first_ns: sums.first_ns,
        first_place: first.and_then(StepRecord::place),
        all,
        sums,
    }
}

fn summary(
    mode: Mode,
    instances: &BTreeMap<&Instance, SteadySteps>,
    numbering: &Numbering,
    config: &Config,
) -> ModeSummary {
    let (mut all, mut steady) = (RunDist::default(), RunDist::default());
    let mut sums = StepSums::default();
    let mut warmup = Warmup::default();
    let mut whole_all: (u64, u128) = (0, 0);
    let mut range: (Option<u64>, Option<u64>) = (None, None);
    let mut deep = DeepSteps::default();
    for steps in instances.values() {
        all.add(&steps.all);
        deep.absorb(&steps.deep);
        steady.add(&steps.sums.durations);
        sums.merge(&steps.sums, config.bounds.custom_phases);
        warmup.steps = warmup.steps.saturating_add(steps.warmup_steps);
        warmup.max_per_instance = warmup.max_per_instance.max(steps.warmup_steps);
        warmup.total_ns = warmup.total_ns.saturating_add(saturate(steps.warmup_ns));
        whole_all.0 = whole_all.0.saturating_add(steps.warmup_whole.0);
        whole_all.1 = whole_all.1.saturating_add(steps.warmup_whole.1);
        range = (earliest(range.0, steps.smallest), range.1.max(steps.largest));
    }
    let steady_ns = steady.0.moments().sum.saturating_add(sums.deep.duration_ns);
    let stats = Stats::of(&steady.0).with_deep(&sums.deep);
    warmup.usual_ns = stats.p50.unwrap_or(0).saturating_mul(warmup.steps);
    ModeSummary {
        mode,
        all: Stats::of(&all.0).with_deep(&deep),
        deep_steps: deep.steps,
        threads: sums.used.shares(),
        use_per_step: sums.used.per_step(),
        steady: stats,
        distribution: DurationBucket::of(&steady.0),
        warmup,
        step_range: range.0.zip(range.1),
        numbers: numbering.kind,
        whole_all: WholeSteps {
            steps: whole_all.0.saturating_add(sums.whole_steps),
            total_ns: saturate(whole_all.1.saturating_add(sums.whole_ns)),
        },
        whole_warmup: WholeSteps::default(),
        whole: WholeSteps { steps: sums.whole_steps, total_ns: saturate(sums.whole_ns) },
        phases: phases(&sums, sums.whole_ns),
        unattributed_ns: sums
            .phases
            .iter()
            .find(|(key, _)| **key == PhaseKey::Absent)
            .map_or(0, |(_, time)| saturate(time.exposed_ns)),
        quick_without_waiting_ns: sums.without_waiting.0.quantile(1, 100),
        quick_without_preparation_ns: sums.without_preparation.0.quantile(1, 100),
        input_between_ns: 0,
        steady_ns: saturate(steady_ns),
        throughput: throughput_of(instances, &sums),
        slowest: sums.slowest.iter().map(slow_step).collect(),
        slowest_together: sums.slowest.iter().map(|record| (1, record.duration_ns())).collect(),
        step_gaps: Vec::new(),
    }
}

impl Stats {
    /// Deep steps are counted and in the total, and in no other figure.
    fn with_deep(self, deep: &DeepSteps) -> Self {
        Self {
            count: self.count.saturating_add(deep.steps),
            total: self.total.saturating_add(saturate(deep.duration_ns)),
            ..self
        }
    }
}

impl StepSums {
    /// What these steps take.
    pub(crate) fn stats(&self) -> Stats {
        Stats::of(&self.durations.0).with_deep(&self.deep)
    }
}

fn phases(sums: &StepSums, whole_ns: u128) -> Vec<PhaseRow> {
    let mut rows: Vec<PhaseRow> =
        sums.phases.iter().filter_map(|(key, time)| row(key, time, whole_ns)).collect();
    rows.sort_by(|a, b| {
        (Reverse(a.exposed_ns), Reverse(a.total_ns), &a.phase).cmp(&(
            Reverse(b.exposed_ns),
            Reverse(b.total_ns),
            &b.phase,
        ))
    });
    rows
}

fn row(key: &PhaseKey, time: &PhaseTime, whole_ns: u128) -> Option<PhaseRow> {
    Some(PhaseRow {
        phase: key.name()?,
        spans: time.spans,
        exposed_ns: saturate(time.exposed_ns),
        exposed_share: share(time.exposed_ns, whole_ns),
        total_ns: saturate(time.total_ns),
        total_share: share(time.total_ns, whole_ns),
        self_ns: saturate(time.self_ns),
    })
}

/// Work of all processes per second. Steps with the same numbers on several are done together and count once.
fn throughput_of(instances: &BTreeMap<&Instance, SteadySteps>, sums: &StepSums) -> Throughput {
    let first = instances.values().map(|steps| steps.sums.smallest).max().flatten();
    let last = instances.values().map(|steps| steps.sums.largest).min().flatten();
    let are_numbered = instances.values().all(|steps| steps.sums.numbered == steps.sums.count());
    let counts = instances.values().map(|steps| steps.sums.count());
    let mut done = throughput(sums);
    if are_numbered && first.zip(last).is_some_and(|(first, last)| first <= last) && done.elapsed_ns > 0 {
        let most = counts.max().unwrap_or(0);
        done.steps_per_second = Some(most as f64 / (done.elapsed_ns as f64 / 1e9));
    }
    done
}

/// Work per second, from steady steps.
pub(crate) fn throughput(sums: &StepSums) -> Throughput {
    let elapsed_ns = sums.first_ns.zip(sums.last_ns).map_or(0, |(first, last)| last.saturating_sub(first));
    let is_known = |work: &Work| work.steps > 0 && work.untold == 0;
    let amount = |work: &Work| is_known(work).then(|| saturate(work.amount));
    let per = |amount: u128, ns: u128| (ns > 0).then(|| amount as f64 / (ns as f64 / 1e9));
    let by_steps = |work: &Work| if work.steps > 0 { per(work.amount, work.duration_ns) } else { None };
    let by_clock = |work: &Work| if is_known(work) { per(work.amount, elapsed_ns.into()) } else { None };
    Throughput {
        elapsed_ns,
        samples: amount(&sums.samples),
        samples_per_step_second: by_steps(&sums.samples),
        samples_per_second: by_clock(&sums.samples),
        tokens: amount(&sums.tokens),
        tokens_per_step_second: by_steps(&sums.tokens),
        tokens_per_second: by_clock(&sums.tokens),
        bytes: amount(&sums.bytes),
        bytes_per_step_second: by_steps(&sums.bytes),
        bytes_per_second: by_clock(&sums.bytes),
        steps_per_second: per(sums.count().into(), elapsed_ns.into()),
    }
}
