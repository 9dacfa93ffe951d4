//! The loader that limits the steps, and what is known of it: one of several, one process of many, or the last of those
//! that wait for each other.

use stepscope_core::{Phase, SectionKind};

use super::Thresholds;
use super::batches_per_step::BatchesPerStep;
use super::cpu_contention::CpuContention;
use crate::ranks::RankWaits;
use crate::rules::common::program::Recorder;
use crate::rules::common::steps::Steps;
use crate::summary::{LoaderRow, SectionRow, Summary, UnderDemand, WaitSummary};

/// A share from which one part is most of a whole.
pub(super) const MOST: f64 = 0.5;

/// So many steps without a break a queue can bridge.
const BRIDGED_STEPS: u64 = 64;

/// The loader that the steps wait for most, of equals the one that works most, and the waits for its batches.
#[derive(Debug)]
pub(crate) struct LoaderJudgement<'a> {
    /// Absent where it is the only one.
    pub(crate) name: Option<&'a str>,
    /// Of several, its part in the waits that name their loader; absent where none held up the steps.
    pub(crate) waiting_share: Option<f64>,
    pub(crate) waits: WaitSummary,
    pub(super) pace: BatchesPerStep,
    /// The rank of the process that it is judged by, where one is slower than others.
    pub(crate) rank: Option<i64>,
    /// Whether threads that drive steps make its batches.
    drives_steps: bool,
    /// Whether there are other processes that make its batches.
    pub(super) has_ranks: bool,
    /// Of a process, at once.
    pub(crate) workers: Option<u64>,
    pub(crate) busy_share: Option<f64>,
    /// Share of their time for which the workers wait for a place in the queue.
    pub(crate) slot_wait_share: Option<f64>,
    pub(crate) produce_ns: Option<u64>,
    /// What it did while it was waited for, where only then its workers are busy all the time and too slow.
    pub(crate) under_demand: Option<UnderDemand>,
    /// Workers that would keep up.
    pub(crate) needed: Option<u64>,
    pub(super) cpus: Option<u64>,
    /// What all loaders of a host compute a step, and the processors that its training threads leave for it;
    /// absent where either is not known.
    pub(super) computing: Option<(u64, u64)>,
    /// The section that takes most of a batch, and its share of it.
    pub(super) largest_part: Option<(String, f64)>,
    /// The loader whose batches it waits for most of the time in which it makes its own, and the share of that.
    pub(crate) waits_for: Option<(Box<Self>, f64)>,
    /// Share of the time in which it makes batches for which it waits, for whatever; absent where that is not known.
    pub(super) own_waiting_share: Option<f64>,
    pub(super) recorder: Recorder,
}

/// What all loaders of a run are judged by.
struct Run<'a, 'b> {
    summary: &'a Summary,
    contention: &'b CpuContention,
    thresholds: &'b Thresholds,
}

impl<'a> LoaderJudgement<'a> {
    /// The loader that steps wait for, which take `step_ns` without their waits.
    pub(crate) fn of(
        summary: &'a Summary,
        steps: &Steps<'_>,
        contention: &CpuContention,
        thresholds: &Thresholds,
        step_ns: u64,
    ) -> Self {
        let run = Run { summary, contention, thresholds };
        let loaders = &summary.batches.loaders;
        let held_up_ns = |row: &LoaderRow| row.held_up_ns(steps.mode.mode);
        // Of equals the first name.
        let loader = loaders.iter().rev().max_by_key(|row| (held_up_ns(row), row.busy_ns));
        // What it waits for other ranks is no time that it needs.
        let ranks_ns = RankWaits::of(summary, steps).map_or(0, |ranks| ranks.waits_ns);
        let pace = BatchesPerStep::of(summary, steps, loader, step_ns.saturating_sub(ranks_ns));
        let Some(loader) = loader else { return run.judge(None, None, pace) };
        let mut judged =
            run.with_stages(loader, (loaders.len() > 1).then_some(&loader.name), pace, &mut Vec::new());
        let all_ns: u128 = loaders.iter().map(|row| u128::from(held_up_ns(row))).sum();
        judged.waiting_share =
            (loaders.len() > 1 && all_ns > 0).then(|| held_up_ns(loader) as f64 / all_ns as f64);
        judged
    }

    /// The last of those that wait for each other.
    pub(crate) fn limiting(&self) -> &Self {
        self.waits_for.as_ref().map_or(self, |(next, _)| next.limiting())
    }

    /// Whether threads beside the steps make its batches, in all processes alike.
    pub(crate) const fn is_beside_all_steps(&self) -> bool {
        !self.drives_steps && self.rank.is_none()
    }
}

impl<'a> Run<'a, '_> {
    /// A loader and those that it waits for, one after the other; `seen` are those before it, so that nothing goes in
    /// circles.
    fn with_stages(
        &self,
        loader: &'a LoaderRow,
        name: Option<&'a String>,
        pace: BatchesPerStep,
        seen: &mut Vec<&'a str>,
    ) -> LoaderJudgement<'a> {
        seen.push(&loader.name);
        let mut judged = self.judge(Some(loader), name.map(String::as_str), pace);
        let next = waited_for(loader, &self.summary.batches.loaders);
        if let Some((row, share)) = next.filter(|(row, _)| !seen.contains(&row.name.as_str())) {
            // More of its workers would wait for the same.
            judged.needed = None;
            let next = self.with_stages(row, Some(&row.name), pace.of_stage(row, loader), seen);
            judged.waits_for = Some((Box::new(next), share));
        }
        judged
    }

    fn judge(
        &self,
        loader: Option<&'a LoaderRow>,
        name: Option<&'a str>,
        pace: BatchesPerStep,
    ) -> LoaderJudgement<'a> {
        let Self { summary, contention, thresholds } = self;
        // Waits that name no loader are those of the only one.
        let waits = loader.filter(|_| name.is_some()).map_or(summary.waits, |row| row.waits);
        let slowest = loader.and_then(|row| row.slowest);
        let steady = slowest.map(|process| process.after_warmup).or(loader.and_then(|row| row.after_warmup));
        // Of a batch whose trace was sampled away its wait knows how long it took.
        let mean = loader.and_then(|row| row.produce.mean).or(waits.produce.mean);
        let produce_ns = steady.map(|steady| steady.produce_mean_ns).or(mean.map(|mean| mean.round() as u64));
        let busy_share = steady.map_or_else(|| loader?.utilisation, |steady| steady.utilisation);
        let slot_wait_share = steady.map_or_else(|| loader?.slot_wait_share, |steady| steady.slot_wait_share);
        let workers =
            slowest.map(|process| process.workers_at_once).or(loader.and_then(|row| row.workers_at_once));
        let every_ns = pace.every_ns();
        let needed = |produce_ns: u64| (every_ns > 0).then(|| produce_ns.div_ceil(every_ns.max(1)).max(1));
        let keeps_up =
            produce_ns.and_then(needed).zip(workers).is_some_and(|(needed, workers)| needed <= workers);
        let is_bridged = |then: &UnderDemand| {
            keeps_up && then.longest_stall_ns.is_some_and(|ns| ns <= every_ns.saturating_mul(BRIDGED_STEPS))
        };
        let is_too_slow = |then: &UnderDemand| {
            busy_share.is_some_and(|share| share < thresholds.busy_share)
                && then.utilisation >= thresholds.busy_share
                && needed(then.produce_mean_ns) > workers
                && !is_bridged(then)
        };
        let under_demand = loader.and_then(|row| row.under_demand).filter(is_too_slow);
        let cpus = summary.instances.iter().filter_map(|row| row.resource.cpus).max();
        let cpus = cpus.and_then(|cpus| u64::try_from(cpus).ok());
        // A loader that sleeps needs no processor: only measured time counts.
        let is_measured =
            summary.sections.iter().any(|row| row.kind == SectionKind::Batch && row.cpu_ns.is_some());
        let free = cpus.map(|cpus| cpus.saturating_sub(contention.ranks)).filter(|_| is_measured);
        LoaderJudgement {
            name,
            waiting_share: None,
            waits,
            pace,
            rank: slowest.and_then(|process| process.rank),
            drives_steps: loader.is_some_and(|row| row.workers.iter().all(|worker| worker.drives_steps)),
            has_ranks: loader.is_some_and(has_ranks),
            workers,
            busy_share,
            slot_wait_share,
            produce_ns,
            under_demand,
            needed: under_demand.map(|then| then.produce_mean_ns).or(produce_ns).and_then(needed),
            cpus,
            computing: free.map(|free| (contention.computing_ns, free)),
            largest_part: largest_part(summary, name),
            waits_for: None,
            own_waiting_share: loader
                .filter(|row| row.produce.total > 0)
                .map(|row| row.waiting_ns as f64 / row.produce.total as f64),
            recorder: Recorder::of(summary),
        }
    }
}

/// Whether several processes make batches of this loader.
fn has_ranks(loader: &LoaderRow) -> bool {
    let mut ranks = loader.workers.iter().map(|worker| worker.rank);
    let first = ranks.next();
    ranks.any(|rank| Some(rank) != first)
}

/// Of the other loaders that a loader waits for most of the time in which it makes its batches the one that it waits
/// for longest, of equals the first name; and the share of that time.
fn waited_for<'a>(loader: &LoaderRow, loaders: &'a [LoaderRow]) -> Option<(&'a LoaderRow, f64)> {
    let others = || loaders.iter().filter(|row| row.name != loader.name);
    let waited_ns = others().fold(0, |sum, row| u64::saturating_add(sum, row.waited_by_ns(&loader.name)));
    let share = waited_ns as f64 / loader.produce.total.max(1) as f64;
    let longest = others().rev().max_by_key(|row| row.waited_by_ns(&loader.name))?;
    (share >= MOST).then(|| (longest, share.min(1.0)))
}

/// The section that takes most of the time in which batches are made, and its share of that. Of several loaders
/// only where the section of its batches has its name: others share theirs.
fn largest_part(summary: &Summary, name: Option<&str>) -> Option<(String, f64)> {
    let batches: Vec<&SectionRow> = summary
        .sections
        .iter()
        .filter(|row| row.kind == SectionKind::Batch && name.is_none_or(|name| row.name == name))
        .collect();
    let all_ns = batches.iter().fold(0u64, |sum, row| sum.saturating_add(row.stats.total));
    let own_ns = |row: &SectionRow| row.self_ns.or(row.self_busy_ns).unwrap_or(0);
    let is_inside = |row: &&SectionRow| {
        let rest = |batch: &&SectionRow| {
            row.path.strip_prefix(&batch.path).is_some_and(|rest| rest.starts_with('/'))
        };
        batches.iter().any(rest)
    };
    let works = |row: &&SectionRow| row.phase.as_ref().is_none_or(|phase| !phase.is(Phase::DataWait));
    // Of equals the first path.
    let parts = summary.sections.iter().filter(is_inside).filter(works);
    let largest = parts.rev().max_by_key(|row| own_ns(row))?;
    let share = own_ns(largest) as f64 / all_ns.max(1) as f64;
    (share >= MOST).then(|| (largest.path.clone(), share.min(1.0)))
}
