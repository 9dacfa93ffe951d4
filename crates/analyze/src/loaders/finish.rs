//! Input: its share of the time, loaders and waits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::Mode;

use crate::accumulate::saturate::{saturate, share as ratio};
use crate::accumulate::{Merge, earliest};
use crate::between_steps::finish::BetweenSteps;
use crate::loaders::batches::{LoaderAcc, LoaderWaits, WaitTime, Waits, WorkerAcc};
use crate::loaders::under_demand;
use crate::loaders::worker_lifetimes::Lifetimes;
use crate::run::{Instance, InstanceAcc, RunAcc};
use crate::sections::Sum;
use crate::sections::aggregate_view::AggregateView;
use crate::summary::{
    AfterWarmup, BatchSummary, Coverage, FigureSource, InputFigures, LoaderRow, LoaderStall, ModeSummary,
    PhaseName, SectionRow, SlowestProcess, Stats, UnderDemand, WaitSummary, WaitedBy, WorkerRow,
};

/// What goes into input.
pub(crate) fn share(
    mode: Option<&ModeSummary>,
    outside: &BetweenSteps,
    sections: &[SectionRow],
    (coverage, has_all_sums): (&Coverage, bool),
) -> InputFigures {
    let Some(mode) = mode else { return InputFigures::default() };
    if let Some(sums) =
        AggregateView::of(sections).filter(|sums| sums.tell_more(mode, coverage, has_all_sums))
    {
        return by_sums(&sums, mode.mode);
    }
    let in_whole_steps = mode.phases.iter().filter(|row| row.phase.is_input()).map(|row| row.exposed_ns);
    let in_steps_ns = u128::from(mode.of_all_steps(in_whole_steps.fold(0, u64::saturating_add)));
    let between_ns = outside.input_ns();
    let has_whole = mode.whole.steps > 0;
    let is_known = has_whole && (mode.has_phases() || outside.has_phases());
    with_share(
        InputFigures {
            in_steps_ns: saturate(in_steps_ns),
            between_ns: saturate(between_ns),
            steps_ns: mode.steady_ns,
            unknown_ns: mode.of_all_steps(mode.unattributed_ns),
            steps: mode.steady.count,
            ..InputFigures::default()
        },
        is_known,
    )
}

/// The same by the processes' own sums.
fn by_sums(sums: &AggregateView<'_>, mode: Mode) -> InputFigures {
    let input = InputFigures {
        source: FigureSource::Aggregates,
        in_steps_ns: sums.inside_ns(PhaseName::is_input),
        between_ns: sums.between_ns(mode, PhaseName::is_input),
        steps_ns: sums.steps_ns,
        unknown_ns: sums.steps_ns.saturating_sub(sums.inside_ns(|_| true)),
        steps: sums.steps,
        ..InputFigures::default()
    };
    with_share(input, true)
}

fn with_share(times: InputFigures, is_known: bool) -> InputFigures {
    let between_ns = u128::from(times.between_ns);
    let whole = u128::from(times.steps_ns).saturating_add(between_ns);
    let input = u128::from(times.in_steps_ns).saturating_add(between_ns);
    InputFigures { share: (is_known && whole > 0).then(|| ratio(input, whole)), ..times }
}

/// Loaders by name, over all instances; `waits` are those of the threads that drive steps.
pub(crate) fn batches(run: &RunAcc, waits: &Waits, pace: Pace) -> BatchSummary {
    let mut by_name: BTreeMap<&str, Vec<(Maker<'_>, &LoaderAcc)>> = BTreeMap::new();
    for (instance, acc) in &run.instances {
        for (name, loader) in &acc.loaders.loaders {
            by_name.entry(name).or_default().push(((instance, acc), loader));
        }
    }
    for name in run.named_waits.by_loader.keys() {
        by_name.entry(name).or_default();
    }
    // Waits that name no loader are those of the only one.
    let nameless = (by_name.len() == 1).then_some(&waits.when);
    let row = |(name, parts): (&str, Vec<_>)| {
        let named = run.named_waits.by_loader.get(name);
        let when = named.map(|own| &own.waits.when).or(nameless);
        let steady = under_demand::Steady::of(parts.iter().map(|(_, part)| *part), pace.from_ns);
        let awaited = when.and_then(|when| steady.awaited(when, pace.from_ns));
        let waits = named.map(|own| waits_of(&own.waits, begins(run, Some(name)), pace));
        let slowest = slowest(&parts, pace.from_ns);
        loader(name, &parts, (named, waits), (steady.figures(), slowest, awaited))
    };
    let loaders: Vec<LoaderRow> = by_name.into_iter().map(row).collect();
    let count = loaders.iter().fold(0, |sum, row| row.produce.count.saturating_add(sum));
    BatchSummary { count, loaders }
}

/// A process that makes batches.
type Maker<'a> = (&'a Instance, &'a InstanceAcc);

fn loader(
    name: &str,
    parts: &[(Maker<'_>, &LoaderAcc)],
    (named, waits): (Option<&LoaderWaits>, Option<WaitSummary>),
    (after_warmup, slowest, under_demand): (Option<AfterWarmup>, Option<SlowestProcess>, Option<UnderDemand>),
) -> LoaderRow {
    let mut produce = crate::accumulate::distribution::Dist::default();
    let mut samples = Sum::default();
    let mut workers = Vec::new();
    let (mut first_ns, mut last_ns) = (None, None);
    let (mut busy_ns, mut all_waiting_ns, mut computing_ns) = (0u128, 0u128, 0u128);
    let (mut slots, mut times) = (Slots::default(), Lifetimes::default());
    for (instance, part) in parts {
        times.absorb(&lifetimes(part));
        produce.absorb(&part.produce);
        samples.absorb(&part.samples);
        // A wait inside of a batch that was not read itself makes no worker.
        for (&thread, worker) in part.workers.iter().filter(|(_, worker)| worker.batches > 0) {
            first_ns = earliest(first_ns, worker.first_ns);
            last_ns = last_ns.max(worker.last_ns);
            let waiting_ns = worker.waiting_ns.min(worker.making_ns);
            let working_ns = worker.making_ns - waiting_ns;
            let worker_busy_ns = worker.busy_ns.min(working_ns);
            busy_ns = busy_ns.saturating_add(worker_busy_ns);
            all_waiting_ns = all_waiting_ns.saturating_add(waiting_ns);
            let drives_steps = thread.is_some() && instance.1.outside.driving.contains_key(&thread);
            if !drives_steps {
                computing_ns = computing_ns.saturating_add(worker.computing_ns.min(working_ns));
            }
            let (slot_wait_ns, idle_ns) = slots.add(worker);
            workers.push(WorkerRow {
                rank: instance.0.0.rank,
                thread,
                drives_steps,
                batches: worker.batches,
                busy_ns: saturate(worker_busy_ns),
                waiting_ns: saturate(waiting_ns),
                slot_wait_ns,
                idle_ns,
                first_ns: worker.first_ns.unwrap_or(0),
                last_ns: worker.last_ns.unwrap_or(0),
            });
        }
    }
    let elapsed_ns = first_ns.zip(last_ns).map_or(0, |(first, last)| last.saturating_sub(first));
    LoaderRow {
        name: name.to_owned(),
        produce: Stats::of(&produce.0),
        busy_ns: saturate(busy_ns),
        waiting_ns: saturate(all_waiting_ns),
        computing_ns: saturate(computing_ns),
        elapsed_ns,
        utilisation: times.share(busy_ns),
        workers_at_once: times.at_once(),
        slot_wait_ns: slots.is_known.then(|| saturate(slots.waited_ns)),
        slot_wait_share: (slots.possible_ns > 0).then(|| ratio(slots.waited_ns, slots.possible_ns)),
        after_warmup,
        slowest,
        under_demand,
        samples: (samples.spans > 0).then(|| saturate(samples.sum)),
        workers,
        waits: waits.unwrap_or_default(),
        stalls: named.map_or_else(Vec::new, |own| held_up(&own.held)),
        waited_by: named.map_or_else(Vec::new, |own| waited_by(&own.makers)),
    }
}

/// The times of a process' workers. (A wait inside of a batch that was not read itself makes no worker.)
fn lifetimes(part: &LoaderAcc) -> Lifetimes {
    let made = part.workers.values().filter(|worker| worker.batches > 0);
    Lifetimes::of(made.filter_map(|worker| worker.first_ns.zip(worker.last_ns)))
}

/// The process whose workers are slowest together, where that is by a quarter slower than usual; of equals the lowest
/// rank.
fn slowest(parts: &[(Maker<'_>, &LoaderAcc)], from_ns: u64) -> Option<SlowestProcess> {
    if parts.len() < 2 {
        return None;
    }
    let process = |((instance, _), part): &(Maker<'_>, &LoaderAcc)| {
        let then = under_demand::Steady::of(std::iter::once(*part), from_ns).figures()?;
        let workers_at_once = lifetimes(part).at_once()?;
        let every_ns = then.produce_mean_ns.checked_div(workers_at_once)?;
        Some((every_ns, SlowestProcess { rank: instance.0.rank, workers_at_once, after_warmup: then }))
    };
    let processes: Vec<(u64, SlowestProcess)> = parts.iter().filter_map(process).collect();
    let mut every: Vec<u64> = processes.iter().map(|(ns, _)| *ns).collect();
    every.sort_unstable();
    let usual = u128::from(*every.get(every.len().checked_sub(1)? / 2)?);
    let slower = |(ns, process): &(u64, SlowestProcess)| (*ns, Reverse(process.rank));
    let (most, slowest) = processes.into_iter().max_by_key(slower)?;
    (u128::from(most).saturating_mul(4) >= usual.saturating_mul(5) && most > 0 && every.len() > 1)
        .then_some(slowest)
}

/// For how long workers waited for places in their queue.
#[derive(Default)]
struct Slots {
    is_known: bool,
    waited_ns: u128,
    /// Time of the workers that say it, from their first batch to their last.
    possible_ns: u128,
}

impl Slots {
    /// Adds a worker. Gives for how long it waited so, and for how long it made no batch besides.
    fn add(&mut self, worker: &WorkerAcc) -> (Option<u64>, Option<u64>) {
        if worker.slot_wait.spans == 0 {
            return (None, None);
        }
        let elapsed_ns =
            worker.first_ns.zip(worker.last_ns).map_or(0, |(first, last)| last.saturating_sub(first));
        let elapsed_ns = u128::from(elapsed_ns);
        let between_ns = elapsed_ns.saturating_sub(worker.making_ns);
        let waited_ns = worker.slot_wait.sum.min(between_ns);
        self.is_known = true;
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
        self.possible_ns = self.possible_ns.saturating_add(elapsed_ns);
        (Some(saturate(waited_ns)), Some(saturate(between_ns - waited_ns)))
    }
}

fn held_up(held: &[WaitTime]) -> Vec<LoaderStall> {
    let modes = Mode::ALL.iter().copied().map(Some).chain([None]);
    let rows = modes.zip(held).filter(|(_, held)| held.waits > 0);
    rows.map(|(mode, held)| LoaderStall { mode, waits: held.waits, total_ns: saturate(held.total_ns) })
        .collect()
}

fn waited_by(makers: &BTreeMap<Box<str>, WaitTime>) -> Vec<WaitedBy> {
    let rows = makers.iter().map(|(loader, held)| WaitedBy {
        loader: loader.to_string(),
        waits: held.waits,
        total_ns: saturate(held.total_ns),
    });
    rows.collect()
}

/// When the threads of a loader, or of all, began.
pub(crate) fn begins<'a>(run: &'a RunAcc, loader: Option<&'a str>) -> impl Iterator<Item = u64> + 'a {
    let loaders = run.instances.values().flat_map(|acc| &acc.loaders.loaders);
    let own = loaders.filter(move |(name, _)| loader.is_none_or(|loader| ***name == *loader));
    own.flat_map(|(_, part)| part.workers.values().filter_map(|worker| worker.first_ns))
}

/// The steps that take batches.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// When warm-up ends.
    pub(crate) from_ns: u64,
    /// What a slower step takes.
    pub(crate) step_ns: u64,
}

/// By how many batches a queue could be shorter, and each batch was still finished before it was taken: so many more lay there,
/// or it lay there for so many steps. Threads that begin fill the queue at first, whatever places it has.
fn unused(waits: &Waits, begins: impl Iterator<Item = u64>, pace: Pace) -> Option<u64> {
    let shift = waits.ahead.shift();
    let start_of = |ns: u64| ns.checked_shr(shift).unwrap_or(0);
    let begun: BTreeSet<u64> =
        begins.map(start_of).flat_map(|start| [start, start.saturating_add(1)]).collect();
    let (mut least, mut filled): (Option<u64>, Option<u64>) = (None, None);
    for (start, ahead) in waits.ahead.iter() {
        let by_depth = ahead.depth.map_or(0, |depth| depth.saturating_sub(1));
        let by_time = ahead.queue_ns.and_then(|ns| ns.checked_div(pace.step_ns)).unwrap_or(0);
        let more = by_depth.max(by_time);
        filled = Some(more).filter(|_| begun.contains(&start) || filled.is_some_and(|before| before < more));
        let is_after =
            start >= start_of(pace.from_ns.saturating_sub(1)).saturating_add((pace.from_ns > 0).into());
        if filled.is_none() && is_after {
            least = earliest(least, Some(more));
        }
    }
    least
}

/// Waits for batches of threads that began at those times.
pub(crate) fn waits_of(waits: &Waits, begins: impl Iterator<Item = u64>, pace: Pace) -> WaitSummary {
    WaitSummary {
        unused: unused(waits, begins, pace),
        wait: Stats::of(&waits.wait.0),
        produce: Stats::of(&waits.produce.0),
        queue: Stats::of(&waits.queue.0),
        depth: Stats::of(&waits.depth.0),
    }
}
