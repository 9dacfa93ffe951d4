//! Changes of means over rounds: of periodic steps, and of steps whose input comes in bursts.

use super::{Found, mean_of};
use crate::changes::{self, Change};
use crate::finish::narrow;
use crate::periods::Period;

/// The changes of periodic steps, which those between hide: of such steps by themselves, or else of rounds, each from one
/// of them to before the next one; told as means over rounds in either case. Absent without any.
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
    let (means, means_alone) = (means_of(times), alone.map(means_of));
    let place = |round: usize, end: usize| match round {
        0 => Some(0),
        last if last == means.len() => Some(end),
        inside => starts.get(inside).copied(),
    };
    let of_steps = |Found { mut change, mut alone, .. }: Found| {
        if change.over > 1 && !change.is_gradual {
            // A round is what is told of.
            change.over = 1;
            (change.before, change.after) = change.levels_of(&means);
            alone = means_alone.as_ref().map(|means| change.levels_of(means));
        }
        let (from, at, to) = (place(change.from, 0)?, place(change.at, 0)?, place(change.to, times.len())?);
        // A drift begins where all of it does.
        let at = if change.is_gradual { from } else { at };
        Some(Found { change: Change { from, at, to, ..change }, in_every: Some(period.every), alone })
    };
    let own: Vec<u64> = starts.iter().take(means.len()).filter_map(|&at| times.get(at).copied()).collect();
    let of_own = |change: Change| {
        let alone = means_alone.as_ref().map(|means| change.levels_of(means));
        Found { change, in_every: None, alone }
    };
    let mut found: Vec<Found> = changes::changes_by_part(&own, &means).into_iter().map(of_own).collect();
    if found.is_empty() {
        found = Found::of(&means, means_alone.as_deref());
    }
    let found: Vec<Found> = found.into_iter().filter_map(of_steps).collect();
    (!found.is_empty()).then_some(found)
}

/// Deviations of means from which two levels are apart.
const APART: f64 = 3.0;

/// The changes of what steps take on average, so many of them in a row.
pub(super) fn in_a_row(taken: &[u64], alone: &[u64], count: usize) -> Vec<Found> {
    let of_steps = |change: Change| {
        let (before, after) = change.sides();
        let [(from, from_variance), (to, to_variance)] = [before, after].map(|side| {
            let means = changes::means(taken.get(side).unwrap_or_default(), change.over);
            mean_of(&means, 0..means.len())
        });
        let by = if change.after > change.before { to - from } else { from - to };
        let is_clear = by >= APART * (from_variance + to_variance).sqrt();
        is_clear.then(|| Found { change, in_every: None, alone: Some(change.levels_of(alone)) })
    };
    changes::changes_over(taken, count).into_iter().filter_map(of_steps).collect()
}
