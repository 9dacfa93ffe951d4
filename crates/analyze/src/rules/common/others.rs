//! What ranks that do steps together wait for each other.

use std::collections::BTreeSet;

use super::super::Steps;
use crate::report::ranks::is_waiting;
use crate::summary::Summary;

/// Ranks that do their steps together.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) struct Others {
    pub(in crate::rules) ranks: u64,
    /// What one waits for others in a step, at most: the exposed time of communication and synchronization less what the same
    /// calls would take if each took as long as the shortest, for which nobody had to be waited.
    pub(in crate::rules) waits_ns: u64,
}

impl Others {
    /// Nothing where there are fewer than two, where it is not known which they are, and where they do steps of their own.
    pub(in crate::rules) fn of(summary: &Summary, steps: &Steps<'_>) -> Option<Self> {
        let rows = || summary.instances.iter().filter(|row| row.steps.count > 0);
        let names: Option<BTreeSet<i64>> = rows().map(|row| row.resource.rank).collect();
        let ranks = names?.len();
        if ranks < 2 || rows().count() != ranks || steps.mode.are_steps_apart() || steps.sums.is_some() {
            return None;
        }
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
