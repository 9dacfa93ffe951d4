//! Steps that were kept with their spans.

use serde::Serialize;
use stepscope_core::Mode;

use crate::phases::summary::PhaseName;
use crate::steps::summary::SlowStep;

/// Why a step was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExampleRole {
    /// Among the first two of its mode.
    First,
    /// Of a sample, the one whose duration is nearest to the median of the steps after warm-up.
    Median,
    /// Among the slowest four of its mode after warm-up; warm-up only where nothing slower came after it.
    Slowest,
    /// The slowest of those that take longer every so often. Where there are such, they are not among the slowest four.
    Periodic,
}

impl ExampleRole {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::First, Self::Median, Self::Slowest, Self::Periodic];

    /// As the JSON report writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Median => "median",
            Self::Slowest => "slowest",
            Self::Periodic => "periodic",
        }
    }
}

/// A step with its spans: the longest 256 of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Example {
    /// Its mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// Why it is here, each reason once.
    pub roles: Vec<ExampleRole>,
    /// Whether it is counted as warm-up.
    pub is_warmup: bool,
    /// The step: number, rank, times, trace and phases.
    #[serde(flatten)]
    pub step: SlowStep,
    /// Id of its own span, 16 hexadecimal digits.
    pub span_id: String,
    /// Spans that it had.
    pub spans_in_step: u64,
    /// The threads of the spans below, the step's own first.
    pub lanes: Vec<Lane>,
    /// The spans: the step, then those inside it in the order of their starts.
    pub spans: Vec<ExampleSpan>,
    /// The critical path in the order of time. The pieces together are the step.
    pub critical_path: Vec<ExamplePiece>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lane {
    /// The operating system's id of it.
    pub thread_id: Option<i64>,
    /// Its name.
    pub thread_name: Option<String>,
}

/// A span of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExampleSpan {
    /// Its name.
    pub name: String,
    /// Place of the span around it in the list; of those around it, the nearest that is in the list.
    pub parent: Option<u64>,
    /// Place of its thread in `lanes`.
    pub lane: u64,
    /// Its phase, or the one of what is around it.
    pub phase: Option<PhaseName>,
    /// Its start after that of the step; negative where it began before.
    pub offset_ns: i64,
    /// Its duration.
    pub duration_ns: u64,
    /// How long it held up the end of the step.
    pub critical_ns: u64,
    /// Whether it ended with an error.
    pub is_error: bool,
    /// The batch that it waited for.
    pub batch: Option<ExampleBatch>,
    /// When it ran, where it was entered several times, as asynchronous sections are; it was suspended in between. Empty
    /// where it was not, and where that is not known.
    pub running: Vec<ExampleRun>,
}

/// An interval in which a span ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExampleRun {
    /// Its start after that of the step.
    pub offset_ns: i64,
    /// Its length.
    pub duration_ns: u64,
}

/// A batch that a span waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExampleBatch {
    /// Id of the trace in which it was made, where the span links to it.
    pub trace_id: Option<String>,
    /// How long it took to make.
    pub produce_ns: Option<u64>,
    /// How long it lay in the queue.
    pub queue_ns: Option<u64>,
}

/// A piece of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExamplePiece {
    /// Place of the span in the list.
    pub span: u64,
    /// Its start after that of the step.
    pub offset_ns: u64,
    /// Its length.
    pub duration_ns: u64,
}
