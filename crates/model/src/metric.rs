//! Points of metrics as analyses see them: stepscope's own, those of machines and devices under whatever name the vocabulary
//! knows, and gauges that it does not know. How they are decoded is in `intake/metric`.

use std::borrow::Cow;

use stepscope_core::LossReason;
use stepscope_core::metric::foreign;
use stepscope_core::vocabulary::Metric;

use crate::live_memory::LivePoint;

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
    /// The limit of memory that the process reaches first.
    LimitBytes(u64),
    /// What counts against that limit.
    LimitUsedBytes(u64),
    /// Of a machine, a device, a container or a process.
    Measured(Measured),
    /// Of live memory by sample.
    Live(LivePoint),
}

/// A figure of a machine, a device, a container, a process, or a gauge that the vocabulary does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// Name of the metric: the vocabulary's where it has one.
    pub name: Cow<'static, str>,
    /// What it is of: read by [`label`]; of an unknown gauge its attributes as `key=value`, sorted.
    pub labels: Box<str>,
    /// A hash of its other attributes, by which series are told apart; 0 where it has none.
    pub others: u64,
    /// How it combines with the points before it.
    pub kind: MeasuredKind,
    /// The value, in millionths of the metric's unit.
    pub millionths: i128,
}

/// How points of a series combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredKind {
    /// The value at its time.
    Gauge,
    /// Everything since the start.
    Total,
    /// What came since the start, which is the time of the point before it.
    Increment,
}

/// The attributes that tell series of a metric apart by name, in the order of [`Measured::labels`].
pub(crate) fn label_keys(row: &'static Metric) -> impl Iterator<Item = &'static str> {
    let more = foreign::MORE.iter().filter(|(name, _)| *name == row.name).map(|&(_, key)| key);
    row.attributes.iter().copied().chain(more)
}

/// The value of an attribute in the labels of a metric of the vocabulary; absent where the point did not say it.
#[must_use]
pub fn label<'a>(row: &'static Metric, labels: &'a str, key: &str) -> Option<&'a str> {
    let at = label_keys(row).position(|known| known == key)?;
    labels.split(LABEL_END).nth(at).filter(|value| !value.is_empty())
}

/// What ends a label.
pub(crate) const LABEL_END: char = '\n';
