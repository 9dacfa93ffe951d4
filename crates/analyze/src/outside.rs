//! What threads do outside of steps: outermost sections that are no steps. The first ones are kept singly, so
//! that those of the warm-up can be left out at the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::identity::TraceId;

use crate::dist::Dist;
use crate::merge::{Merge, keep_smallest};
use crate::phases::{PhaseKey, PhaseMap};

/// Sections at the start that are kept singly: two for each step that can be warm-up.
const KEPT: usize = 2 * crate::config::WARMUP_STEPS;

/// One outermost section. The order of records is that of (start, ids).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct OutsideRecord {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) trace: TraceId,
    pub(crate) span: u64,
    /// Its own phase.
    pub(crate) phase: PhaseKey,
    /// Exposed time in it, by phase.
    pub(crate) exposed: Vec<(PhaseKey, u64)>,
}

/// Sums of one phase outside of steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct OutsideTime {
    /// Durations of outermost sections of this phase.
    pub(crate) durations: Dist,
    /// Time exposed in this phase inside any outermost section.
    pub(crate) exposed_ns: u128,
}

impl Merge for OutsideTime {
    fn absorb(&mut self, other: &Self) {
        self.durations.absorb(&other.durations);
        self.exposed_ns = self.exposed_ns.saturating_add(other.exposed_ns);
    }
}

/// Sums by phase.
pub(crate) type OutsideSums = PhaseMap<OutsideTime>;

/// Adds one section to sums.
pub(crate) fn add(sums: &mut OutsideSums, record: &OutsideRecord, custom_phases: usize) {
    let mut own = OutsideTime::default();
    own.durations.record(record.end_ns.saturating_sub(record.start_ns));
    sums.add(&record.phase, &own, custom_phases);
    for (phase, exposed_ns) in &record.exposed {
        let time = OutsideTime { exposed_ns: (*exposed_ns).into(), ..OutsideTime::default() };
        sums.add(phase, &time, custom_phases);
    }
}

/// One thread outside of steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct OutsideAcc {
    /// The earliest, sorted; at most [`KEPT`].
    pub(crate) kept: Vec<OutsideRecord>,
    /// All others.
    pub(crate) folded: OutsideSums,
}

impl OutsideAcc {
    fn add(&mut self, record: OutsideRecord, custom_phases: usize) {
        if self.kept.len() >= KEPT && self.kept.last().is_some_and(|last| *last <= record) {
            add(&mut self.folded, &record, custom_phases);
            return;
        }
        let at = self.kept.partition_point(|kept| *kept < record);
        self.kept.insert(at, record);
        while self.kept.len() > KEPT {
            if let Some(last) = self.kept.pop() {
                add(&mut self.folded, &last, custom_phases);
            }
        }
    }
}

/// The threads of one instance outside of steps, and which of them drive steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Outside {
    pub(crate) threads: BTreeMap<Option<i64>, OutsideAcc>,
    pub(crate) driving: BTreeMap<Option<i64>, ()>,
    /// Whether there were more threads than are kept.
    pub(crate) is_cut: bool,
}

impl Outside {
    /// Adds one section of a thread.
    pub(crate) fn add(&mut self, thread: Option<i64>, record: OutsideRecord, threads: usize, customs: usize) {
        self.threads.entry(thread).or_default().add(record, customs);
        self.is_cut |= keep_smallest(&mut self.threads, threads);
    }

    /// Notes that a thread drives steps.
    pub(crate) fn drives(&mut self, thread: Option<i64>, threads: usize) {
        self.driving.insert(thread, ());
        self.is_cut |= keep_smallest(&mut self.driving, threads);
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, threads: usize, customs: usize) {
        for (&thread, theirs) in &other.threads {
            let mine = self.threads.entry(thread).or_default();
            mine.folded.merge(&theirs.folded, customs);
            theirs.kept.iter().for_each(|record| mine.add(record.clone(), customs));
        }
        self.driving.extend(other.driving.keys().map(|&thread| (thread, ())));
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.threads, threads);
        self.is_cut |= keep_smallest(&mut self.driving, threads);
    }
}
