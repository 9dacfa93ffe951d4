//! Steps of one (instance, mode). The first ones are kept singly, so that warm-up can be told at the end;
//! all others go into sums at once.

pub(crate) mod distribution;
pub(crate) mod few_steps;
pub(crate) mod finish;
pub(crate) mod jitter;
pub(crate) mod judged;
pub(crate) mod numbering;
pub(crate) mod observe;
pub(crate) mod periodicity;
pub(crate) mod run_queue_delay;
pub(crate) mod series;
pub(crate) mod series_finish;
pub(crate) mod slower;
pub(crate) mod slowest;
pub(crate) mod steady;
pub(crate) mod step_gaps;
pub(crate) mod step_point;
pub(crate) mod summary;
pub(crate) mod uncertainty;
pub(crate) mod values;
pub(crate) mod warmup;
pub(crate) mod warmup_sections;

use serde::{Deserialize, Serialize};
use stepscope_core::Phase;
use stepscope_core::identity::TraceId;

use crate::accumulate::distribution::{Dist, StepDist};
use crate::accumulate::smallest::keep_sorted;
use crate::accumulate::step_series::StepIndex;
use crate::accumulate::{Merge, accumulate, earliest};
use crate::config::{SLOWEST_STEPS, WARMUP_STEPS};
use crate::phases::{PhaseKey, PhaseMap};
use crate::threads::step_use::{StepUse, UseSums};

/// The phases in which a step waits for its batch, or makes it itself.
pub(crate) const WAITING: &[Phase] = &[Phase::DataLoading, Phase::DataWait];

/// The phases in which a step prepares a batch that it has.
pub(crate) const PREPARATION: &[Phase] = &[Phase::Preprocessing, Phase::Augmentation, Phase::Collate];

/// The phases in which a step waits for other ranks, and for what it synchronises with.
pub(crate) const EXCHANGE: &[Phase] = &[Phase::Communication, Phase::Synchronization];

/// Time of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct PhaseTime {
    pub(crate) exposed_ns: u128,
    pub(crate) total_ns: u128,
    pub(crate) self_ns: u128,
    pub(crate) spans: u64,
}

accumulate!(PhaseTime { sum: exposed_ns, total_ns, self_ns, spans; });

/// One step. The order of records is that of (start, number, ids): numbers may begin anew in each epoch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    pub(crate) start_ns: u64,
    pub(crate) step: Option<u64>,
    pub(crate) trace: TraceId,
    pub(crate) span: u64,
    pub(crate) epoch: Option<u64>,
    pub(crate) end_ns: u64,
    pub(crate) rank: Option<i64>,
    pub(crate) samples: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) bytes: Option<u64>,
    /// Whether every span of its trace was read. Else nobody knows where its time went, and it has no phases.
    pub(crate) is_whole: bool,
    /// By phase, each once; the time of none is what nothing covers.
    pub(crate) phases: Vec<(PhaseKey, PhaseTime)>,
    /// Whether it is a deep one, recorded in more detail than the others: what tells how long steps take leaves it out.
    pub(crate) is_deep: bool,
    /// What its thread used.
    pub(crate) used: StepUse,
}

impl StepRecord {
    /// Its duration.
    pub(crate) const fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Where it is in a series, if it has a number.
    pub(crate) fn place(&self) -> Option<StepIndex> {
        self.step.map(|step| StepIndex { epoch: self.epoch, step })
    }

    /// Its duration without the time exposed in `phases`.
    fn without_ns(&self, phases: &[Phase]) -> u64 {
        let is_meant = |key: &PhaseKey| phases.iter().any(|&phase| *key == PhaseKey::known(phase));
        let exposed = self.phases.iter().filter(|(key, _)| is_meant(key)).map(|(_, time)| time.exposed_ns);
        let exposed = exposed.fold(0u128, u128::saturating_add);
        self.duration_ns().saturating_sub(u64::try_from(exposed).unwrap_or(u64::MAX))
    }

    fn is_slower_than(&self, other: &Self) -> bool {
        (other.duration_ns(), self) < (self.duration_ns(), other)
    }
}

/// Work of those steps of which it is known how much they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) steps: u64,
    pub(crate) amount: u128,
    pub(crate) duration_ns: u128,
    /// Steps that may have done some as well: they do not say it themselves, and sections of theirs were not read.
    pub(crate) untold: u64,
}

impl Work {
    fn add(&mut self, amount: Option<u64>, record: &StepRecord) {
        match amount {
            Some(amount) => {
                let duration_ns = record.duration_ns().into();
                self.absorb(&Self { steps: 1, amount: amount.into(), duration_ns, untold: 0 });
            }
            None if !record.is_whole => self.untold = self.untold.saturating_add(1),
            None => {}
        }
    }
}

accumulate!(Work { sum: steps, amount, duration_ns, untold; });

/// Deep steps: how many, and their durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DeepSteps {
    pub(crate) steps: u64,
    pub(crate) duration_ns: u128,
}

accumulate!(DeepSteps { sum: steps, duration_ns; });

impl DeepSteps {
    pub(crate) fn add(&mut self, record: &StepRecord) {
        self.absorb(&Self { steps: 1, duration_ns: record.duration_ns().into() });
    }
}

/// Sums over steps, with the slowest of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StepSums {
    /// Without the deep ones.
    pub(crate) durations: StepDist,
    pub(crate) deep: DeepSteps,
    /// What the threads of the others used.
    pub(crate) used: UseSums,
    /// Steps read with all their spans: what all figures by phase rest on.
    pub(crate) whole_steps: u64,
    /// Their durations.
    pub(crate) whole_ns: u128,
    /// Durations of whole steps without the time exposed in [`WAITING`].
    pub(crate) without_waiting: Dist,
    /// Durations of whole steps without the time exposed in [`PREPARATION`].
    pub(crate) without_preparation: Dist,
    /// Durations of whole steps without the time exposed in [`EXCHANGE`].
    pub(crate) without_exchange: StepDist,
    pub(crate) phases: PhaseMap<PhaseTime>,
    pub(crate) samples: Work,
    pub(crate) tokens: Work,
    pub(crate) bytes: Work,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: Option<u64>,
    /// Steps with a number.
    pub(crate) numbered: u64,
    pub(crate) smallest: Option<u64>,
    pub(crate) largest: Option<u64>,
    /// Slowest first; at most [`SLOWEST_STEPS`].
    pub(crate) slowest: Vec<StepRecord>,
}

impl StepSums {
    /// Adds one step.
    pub(crate) fn add(&mut self, record: &StepRecord, custom_phases: usize) {
        let duration_ns = record.duration_ns();
        if record.is_deep {
            self.deep.add(record);
        } else {
            self.durations.record(duration_ns);
            self.used.add(&record.used, duration_ns);
            self.offer(record);
        }
        if record.is_whole && !record.is_deep {
            self.without_waiting.record(record.without_ns(WAITING));
            self.without_preparation.record(record.without_ns(PREPARATION));
            self.without_exchange.record(record.without_ns(EXCHANGE));
        }
        if record.is_whole {
            self.whole_steps = self.whole_steps.saturating_add(1);
            self.whole_ns = self.whole_ns.saturating_add(duration_ns.into());
            for (phase, time) in &record.phases {
                self.phases.add(phase, time, custom_phases);
            }
        }
        self.samples.add(record.samples, record);
        self.tokens.add(record.tokens, record);
        self.bytes.add(record.bytes, record);
        self.first_ns = earliest(self.first_ns, Some(record.start_ns));
        self.last_ns = self.last_ns.max(Some(record.end_ns));
        self.numbered = self.numbered.saturating_add(record.step.is_some().into());
        self.smallest = earliest(self.smallest, record.step);
        self.largest = self.largest.max(record.step);
    }

    /// Adds every step of `other`.
    pub(crate) fn merge(&mut self, other: &Self, custom_phases: usize) {
        self.durations.absorb(&other.durations);
        self.deep.absorb(&other.deep);
        self.used.absorb(&other.used);
        self.whole_steps = self.whole_steps.saturating_add(other.whole_steps);
        self.whole_ns = self.whole_ns.saturating_add(other.whole_ns);
        self.without_waiting.absorb(&other.without_waiting);
        self.without_preparation.absorb(&other.without_preparation);
        self.without_exchange.absorb(&other.without_exchange);
        self.phases.merge(&other.phases, custom_phases);
        self.samples.absorb(&other.samples);
        self.tokens.absorb(&other.tokens);
        self.bytes.absorb(&other.bytes);
        self.first_ns = earliest(self.first_ns, other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.numbered = self.numbered.saturating_add(other.numbered);
        self.smallest = earliest(self.smallest, other.smallest);
        self.largest = self.largest.max(other.largest);
        other.slowest.iter().for_each(|record| self.offer(record));
    }

    /// Number of steps.
    pub(crate) fn count(&self) -> u64 {
        self.durations.count().saturating_add(self.deep.steps)
    }

    fn offer(&mut self, record: &StepRecord) {
        let at = self.slowest.partition_point(|slower| slower.is_slower_than(record));
        if at < SLOWEST_STEPS {
            self.slowest.insert(at, record.clone());
            self.slowest.truncate(SLOWEST_STEPS);
        }
    }
}

/// The steps of one (instance, mode).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StepAcc {
    /// The smallest records, sorted; at most [`WARMUP_STEPS`].
    pub(crate) kept: Vec<StepRecord>,
    /// All others.
    pub(crate) folded: StepSums,
}

impl StepAcc {
    /// Adds one step.
    pub(crate) fn add(&mut self, record: &StepRecord, custom_phases: usize) {
        let is_full = self.kept.len() >= WARMUP_STEPS;
        if is_full && self.kept.last().is_some_and(|last| last <= record) {
            self.folded.add(record, custom_phases);
        } else if let Some(last) = keep_sorted(&mut self.kept, record.clone(), WARMUP_STEPS) {
            self.folded.add(&last, custom_phases);
        }
    }

    /// Adds every step of `other`.
    pub(crate) fn merge(&mut self, other: &Self, custom_phases: usize) {
        self.folded.merge(&other.folded, custom_phases);
        other.kept.iter().for_each(|record| self.add(record, custom_phases));
    }

    /// Number of steps that have a number.
    pub(crate) fn numbered(&self) -> u64 {
        let kept = self.kept.iter().filter(|record| record.step.is_some()).count() as u64;
        self.folded.numbered.saturating_add(kept)
    }

    /// Number of steps read with all their spans.
    pub(crate) fn whole(&self) -> u64 {
        let kept = self.kept.iter().filter(|record| record.is_whole).count() as u64;
        self.folded.whole_steps.saturating_add(kept)
    }

    /// Number of steps.
    pub(crate) fn count(&self) -> u64 {
        self.folded.count().saturating_add(self.kept.len() as u64)
    }
}

/// A trace id as stores show it.
pub(crate) fn hexadecimal(id: &TraceId) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
