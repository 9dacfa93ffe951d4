//! The levels of a run that changed: how many steps there are after each change, and what they take.

use crate::summary::{ChangeKind, StepChange};

/// Steps that take the same on average.
pub(in crate::rules) struct Level {
    pub(in crate::rules) steps: u64,
    pub(in crate::rules) mean_ns: u64,
}

/// The levels since the first of these changes of one mode, which follow each other; of a gradual one halfway between its ends.
pub(in crate::rules) fn levels_since<'a>(changes: &'a [&StepChange]) -> impl Iterator<Item = Level> + 'a {
    changes.iter().map(|change| {
        let mean_ns = match change.kind {
            ChangeKind::Sudden => change.after_ns,
            ChangeKind::Gradual => change.before_ns.midpoint(change.after_ns),
        };
        Level { steps: change.steps_after, mean_ns }
    })
}
