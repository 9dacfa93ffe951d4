//! The rank that the others wait for. In communication all wait for the last one to come, which itself hardly waits.

use std::collections::BTreeSet;

use super::longer::Longer;
use crate::summary::{InstanceRow, Summary};

/// The others wait for at least so many times as long.
const LONGER: f64 = 1.5;

/// Share of its lateness from which a phase explains it.
const EXPLAINS: f64 = 0.5;

/// A rank that comes last to what all ranks do together.
pub(in crate::rules) struct Late<'a> {
    pub(in crate::rules) rank: i64,
    /// What it communicates a step.
    pub(in crate::rules) own_ns: u64,
    /// What the others do, their mean.
    pub(in crate::rules) others_ns: u64,
    /// Of the communication of all ranks what they would do without if it took each as long as this one.
    pub(in crate::rules) share: f64,
    /// What it does longer than the others in its steps, where that is most of its lateness.
    pub(in crate::rules) longer: Option<Longer<'a>>,
}

impl<'a> Late<'a> {
    /// Where one rank communicates for much less time than each of the others, and works for longer.
    pub(in crate::rules) fn of(summary: &'a Summary) -> Option<Self> {
        let ranks: Option<Vec<Row<'_>>> = summary.instances.iter().map(Row::of).collect();
        let mut ranks = ranks?;
        ranks.sort_by_key(|row| (row.waits_ns, row.rank));
        let (late, others) = ranks.split_first()?;
        let next = others.first()?;
        let works_longest = others.iter().all(|row| row.works_ns < late.works_ns);
        let names: BTreeSet<i64> = ranks.iter().map(|row| row.rank).collect();
        if names.len() < ranks.len()
            || !works_longest
            || (next.waits_ns as f64) < LONGER * late.waits_ns as f64
            || next.waits_ns == 0
        {
            return None;
        }
        let all_ns = ranks.iter().fold(0u64, |sum, row| sum.saturating_add(row.waits_ns));
        let least_ns = late.waits_ns.saturating_mul(ranks.len() as u64);
        let others_ns = all_ns.saturating_sub(late.waits_ns) / others.len() as u64;
        let lateness_ns = others_ns.saturating_sub(late.waits_ns);
        let rows: Vec<&InstanceRow> = others.iter().map(|row| row.row).collect();
        Some(Self {
            rank: late.rank,
            own_ns: late.waits_ns,
            others_ns,
            share: all_ns.saturating_sub(least_ns) as f64 / all_ns as f64,
            longer: Longer::of(&[late.row], &rows, EXPLAINS * lateness_ns as f64),
        })
    }
}

/// One rank, in means of a step and what follows it up to the next.
struct Row<'a> {
    row: &'a InstanceRow,
    rank: i64,
    waits_ns: u64,
    works_ns: u64,
}

impl<'a> Row<'a> {
    fn of(row: &'a InstanceRow) -> Option<Self> {
        let waits_ns = row.communication_per_step_ns?;
        // From step to step: the others wait as well for what it does between them.
        let step_ns = row.throughput.elapsed_ns.checked_div(row.steps.count)?;
        let works_ns = step_ns.saturating_sub(waits_ns);
        Some(Self { row, rank: row.resource.rank?, waits_ns, works_ns })
    }
}
