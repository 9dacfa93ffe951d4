//! Rule `deep_prefetch`: far more batches are made ahead than the steps need. Queues that are too short make steps wait,
//! which `input_bound` tells.

use super::{Config, Judged, Rule, Steps, TOLD, fine, unknown};
use crate::loaders::Queue;
use crate::report::finding::{Evidence, Finding, FindingType, rounded, severity};
use crate::report::units::{bytes, count, duration, percent, things};
use crate::run::recorder::Recorder;
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule::new("Prefetch too deep", FindingType::Memory);

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
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.deep_prefetch;
    let steps = Steps::of(summary).and_then(Steps::with_phases)?;
    let queues = Queue::all(summary, &steps);
    let Some(deepest) = queues.first() else {
        let how = match Recorder::of(summary) {
            Recorder::Stepscope => "; wrap the loader with `stepscope::Loader`",
            Recorder::Pytorch | Recorder::Other => "",
        };
        return unknown(format!("waits for batches do not say how many were ready{how}"));
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
    if found.is_empty() { fine(deepest.words(thresholds)) } else { Ok(found) }
}

impl Queue<'_> {
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
            "{depth}{of} {are} ready when one is taken (limit {}), and steps wait{them} for {} of their time{needed}",
            count(self.enough(thresholds)),
            percent(self.waiting)
        )
    }

    fn finding(&self, thresholds: &Thresholds) -> Finding {
        let queue_bytes = self.batch_bytes.map(|bytes| bytes.saturating_mul(self.depth));
        let holds =
            queue_bytes.map_or_else(String::new, |held| format!(", which hold about {}", bytes(held)));
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
            evidence: Evidence::new()
                .with_known("loader", self.name)
                .with("queue_depth_p50", self.depth)
                .with_known("queue_time_p50_ns", self.time_ns)
                .with_known("unused_batches", self.unused)
                .with("waiting_share", rounded(self.waiting, 6))
                .with_known("loaders_waiting_share", self.slot_wait_share.map(|share| rounded(share, 6)))
                .with_known("workers", self.workers)
                .with_known("batch_bytes", self.batch_bytes)
                .with_known("queue_bytes", queue_bytes),
            recommendation: format!(
                "Make fewer batches{whose} ahead, {} for a start: the usual one lies in the queue for {} before it is taken, and \
                 {} were never needed.{}",
                count(needed),
                duration(self.time_ns.unwrap_or(0)),
                count(self.unused.unwrap_or(0)),
                full.unwrap_or_default()
            ),
            ..Finding::default()
        }
    }
}
