//! Changes of means over rounds: of periodic steps, and of steps whose input comes in bursts.

use std::ops::Range;

use super::{Found, mean_of};
use crate::changes::{self, Change, MIN_PERCENT};
use crate::finish::narrow;
use crate::periods::Period;

/// The changes of periodic steps, which those between hide: of means over rounds, each from one such step to before the next
/// one. Absent without any.
pub(super) fn of_period(
    period: &Period,
    numbers: &[u64],
    times: &[u64],
    alone: Option<&[u64]>,
) -> Option<Vec<Found>> {
    let starts: Vec<usize> =
        (0..).zip(numbers).filter(|(_, number)| period.holds(**number)).map(|(at, _)| at).collect();
    let means_of = |times: &[u64]| -> Vec<u64> {
        let rounds = starts.windows(2).filter_map(|ends| {
            let round = times.get(*ends.first()?..*ends.last()?)?;
            let sum: u128 = round.iter().map(|&time| u128::from(time)).sum();
            sum.checked_div(round.len() as u128).map(narrow)
        });
        rounds.collect()
    };
    let means = means_of(times);
    let place = |round: usize, end: usize| match round {
        0 => Some(0),
        last if last == means.len() => Some(end),
        inside => starts.get(inside).copied(),
    };
    let of_steps = |found: Found| {
        let change = found.change;
        let (from, at, to) = (place(change.from, 0)?, place(change.at, 0)?, place(change.to, times.len())?);
        // A drift begins where all of it does.
        let at = if change.is_gradual { from } else { at };
        Some(Found { change: Change { from, at, to, ..change }, ..found })
    };
    let found = Found::of(&means, alone.map(means_of).as_deref(), Some(period.every));
    let found: Vec<Found> = found.into_iter().filter_map(of_steps).collect();
    (!found.is_empty()).then_some(found)
}

/// Deviations of means from which two levels are apart.
const APART: f64 = 3.0;

/// The changes of what steps take on average, so many of them in a row.
pub(super) fn in_a_row(taken: &[u64], alone: &[u64], count: usize) -> Vec<Found> {
    let means = changes::means(taken, count);
    let rough = changes::changes(&means);
    // By single steps.
    let begin = |round: usize| {
        let change = rough.iter().find(|change| change.at == round && !change.is_gradual);
        let about = round * count;
        change.map_or(about, |change| {
            let around = (about.saturating_sub(count), (about + count).min(taken.len()));
            changes::first_of(taken, around, (change.before, change.after))
        })
    };
    let of_steps = |change: &Change| {
        let mut change = Change {
            from: begin(change.from),
            at: begin(change.at),
            to: if change.to == means.len() { taken.len() } else { begin(change.to) },
            ..*change
        };
        let (before, after) = change.sides();
        let means_of = |times: &[u64], side: &Range<usize>| {
            changes::means(times.get(side.clone()).unwrap_or_default(), count)
        };
        let levels_of = |times| [&before, &after].map(|side| changes::level(&means_of(times, side)));
        if !change.is_gradual {
            [change.before, change.after] = levels_of(taken);
        }
        let (smaller, larger) = (change.before.min(change.after), change.before.max(change.after));
        let is_large = u128::from(larger - smaller) * 100 >= u128::from(smaller) * u128::from(MIN_PERCENT);
        let [(from, from_variance), (to, to_variance)] = [&before, &after].map(|side| {
            let means = means_of(taken, side);
            mean_of(&means, 0..means.len())
        });
        let by = if change.after > change.before { to - from } else { from - to };
        let is_clear = by >= APART * (from_variance + to_variance).sqrt();
        let [before, after] = levels_of(alone);
        (is_large && is_clear).then_some(Found {
            change,
            in_every: None,
            means_over: Some(count),
            alone: Some((before, after)),
        })
    };
    rough.iter().filter_map(of_steps).collect()
}
