//! What others took of the steps' time: for how long a step's thread could have run and had no processor.
//!
//! Steps that take longer because of it are no fault of the program, so a rule that finds such steps says whose they are
//! and stays out of the report's first sentence.

use stepscope_core::Mode;

use crate::accumulate::step_series::numbers;
use crate::report::finding::Gain;
use crate::summary::{SeriesPoint, Summary};

/// Share of what a rule finds from which it is the others' doing.
const MOSTLY: f64 = 0.5;

/// The highest severity of what the machine or others on it have done, and of chance: it stays out of the report's first
/// sentence.
pub(crate) const MOST_OF_CHANCE: f64 = 9.0;

/// What to do about it.
pub(crate) const ADVICE: &str = "the steps' thread could have run and something else had the processor: measure \
                                           again without other programs, or give this one processors of its own \
                                           (`taskset`, a cpuset), and no more threads than these.";

/// The time that others took of a step, by mode and step numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunQueueDelay<'a> {
    points: &'a [SeriesPoint],
    /// The last number that a point can hold, less its first.
    last: u64,
}

impl<'a> RunQueueDelay<'a> {
    /// Of the steps of a mode; absent where no step says it.
    pub(crate) fn of(summary: &'a Summary, mode: Mode) -> Option<Self> {
        let series = summary.series.iter().find(|series| series.mode == mode)?;
        let is_known = series.points.iter().any(|point| point.run_queue_ns.is_some());
        is_known.then(|| Self { points: &series.points, last: numbers(series.shift) - 1 })
    }

    /// Of the steps from one number to another, all together; and how many steps these are.
    pub(crate) fn between(&self, from: u64, to: u64) -> (u64, u64) {
        let inside = |point: &&SeriesPoint| point.step >= from && point.step.saturating_add(self.last) <= to;
        self.points.iter().filter(inside).fold((0, 0), |(ns, steps), point| {
            let taken_ns = point.run_queue_ns.unwrap_or(0);
            (u64::saturating_add(ns, taken_ns), u64::saturating_add(steps, point.count))
        })
    }

    /// The same as a mean of a step.
    pub(crate) fn mean_between(&self, from: u64, to: u64) -> Option<u64> {
        let (ns, steps) = self.between(from, to);
        ns.checked_div(steps)
    }
}

/// The severity of a finding with this gain, which may be the doing of the machine or of others on it.
pub(crate) fn capped(gain: &Gain, is_theirs: bool) -> f64 {
    if is_theirs { gain.severity().min(MOST_OF_CHANCE) } else { gain.severity() }
}

/// The share of `excess_ns` that is `taken_ns`, where that is most of it.
pub(crate) fn most_of(taken_ns: u64, excess_ns: u64) -> Option<f64> {
    let share = taken_ns as f64 / excess_ns.max(1) as f64;
    (share >= MOSTLY).then(|| share.min(1.0))
}
