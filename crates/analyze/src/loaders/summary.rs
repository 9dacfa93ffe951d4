//! Input: whether the run waits for it, what happens between steps, loaders and waits.

use serde::Serialize;
use stepscope_core::Mode;

use crate::accumulate::stats::Stats;
use crate::phases::summary::PhaseName;
use crate::sections::summary::FigureSource;

/// Time that goes into input on driving threads, warm-up excluded, and its share:
/// `(in_steps_ns + between_ns) / (steps_ns + between_ns)`. Where no step was read with its sections, the processes'
/// own sums tell it, if they are there: for all modes, warm-up included, and without knowing which thread waited. So
/// they do where less than 90 % of the recorded steps were read with their sections, if the run ended (its sums are
/// complete), and if the sections that begin a phase inside a step ran on its own thread wherever that was read.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct InputFigures {
    /// What tells it.
    pub source: FigureSource,
    /// The share; absent without steps, and where no section of them names a phase.
    pub share: Option<f64>,
    /// Exposed time of input phases inside steps; that of whole steps is taken to be typical of the others.
    pub in_steps_ns: u64,
    /// Exposed time of input phases between steps, on threads that drive steps.
    pub between_ns: u64,
    /// Time of the steps.
    pub steps_ns: u64,
    /// Of that, what no phase covers: whether it is input is not known.
    pub unknown_ns: u64,
    /// Number of steps it rests on.
    pub steps: u64,
}

impl InputFigures {
    /// Share of the time of steps and the input between them that no phase covers.
    pub(crate) fn unknown_share(&self) -> f64 {
        self.unknown_ns as f64 / self.steps_ns.saturating_add(self.between_ns).max(1) as f64
    }
}

/// What driving threads did between steps: outermost sections of one phase that are no steps, and of each what lies in no
/// step of its process, from the first steady step to the last one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BetweenStepsRow {
    /// Phase of the outermost section; absent where it has none.
    pub phase: Option<PhaseName>,
    /// Durations of these sections. Where it was estimated how many are there ([`crate::summary::Limit`]), count and total are
    /// those of that, and all else of all that may be.
    pub stats: Stats,
    /// Time exposed in this phase inside whatever outermost section, so that `Σ` over rows is their time.
    pub exposed_ns: u64,
}

/// Batches made by loaders.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchSummary {
    /// Number of batches.
    pub count: u64,
    /// Loaders by name (where they have none, that of the batch's section).
    pub loaders: Vec<LoaderRow>,
}

/// One loader.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoaderRow {
    /// Name of the section that makes its batches.
    pub name: String,
    /// Time to make a batch.
    pub produce: Stats,
    /// Time its workers were busy, summed: without what they waited for batches of other loaders.
    pub busy_ns: u64,
    /// Time inside its batches for which its workers waited for batches of other loaders, summed.
    pub waiting_ns: u64,
    /// CPU time of its batches, what they gave to other threads apart; of batches that do not say it, the time
    /// they were made in. What threads made that drive steps is left out: it ran beside nothing.
    pub computing_ns: u64,
    /// From its first batch's start to its last one's end.
    pub elapsed_ns: u64,
    /// `busy_ns` / the time from each worker's first batch's start to its last one's end, summed; absent where that is none.
    pub utilisation: Option<f64>,
    /// How many workers a process has at once, as long as it has any: the times from their first batch to their last,
    /// summed / the time for which there was one, summed over processes; rounded, 1 at least. Less than there are `workers`
    /// where threads are started anew for each pass, and where there are several processes. Absent without workers.
    pub workers_at_once: Option<u64>,
    /// Time for which its workers waited for a place in the queue, summed: for the trainer. Absent where no batch says
    /// it.
    pub slot_wait_ns: Option<u64>,
    /// `slot_wait_ns` of those workers that say it / the time from their first batch's start to their last one's end,
    /// summed.
    pub slot_wait_share: Option<f64>,
    /// What it did after warm-up; absent where no batch was read that it made then.
    pub after_warmup: Option<AfterWarmup>,
    /// The process whose workers are slowest together (`produce_mean_ns / workers_at_once`), where that is more by a quarter or
    /// more than it is of half of the processes.
    pub slowest: Option<SlowestProcess>,
    /// What it did while it was waited for after warm-up; absent where it was not, or no batch was read.
    pub under_demand: Option<UnderDemand>,
    /// Samples in its batches, where they say so.
    pub samples: Option<u64>,
    /// Its workers by (instance, thread).
    pub workers: Vec<WorkerRow>,
    /// The waits that name it. A loader of which no batch was read is known by them alone.
    pub waits: WaitSummary,
    /// Those of them that held up a thread which drives steps, or was outside of steps.
    pub stalls: Vec<LoaderStall>,
    /// Those of them that were part of other batches, by the loader of these.
    pub waited_by: Vec<WaitedBy>,
}

/// What a loader did after warm-up, without the longest of its batches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AfterWarmup {
    /// Mean time to make a batch.
    pub produce_mean_ns: u64,
    /// As [`LoaderRow::utilisation`].
    pub utilisation: Option<f64>,
    /// As [`LoaderRow::slot_wait_share`].
    pub slot_wait_share: Option<f64>,
}

/// The slowest of several processes of a loader.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowestProcess {
    /// Its rank.
    pub rank: Option<i64>,
    /// As [`LoaderRow::workers_at_once`].
    pub workers_at_once: u64,
    /// As [`LoaderRow::after_warmup`].
    pub after_warmup: AfterWarmup,
}

/// What a loader did at the times after warm-up at which its batches were waited for: of each stretch of time, of 32 batches or more on
/// average, by as much as was waited in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderDemand {
    /// As [`LoaderRow::utilisation`], of its workers from their first batch to their last.
    pub utilisation: f64,
    /// Mean time to make a batch, without the longest one of each stretch.
    pub produce_mean_ns: u64,
}

impl LoaderRow {
    /// For how long steps of this mode, and what lies between steps, waited for its batches.
    #[must_use]
    pub fn held_up_ns(&self, mode: Mode) -> u64 {
        let counts = |row: &&LoaderStall| row.mode.is_none_or(|own| own == mode);
        self.stalls.iter().filter(counts).fold(0, |sum, row| sum.saturating_add(row.total_ns))
    }

    /// For how long the batches of another loader waited for its own.
    #[must_use]
    pub fn waited_by_ns(&self, loader: &str) -> u64 {
        self.waited_by.iter().find(|row| row.loader == loader).map_or(0, |row| row.total_ns)
    }
}

/// Waits for a loader in the steps of one mode, or outside of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoaderStall {
    /// Mode of the steps; absent outside of steps.
    #[serde(serialize_with = "crate::accumulate::by_name::name_or_null")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Word<Mode>>"))]
    pub mode: Option<Mode>,
    /// Number of waits.
    pub waits: u64,
    /// Their durations, summed, as in [`WaitSummary::wait`].
    pub total_ns: u64,
}

/// Waits for a loader inside of the batches of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitedBy {
    /// The loader whose batches they were part of.
    pub loader: String,
    /// Number of waits.
    pub waits: u64,
    /// Their durations, summed, as in [`WaitSummary::wait`].
    pub total_ns: u64,
}

/// One thread of a loader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerRow {
    /// Rank of its process.
    pub rank: Option<i64>,
    /// Operating system's thread id; absent where not written.
    pub thread: Option<i64>,
    /// Whether it drives steps as well: its batches are made in the time of the training thread, not beside it.
    pub drives_steps: bool,
    /// Batches it made.
    pub batches: u64,
    /// Time it was busy with them.
    pub busy_ns: u64,
    /// Time inside of them for which it waited for batches of other loaders.
    pub waiting_ns: u64,
    /// Time between them for which it waited for a place in the queue, so for the trainer: the batch that it made last
    /// lay finished, and nobody had taken it. Absent where no batch says it.
    pub slot_wait_ns: Option<u64>,
    /// Time between them that is neither: it waited for something else, or did something else. Absent where
    /// `slot_wait_ns` is.
    pub idle_ns: Option<u64>,
    /// Start of its first batch.
    pub first_ns: u64,
    /// End of its last batch.
    pub last_ns: u64,
}

/// Waits for batches: spans of phase `data_wait`, by tag or by name. Those of a run are of the threads that drive steps, in
/// these and between them (where nothing is a step, of all threads); those of a loader are all that name it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitSummary {
    /// Durations of the waits. Of one on the thread of its step that says when it was polled, the time for which it was
    /// exposed: what it was suspended for while other sections ran kept nobody waiting.
    pub wait: Stats,
    /// How long the batches took to make, as the waits carry it.
    pub produce: Stats,
    /// How long the batches lay in the queue.
    pub queue: Stats,
    /// Batches by which the queue could have been shorter, and each would still have been finished before it was taken after
    /// warm-up: at least so many more lay there, or it lay there for as many steps (95th percentile), in each stretch of time
    /// (of 128 or fewer of the run) but those in which a thread that makes them began, the next ones, and those after these
    /// as long as there are more in each. Absent where nothing was taken in others.
    pub unused: Option<u64>,
    /// Finished batches in the queue when one was taken, that one included; a count, not nanoseconds.
    pub depth: Stats,
}
