//! Memory of the processes and its trend over steps.

use serde::Serialize;
use stepscope_core::Mode;

/// Memory over the steps of the primary mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MemorySummary {
    /// Live bytes by the counting allocator at the ends of steps; absent where steps carry none.
    pub live: Option<TrendPair>,
    /// Resident bytes at the ends of steps.
    pub rss: Option<TrendPair>,
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
    #[cfg_attr(feature = "schema", schemars(with = "crate::report::schema::Word<Mode>"))]
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

/// A trend over the whole run and one over its end, both after warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendPair {
    /// First value (of the first point).
    pub first_bytes: u64,
    /// Last value.
    pub last_bytes: u64,
    /// Largest value.
    pub max_bytes: u64,
    /// Over all steps after warm-up; absent below 4 points.
    pub whole: Option<Trend>,
    /// Over the last third of the step numbers: growth that went on to the end; absent below 4 points.
    pub tail: Option<Trend>,
    /// Growth that begins later; absent where one line describes the course as well.
    pub late: Option<LateGrowth>,
}

/// A level, and from some step on a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateGrowth {
    /// From that step on. Its probability counts that the step was looked for.
    pub growth: Trend,
    /// Over the last third of that.
    pub tail: Trend,
    /// The most that was freed of what had been there before that step.
    pub freed_bytes: u64,
}

/// A robust linear trend of bytes over step numbers: Theil–Sen slope through levels of blocks of steps, its confidence
/// interval, and a test that takes memory as what depends on what it was before. Formulas and sources are in
/// `crate::memory::trend`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// Points it rests on.
    pub n: u64,
    /// Step of the first of them.
    pub from_step: u64,
    /// Step of the last.
    pub to_step: u64,
    /// The line at the first step.
    pub first_bytes: u64,
    /// The line at the last step.
    pub last_bytes: u64,
    /// Median of the slopes of all pairs of levels, bytes per step.
    pub slope_per_step: f64,
    /// 95 % confidence interval of the slope.
    #[cfg_attr(feature = "schema", schemars(with = "(Option<f64>, Option<f64>)"))]
    pub confidence_interval: (f64, f64),
    /// Two-sided probability of such a trend where there is none.
    pub p_value: f64,
}

impl Trend {
    /// Whether its confidence interval leaves out that there is none.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.confidence_interval.0 > 0.0 || self.confidence_interval.1 < 0.0
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
