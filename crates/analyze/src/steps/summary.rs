//! Steps of one mode: durations, warm-up, phases, throughput, the slowest.

use serde::Serialize;
use stepscope_core::Mode;

use crate::accumulate::stats::Stats;
use crate::phases::summary::{PhaseName, PhaseRow};
use crate::steps::distribution::DurationBucket;
use crate::threads::summary::{StepUseRow, ThreadShares};

/// How the steps of a mode are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepNumbers {
    /// Through the run: every step of a process has a number of its own, as far as is known.
    #[default]
    Unique,
    /// Anew in each epoch. Series count on: an epoch's steps follow those of the one before.
    ByEpoch,
    /// Steps of a process share numbers, and nothing tells them apart: points of series mix them.
    Repeated,
}

/// The steps of one mode over all instances.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeSummary {
    /// The mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// Durations of all steps, warm-up included.
    pub all: Stats,
    /// Deep steps among them, which are in their count and total, and in no other figure of durations.
    pub deep_steps: u64,
    /// Durations without warm-up: the figures to show.
    pub steady: Stats,
    /// What the steps' own threads did in them, deep steps left out; absent where no step says it.
    pub threads: Option<ThreadShares>,
    /// What costs time where it is often done, of such a step on average.
    pub use_per_step: StepUseRow,
    /// The same durations by buckets, ascending; those that hold no step are left out.
    pub distribution: Vec<DurationBucket>,
    /// What was left out as warm-up.
    pub warmup: Warmup,
    /// Smallest and largest step number; absent where steps have none.
    pub step_range: Option<(u64, u64)>,
    /// How steps are numbered.
    pub numbers: StepNumbers,
    /// Steps whose every span was read, warm-up included: what `in_steps` of sections rests on.
    pub whole_all: WholeSteps,
    /// Those of them with numbers before `warmup.steady_step`: what `warmup_…` of `in_steps` rests on.
    pub whole_warmup: WholeSteps,
    /// The steady ones among them: what all figures by phase rest on.
    pub whole: WholeSteps,
    /// Time of the steady whole steps by phase; longest exposed first.
    pub phases: Vec<PhaseRow>,
    /// Time of the steady whole steps that no phase covers.
    pub unattributed_ns: u64,
    /// 1st percentile of the durations of steady whole steps without the time exposed in loading and waiting for batches.
    pub quick_without_waiting_ns: Option<u64>,
    /// 1st percentile of the durations of steady whole steps without the time exposed in preparing batches.
    pub quick_without_preparation_ns: Option<u64>,
    /// Time exposed in input between its steps, as far as that is known to be for them.
    pub input_between_ns: u64,
    /// Sum of steady durations. `phases` and `unattributed_ns` partition those of `whole`.
    pub steady_ns: u64,
    /// Work done by steady steps.
    pub throughput: Throughput,
    /// The slowest steady steps, longest first, at most 10; where numbers tell steps apart, one a number, the longest of all
    /// processes. Where some take longer every so often, of these the slowest; the other ones with a number are then
    /// known as far as the fold keeps them apart.
    pub slowest: Vec<SlowStep>,
    /// Of each of these on how many processes a step of its number is among the slowest, itself included, and what they took
    /// together.
    #[serde(skip)]
    pub slowest_together: Vec<(u64, u64)>,
    /// The longest times between steady steps, longest first, at most 3; none where steps share their numbers.
    pub step_gaps: Vec<StepGap>,
}

/// Time between steps, of the processes that do the same steps together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepGap {
    /// The step before it; where numbers are taken together, the first of those that it is among.
    pub step: u64,
    /// How many numbers are taken together.
    pub step_numbers: u64,
    /// When that step began.
    pub start_ns: u64,
    /// From there to the start of the next step (or of those taken together), less the mean of what processes spent in steps
    /// of all modes.
    pub gap_ns: u64,
}

/// Steps that were read with all their spans. Others have a duration, but nobody knows what filled it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WholeSteps {
    /// How many.
    pub steps: u64,
    /// Sum of their durations.
    pub total_ns: u64,
}

/// Steps at the start that take distinctly longer than those after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warmup {
    /// How many, over all instances.
    pub steps: u64,
    /// The most of one instance.
    pub max_per_instance: u64,
    /// Their time.
    pub total_ns: u64,
    /// What as many usual steps take: the median.
    pub usual_ns: u64,
    /// The first number in the series at which no instance is warming up. Absent where none does, where steps have no
    /// numbers, or where numbers do not tell steps apart.
    pub steady_step: Option<u64>,
}

/// Work done: what each step's own span says, else the sum over the outermost of its sections that say it, where all of them
/// were read. Sums and rates by the clock are absent where it is not known of some step how much it did; rates by step
/// time are then those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// From the first steady step's start to the last one's end.
    pub elapsed_ns: u64,
    /// Samples of all steady steps.
    pub samples: Option<u64>,
    /// Samples per second of the time of steps of which it is known: what one process reaches while it steps.
    pub samples_per_step_second: Option<f64>,
    /// Samples per second of elapsed time, over all instances together.
    pub samples_per_second: Option<f64>,
    /// Tokens of all steady steps.
    pub tokens: Option<u64>,
    /// Tokens per second of the time of steps of which it is known.
    pub tokens_per_step_second: Option<f64>,
    /// Tokens per second of elapsed time.
    pub tokens_per_second: Option<f64>,
    /// Bytes of all steady steps.
    pub bytes: Option<u64>,
    /// Bytes per second of the time of steps of which it is known.
    pub bytes_per_step_second: Option<f64>,
    /// Bytes per second of elapsed time.
    pub bytes_per_second: Option<f64>,
    /// Steps per second of elapsed time. Those of the same numbers on several instances, which are done together, count
    /// once.
    pub steps_per_second: Option<f64>,
}

/// One step worth looking at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowStep {
    /// Step number; absent where it has none.
    pub step: Option<u64>,
    /// Rank of its process.
    pub rank: Option<i64>,
    /// Its duration.
    pub duration_ns: u64,
    /// Its start.
    pub start_ns: u64,
    /// Its trace id, 32 hexadecimal digits.
    pub trace_id: String,
    /// Its phases, longest exposed first.
    pub phases: Vec<StepPhase>,
    /// Its time that no phase covers.
    pub unattributed_ns: u64,
}

/// One phase on one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepPhase {
    /// The phase.
    pub phase: PhaseName,
    /// Exposed time.
    pub exposed_ns: u64,
    /// Union over all threads.
    pub total_ns: u64,
}

impl ModeSummary {
    /// A time of the steady whole steps as that of all steady steps: the others are taken to be like them. The
    /// time itself where all are whole.
    #[must_use]
    pub fn of_all_steps(&self, whole_ns: u64) -> u64 {
        if self.whole.total_ns == 0 || self.whole.total_ns == self.steady_ns {
            return whole_ns;
        }
        let scaled =
            u128::from(whole_ns).saturating_mul(self.steady_ns.into()) / u128::from(self.whole.total_ns);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Whole steps without those of the warm-up: what [`crate::summary::InSteps::after_warmup`] rests on.
    #[must_use]
    pub const fn whole_after_warmup(&self) -> WholeSteps {
        WholeSteps {
            steps: self.whole_all.steps.saturating_sub(self.whole_warmup.steps),
            total_ns: self.whole_all.total_ns.saturating_sub(self.whole_warmup.total_ns),
        }
    }

    /// Whether processes do steps of numbers of their own, so that none waits for another.
    pub(crate) fn are_steps_apart(&self) -> bool {
        let numbers = self.step_range.map(|(first, last)| last.saturating_sub(first).saturating_add(1));
        self.numbers == StepNumbers::Unique && numbers.is_some_and(|numbers| self.all.count <= numbers)
    }

    /// Whether a whole step says in which phase some of its time was.
    #[must_use]
    pub fn has_phases(&self) -> bool {
        !self.phases.is_empty()
    }
}
