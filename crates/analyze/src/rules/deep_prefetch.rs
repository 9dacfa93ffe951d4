//! Rule `deep_prefetch`: far more batches are made ahead than the steps need. Queues that are too short make steps wait,
//! which `input_bound` tells.

use stepscope_core::SectionKind;

use super::common::program::Recorder;
use super::{Config, Rule, Steps, TOLD};
use crate::report::finding::{BottleneckType, Evidence, Finding, Verdict, rounded, severity};
use crate::report::units::{bytes, count, duration, percent, things};
use crate::steps::WAITING;
use crate::summary::{LoaderRow, SectionRow, Summary, WaitSummary};

pub(super) const RULE: Rule = Rule {
    id: "deep_prefetch",
    since: "0.1.0",
    name: "Prefetch too deep",
    kind: BottleneckType::Memory,
    page: include_str!("deep_prefetch.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Finished batches in the queue (median) from which it is deep.
    min_depth: u64 = 16;
    /// The same for each worker of the loader.
    min_depth_per_worker: u64 = 4;
    /// Share of these batches from which it matters that the run never needed them.
    min_unused_share: f64 = 0.25;
    /// Share of the step time that waiting may take at most: where steps wait, depth is not idle. Taking from a full
    /// queue wakes the loader that waits for the place, some tens of microseconds: 1 % of a short step.
    max_waiting_share: f64 = 0.03;
    /// Severity of a finding: it costs memory, and no time.
    severity: f64 = 3.0;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.deep_prefetch;
    let steps = match Steps::of(summary, thresholds.min_steps).and_then(Steps::with_phases) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let mut queues = Queue::all(summary, &steps);
    // The deepest first, of equals the first name.
    queues.sort_by(|a, b| b.depth.cmp(&a.depth).then_with(|| a.name.cmp(&b.name)));
    let Some(deepest) = queues.first() else {
        let how = match Recorder::of(summary) {
            Recorder::Stepscope => "; wrap the loader with `stepscope::Loader`",
            Recorder::Pytorch | Recorder::Other => "",
        };
        return Verdict::unknown(format!("waits for batches do not say how many were ready{how}"));
    };
    let found: Vec<Finding> = queues
        .iter()
        .filter(|queue| {
            queue.depth >= queue.enough(thresholds)
                && queue.waiting <= thresholds.max_waiting_share
                && queue
                    .unused
                    .is_some_and(|unused| unused as f64 >= thresholds.min_unused_share * queue.depth as f64)
        })
        .map(|queue| queue.finding(thresholds))
        .collect();
    if found.is_empty() { Verdict::fine(deepest.words(thresholds)) } else { Verdict::Found(found) }
}

/// A loader's queue, or that of all loaders where waits do not name theirs.
struct Queue<'a> {
    /// Of several loaders its name.
    name: Option<&'a str>,
    depth: u64,
    time_ns: Option<u64>,
    /// Batches of it that no step ever needed.
    unused: Option<u64>,
    /// Share of the steps' time for which they wait for its batches.
    waiting: f64,
    workers: Option<u64>,
    /// Share of their time for which its workers wait for a place in it.
    slot_wait_share: Option<f64>,
    /// The section that makes its batches, where it is known.
    section: Option<&'a SectionRow>,
    /// What making one leaves allocated, where no other loader shares that section.
    batch_bytes: Option<u64>,
}

impl<'a> Queue<'a> {
    fn all(summary: &'a Summary, steps: &Steps<'_>) -> Vec<Self> {
        let loaders = &summary.batches.loaders;
        let many = |row: &LoaderRow| row.workers_at_once;
        let of = |row: &'a LoaderRow| Self::of_loader(summary, row, many(row), steps);
        let named: Vec<Self> = loaders.iter().filter_map(of).collect();
        if loaders.len() > 1 && !named.is_empty() {
            return named;
        }
        let Some(depth) = summary.waits.depth.p50 else { return Vec::new() };
        // Of several of which waits do not say which is theirs, the one that waits most.
        let shares = loaders.iter().filter_map(|row| row.slot_wait_share);
        vec![Self {
            name: None,
            depth,
            time_ns: summary.waits.queue.p50,
            unused: unused(&summary.waits),
            waiting: steps.share(steps.exposed_ns(WAITING)),
            workers: loaders.iter().filter_map(many).max(),
            slot_wait_share: shares.max_by(f64::total_cmp),
            section: largest_batch(summary, None),
            batch_bytes: largest_batch(summary, None).and_then(kept_bytes),
        }]
    }

    /// Of one of several loaders; absent where no wait names it and says how deep its queue was.
    fn of_loader(
        summary: &'a Summary,
        row: &'a LoaderRow,
        workers: Option<u64>,
        steps: &Steps<'_>,
    ) -> Option<Self> {
        let own = largest_batch(summary, Some(&row.name));
        // (Waits are known with warm-up, so the time is that of all steps, and of the input between them.)
        let all_ns = steps.mode.all.total.saturating_add(summary.input.between_ns);
        let waiting = row.held_up_ns(steps.mode.mode) as f64 / all_ns.max(1) as f64;
        Some(Self {
            name: Some(&row.name),
            depth: row.waits.depth.p50?,
            time_ns: row.waits.queue.p50,
            unused: unused(&row.waits),
            // No longer than steps wait at all.
            waiting: waiting.min(steps.share(steps.exposed_ns(WAITING))),
            workers,
            slot_wait_share: row.slot_wait_share,
            section: own.or_else(|| shared_batch(summary)),
            batch_bytes: own.and_then(kept_bytes),
        })
    }

    /// From how many batches on it is deep.
    fn enough(&self, thresholds: &Thresholds) -> u64 {
        let by_workers = thresholds.min_depth_per_worker.saturating_mul(self.workers.unwrap_or(0));
        thresholds.min_depth.max(by_workers).max(1)
    }

    fn words(&self, thresholds: &Thresholds) -> String {
        let depth = things(self.depth, "batch", "batches");
        let are = if self.depth == 1 { "is" } else { "are" };
        let (of, them) = match self.name {
            Some(name) => (format!(" of the loader `{name}`"), " for these"),
            None => (String::new(), ""),
        };
        let is_deep = self.depth >= self.enough(thresholds) && self.waiting <= thresholds.max_waiting_share;
        let needed = match self.unused.filter(|_| is_deep) {
            Some(unused) => format!("; at times {} were needed", count(self.depth.saturating_sub(unused))),
            None if is_deep => "; nobody knows how many were needed at times".into(),
            None => String::new(),
        };
        format!(
            "{depth}{of} {are} ready when one is taken, and steps wait{them} for {} of their time{needed}",
            percent(self.waiting)
        )
    }

    fn finding(&self, thresholds: &Thresholds) -> Finding {
        let held_bytes = self.batch_bytes.map(|bytes| bytes.saturating_mul(self.depth));
        let holds = held_bytes.map_or_else(String::new, |held| format!(", which hold about {}", bytes(held)));
        let least = (self.enough(thresholds) / 2).max(1);
        let needed = self.depth.saturating_sub(self.unused.unwrap_or(0)).max(least);
        let depth = things(self.depth, "batch", "batches");
        let (title, whose, who) = match self.name {
            None => (
                format!("Loaders are {depth} ahead of steps that do not wait{holds}."),
                String::new(),
                "The loaders wait".into(),
            ),
            Some(name) => (
                format!("The loader `{name}` is {depth} ahead of steps that do not wait for it{holds}."),
                format!(" of `{name}`"),
                format!("Loader `{name}` waits"),
            ),
        };
        let full = self.slot_wait_share.filter(|&share| share >= TOLD);
        let full = full.map(|share| {
            format!(
                " {who} {} of {} time for a place in it.",
                percent(share),
                if self.name.is_some() { "its" } else { "their" }
            )
        });
        Finding {
            title,
            severity: severity(thresholds.severity),
            section: self.section.map(|row| row.path.clone()),
            phase: None,
            rank: None,
            evidence: Evidence::new()
                .with_known("loader", self.name)
                .with("queue_depth_p50", self.depth)
                .with_known("queue_time_p50_ns", self.time_ns)
                .with_known("unused_batches", self.unused)
                .with("waiting_share", rounded(self.waiting, 6))
                .with_known("loaders_waiting_share", self.slot_wait_share.map(|share| rounded(share, 6)))
                .with_known("workers", self.workers)
                .with_known("batch_bytes", self.batch_bytes)
                .with_known("held_bytes", held_bytes),
            recommendation: format!(
                "Make fewer batches{whose} ahead, {} for a start: the usual one lies in the queue for {} before it is taken, and \
                 {} were never needed.{}",
                count(needed),
                duration(self.time_ns.unwrap_or(0)),
                count(self.unused.unwrap_or(0)),
                full.unwrap_or_default()
            ),
            predicted_gain: None,
        }
    }
}

/// Batches of the usual queue that the run never needed. One place at least is in use.
fn unused(waits: &WaitSummary) -> Option<u64> {
    waits.unused.zip(waits.depth.p50).map(|(unused, depth)| unused.min(depth.saturating_sub(1)))
}

/// The section that makes most batches; of equals the first path. Of one of several loaders only where it has the loader's
/// name: others share theirs.
fn largest_batch<'a>(summary: &'a Summary, loader: Option<&str>) -> Option<&'a SectionRow> {
    let is_its =
        |row: &&SectionRow| row.kind == SectionKind::Batch && loader.is_none_or(|loader| row.name == loader);
    summary.sections.iter().rev().filter(is_its).max_by_key(|row| row.stats.count)
}

/// The section that makes all batches, where it is one.
fn shared_batch(summary: &Summary) -> Option<&SectionRow> {
    let mut rows = summary.sections.iter().filter(|row| row.kind == SectionKind::Batch);
    rows.next().filter(|_| rows.next().is_none())
}

/// What making a batch leaves allocated; absent where allocations are not counted.
fn kept_bytes(row: &SectionRow) -> Option<u64> {
    let memory = row.memory?;
    memory.alloc_bytes.saturating_sub(memory.free_bytes).checked_div(memory.spans).filter(|&bytes| bytes > 0)
}
