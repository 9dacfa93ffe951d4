//! What held up the end of the steps.

use serde::Serialize;
use stepscope_core::Mode;

use crate::phases::summary::PhaseName;

/// The critical paths of one kind of window, summed. A path's pieces are exactly its window, so that the times of
/// all sections and `other_ns` add up to `total_ns`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPath {
    /// `step`, or `trace` where the program has no steps.
    pub window: &'static str,
    /// Mode of the steps; absent where there are none.
    #[serde(serialize_with = "mode")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::report::schema::Word<Mode>>"))]
    pub mode: Option<Mode>,
    /// Windows whose every span was read, warm-up included.
    pub windows: u64,
    /// Their durations.
    pub total_ns: u64,
    /// Time for which the step's own span was on the path: no section inside it says what was going on. The root of a whole
    /// trace is a section itself, so that nothing is left there, but where call paths were cut to none.
    pub other_ns: u64,
    /// Of it, that in the steps of `whole_warmup`.
    pub warmup_other_ns: u64,
    /// The rest, as a share of `total_ns`.
    pub explained_share: f64,
    /// Sections that were on a path or beside one, longest time on the path first, then by path.
    pub sections: Vec<CriticalSection>,
    /// What the waits for batches were for; absent where none knows when its batch was made.
    pub waits: Option<WaitParts>,
    /// What of the waits on the path was time of the sections that made the batches; absent where no wait on it links to
    /// its batch.
    pub through_batches: Option<ThroughBatches>,
}

/// How the path goes on through waits into the making of batches, and of what else waits link to in other traces, stage by
/// stage. Its time there is that of the sections that made them,
/// and no longer that of the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThroughBatches {
    /// Waits on the path that link to their batch.
    pub linked_ns: u64,
    /// Of that, time in which the batch was being made by a section that was read.
    pub in_production_ns: u64,
    /// Whether every such wait was followed. Otherwise the 1,024 traces that were drawn stand for all.
    pub is_exact: bool,
}

fn mode<S: serde::Serializer>(mode: &Option<Mode>, serializer: S) -> Result<S::Ok, S::Error> {
    mode.map(Mode::as_str).serialize(serializer)
}

/// A section's part in the critical paths.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalSection {
    /// Its path.
    pub path: String,
    /// Its phase.
    pub phase: Option<PhaseName>,
    /// Time for which it held up the end of the window, nested sections excluded.
    pub on_path_ns: u64,
    /// That time as a share of all windows.
    pub share: f64,
    /// Calls on a path.
    pub on_path_calls: u64,
    /// Calls beside one.
    pub beside_calls: u64,
    /// The mean of how much later these could have ended without holding up anything, each by itself: what follows it on
    /// its thread moves with it, so that those of calls on one thread do not add up.
    pub slack_mean_ns: Option<u64>,
    /// The smallest.
    pub slack_min_ns: Option<u64>,
}

/// What waits for batches were for. The three times add up to the durations of those waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitParts {
    /// Waits that know when their batch was made.
    pub waits: u64,
    /// The making of the batch had not begun: its loader was behind, or idle.
    pub not_started_ns: u64,
    /// The batch was being made.
    pub in_production_ns: u64,
    /// The batch was finished and on its way.
    pub in_transit_ns: u64,
}
