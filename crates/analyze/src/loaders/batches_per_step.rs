//! How many batches of a loader a step takes, and how much time that leaves for each.

use stepscope_core::Phase;

use crate::rules::common::steps::Steps;
use crate::summary::{LoaderRow, LoaderStall, Summary};

/// The steps that take batches of a loader.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchesPerStep {
    /// What a step takes on average without the waits.
    pub(super) step_ns: u64,
    /// Batches that are taken in so many steps.
    batches: u64,
    steps: u64,
}

impl BatchesPerStep {
    /// By the waits that name the loader in steps of this mode, and the steps that have waits; where batches are taken between
    /// steps, by these waits and all steps. One a step where nothing tells it.
    pub(super) fn of(summary: &Summary, steps: &Steps<'_>, loader: Option<&LoaderRow>, step_ns: u64) -> Self {
        let mode = steps.mode.mode;
        let waits = |of: Option<_>| {
            let rows = loader
                .into_iter()
                .flat_map(|row| &row.stalls)
                .filter(move |row: &&LoaderStall| row.mode == of);
            rows.fold(0, |sum, row| row.waits.saturating_add(sum))
        };
        let sections = summary.sections.iter().filter(|row| {
            let phase = row.phase.as_ref();
            phase.is_some_and(|phase| phase.is(Phase::DataWait))
        });
        let with_waits = sections.filter_map(|row| Some(row.in_mode(mode)?.steps)).max().unwrap_or(0);
        let (batches, of) = match waits(Some(mode)) {
            0 => (waits(None), steps.mode.all.count),
            inside => (inside, with_waits),
        };
        Self { step_ns, batches: 1, steps: 1 }.times(batches, of)
    }

    /// The same of a loader whose batches those of another one take.
    pub(super) fn of_stage(self, stage: &LoaderRow, taker: &LoaderRow) -> Self {
        let waits = stage.waited_by.iter().find(|row| row.loader == taker.name).map_or(0, |row| row.waits);
        let batches = if waits > 0 { waits } else { stage.produce.count };
        self.times(batches, taker.produce.count)
    }

    /// `batches / of` times as many, or a whole number where it is that by a tenth: a wait that ends a pass takes nothing.
    fn times(self, batches: u64, of: u64) -> Self {
        if batches == 0 || of == 0 {
            return self;
        }
        let whole = (batches.saturating_add(of / 2) / of).max(1);
        let whole_batches = whole.saturating_mul(of);
        let is_whole = batches.abs_diff(whole_batches).saturating_mul(10) <= whole_batches;
        let (batches, of) = if is_whole { (whole, 1) } else { (batches, of) };
        let (batches, steps) = (self.batches.saturating_mul(batches), self.steps.saturating_mul(of));
        Self { batches, steps, ..self }
    }

    /// The time in which a step needs a batch of it.
    pub(super) fn every_ns(&self) -> u64 {
        let ns = u128::from(self.step_ns) * u128::from(self.steps) / u128::from(self.batches.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How many a step takes, where it is not one.
    pub(super) fn unusual_per_step(&self) -> Option<f64> {
        (self.batches != self.steps).then(|| self.batches as f64 / self.steps as f64)
    }
}
