//! What threads do outside of steps: outermost sections that are no steps. The first ones are kept singly, so
//! that those of the warm-up can be left out at the end, and so are the last ones, for those that follow the last step.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, Phase};

use crate::accumulate::distribution::Dist;
use crate::accumulate::smallest::keep_sorted;
use crate::accumulate::time_buckets::TimeBuckets;
use crate::accumulate::{Merge, accumulate, keep_smallest};
use crate::loaders::batches::Waits;
use crate::phases::{PhaseKey, PhaseMap};

/// Sections that are kept singly, at the start and at the end: two for each step that can be warm-up.
const KEPT: usize = 2 * crate::config::WARMUP_STEPS;

/// Stretches of time in which the others of a thread are counted together.
const STRETCHES: usize = 64;

/// Users' phases that these tell apart.
const CUSTOM_PHASES: usize = 64;

/// One outermost section. The order of records is that of (start, ids).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct BetweenRecord {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) trace: TraceId,
    pub(crate) span: u64,
    /// Identity of its path; see [`crate::phases::section_time::id_inside`].
    pub(crate) path: u64,
    /// Its own phase.
    pub(crate) phase: PhaseKey,
    /// Its place among [`OTHERS`], where it is for one of them ([`other`]).
    pub(crate) other: Option<u8>,
    /// Exposed time in it, by phase.
    pub(crate) exposed: Vec<(PhaseKey, u64)>,
}

impl BetweenRecord {
    /// Its duration.
    pub(crate) const fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// Which of [`OTHERS`] a section outside of steps is for, by its phase or by the mode that it says.
pub(crate) fn other(phase: &PhaseKey, mode: Mode) -> Option<u8> {
    let by_phase = (0u8..).zip(OTHERS).find(|(_, (other, _))| *phase == PhaseKey::known(*other));
    let found = by_phase.or_else(|| (0u8..).zip(OTHERS).find(|(_, (_, other))| mode == *other));
    found.map(|(at, _)| at)
}

/// Sums of one phase outside of steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct BetweenTime {
    /// Durations of outermost sections of this phase.
    pub(crate) durations: Dist,
    /// Time exposed in this phase inside any outermost section.
    pub(crate) exposed_ns: u128,
    /// The part of it inside outermost sections that are for evaluation, and for inference.
    pub(crate) of_others_ns: [u128; 2],
    /// What of the durations is taken not to be between steps: told at the end, and in no partial.
    #[serde(skip)]
    pub(crate) beside: Beside,
}

/// Calls and their time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    pub(crate) calls: u64,
    pub(crate) ns: u128,
}

accumulate!(Beside { sum: calls, ns; });

impl BetweenTime {
    /// Time of the outermost sections.
    pub(crate) fn total_ns(&self) -> u128 {
        self.durations.0.moments().sum.saturating_sub(self.beside.ns)
    }

    /// Leaves `part` of `whole` of the outermost sections, in calls and in time.
    pub(crate) fn leave(&mut self, part: u128, whole: u128) {
        if part >= whole {
            return;
        }
        let (calls, total_ns) = (self.durations.count(), self.total_ns());
        let left = u128::from(calls - self.beside.calls).saturating_mul(part).div_ceil(whole);
        let left = u64::try_from(left).map_or(calls, |left| left.min(calls));
        if left == 0 {
            (self.durations, self.beside) = Default::default();
            return;
        }
        let left_ns = total_ns.saturating_mul(part) / whole;
        self.beside.calls = calls - left;
        self.beside.ns = self.beside.ns.saturating_add(total_ns - left_ns.min(total_ns));
    }

    /// Leaves `part` of `whole` of the exposed time.
    pub(crate) fn leave_exposed(&mut self, part: u128, whole: u128) {
        if part < whole {
            let all = self.of_others_ns.iter_mut().chain([&mut self.exposed_ns]);
            all.for_each(|ns| *ns = (*ns).min(ns.saturating_mul(part) / whole));
        }
    }
}

accumulate!(BetweenTime { merge: durations, beside; sum: exposed_ns, of_others_ns; });

/// Sums by phase.
pub(crate) type BetweenSums = PhaseMap<BetweenTime>;

/// Adds so much of one section to sums: as large a part of the time exposed in it.
pub(crate) fn add_part(sums: &mut BetweenSums, record: &BetweenRecord, part_ns: u64, custom_phases: usize) {
    let mut own = BetweenTime::default();
    own.durations.record(part_ns);
    sums.add(&record.phase, &own, custom_phases);
    let other = record.other.map(usize::from);
    for (phase, exposed_ns) in &record.exposed {
        let exposed_ns = match record.duration_ns() {
            whole_ns if part_ns < whole_ns => {
                u128::from(*exposed_ns) * u128::from(part_ns) / u128::from(whole_ns)
            }
            _ => u128::from(*exposed_ns),
        };
        let of_others_ns = std::array::from_fn(|at| if other == Some(at) { exposed_ns } else { 0 });
        sums.add(phase, &BetweenTime { exposed_ns, of_others_ns, ..BetweenTime::default() }, custom_phases);
    }
}

/// The other modes than training, and the phases of sections outside of steps that are for them.
pub(crate) const OTHERS: [(Phase, Mode); 2] =
    [(Phase::Evaluation, Mode::Eval), (Phase::Inference, Mode::Inference)];

/// Gives the time of input that is not of `mode` to the phase of what it is for. Returns how much that was, by mode.
pub(crate) fn give_back(sums: &mut BetweenSums, mode: Mode, custom_phases: usize) -> [u128; 2] {
    let mut given_ns = [0; 2];
    for (at, &(phase, _)) in OTHERS.iter().enumerate().filter(|(_, (_, other))| *other != mode) {
        let mut moved_ns = 0u128;
        for (key, time) in sums.iter_mut() {
            let part = time.of_others_ns.get_mut(at).map(std::mem::take);
            if let Some(part) = part.filter(|_| key.name().is_some_and(|name| name.is_input())) {
                time.exposed_ns = time.exposed_ns.saturating_sub(part);
                moved_ns = moved_ns.saturating_add(part);
            }
        }
        if moved_ns > 0 {
            let time = BetweenTime { exposed_ns: moved_ns, ..BetweenTime::default() };
            sums.add(&PhaseKey::known(phase), &time, custom_phases);
        }
        if let Some(given_ns) = given_ns.get_mut(at) {
            *given_ns = moved_ns;
        }
    }
    given_ns
}

/// One thread outside of steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct BetweenAcc {
    /// The earliest, sorted; at most [`KEPT`].
    pub(crate) kept: Vec<BetweenRecord>,
    /// Of the others the latest, sorted; at most [`KEPT`].
    pub(crate) late: VecDeque<BetweenRecord>,
    /// All others.
    pub(crate) folded: TimeBuckets<BetweenBucket, STRETCHES>,
}

/// Sections that are not kept singly, by the stretch of time in which they begin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BetweenBucket {
    /// The earliest start.
    pub(crate) first_ns: u64,
    /// The latest end.
    pub(crate) last_ns: u64,
    pub(crate) sums: BetweenSums,
}

impl Default for BetweenBucket {
    fn default() -> Self {
        Self { first_ns: u64::MAX, last_ns: 0, sums: BetweenSums::default() }
    }
}

impl Merge for BetweenBucket {
    fn absorb(&mut self, other: &Self) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.sums.merge(&other.sums, CUSTOM_PHASES);
    }
}

impl BetweenAcc {
    fn add(&mut self, record: BetweenRecord) {
        let Some(record) = keep_sorted(&mut self.kept, record, KEPT) else { return };
        let at = self.late.partition_point(|late| *late < record);
        self.late.insert(at, record);
        while self.late.len() > KEPT {
            if let Some(first) = self.late.pop_front() {
                let mut sums = BetweenSums::default();
                add_part(&mut sums, &first, first.duration_ns(), CUSTOM_PHASES);
                let (first_ns, last_ns) = (first.start_ns, first.end_ns);
                self.folded.add(first_ns, &BetweenBucket { first_ns, last_ns, sums });
            }
        }
    }

    /// Those that are kept singly.
    pub(crate) fn singly(&self) -> impl Iterator<Item = &BetweenRecord> {
        self.kept.iter().chain(&self.late)
    }
}

/// The threads of one instance outside of steps, and which of them drive steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct BetweenSteps {
    pub(crate) threads: BTreeMap<Option<i64>, BetweenAcc>,
    pub(crate) driving: BTreeMap<Option<i64>, ()>,
    /// Waits for batches outside of steps, by the thread that waited.
    pub(crate) waits: BTreeMap<Option<i64>, Waits>,
    /// Whether there were more threads than are kept.
    pub(crate) is_cut: bool,
}

impl BetweenSteps {
    /// Adds one section of a thread.
    pub(crate) fn add(&mut self, thread: Option<i64>, record: BetweenRecord, threads: usize) {
        self.threads.entry(thread).or_default().add(record);
        self.is_cut |= keep_smallest(&mut self.threads, threads);
    }

    /// Notes that a thread drives steps.
    pub(crate) fn drives(&mut self, thread: Option<i64>, threads: usize) {
        self.driving.insert(thread, ());
        self.is_cut |= keep_smallest(&mut self.driving, threads);
    }

    /// The waits for batches of a thread; nothing beyond the bound.
    pub(crate) fn waits(&mut self, thread: Option<i64>, threads: usize) -> Option<&mut Waits> {
        self.waits.entry(thread).or_default();
        self.is_cut |= keep_smallest(&mut self.waits, threads);
        self.waits.get_mut(&thread)
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, threads: usize) {
        for (&thread, theirs) in &other.threads {
            let mine = self.threads.entry(thread).or_default();
            mine.folded.absorb(&theirs.folded);
            theirs.singly().for_each(|record| mine.add(record.clone()));
        }
        self.driving.extend(other.driving.keys().map(|&thread| (thread, ())));
        self.waits.absorb(&other.waits);
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.threads, threads);
        self.is_cut |= keep_smallest(&mut self.driving, threads);
        self.is_cut |= keep_smallest(&mut self.waits, threads);
    }
}
