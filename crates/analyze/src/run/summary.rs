//! Which run, how far it came, its processes, and what was lost.

use serde::Serialize;
use stepscope_core::{LossReason, Signal};
use stepscope_model::Resource;

use crate::accumulate::stats::Stats;
use crate::phases::summary::PhaseName;
use crate::steps::series::PhaseTime;
use crate::steps::summary::Throughput;

/// Identity of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunIdentity {
    /// Run id; of foreign input the service's name.
    pub id: String,
    /// How often it was started before.
    pub attempt: i64,
    /// Whether the input names no run, so that `id` is a service's name.
    pub is_foreign: bool,
}

impl RunIdentity {
    /// What [`Partial::finish`](crate::Partial::finish) selects it by, `others` being the other runs of the input: its
    /// id, with the attempt behind it where another run has the same one.
    #[must_use]
    pub fn selector(&self, others: &[Self]) -> String {
        let is_shared = others.iter().any(|other| other.id == self.id && other != self);
        if is_shared { format!("{}/{}", self.id, self.attempt) } else { self.id.clone() }
    }
}

/// How far the run came and what of it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RunState {
    /// Earliest start of a span, or of the run's start marker, nanoseconds since the Unix epoch.
    pub first_ns: Option<u64>,
    /// Latest end of a span.
    pub last_ns: Option<u64>,
    /// Instances whose start marker was read.
    pub started: u64,
    /// Instances whose run span was read: they finished cleanly.
    pub ended: u64,
    /// Instances in all.
    pub instances: u64,
    /// `stepscope.world_size` as announced, the largest.
    pub world_size: Option<i64>,
    /// Epochs begun, over all instances.
    pub epochs_started: u64,
    /// Epochs ended.
    pub epochs_ended: u64,
    /// Traces read.
    pub traces: u64,
    /// Spans read.
    pub spans: u64,
    /// Traces that were not complete.
    pub incomplete_traces: u64,
    /// Spans that roots announced and that were not there.
    pub missing_spans: u64,
    /// Spans that roots say were lost before they ended (`stepscope.trace.dropped`).
    pub dropped_spans: u64,
    /// Spans with an error.
    pub errors: u64,
    /// Whether stepscope's layer wrote any of it.
    pub is_ours: bool,
    /// The signal that ended a process; SIGTERM where it was that for some and SIGINT for others. Absent where none did,
    /// and where the input does not say.
    #[serde(serialize_with = "crate::accumulate::by_name::name_or_null")]
    pub ended_by: Option<Signal>,
}

impl RunState {
    /// Whether every instance finished cleanly. Foreign input says nothing about it: absent.
    #[must_use]
    pub fn is_ended(&self) -> Option<bool> {
        (self.started > 0 || self.ended > 0).then_some(self.ended >= self.instances)
    }
}

/// Another run of the same input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherRun {
    /// Its identity.
    pub run: RunIdentity,
    /// Its earliest start.
    pub first_ns: Option<u64>,
    /// Its steps, of all modes.
    pub steps: u64,
}

/// A bound that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "limit")]
pub enum Limit {
    /// More distinct call paths than are kept: all are cut at this depth (0: one path for everything).
    PathsCut {
        /// Names that are left of each path.
        depth: u16,
    },
    /// More runs than are kept; those with the smallest ids were left out.
    RunsLeftOut,
    /// More process instances than are kept: those with the smallest identities are in the sections, not in
    /// the steps.
    InstancesLeftOut,
    /// More of the user's values than are kept; those with the largest names were left out.
    ValuesLeftOut,
    /// More of the user's own phases than are kept; those with the largest names are counted together.
    PhasesFolded,
    /// More threads than are kept; those with the largest ids were left out of the loaders and of the time
    /// between steps.
    ThreadsLeftOut,
    /// More steps, or sections between them, than are kept singly: how much of some sections is between steps, and not
    /// beside them, before the first or after the last one, is estimated.
    BetweenStepsEstimated,
    /// More loaders than are kept; those with the largest names were left out.
    LoadersLeftOut,
    /// More aggregates than are kept: those of the largest paths were left out. Or more than a process had room for in its
    /// directory: those of its smallest sections are not there.
    AggregatesLeftOut,
}

/// What the processes counted themselves, latest figures, summed over instances.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Losses {
    /// Spans that ended and were meant to be exported; absent where no process said so.
    pub emitted: Option<u64>,
    /// Spans taken for good, by sink.
    pub exported: Vec<(String, u64)>,
    /// Spans lost, by (sink, reason); rows of 0 are left out.
    pub dropped: Vec<LossRow>,
    /// Spans that ended and are not among those read, for whatever reason; absent where no process counted.
    pub absent: Option<u64>,
    /// Sections read of which nobody can tell what was around them: that was not read (it was still open when the run
    /// was killed, or it was lost), and several paths hold sections of these names. They are in no row of the sections.
    pub unplaced: u64,
}

impl Losses {
    /// Spans lost for these reasons that are not among those read.
    pub(crate) fn lacking(&self, is_meant: impl Fn(Option<LossReason>) -> bool) -> u64 {
        let rows = self.dropped.iter().filter(|row| row.is_missing_here && is_meant(row.reason));
        rows.fold(0, |sum, row| sum.saturating_add(row.spans))
    }

    /// Spans lost for any reason on the way to any sink: where there are several sinks, some may have arrived.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().fold(0, |sum, row| sum.saturating_add(row.spans))
    }
}

/// Spans lost at one place for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LossRow {
    /// Sink; empty where lost before any.
    pub sink: String,
    /// Reason; absent where it is not one of ours.
    #[serde(serialize_with = "crate::accumulate::by_name::name_or_null")]
    pub reason: Option<LossReason>,
    /// How many.
    pub spans: u64,
    /// Whether the input lacks them. What one sink lost, another may have kept.
    pub is_missing_here: bool,
}

/// One process of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstanceRow {
    /// Who it is.
    pub resource: Resource,
    /// Earliest start of a span; absent where it sent metrics only.
    pub first_ns: Option<u64>,
    /// Latest end of a span.
    pub last_ns: Option<u64>,
    /// Whether its start marker was read.
    pub started: bool,
    /// Whether its run span was read.
    pub ended: bool,
    /// The signal that ended it, where its run span names one.
    #[serde(serialize_with = "crate::accumulate::by_name::name_or_null")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Word<Signal>>"))]
    pub ended_by: Option<Signal>,
    /// Traces read.
    pub traces: u64,
    /// Durations of its steps of the primary mode, warm-up excluded.
    pub steps: Stats,
    /// Durations of those that were read with all their spans, without the time exposed in communication and
    /// synchronization, in which it waits for others: what it works for a step.
    pub work_time: Stats,
    /// Steps of the primary mode that were left out as warm-up.
    pub warmup_steps: u64,
    /// Its throughput in the primary mode.
    pub throughput: Throughput,
    /// What a step of the primary mode stands in communication that nothing hides: the mean of those after warm-up that
    /// were read with their sections; absent where none was.
    pub communication_per_step_ns: Option<u64>,
    /// What these steps spend exposed in each phase, the means; longest first.
    pub phases_per_step: Vec<PhaseTime>,
    /// What the outermost sections between these steps, on threads that drive steps, spend exposed in each phase, by a step;
    /// longest first.
    pub phases_between_steps: Vec<PhaseTime>,
    /// Time of its steps of other modes from the start of the first to the end of the last of those. Of a mode of more than
    /// 256 steps, the later ones count as a whole where one of them may be there.
    pub other_steps_ns: u64,
    /// Median time from the end of one of its first 256 steps of each mode to the start of the next one; absent with fewer
    /// than two of them, and where they overlap.
    pub usual_gap_ns: Option<u64>,
    /// Whether some of these steps overlap: several threads drive them.
    pub steps_overlap: bool,
    /// The limit of memory that it reaches first and what counted against that last, in bytes, where it says so.
    #[serde(skip)]
    pub memory_limit: Option<(u64, u64)>,
}

impl InstanceRow {
    /// What is exposed in a phase in its steps and between them, by a step.
    pub(crate) fn step_to_step_ns(&self, phase: &str) -> u64 {
        let times = self.phases_per_step.iter().chain(&self.phases_between_steps);
        let own = times.filter(|time| time.phase.as_str() == phase);
        own.fold(0, |sum, time| sum.saturating_add(time.exposed_ns))
    }

    /// What its steps spend exposed in these phases, the mean of one.
    pub(crate) fn exposed_per_step_ns(&self, is_meant: impl Fn(&PhaseName) -> bool) -> u64 {
        let times = self.phases_per_step.iter().filter(|time| is_meant(&time.phase));
        times.fold(0, |sum, time| sum.saturating_add(time.exposed_ns))
    }
}
