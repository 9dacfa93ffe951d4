//! The run in stretches of time, from reading to reading, and which steps began in each.

use crate::accumulate::median::median;
use crate::metrics::track::Window;
use crate::run::RunAcc;
use crate::steps::numbering::Numbering;
use crate::summary::Stretch;
use stepscope_core::Mode;

/// Most stretches of a machine; with more readings several are one.
const MOST: usize = 120;

/// Steps of one number, or of neighbouring ones, of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepsAt {
    pub(crate) start_ns: u64,
    pub(crate) number: u64,
    pub(crate) count: u64,
    pub(crate) mean_ns: u64,
}

/// The steps of a mode by time.
#[derive(Debug, Clone)]
pub(crate) struct StepTimes {
    steps: Vec<StepsAt>,
    /// From the start of the first to the end of the last.
    pub(crate) window: Window,
    /// Until when a process warms up.
    warm_until_ns: u64,
}

impl StepTimes {
    /// Those of a mode whose numbers tell them apart; absent where there are none.
    pub(crate) fn of(run: &RunAcc, mode: Mode, numbering: &Numbering, warm_until_ns: u64) -> Option<Self> {
        let series = run.series.get(mode as usize)?;
        let points = numbering.told(series, |number, point| {
            let mean_ns = point.sum_ns.checked_div(point.count)?;
            let steps = StepsAt { start_ns: point.first_ns?, number, count: point.count, mean_ns };
            Some((steps, point.max_ns.unwrap_or(0)))
        });
        let known: Vec<(StepsAt, u64)> = points.into_iter().flatten().collect();
        let to_ns = known.iter().map(|(at, longest_ns)| at.start_ns.saturating_add(*longest_ns)).max()?;
        let mut steps: Vec<StepsAt> = known.into_iter().map(|(at, _)| at).collect();
        steps.sort_by_key(|at| (at.start_ns, at.number));
        let from_ns = steps.first()?.start_ns;
        Some(Self { steps, window: Window { from_ns, to_ns }, warm_until_ns })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.steps.iter().fold(0, |sum, at| sum.saturating_add(at.count))
    }

    /// Number of the last step that began by that time, and how many had.
    pub(crate) fn begun_by(&self, time_ns: u64) -> Option<(u64, u64)> {
        let begun = self.steps.get(..self.steps.partition_point(|at| at.start_ns <= time_ns))?;
        let count = begun.iter().fold(0u64, |sum, at| sum.saturating_add(at.count));
        Some((begun.last()?.number, count))
    }

    /// Those that begin in a window: its end is the moment of a reading, which is of what was before.
    fn within(&self, window: Window) -> &[StepsAt] {
        let first = self.steps.partition_point(|at| at.start_ns < window.from_ns);
        let end = self.steps.partition_point(|at| at.start_ns < window.to_ns);
        self.steps.get(first..end).unwrap_or_default()
    }

    /// The stretches between readings at these times, as far as steps ran.
    pub(crate) fn stretches(&self, times: &[u64], every_ns: u64) -> Vec<Stretch> {
        let ends = self.ends(times, every_ns);
        let together = ends.len().saturating_sub(1).div_ceil(MOST).max(1);
        let last = ends.len().saturating_sub(1);
        let chosen: Vec<u64> = ends
            .iter()
            .enumerate()
            .filter(|(at, _)| at % together == 0 || *at == last)
            .map(|(_, &end)| end)
            .collect();
        let windows = chosen.iter().zip(chosen.iter().skip(1));
        let mut all: Vec<Stretch> =
            windows.map(|(&from_ns, &to_ns)| self.stretch(Window { from_ns, to_ns })).collect();
        if all.iter().all(|stretch| stretch.is_warmup) {
            all.iter_mut().for_each(|stretch| stretch.is_warmup = false);
        }
        all
    }

    /// Times of readings from the last one before the steps to the first one after them.
    fn ends(&self, times: &[u64], every_ns: u64) -> Vec<u64> {
        let Window { from_ns, to_ns } = self.window;
        let first = times.partition_point(|&time| time <= from_ns).saturating_sub(1);
        let end = times.partition_point(|&time| time < to_ns);
        let mut ends: Vec<u64> =
            times.get(first..=end.min(times.len().saturating_sub(1))).unwrap_or_default().into();
        // What was read first, after the steps began, is of the time before it as well.
        if let Some(&begin) = ends.first().filter(|&&begin| begin > from_ns && every_ns > 0) {
            ends.insert(0, begin.saturating_sub(every_ns));
        }
        ends
    }

    fn stretch(&self, window: Window) -> Stretch {
        let steps = self.within(window);
        let mut times: Vec<(u64, u64)> = steps.iter().map(|at| (at.mean_ns, at.count)).collect();
        times.sort_unstable();
        let count = times.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        let mut below = 0u64;
        let median = times.iter().find(|(_, of_them)| {
            below = below.saturating_add(*of_them);
            below >= count.div_ceil(2)
        });
        Stretch {
            from_ns: window.from_ns,
            to_ns: window.to_ns,
            first_step: steps.first().map(|at| at.number),
            steps: count,
            step_p50_ns: median.map(|(ns, _)| *ns),
            is_warmup: window.from_ns < self.warm_until_ns,
        }
    }
}

/// Steps of a usual stretch, of those that have any.
pub(crate) fn usual_steps(stretches: &[Stretch]) -> u64 {
    let counts: Vec<u64> = stretches.iter().map(|stretch| stretch.steps).filter(|&steps| steps > 0).collect();
    median(&counts)
}
