//! Steps that take longer every so often.

use serde::Serialize;
use stepscope_core::Mode;

use crate::accumulate::stats::Stats;
use crate::phases::summary::PhaseName;

/// The steps of one mode of which every so many take longer: a checkpoint, an evaluation, logging. Found as
/// `crate::steps::periodicity` says, after warm-up. Of each step number it is the longest step that counts: all processes wait
/// for that one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodicSteps {
    /// The mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// The steps that are of no period, one a number.
    pub usual: Stats,
    /// The clearest period.
    pub periods: Vec<StepPeriod>,
}

/// Every so many steps one takes longer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepPeriod {
    /// How many.
    pub every: u64,
    /// The first of these steps.
    pub first_step: u64,
    /// How many there are after warm-up.
    pub steps: u64,
    /// Their median.
    pub median_ns: u64,
    /// What they take above the median of the usual steps, all together.
    pub above_ns: u64,
    /// The phase that takes most of what they take more; absent where no whole steps are kept of both.
    pub cause: Option<PeriodCause>,
}

impl PeriodicSteps {
    /// By how many steps the period comes again that a step is of.
    #[must_use]
    pub fn every(&self, step: u64) -> Option<u64> {
        self.periods.iter().find(|period| period.holds(step)).map(|period| period.every)
    }

    /// What all periods take above the usual steps.
    #[must_use]
    pub fn above_ns(&self) -> u64 {
        self.periods.iter().fold(0, |sum, period| sum.saturating_add(period.above_ns))
    }

    /// Step numbers of periods.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.periods.iter().fold(0, |sum, period| sum.saturating_add(period.steps))
    }
}

impl StepPeriod {
    /// Whether a step is one of its.
    #[must_use]
    pub const fn holds(&self, step: u64) -> bool {
        step >= self.first_step && (step - self.first_step).is_multiple_of(self.every)
    }
}

/// What takes the time of such steps, in means of those whole steps after warm-up that are kept singly (of the first 256 of
/// each process, of those that take longer also the 10 slowest), of each number the longest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodCause {
    /// The phase; absent for time that no phase covers.
    pub phase: Option<PhaseName>,
    /// Exposed time of it in a usual step.
    pub usual_ns: u64,
    /// Exposed time of it in such a step.
    pub periodic_ns: u64,
}
