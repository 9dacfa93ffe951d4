//! The steps of one process in one mode, warm-up told from the rest.

use crate::accumulate::distribution::StepDist;
use crate::accumulate::step_series::StepIndex;
use crate::steps::{DeepSteps, StepSums};

/// The steps of one (instance, mode), warm-up told.
#[derive(Default)]
pub(crate) struct SteadySteps {
    /// Without the deep ones.
    pub(crate) all: StepDist,
    /// Of all.
    pub(crate) deep: DeepSteps,
    pub(crate) sums: StepSums,
    pub(crate) warmup_steps: u64,
    pub(crate) warmup_ns: u128,
    /// Number and durations of the whole steps that were warm-up.
    pub(crate) warmup_whole: (u64, u128),
    pub(crate) smallest: Option<u64>,
    pub(crate) largest: Option<u64>,
    /// Start of the first steady step.
    pub(crate) first_ns: Option<u64>,
    /// Place of the first steady step, where there was a warm-up.
    pub(crate) first_place: Option<StepIndex>,
}

impl SteadySteps {
    /// How many of the first steps are warm-up.
    pub(crate) fn warmup_steps(&self) -> usize {
        usize::try_from(self.warmup_steps).unwrap_or(usize::MAX)
    }
}
