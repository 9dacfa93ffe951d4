//! Ranks of a run: which do steps together, which one the others wait for, which one is slow, and what a finding on one of
//! them means for the others. How processes are summed up is not here.

mod absent;
mod evaluating;
mod hold_up;
mod late;
mod longer;
mod split;
mod waits;

use std::collections::BTreeSet;

use stepscope_core::Phase;

pub(crate) use absent::Absent;
pub(crate) use evaluating::Evaluating;
pub(crate) use hold_up::Ranks;
pub(crate) use late::Late;
pub(crate) use longer::Longer;
pub(crate) use split::{Rank, Split};
pub(crate) use waits::RankWaits;

use crate::summary::{InstanceRow, PhaseName, Summary};

/// Whether it is a phase in which a rank waits for others.
pub(crate) fn is_waiting(phase: &PhaseName) -> bool {
    phase.is(Phase::Communication) || phase.is(Phase::Synchronization)
}

/// Those with steady steps, each with its rank: nothing where there are fewer than two, where it is not known which they are, and
/// where they do steps of their own.
pub(crate) fn together(summary: &Summary) -> Option<Vec<(i64, &InstanceRow)>> {
    let with_steps = summary.instances.iter().filter(|row| row.steps.count > 0);
    let rows: Vec<(i64, &InstanceRow)> =
        with_steps.map(|row| Some((row.resource.rank?, row))).collect::<Option<_>>()?;
    let names: BTreeSet<i64> = rows.iter().map(|row| row.0).collect();
    let are_apart = summary.primary()?.are_steps_apart();
    (rows.len() > 1 && names.len() == rows.len() && !are_apart).then_some(rows)
}
