//! The queues of loaders: how many batches lie ready, how many of them nobody needed, and what they hold.

use stepscope_core::SectionKind;

use crate::steps::WAITING;
use crate::steps::judged::Steps;
use crate::summary::{LoaderRow, SectionRow, Summary, WaitSummary};

/// A loader's queue, or that of all loaders where waits do not name theirs.
pub(crate) struct Queue<'a> {
    /// Of several loaders its name.
    pub(crate) name: Option<&'a str>,
    pub(crate) depth: u64,
    pub(crate) time_ns: Option<u64>,
    /// Batches of it that no step ever needed.
    pub(crate) unused: Option<u64>,
    /// Share of the steps' time for which they wait for its batches.
    pub(crate) waiting: f64,
    pub(crate) workers: Option<u64>,
    /// Share of their time for which its workers wait for a place in it.
    pub(crate) slot_wait_share: Option<f64>,
    /// The section that makes its batches, where it is known.
    pub(crate) section: Option<&'a SectionRow>,
    /// What making one leaves allocated, where no other loader shares that section.
    pub(crate) batch_bytes: Option<u64>,
}

impl<'a> Queue<'a> {
    /// The deepest first, of equals the first name.
    pub(crate) fn all(summary: &'a Summary, steps: &Steps<'_>) -> Vec<Self> {
        let loaders = &summary.batches.loaders;
        let many = |row: &LoaderRow| row.workers_at_once;
        let of = |row: &'a LoaderRow| Self::of_loader(summary, row, many(row), steps);
        let mut named: Vec<Self> = loaders.iter().filter_map(of).collect();
        if loaders.len() > 1 && !named.is_empty() {
            named.sort_by(|a, b| b.depth.cmp(&a.depth).then_with(|| a.name.cmp(&b.name)));
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
