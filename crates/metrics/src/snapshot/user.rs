//! What the program itself has recorded, and alerts.

use std::sync::Arc;

use stepscope_core::vocabulary::Metric;
use stepscope_limits::leaks::Leak;

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

/// The run that the program records, and which of its processes this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Identity of the run.
    pub id: Arc<str>,
    /// How often it was started before.
    pub attempt: u64,
    /// Number of the process.
    pub rank: u64,
    /// Processes of the run.
    pub world_size: u64,
    /// What the program is.
    pub service: Arc<str>,
    /// The machine.
    pub host: Arc<str>,
}

/// What the program tells of itself.
#[derive(Debug, Default, PartialEq)]
pub struct Program {
    /// The run that it records, where it does.
    pub run: Option<Run>,
    /// Its steps.
    pub steps: Steps,
    /// The latest of each of its values, by name; no name twice.
    pub values: Vec<(Arc<str>, f64)>,
    /// The longest calls, in seconds, that ended since the last pass, by the section's path; no path twice.
    pub longest_s: Vec<(Arc<str>, f64)>,
    /// Whether its memory leaks, where that is watched.
    pub leak: Option<Leak>,
}

impl Clone for Program {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { run, steps, values, longest_s, leak } = source;
        self.leak = *leak;
        self.run.clone_from(run);
        self.steps = *steps;
        self.values.clone_from(values);
        self.longest_s.clone_from(longest_s);
    }
}

/// What the program's steps were lately; of a minute, but for the number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Steps {
    /// Of the latest training step that has ended.
    pub number: Option<u64>,
    /// Median of their durations.
    pub p50_s: Option<f64>,
    /// 95th percentile of their durations.
    pub p95_s: Option<f64>,
    /// Samples a second.
    pub sample_rate: Option<f64>,
    /// Share of their time in which they waited for data.
    pub data_wait_share: Option<f64>,
    /// Time since the latest one ended, over the median.
    pub overdue: Option<f64>,
}
