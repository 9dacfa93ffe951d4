//! What ranks that do steps together wait for each other.

use super::{is_waiting, together};
use crate::steps::judged::Steps;
use crate::summary::Summary;

/// Ranks that do their steps together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankWaits {
    pub(crate) ranks: u64,
    /// What one waits for others in a step, at most: the exposed time of communication and synchronization less what the same
    /// calls would take if each took as long as the shortest, for which nobody had to be waited.
    pub(crate) waits_ns: u64,
}

impl RankWaits {
    /// Nothing where none do steps together, or only sums tell of these.
    pub(crate) fn of(summary: &Summary, steps: &Steps<'_>) -> Option<Self> {
        let ranks = together(summary).filter(|_| steps.sums.is_none())?.len();
        let waiting = summary.sections.iter().filter(|row| row.phase.as_ref().is_some_and(is_waiting));
        let waited_ns = waiting.fold(0u64, |sum, row| {
            let part = row.in_mode(steps.mode.mode).map(|part| part.after_warmup());
            let waited_ns = part.map_or(0, |part| {
                let least_ns = row.stats.min.unwrap_or(0).saturating_mul(part.calls);
                part.exposed_ns.saturating_sub(least_ns)
            });
            sum.saturating_add(waited_ns)
        });
        let of = steps.mode.whole_after_warmup().steps.max(1);
        Some(Self { ranks: ranks as u64, waits_ns: waited_ns / of })
    }
}
