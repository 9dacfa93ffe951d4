//! Memory of the processes and its trend over steps.

use serde::Serialize;

/// Memory over the steps of the primary mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MemorySummary {
    /// Live bytes by the counting allocator at the ends of steps; absent where steps carry none.
    pub live: Option<TrendPair>,
    /// Resident bytes at the ends of steps.
    pub rss: Option<TrendPair>,
    /// What processes say between steps, by (rank, resource).
    pub processes: Vec<ProcessMemory>,
}

/// A trend over the whole run and one over its end, both after warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
}

/// A robust linear trend of bytes over step numbers: Theil–Sen slope with its confidence interval, and the
/// Mann–Kendall test. Formulas and sources are in `crate::trend`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// Points it rests on.
    pub n: u64,
    /// Median of the slopes of all pairs, bytes per step.
    pub slope_per_step: f64,
    /// 95 % confidence interval of the slope.
    pub confidence_interval: (f64, f64),
    /// Two-sided probability of such a trend where there is none.
    pub p_value: f64,
}

/// Memory of one process as its own gauges say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
