//! What the program itself has recorded, and alerts.

use std::sync::Arc;

use stepscope_core::vocabulary::Metric;

use crate::points::Value;

/// Labels of a point of the program's own that are taken.
pub const MAX_USER_LABELS: usize = 16;

/// Labels of a point of the program's own.
pub type UserLabels = Arc<[(&'static str, Arc<str>)]>;

/// A point of a metric that the program records by the facade `metrics`.
#[derive(Debug, Clone)]
pub struct UserPoint {
    /// What it is of; made for it, and kept for good.
    pub metric: &'static Metric,
    /// Its labels.
    pub labels: UserLabels,
    /// Its value; any number, and what is none.
    pub value: Value,
}

/// Whether an alert fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertState {
    /// Its rule.
    pub rule: Arc<str>,
    /// How severe it is: `warning`, `critical`.
    pub severity: &'static str,
    /// Whether it does.
    pub firing: bool,
}

/// What the program's steps were lately; of a minute, but for the number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Steps {
    /// Of the latest step.
    pub number: Option<u64>,
    /// Median of their durations.
    pub p50_s: Option<f64>,
    /// 95th percentile of their durations.
    pub p95_s: Option<f64>,
    /// Samples a second.
    pub sample_rate: Option<f64>,
    /// Share of their time in which they waited for data.
    pub data_wait_share: Option<f64>,
}
