//! Figures over step numbers.

use serde::Serialize;
use stepscope_core::Mode;

use crate::phases::summary::PhaseName;

/// Figures of one mode over step numbers, `2^shift` numbers a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepSeries {
    /// The mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// Points hold the steps of equal `step >> shift`: the smallest shift that keeps the number of points
    /// within its bound.
    pub shift: u32,
    /// Points by step.
    pub points: Vec<SeriesPoint>,
}

impl StepSeries {
    /// Whether a step says how long its thread waited for batches before it.
    #[must_use]
    pub fn says_input(&self) -> bool {
        self.points.iter().any(|point| point.input_before_ns.is_some())
    }

    /// For how long threads waited for batches before a step, of those with this number and later ones on average; absent
    /// where no step says it.
    #[must_use]
    pub fn mean_input_ns(&self, first: u64) -> Option<u64> {
        let points = self.points.iter().filter(|point| point.step >= first);
        let (ns, steps) = points.fold((0u64, 0u64), |(ns, steps), point| {
            (ns.saturating_add(point.input_before_ns.unwrap_or(0)), steps.saturating_add(point.count))
        });
        ns.checked_div(steps).filter(|_| self.says_input())
    }
}

/// A gauge over the steps of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gauge {
    /// Values.
    pub count: u64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Their mean, rounded down.
    pub mean: u64,
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesPoint {
    /// Smallest step number that it can hold: `(step >> shift) << shift`.
    pub step: u64,
    /// Steps in it, over all instances.
    pub count: u64,
    /// Sum of their durations.
    pub duration_sum_ns: u64,
    /// Shortest.
    pub duration_min_ns: u64,
    /// Longest.
    pub duration_max_ns: u64,
    /// Live bytes at their ends.
    pub live_bytes: Option<Gauge>,
    /// Resident bytes at their ends.
    pub rss_bytes: Option<Gauge>,
    /// Samples of the steps.
    pub samples: Option<u64>,
    /// Time in `data_wait` on driving threads in these steps, or between them where a wait names its step.
    pub wait_ns: u64,
    /// Time in which the threads of these steps could have run and had no processor, of the steps that say it.
    pub run_queue_ns: Option<u64>,
    /// CPU time of these threads in them, of the steps that say it.
    pub cpu_ns: Option<u64>,
    /// For how long the threads of these steps waited for batches before them, in no step, of the steps that say it.
    pub input_before_ns: Option<u64>,
}

impl SeriesPoint {
    /// Mean duration of its steps, rounded down; 0 where there are none.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.duration_sum_ns.checked_div(self.count).unwrap_or(0)
    }

    /// What its steps take with the input before them, all together.
    #[must_use]
    pub fn taken_ns(&self) -> u64 {
        self.duration_sum_ns.saturating_add(self.input_before_ns.unwrap_or(0))
    }

    /// The same as a mean of a step, rounded down; 0 where there are none.
    #[must_use]
    pub fn mean_taken_ns(&self) -> u64 {
        self.taken_ns().checked_div(self.count).unwrap_or(0)
    }
}

/// Exposed time by phase of the whole steps of one mode over step numbers, `2^shift` numbers a point. Coarser than
/// [`StepSeries`]: a plot of areas shows no more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSeries {
    /// The mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// As in [`StepSeries`].
    pub shift: u32,
    /// Points by step.
    pub points: Vec<PhasePoint>,
}

/// One point. `exposed` and `unattributed_ns` partition `total_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhasePoint {
    /// Smallest step number that it can hold.
    pub step: u64,
    /// Whole steps in it, over all instances.
    pub steps: u64,
    /// Sum of their durations.
    pub total_ns: u64,
    /// Of that, time that no phase covers.
    pub unattributed_ns: u64,
    /// Of that, exposed time by phase: ours in the vocabulary's order, then words of users.
    pub exposed: Vec<PhaseTime>,
    /// For how long the threads of these steps waited for batches before them, in no step, of the steps that say it.
    pub input_before_ns: Option<u64>,
}

/// Exposed time of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseTime {
    /// The phase.
    pub phase: PhaseName,
    /// Its time.
    pub exposed_ns: u64,
}

/// One of the user's own values (`stepscope.value.*`) over step numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValueSeries {
    /// Its name.
    pub name: String,
    /// As in [`StepSeries`].
    pub shift: u32,
    /// Values that were not finite; they are in no point.
    pub not_finite: u64,
    /// Values that belong to no numbered step, together; its `step` means nothing.
    pub unnumbered: Option<ValuePoint>,
    /// Points by step.
    pub points: Vec<ValuePoint>,
}

/// One point of a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValuePoint {
    /// Smallest step number that it can hold.
    pub step: u64,
    /// Values in it.
    pub count: u64,
    /// Their mean.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub mean: f64,
    /// Smallest.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub min: f64,
    /// Largest.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub max: f64,
    /// The one of the last (step, start).
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub last: f64,
}
