//! Who waited for a loader: steps, what lies between them, batches of other loaders.

use super::names::named;
use crate::summary::LoaderRow;

/// One who waited.
pub(crate) struct Waiter {
    /// Below the loader in the JSON report.
    pub(crate) place: String,
    /// In words; names stand between backticks.
    pub(crate) who: String,
    /// Number of waits.
    pub(crate) waits: u64,
    /// Their durations, summed.
    pub(crate) total_ns: u64,
}

/// All who waited for a loader, steps first.
pub(crate) fn waiters(loader: &LoaderRow) -> impl Iterator<Item = Waiter> {
    let steps = loader.held_up.iter().enumerate().map(|(at, row)| Waiter {
        place: format!("held_up/{at}"),
        who: row.mode.map_or_else(|| "outside of steps".into(), |mode| format!("steps ({})", mode.as_str())),
        waits: row.waits,
        total_ns: row.total_ns,
    });
    steps.chain(loader.waited_by.iter().enumerate().map(|(at, row)| Waiter {
        place: format!("waited_by/{at}"),
        who: format!("batches of `{}`", named(&row.loader)),
        waits: row.waits,
        total_ns: row.total_ns,
    }))
}
