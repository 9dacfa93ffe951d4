//! What is known of a run's steps before any subject finishes: their numbers, series, periods and where warm-up ends. Built
//! once, and not changed after.

use stepscope_core::Mode;

use crate::config::Config;
use crate::run::RunAcc;
use crate::steps::finish::Steady;
use crate::steps::{periodicity, series_finish};
use crate::summary::{Coverage, PeriodicSteps, PhaseSeries, StepSeries};

/// The steps of a run.
pub(crate) struct Context<'a> {
    pub(crate) run: &'a RunAcc,
    pub(crate) coverage: Coverage,
    /// With their numbers, warm-up told from the rest.
    pub(crate) steps: Steady<'a>,
    /// By mode, of those that have steps.
    pub(crate) series: Vec<StepSeries>,
    pub(crate) phase_series: Vec<PhaseSeries>,
    pub(crate) periodic: Vec<PeriodicSteps>,
}

impl<'a> Context<'a> {
    pub(crate) fn of(run: &'a RunAcc, coverage: Coverage, config: &Config) -> Self {
        let steps = Steady::of(run, config);
        let modes = || Mode::ALL.iter().copied().filter(|&mode| steps.has(mode));
        let of = |mode| steps.numbers.of_mode(mode);
        let series: Vec<_> = modes().filter_map(|mode| series_finish::steps(run, mode, of(mode))).collect();
        let phase_series = modes().filter_map(|mode| series_finish::phases(run, mode, of(mode))).collect();
        let periodic = periodicity::finish::of(run, &steps, &coverage, &series);
        Self { run, coverage, steps, series, phase_series, periodic }
    }
}
