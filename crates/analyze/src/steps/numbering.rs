//! How the steps of a mode are numbered: through the run, or anew in each epoch; and the number under which a point of
//! a series is shown.

use std::collections::BTreeMap;

use stepscope_core::Mode;

use crate::accumulate::Merge;
use crate::accumulate::step_series::{StepIndex, StepSeries};
use crate::run::RunAcc;
use crate::summary::StepNumbers;

/// The numbers of all modes' steps.
#[derive(Debug)]
pub(crate) struct Numbers {
    by_mode: Vec<Numbering>,
    none: Numbering,
}

impl Numbers {
    pub(crate) fn of(run: &RunAcc) -> Self {
        let by_mode = Mode::ALL.iter().map(|&mode| Numbering::of(run, mode)).collect();
        Self { by_mode, none: Numbering::default() }
    }

    /// Whether points of series are steps that follow each other.
    pub(crate) fn tell_apart(&self, mode: Mode) -> bool {
        self.of_mode(mode).kind != StepNumbers::Repeated
    }

    pub(crate) fn of_mode(&self, mode: Mode) -> &Numbering {
        self.by_mode.get(mode as usize).unwrap_or(&self.none)
    }
}

/// The numbers of one mode's steps.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    pub(crate) kind: StepNumbers,
    /// What is added to the numbers of an epoch.
    offsets: BTreeMap<u64, u64>,
}

impl Numbering {
    /// Numbers begin anew where those of an epoch do not follow those of the one before, or where a process has more
    /// steps than there are numbers. Then each epoch counts on from the last number of the one before.
    fn of(run: &RunAcc, mode: Mode) -> Self {
        let Some(series) = run.series.get(mode as usize) else { return Self::default() };
        let epochs = ranges(series);
        let most = run.instances.values().filter_map(|instance| instance.steps.get(mode as usize));
        let most = most.map(|steps| steps.numbered()).max().unwrap_or(0);
        let first = epochs.values().map(|range| range.first).min().unwrap_or(0);
        let last = epochs.values().map(|range| range.last).max().unwrap_or(0);
        let follows = epochs.values().zip(epochs.values().skip(1)).all(|(a, b)| a.last_point <= b.first);
        let fits = |first: u64, last: u64| most <= last.saturating_sub(first).saturating_add(1);
        if follows && fits(first, last) {
            return Self::default();
        }
        let mut next = 0u64;
        let mut offsets = BTreeMap::new();
        for (&epoch, range) in &epochs {
            offsets.insert(epoch, next);
            next = next.saturating_add(range.last).saturating_add(1);
        }
        let first = epochs.values().next().map_or(0, |range| range.first);
        let kind =
            if fits(first, next.saturating_sub(1)) { StepNumbers::ByEpoch } else { StepNumbers::Repeated };
        Self { kind, offsets }
    }

    /// The number of a place.
    pub(crate) fn number(&self, place: StepIndex) -> u64 {
        self.at(place.epoch.unwrap_or(0), place.step)
    }

    /// The points of a series by number; those of one number together.
    pub(crate) fn points<T: Merge + Clone>(&self, series: &StepSeries<T>) -> BTreeMap<u64, T> {
        self.told(series, |number, point| (number, point.clone())).into_iter().collect()
    }

    /// What is told of each of these points, in the order of numbers.
    pub(crate) fn told<T: Merge + Clone, U>(
        &self,
        series: &StepSeries<T>,
        of: impl Fn(u64, &T) -> U,
    ) -> Vec<U> {
        let shift = series.shift.min(63);
        let number = |&(epoch, step): &(u64, u64)| self.at(self.first(epoch, series.shift), step << shift);
        let mut points: Vec<(u64, &T)> =
            series.points.iter().map(|(key, point)| (number(key), point.as_ref())).collect();
        // Mostly they are sorted: one pass. Stable, so that those of one number stay in the order of epochs.
        points.sort_by_key(|&(number, _)| number);
        let mut told = Vec::with_capacity(points.len());
        for group in points.chunk_by(|a, b| a.0 == b.0) {
            match group {
                [] => {}
                // Points are large: most need no copy.
                &[(number, point)] => told.push(of(number, point)),
                [(number, first), others @ ..] => {
                    let mut merged = (*first).clone();
                    others.iter().for_each(|(_, point)| merged.absorb(point));
                    told.push(of(*number, &merged));
                }
            }
        }
        told
    }

    /// The first epoch of a key: where epochs go together, those of a point lack their last bits.
    fn first(&self, epoch: u64, shift: u32) -> u64 {
        let together = shift.saturating_sub(63);
        if together == 0 {
            return epoch;
        }
        let from = epoch.checked_shl(together).unwrap_or(0);
        self.offsets.range(from..).next().map_or(from, |(&epoch, _)| epoch)
    }

    fn at(&self, epoch: u64, step: u64) -> u64 {
        let offset = self.offsets.range(..=epoch).next_back().map_or(0, |(_, &offset)| offset);
        step.saturating_add(offset)
    }
}

/// Numbers of an epoch's steps, as exactly as the points are.
struct Range {
    first: u64,
    last_point: u64,
    last: u64,
}

fn ranges<T: Merge + Clone>(series: &StepSeries<T>) -> BTreeMap<u64, Range> {
    let shift = series.shift.min(63);
    let mut epochs: BTreeMap<u64, Range> = BTreeMap::new();
    for &(epoch, key) in series.points.keys() {
        let step = key << shift;
        let last = step.saturating_add((1 << shift) - 1);
        epochs
            .entry(epoch)
            .and_modify(|range| (range.last_point, range.last) = (step, last))
            .or_insert(Range { first: step, last_point: step, last });
    }
    epochs
}
