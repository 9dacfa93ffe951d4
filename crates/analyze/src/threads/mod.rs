//! What threads did while steps ran: on a CPU, runnable without one, blocked, and on what. Shares of all steps come from what
//! their roots say; sections and what threads were blocked in, from deep steps. What it means is the rules' business.

mod contest;
pub(crate) mod finish;
pub(crate) mod judged;
pub(crate) mod observe;
pub(crate) mod processors;
mod rounds;
pub(crate) mod section;
pub(crate) mod step_use;
pub(crate) mod summary;
pub(crate) mod timeline;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accumulate::{Merge, accumulate, keep_smallest, sum};
use section::Looks;
use timeline::Timeline;

/// Threads of a kind that are told apart in a round of looks: more are as many.
const MOST_COUNTED: u8 = 31;

/// What the step's own thread did in a round of looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Own {
    /// It ran, or there was no look at it.
    Runs,
    /// It was blocked in a futex while other threads ran in sections of the step.
    Awaits,
    /// The same, in a section in which another thread ran.
    Contends,
    /// It was blocked otherwise.
    Blocked,
}

/// One round of looks, one at each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) own: Own,
    /// Threads that ran in sections of the step.
    pub(crate) running: u8,
    /// Threads in a futex, in a section in which another thread ran.
    pub(crate) contended: u8,
}

/// A number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Times(pub(crate) u64);

impl Merge for Times {
    fn absorb(&mut self, other: &Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// The deep steps of one mode with looks at threads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DeepThreads {
    pub(crate) steps: u64,
    pub(crate) duration_ns: u128,
    pub(crate) looks: u64,
    pub(crate) dropped: u64,
    /// Looks at the step's own thread.
    pub(crate) own: Looks,
    /// How often a round was like that.
    pub(crate) rounds: BTreeMap<Round, Times>,
    /// Looks at threads of the process that ran, and in no section.
    pub(crate) elsewhere: u64,
    /// Looks at those that ran in sections outside of all steps.
    pub(crate) beside: u64,
    /// Of the last one.
    pub(crate) timeline: Option<Timeline>,
}

accumulate!(DeepThreads { sum: steps, duration_ns, looks, dropped, own, elsewhere, beside; merge: rounds; max: timeline; });

impl DeepThreads {
    /// Adds everything of `other`. Rounds are bounded by what they count; bytes may say anything.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.absorb(other);
        self.timeline.take_if(|timeline| !timeline.is_bounded());
        keep_smallest(&mut self.rounds, 4 * (usize::from(MOST_COUNTED) + 1).pow(2));
    }

    fn add_round(&mut self, round: Round, elsewhere: u64, beside: u64) {
        self.rounds.entry(round).or_default().absorb(&Times(1));
        sum(&mut self.elsewhere, &elsewhere);
        sum(&mut self.beside, &beside);
    }
}
