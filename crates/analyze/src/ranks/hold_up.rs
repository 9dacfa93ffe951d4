//! What a finding means among ranks that wait for each other: what one of them does without, the others need not wait
//! for. Which rank is slow as a whole is the business of `slow_rank`.

use stepscope_core::Phase;

use super::{is_waiting, together};
use crate::report::finding::{Finding, Gain};
use crate::report::units::duration;
use crate::rules::Rule;
use crate::summary::{InstanceRow, Summary};

/// From how many times the mean of all ranks on one of them is named.
const NAMED_FROM: f64 = 1.5;

/// What time is that ranks may wait for each other, where nobody knows how long they do.
const UNKNOWN_WAITS: &str = "is what ranks may wait for it on others, as no section of communication or \
                             synchronization tells how long they do";

/// Ranks that do steps together.
pub(crate) struct Ranks<'a> {
    /// Those with steady steps, each with its rank.
    rows: Vec<(i64, &'a InstanceRow)>,
    /// What one waits for others in a step and between steps, the mean; absent where no section tells it.
    waiting_ns: Option<u64>,
}

impl<'a> Ranks<'a> {
    /// Nothing where none do steps [`together`].
    pub(crate) fn of(summary: &'a Summary) -> Option<Self> {
        let rows = together(summary)?;
        let (mut sum_ns, mut steps) = (0u128, 0u128);
        for (_, row) in &rows {
            let waits_ns = [Phase::Communication, Phase::Synchronization]
                .iter()
                .fold(0u64, |sum, phase| sum.saturating_add(row.step_to_step_ns(phase.as_str())));
            sum_ns = sum_ns.saturating_add(u128::from(waits_ns).saturating_mul(row.steps.count.into()));
            steps = steps.saturating_add(row.steps.count.into());
        }
        let waiting_ns = u64::try_from(sum_ns / steps.max(1)).unwrap_or(u64::MAX);
        // Ranks that exchange inside of `backward` wait there, and nobody knows for how long.
        let is_recorded = summary.sections.iter().any(|row| row.phase.as_ref().is_some_and(is_waiting));
        let are_read = rows.iter().all(|(_, row)| !row.phases_per_step.is_empty());
        let is_known = is_recorded && (are_read || waiting_ns > 0);
        Some(Self { rows, waiting_ns: is_known.then_some(waiting_ns) })
    }

    /// Adds what the others may wait for meanwhile, and the rank that has most of it.
    ///
    /// Of the mean step of all ranks the cause takes `c`. What a rank does without is at most its own part of the cause
    /// and what it waits for others, and in no step more than the cause takes on all `n` ranks together, so on average
    /// `c + min((n − 1)·c, w)` where `w` is the mean of what they wait; where that is not known, `n·c`.
    pub(crate) fn among(&self, rule: &Rule, mut finding: Finding) -> Finding {
        if !rule.may_hold_up_ranks {
            return finding;
        }
        if let Some(gain) = &mut finding.predicted_gain {
            self.extend(gain);
        }
        if let (None, Some(phase)) = (finding.rank, &finding.phase)
            && let Some((rank, own_ns, mean_ns)) = self.most(phase)
        {
            finding.rank = Some(rank);
            finding.recommendation.push_str(&format!(
                " Rank {rank} has most of it: {} a step, {} on average over all ranks.",
                duration(own_ns),
                duration(mean_ns)
            ));
        }
        finding
    }

    fn extend(&self, gain: &mut Gain) {
        let others = u64::try_from(self.rows.len()).unwrap_or(u64::MAX).saturating_sub(1);
        let others_ns = gain.direct_ns.saturating_mul(others);
        match self.waiting_ns {
            Some(waiting_ns) => {
                gain.extend(others_ns.min(waiting_ns), "is what ranks may wait for it on others");
            }
            None => gain.extend(others_ns, UNKNOWN_WAITS),
        }
    }

    /// The one rank that has most of a phase, with its time of it by a step, what is between steps included, and the mean
    /// of all.
    fn most(&self, phase: &str) -> Option<(i64, u64, u64)> {
        let times = || self.rows.iter().map(|(rank, row)| (*rank, row.step_to_step_ns(phase)));
        let sum_ns = times().fold(0, |sum, (_, ns)| u64::saturating_add(sum, ns));
        let mean_ns = sum_ns / u64::try_from(self.rows.len()).unwrap_or(u64::MAX).max(1);
        // Of equals the first.
        let (rank, own_ns) = times().max_by_key(|&(rank, ns)| (ns, std::cmp::Reverse(rank)))?;
        (own_ns > 0 && own_ns as f64 >= NAMED_FROM * mean_ns as f64).then_some((rank, own_ns, mean_ns))
    }
}
