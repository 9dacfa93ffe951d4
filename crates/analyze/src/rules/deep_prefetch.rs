//! Rule `deep_prefetch`: far more batches are made ahead than the steps need. Queues that are too short make steps wait,
//! which `input_bound` tells.

use stepscope_core::SectionKind;

use super::common::program::Recorder;
use super::{Config, Doc, Rule, Steps, TOLD};
use crate::report::units::{bytes, count, duration, percent, things};
use crate::report::{BottleneckType, Evidence, Finding, Verdict, rounded, severity};
use crate::steps::WAITING;
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "deep_prefetch",
    since: "0.1.0",
    name: "Prefetch too deep",
    kind: BottleneckType::Memory,
    may_hold_up_ranks: false,
    doc: Doc {
        finds: "Loaders that are always many batches ahead of steps that never wait for one.",
        why: "Each finished batch in the queue holds its memory, and none of them makes a step faster. Where samples are \
              chosen by what the model has learnt, they are chosen early.",
        how: "The median number of finished batches when one is taken, and how long it lay there, as the waits for batches \
              of `stepscope::Loader` carry them. A finding needs a queue that is deep absolutely and by the number of \
              workers, and steps that hardly wait. What the queue holds is that number times what making a batch leaves \
              allocated, where allocations are counted. It costs memory and no time, so that the severity is small and \
              no time is predicted to be gained. For how long the loaders waited for a place in the queue stands beside \
              it, where batches say it.",
        advice: "Make fewer batches ahead: two for each worker bridge the usual variation. Keep the depth where single \
                 batches take much longer than the others.",
        example: "Loaders are 64 batches ahead of steps that do not wait.\n\
                  \x20   64 batches of 12 MB lie in the queue for 0.6 s\n\
                  With 8 batches the program held 672 MB less, at the same step time.",
    },
    check,
};

thresholds! {
    /// Finished batches in the queue (median) from which it is deep.
    min_depth: u64 = 16;
    /// The same for each worker of the loader.
    min_depth_per_worker: u64 = 4;
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
    let waits = &summary.waits;
    let Some(depth) = waits.depth.p50 else {
        let how = match Recorder::of(summary) {
            Recorder::Stepscope => "; wrap the loader with `stepscope::Loader`",
            Recorder::Pytorch | Recorder::Other => "",
        };
        return Verdict::unknown(format!("waits for batches do not say how many were ready{how}"));
    };
    let most_workers = summary.batches.loaders.iter().map(|row| row.workers.len() as u64).max();
    let enough = thresholds
        .min_depth
        .max(thresholds.min_depth_per_worker.saturating_mul(most_workers.unwrap_or(0)))
        .max(1);
    let waiting = steps.share(steps.exposed_ns(WAITING));
    if depth < enough || waiting > thresholds.max_waiting_share {
        return Verdict::fine(format!(
            "{} ready when one is taken, and steps wait for {} of their time",
            if depth == 1 { "1 batch is".into() } else { format!("{} batches are", count(depth)) },
            percent(waiting)
        ));
    }
    let batch_bytes = kept_bytes(summary);
    let held_bytes = batch_bytes.map(|bytes| bytes.saturating_mul(depth));
    let holds = held_bytes.map_or_else(String::new, |held| format!(", which hold about {}", bytes(held)));
    let least = (enough / 2).max(1);
    Verdict::Found(vec![Finding {
        title: format!(
            "Loaders are {} ahead of steps that do not wait{holds}.",
            things(depth, "batch", "batches")
        ),
        severity: severity(thresholds.severity),
        section: largest_batch(summary).map(|row| row.path.clone()),
        phase: None,
        rank: None,
        evidence: Evidence::new()
            .with("queue_depth_p50", depth)
            .with_known("queue_time_p50_ns", waits.queue.p50)
            .with("waiting_share", rounded(waiting, 6))
            .with_known("loaders_waiting_share", slot_wait_share(summary).map(|share| rounded(share, 6)))
            .with_known("workers", most_workers)
            .with_known("batch_bytes", batch_bytes)
            .with_known("held_bytes", held_bytes),
        recommendation: format!(
            "Make fewer batches ahead, {} for a start: the usual one lies in the queue for {} before it is taken.{}",
            count(least),
            duration(waits.queue.p50.unwrap_or(0)),
            slot_wait_share(summary).filter(|&share| share >= TOLD).map_or_else(String::new, |share| {
                format!(" The loaders wait {} of their time for a place in it.", percent(share))
            })
        ),
        predicted_gain: None,
    }])
}

/// The section that makes most batches; of equals the first path.
fn largest_batch(summary: &Summary) -> Option<&SectionRow> {
    let batches = summary.sections.iter().rev().filter(|row| row.kind == SectionKind::Batch);
    batches.max_by_key(|row| row.stats.count)
}

/// Share of their time for which loaders wait for a place in the queue; of the one that waits most.
fn slot_wait_share(summary: &Summary) -> Option<f64> {
    summary.batches.loaders.iter().filter_map(|row| row.slot_wait_share).max_by(f64::total_cmp)
}

/// What making a batch leaves allocated; absent where allocations are not counted.
fn kept_bytes(summary: &Summary) -> Option<u64> {
    let memory = largest_batch(summary)?.memory?;
    memory.alloc_bytes.saturating_sub(memory.free_bytes).checked_div(memory.spans).filter(|&bytes| bytes > 0)
}
