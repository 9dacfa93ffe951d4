//! What loaders that compute beside the step may cost it: a core that two hardware threads share, processors
//! that are fewer than threads, caches, memory bandwidth. A bound from recorded figures, and no measurement.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::finding::Gain;
use crate::report::units::percent;
use crate::steps::judged::{Steps, TOLD};
use crate::summary::{ModeSummary, Summary};

/// Loaders beside the steps of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuContention {
    /// What the loaders of a host compute a step, as far as batches or waits tell of it.
    pub(crate) computing_ns: u64,
    /// Processes on a host.
    pub(crate) ranks: u64,
    /// Threads of loaders and steps on a host, and the processors for them.
    threads: u64,
    processors: u64,
}

impl CpuContention {
    /// The loaders of a run, of the host with most of them.
    pub(crate) fn of(summary: &Summary, mode: &ModeSummary) -> Self {
        let (threads, processors, ranks) = crowd(summary);
        let computing_ns = a_rank(summary, mode).saturating_mul(ranks);
        Self { computing_ns, ranks, threads, processors }
    }

    /// The most that loaders cost a step which takes `step_ns` without waiting. While they compute, the step's
    /// thread has at least half of a processor, as on a core that shows itself as two, and less only where
    /// threads outnumber processors. All their work is taken to fall into the step's own.
    pub(crate) fn cost_ns(&self, step_ns: u64) -> u64 {
        let overlap = u128::from(self.computing_ns.min(step_ns));
        let crowd = u128::from(self.threads.max(self.processors)).saturating_mul(2).max(2);
        let kept = overlap.saturating_mul(u128::from(self.processors.max(1))) / crowd;
        u64::try_from(overlap.saturating_sub(kept)).unwrap_or(u64::MAX)
    }
}

impl CpuContention {
    /// What it brings at most if nobody waited for `exposed_ns` of all steps, and nobody computed beside them; and the
    /// latter's part of a step.
    pub(crate) fn gain(&self, steps: &Steps<'_>, exposed_ns: u64) -> Option<(Gain, u64)> {
        let (mean_ns, waiting_ns) = (steps.mean_ns(), steps.per_step(exposed_ns));
        let quick_ns = steps.least_without_ns(exposed_ns, steps.mode.quick_without_waiting_ns);
        let cost_ns = self.cost_ns(quick_ns);
        let saved_ns = mean_ns.saturating_sub(quick_ns.saturating_sub(cost_ns));
        let mut gain = Gain::with_side_effects(waiting_ns, saved_ns, mean_ns)?.of(steps.base());
        let cost_share = cost_ns as f64 / mean_ns.max(1) as f64;
        let cost = (cost_share >= TOLD).then(|| {
            format!("{} is what loaders that compute beside the step may cost it", percent(cost_share))
        });
        let quicker_ns = gain.saved_ns_per_step.saturating_sub(waiting_ns).saturating_sub(cost_ns);
        let quicker = Steps::quicker(quicker_ns, mean_ns);
        if cost.is_some() || quicker.is_some() {
            let waiting = format!("{} is waiting", percent(gain.direct_share));
            let parts: Vec<String> = [Some(waiting), cost, quicker].into_iter().flatten().collect();
            gain.because = Some(parts.join("; "));
        }
        Some((gain, cost_ns))
    }
}

/// Threads, processors and ranks of the host on which most threads share a processor.
fn crowd(summary: &Summary) -> (u64, u64, u64) {
    let mut ranks: BTreeMap<&str, Vec<Option<i64>>> = BTreeMap::new();
    let mut processors: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &summary.instances {
        let host = row.resource.host_name.as_str();
        ranks.entry(host).or_default().push(row.resource.rank);
        let known = row.resource.cpus.and_then(|cpus| u64::try_from(cpus).ok()).unwrap_or(0);
        let most = processors.entry(host).or_default();
        *most = known.max(*most);
    }
    let workers = || summary.batches.loaders.iter().flat_map(|loader| &loader.workers);
    let hosts = ranks.iter().map(|(host, ranks)| {
        let known: BTreeSet<Option<i64>> = ranks.iter().copied().collect();
        let workers =
            workers().filter(|worker| known.contains(&worker.rank) && !worker.drives_steps).count() as u64;
        let steps = ranks.len() as u64;
        let threads = workers.saturating_add(steps);
        // Where nobody said how many processors there are, they are taken to suffice.
        let processors = processors.get(host).copied().filter(|&cpus| cpus > 0).unwrap_or(threads);
        (threads, processors, steps)
    });
    let fuller = |a: &(u64, u64, u64), b: &(u64, u64, u64)| {
        let (left, right) = (u128::from(a.0) * u128::from(b.1), u128::from(b.0) * u128::from(a.1));
        left.cmp(&right).then_with(|| a.cmp(b))
    };
    hosts.max_by(fuller).unwrap_or((1, 1, 1))
}

/// What the loaders of one rank compute a step. Waits may know of more batches than there are traces of.
fn a_rank(summary: &Summary, mode: &ModeSummary) -> u64 {
    let batches = &summary.batches;
    let waits = &summary.waits.produce;
    let made = batches.count.max(waits.count);
    let computing_ns: u128 = batches.loaders.iter().map(|row| u128::from(row.computing_ns)).sum();
    let all_ns = if batches.count > 0 {
        computing_ns.saturating_mul(made.into()) / u128::from(batches.count)
    } else {
        // Nothing says that anybody else makes batches where neither they nor the waits tell of it: an iterator
        // that the training thread reads computes in the wait itself.
        waits.total.into()
    };
    let steps = u128::from(mode.all.count.max(1));
    u64::try_from(all_ns / steps).unwrap_or(u64::MAX)
}
