//! The levels of a run that changed: what steps took after each change, and how many steps did.

use super::within::steps_within;
use crate::summary::{ChangeKind, StepChange, Summary};

/// Steps that take the same on average.
pub(in crate::rules) struct Level {
    pub(in crate::rules) steps: u64,
    pub(in crate::rules) mean_ns: u64,
}

/// The levels since the first of these changes of one mode, which follow each other: of each change its own steps, of a
/// gradual one halfway between its ends, and those of the level that it led to.
pub(in crate::rules) fn levels_since(
    summary: &Summary,
    changes: &[&StepChange],
) -> impl Iterator<Item = Level> {
    changes.iter().enumerate().flat_map(|(index, change)| {
        let next_step = changes.get(index + 1).map_or(u64::MAX, |next| next.step);
        let rest = steps_within(summary, change.mode, change.to_step.saturating_add(1), next_step);
        let mean_ns = match change.kind {
            ChangeKind::Sudden => change.after_ns,
            ChangeKind::Gradual => change.before_ns.midpoint(change.after_ns),
        };
        [Level { steps: change.steps_after, mean_ns }, Level { steps: rest, mean_ns: change.after_ns }]
    })
}
