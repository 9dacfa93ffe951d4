//! Points of stepscope's own metrics as analyses see them. Other metrics are not read here.

use stepscope_core::LossReason;

/// What a point of a section's metric says about its path.
#[derive(Debug, Clone, PartialEq)]
pub enum SectionValue {
    /// `stepscope.section.*` sums and gauges, by metric name (a constant of `stepscope_core::metric`).
    Integer(&'static str, i64),
    /// `stepscope.section.duration`: count and buckets.
    Durations {
        /// Number of durations.
        count: u64,
        /// How many of them are zero.
        zeros: u64,
        /// Index and count of each bucket that is not empty, ascending (`stepscope_core::histogram`).
        buckets: Vec<(i32, u64)>,
    },
}

/// One point.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricPoint {
    /// Of a section.
    Section {
        /// Call path as written (`stepscope_core::path::split` takes it apart).
        path: String,
        /// Phase as written; empty where absent.
        phase: String,
        /// Section kind as written; empty where absent.
        kind: String,
        /// The value.
        value: SectionValue,
    },
    /// Paths whose sums are not among those written.
    SectionsLeftOut(u64),
    /// Spans that ended and were meant to be exported, cumulative.
    SpansEmitted(u64),
    /// Spans taken for good, cumulative, by sink.
    SpansExported {
        /// Sink as written.
        sink: String,
        /// How many.
        count: u64,
    },
    /// Spans lost, cumulative, by sink (empty: before any sink) and reason.
    SpansDropped {
        /// Sink as written.
        sink: String,
        /// Reason; `None` where it is not one of ours.
        reason: Option<LossReason>,
        /// How many.
        count: u64,
    },
    /// Resident memory of the process.
    RssBytes(u64),
    /// Live bytes by the counting allocator.
    LiveBytes(u64),
}
