//! Which ranks work longer for a step than the others, and by how much.

use std::collections::BTreeSet;

use stepscope_core::attr;

use super::Absent;
use crate::report::finding::Verdict;
use crate::report::units::{count, things};
use crate::summary::{InstanceRow, ModeSummary, Summary};

/// So many steps say as much as one that is independent of the others.
const ALIKE: f64 = 20.0;
/// Steps of a rank that tell how they vary.
const LEAST: u64 = 3;
/// Standard error of the median of a normal distribution, in median absolute deviations of one value.
const ERROR_OF_MEDIAN: f64 = 1.2533 * 1.4826;

/// One rank.
pub(crate) struct Rank<'a> {
    pub(crate) rank: i64,
    pub(crate) row: &'a InstanceRow,
    pub(crate) p50_ns: u64,
    pub(crate) works_ns: u64,
    /// What its long steps take, those of one in ten.
    long_ns: Option<u64>,
    pub(crate) error_ns: f64,
}

impl<'a> Rank<'a> {
    /// All that do steps together, the slowest first.
    ///
    /// # Errors
    /// With the verdict to give where there are no such ranks, or where one has too few steps to tell how they vary.
    pub(crate) fn all(summary: &'a Summary) -> Result<Vec<Self>, Verdict> {
        let rows: Vec<&InstanceRow> = summary.instances.iter().filter(|row| row.steps.count > 0).collect();
        if rows.len() < 2 {
            return Err(match Absent::of(summary) {
                Some(absent) => Verdict::unknown(absent.words()),
                None if !summary.state.is_ours && summary.state.world_size.is_none() => {
                    Verdict::unknown("one process was read: whether the run has others is not known")
                }
                None => Verdict::fine(format!(
                    "one process does the steps, all {}",
                    count(rows.iter().map(|row| row.steps.count).sum())
                )),
            });
        }
        let Some(mut ranks) = rows.iter().map(|row| Rank::of(row)).collect::<Option<Vec<Rank<'_>>>>() else {
            return Err(Verdict::unknown(format!(
                "processes do not say which rank they are (`{}`)",
                attr::RANK
            )));
        };
        let names: BTreeSet<i64> = ranks.iter().map(|rank| rank.rank).collect();
        if names.len() < ranks.len() {
            return Err(Verdict::unknown(
                "several processes are of the same rank: which of them did steps together is not known",
            ));
        }
        if let Some(few) = ranks.iter().find(|rank| rank.row.steps.count < LEAST) {
            return Err(Verdict::unknown(format!(
                "rank {} has {} after warm-up: how its steps vary needs at least {LEAST}",
                few.rank,
                things(few.row.steps.count, "step", "steps"),
            )));
        }
        if summary.primary().is_some_and(ModeSummary::are_steps_apart) {
            return Err(Verdict::unknown(
                "ranks do steps of other numbers than each other, which do not compare",
            ));
        }
        ranks.sort_by_key(|rank| (std::cmp::Reverse(rank.works_ns), rank.rank));
        Ok(ranks)
    }

    /// Nothing where it does not say which rank it is, or what its steps take.
    pub(crate) fn of(row: &'a InstanceRow) -> Option<Self> {
        // Of steps without their spans nobody knows what they waited.
        let works = if row.work_time.count > 0 { &row.work_time } else { &row.steps };
        let (works_ns, mad_ns) = works.p50.zip(works.mad.or_else(|| works.mad_is_below()))?;
        let independent = (works.count as f64 / ALIKE).max(1.0);
        // Of few steps the median deviation may be small by chance.
        let range_ns = works.max.zip(works.min).map_or(0, |(max, min)| max.saturating_sub(min));
        let scatter_ns = if independent > 1.0 { mad_ns } else { mad_ns.max(range_ns / 2) };
        Some(Self {
            rank: row.resource.rank?,
            row,
            p50_ns: row.steps.p50?,
            works_ns,
            long_ns: works.p90,
            error_ns: ERROR_OF_MEDIAN * scatter_ns as f64 / independent.sqrt(),
        })
    }
}

/// The slow ranks and the others.
pub(crate) struct Split<'a, 'b> {
    pub(crate) slow: &'b [Rank<'a>],
    pub(crate) others: &'b [Rank<'a>],
    pub(crate) slowest: &'b Rank<'a>,
    pub(crate) gap_ns: u64,
    pub(crate) error_ns: f64,
}

impl<'a, 'b> Split<'a, 'b> {
    /// Where neighbours of the sorted ranks are furthest apart, among the slower half; of equals the fewest slow ones.
    pub(crate) fn of(ranks: &'b [Rank<'a>]) -> Option<Self> {
        let gap = |at: usize| {
            let (last, next) = (ranks.get(at.checked_sub(1)?)?, ranks.get(at)?);
            Some((last.works_ns.saturating_sub(next.works_ns), last.error_ns.hypot(next.error_ns)))
        };
        let gaps = (1..=ranks.len() / 2).rev().filter_map(|at| Some((at, gap(at)?)));
        let (at, (gap_ns, error_ns)) = gaps.max_by_key(|&(_, (gap_ns, _))| gap_ns)?;
        let (slow, others) = ranks.split_at(at);
        (gap_ns > 0).then_some(Self { slow, others, slowest: slow.first()?, gap_ns, error_ns })
    }

    /// By how much the long steps of the slow ranks are longer than those of the others.
    pub(crate) fn long_gap_ns(&self) -> Option<u64> {
        Some(self.slow.last()?.long_ns?.saturating_sub(self.others.first()?.long_ns?))
    }
}
