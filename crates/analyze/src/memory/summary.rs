//! Memory of the processes and its trend over steps.

use serde::Serialize;
use stepscope_core::Mode;

use super::detector;

/// Memory over the steps of the primary mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MemorySummary {
    /// Live bytes by the counting allocator at the ends of steps; absent where steps carry none.
    pub live: Option<TrendPair>,
    /// Resident bytes at the ends of steps.
    pub rss: Option<TrendPair>,
    /// What memory does over the steps; absent where steps carry none, and where numbers do not tell which step comes
    /// after which.
    pub course: Option<MemoryCourse>,
    /// What processes say between steps, by (rank, resource).
    pub processes: Vec<ProcessMemory>,
    /// What sections hold over the steps; absent where no step with a number says what it allocated, where numbers do
    /// not tell which step comes after which, and where call paths were cut.
    pub by_section: Option<RetainedSeries>,
}

/// Bytes that sections hold over step numbers: allocated by them and not freed by them, since the run began. A section
/// that frees what others allocated holds less than nothing; all of them together hold what was allocated and not freed
/// inside of sections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedSeries {
    /// Mode of the steps. What happened in no numbered step of this mode (loaders, sections between steps, steps of other
    /// modes) is at the step in which it ended, as exactly as points tell steps apart.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// As in [`StepSeries`](crate::summary::StepSeries).
    pub shift: u32,
    /// Sections that hold most, largest peak first; no section is in two of them.
    pub sections: Vec<RetainedSection>,
    /// All others together.
    pub other: RetainedFigures,
    /// All sections together.
    pub total: RetainedFigures,
    /// Sections that are in none of these figures: steps or batches may be inside them, and what they left themselves is
    /// not known.
    pub excluded: Vec<String>,
    /// Points by step.
    pub points: Vec<RetainedPoint>,
}

/// What a section holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedSection {
    /// Its path.
    pub path: String,
    /// Whether sections inside it are counted with it: they make up for each other, as where one allocates what the one
    /// around it frees.
    pub includes_nested: bool,
    /// Its figures.
    #[serde(flatten)]
    pub figures: RetainedFigures,
}

/// Ends and extreme of bytes held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedFigures {
    /// After the first point.
    pub first_bytes: i64,
    /// After the last point.
    pub last_bytes: i64,
    /// Farthest from zero.
    pub peak_bytes: i64,
    /// Step of the first point at which it was that.
    pub peak_step: u64,
}

/// One point. The bytes of `sections` and `other_bytes` add up to `retained_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedPoint {
    /// Smallest step number that it can hold.
    pub step: u64,
    /// Left allocated in the steps of this point, by all sections: the change of `retained_bytes`.
    pub net_bytes: i64,
    /// Held after them, by all sections.
    pub retained_bytes: i64,
    /// Of that, by each of the sections listed, in their order.
    pub sections: Vec<i64>,
    /// Of that, by all others.
    pub other_bytes: i64,
}

/// Ends of a gauge over the steps, and how it grows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendPair {
    /// First value (of the first point).
    pub first_bytes: u64,
    /// Last value.
    pub last_bytes: u64,
    /// Largest value.
    pub max_bytes: u64,
    /// Its growth, after what memory does first; absent where points are too few.
    pub whole: Option<Trend>,
}

/// A robust linear trend of bytes over step numbers, by [`crate::memory::detector`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// Points that were looked at.
    pub n: u64,
    /// Step from which on it grows like that.
    pub from_step: u64,
    /// Step of the last point.
    pub to_step: u64,
    /// Slope, bytes per step.
    pub slope_per_step: f64,
    /// 95 % confidence interval of the slope.
    #[cfg_attr(feature = "schema", schemars(with = "(Option<f64>, Option<f64>)"))]
    pub confidence_interval: (f64, f64),
    /// Two-sided probability of such a trend where there is none.
    pub p_value: f64,
}

impl Trend {
    /// What it rises from its first step to its last, bytes.
    #[must_use]
    pub fn growth_bytes(&self) -> u64 {
        (self.slope_per_step * self.to_step.saturating_sub(self.from_step) as f64).round().max(0.0) as u64
    }
}

/// What memory does over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryCourse {
    /// In a word.
    pub verdict: CourseVerdict,
    /// Whether resident memory alone says so.
    pub is_suspected: bool,
    /// The growth that the verdict is about; absent where points are too few.
    pub trend: Option<Trend>,
    /// Where growth comes to that ends, bytes.
    pub plateau_bytes: Option<u64>,
    /// The smallest growth that would have been seen, bytes a step.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub least_seen_bytes_per_step: f64,
    /// About how many more steps decide, where it is undecided.
    pub more_steps: Option<u64>,
}

/// What memory does, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CourseVerdict {
    /// Grows, and goes on.
    Leak,
    /// Grows ever more slowly.
    Decelerating,
    /// Grew from the begin to a size that it keeps.
    CacheFilling,
    /// Grew for a while, and no more.
    Stopped,
    /// The heap keeps its size, what the process holds of the system grows.
    Fragmentation,
    /// Keeps its size, as far as can be seen.
    None,
    /// Several of these describe it as well.
    Undecided,
}

impl From<detector::Verdict> for CourseVerdict {
    fn from(verdict: detector::Verdict) -> Self {
        match verdict {
            detector::Verdict::Leak => Self::Leak,
            detector::Verdict::Decelerating => Self::Decelerating,
            detector::Verdict::CacheFilling => Self::CacheFilling,
            detector::Verdict::Stopped => Self::Stopped,
            detector::Verdict::Fragmentation => Self::Fragmentation,
            detector::Verdict::None => Self::None,
            detector::Verdict::Undecided => Self::Undecided,
        }
    }
}

/// Memory of one process as its own gauges say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessMemory {
    /// Rank.
    pub rank: Option<i64>,
    /// Host.
    pub host: String,
    /// Latest resident bytes.
    pub rss_last_bytes: Option<u64>,
    /// Largest resident bytes seen, at the ends of steps too where the run is one process.
    pub rss_max_bytes: Option<u64>,
    /// Latest live bytes.
    pub live_last_bytes: Option<u64>,
    /// Largest live bytes seen, at the ends of steps too where the run is one process.
    pub live_max_bytes: Option<u64>,
}
