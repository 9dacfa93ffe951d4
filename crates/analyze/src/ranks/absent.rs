//! Ranks of a run that the input lacks.

use std::collections::BTreeSet;

use crate::report::units::{count, listed};
use crate::summary::Summary;

/// Ranks of the run that this input lacks.
pub(crate) struct Absent {
    read: u64,
    all: u64,
    /// Some of them, the smallest.
    ranks: Vec<i64>,
}

/// Ranks that are named, at most.
const NAMED: usize = 8;

impl Absent {
    /// None where all are there, or nobody said how many there are.
    pub(crate) fn of(summary: &Summary) -> Option<Self> {
        let size = summary.state.world_size?;
        let all = u64::try_from(size).ok()?;
        let known =
            summary.instances.iter().map(|row| row.resource.rank).collect::<Option<BTreeSet<i64>>>()?;
        let read = known.iter().filter(|rank| (0..size).contains(rank)).count() as u64;
        let ranks = (0..size).filter(|rank| !known.contains(rank)).take(NAMED + 1).collect();
        (0 < read && read < all).then_some(Self { read, all, ranks })
    }

    /// `3 of 4 ranks are in this input (rank 2 is not)`.
    pub(crate) fn words(&self) -> String {
        let are = if self.read == 1 { "is" } else { "are" };
        let absent = match self.ranks.as_slice() {
            [one] => format!(" (rank {one} is not)"),
            some if some.len() <= NAMED => {
                format!(" (ranks {} are not)", listed(some.iter().map(i64::to_string)))
            }
            _ => String::new(),
        };
        format!("{} of {} ranks {are} in this input{absent}", count(self.read), count(self.all))
    }
}
