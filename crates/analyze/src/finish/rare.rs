//! Periods told by what steps do: a section that runs in few steps, at equal distances, and makes them long. A run that is
//! short against its period has too few of them to tell it from times alone; but noise begins no sections.

use std::collections::BTreeMap;

use crate::changes::median;
use crate::periods::{MIN_EVERY, Period};
use crate::points::PhasePoint;

/// Steps in which it runs: two have one distance, whatever they are; many are told by their times.
const MIN_STEPS: usize = 3;
const MAX_STEPS: usize = 16;

/// At most one step in so many.
const RARE_PART: usize = 4;

/// Steps are long that take so many per cent of the usual time, or more.
const LONG_PERCENT: u128 = 110;

/// The periods of sections that run every so many steps and in no others. Points hold so many `numbers` each, and `times`
/// has the longest time of each step number: of a point's steps it is the longest in which the section is.
pub(super) fn periods(points: &BTreeMap<u64, PhasePoint>, numbers: u64, times: &[(u64, u64)]) -> Vec<Period> {
    let longest = |point: u64| {
        let place = |number: u64| times.partition_point(|&(other, _)| other < number);
        let steps = times.get(place(point)..place(point.saturating_add(numbers)))?;
        steps.iter().rev().max_by_key(|&&(_, ns)| ns).map(|&(number, _)| number)
    };
    let all: Vec<u64> = times.iter().map(|&(_, ns)| ns).collect();
    let usual_ns = u128::from(median(&all));
    let is_long = |number: u64, spent_ns: u128| {
        let at = times.binary_search_by_key(&number, |&(other, _)| other).ok();
        let ns = at.and_then(|at| times.get(at)).map_or(0, |&(_, ns)| u128::from(ns));
        // And that section is most of what they take more.
        ns * 100 >= usual_ns * LONG_PERCENT && spent_ns * 2 >= ns.saturating_sub(usual_ns)
    };
    let together = together(points, longest);
    let long = together.iter().filter(|(_, spent)| spent.iter().all(|(&number, &ns)| is_long(number, ns)));
    long.filter_map(|(steps, _)| period(steps, times)).collect()
}

/// What sections that run in the same few steps take there, by these.
fn together(
    points: &BTreeMap<u64, PhasePoint>,
    step: impl Fn(u64) -> Option<u64>,
) -> BTreeMap<Vec<u64>, BTreeMap<u64, u128>> {
    // Of paths beyond it is not known where they run.
    let cut = points.values().filter_map(|point| point.spent.left_out_from()).min();
    let mut by_path: BTreeMap<u64, BTreeMap<u64, u128>> = BTreeMap::new();
    for (&number, point) in points {
        let known =
            point.spent.times().iter().filter(|(path, ns)| *ns > 0 && cut.is_none_or(|cut| *path < cut));
        for &(path, ns) in known {
            let spent = by_path.entry(path).or_default();
            if spent.len() <= MAX_STEPS {
                spent.insert(number, ns.into());
            }
        }
    }
    let mut together: BTreeMap<Vec<u64>, BTreeMap<u64, u128>> = BTreeMap::new();
    for spent in by_path.into_values().filter(|spent| (MIN_STEPS..=MAX_STEPS).contains(&spent.len())) {
        let spent: Vec<(u64, u128)> =
            spent.into_iter().filter_map(|(point, ns)| Some((step(point)?, ns))).collect();
        let sums = together.entry(spent.iter().map(|&(number, _)| number).collect()).or_default();
        for (number, ns) in spent {
            let sum = sums.entry(number).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    together
}

/// The period of such steps: equally far apart, counted from 0 or from 1, as programs count, and none left out after the
/// first of them.
fn period(steps: &[u64], times: &[(u64, u64)]) -> Option<Period> {
    let (&first, &last) = steps.first().zip(steps.last())?;
    let every = steps.get(1)?.checked_sub(first)?;
    let is_counted = every >= MIN_EVERY && (first.is_multiple_of(every) || first % every == every - 1);
    let is_even = steps.iter().zip(steps.iter().skip(1)).all(|(a, b)| b - a == every);
    let of_class = |number: u64| number % every == first % every;
    let class = || times.iter().map(|&(number, _)| number).filter(|&number| of_class(number));
    if !is_counted || !is_even || steps.len() * RARE_PART > times.len() || class().any(|number| number > last)
    {
        return None;
    }
    // The very first is often left out, as a checkpoint at step 0 is.
    let before = class().filter(|&number| number < first).count();
    let whole = class().next()?;
    Some(match before {
        0 | 1 => Period { every, first: whole, since: None },
        _ => Period { every, first: whole, since: Some(first) },
    })
}
