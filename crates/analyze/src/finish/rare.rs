//! Periods told by what steps do: a section that runs every so many steps and in no others, and makes them long. Times
//! do not tell such steps where a run is short against its period, or where others are long as well; but noise begins no
//! sections. Its lists are of the points of a series, and so bounded as these are.

use std::collections::BTreeMap;

use crate::changes::median;
use crate::periods::{MIN_EVERY, MIN_LARGE_PERCENT, MIN_MEMBERS, Period};
use crate::points::PhasePoint;

/// Steps in which it runs: two have one distance, whatever they are.
const MIN_STEPS: usize = 3;

/// At most one step in so many.
const RARE_PART: usize = 4;

/// Of so many such steps one may be left out, and one more be elsewhere.
const MOSTLY: usize = 10;

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
    let is_long = |number: u64, spent: Spent| {
        let at = times.binary_search_by_key(&number, |&(other, _)| other).ok();
        let ns = at.and_then(|at| times.get(at)).map_or(0, |&(_, ns)| u128::from(ns));
        // And that section is most of what they take more, or makes them so long whatever else does.
        let is_most = spent.all_ns * 2 >= ns.saturating_sub(usual_ns);
        let is_enough = spent.mean_ns * 100 >= usual_ns * (LONG_PERCENT - 100);
        ns * 100 >= usual_ns * LONG_PERCENT && (is_most || is_enough)
    };
    let together = together(points, numbers, longest, times.len().div_ceil(RARE_PART));
    let told = together.iter().filter_map(|(steps, spent)| {
        let period = period(steps, numbers, times)?;
        let its = || spent.iter().filter(|(number, _)| period.holds(**number));
        let long = its().filter(|(number, spent)| is_long(**number, **spent)).count();
        (long * 100 >= its().count() * MIN_LARGE_PERCENT).then_some(period)
    });
    told.collect()
}

/// What sections take in a step.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    /// In all processes, of each number of the point.
    all_ns: u128,
    /// The same of one process.
    mean_ns: u128,
}

/// What sections that run in the same steps take there, by these; of those that run in no more than `most` steps.
fn together(
    points: &BTreeMap<u64, PhasePoint>,
    numbers: u64,
    step: impl Fn(u64) -> Option<u64>,
    most: usize,
) -> BTreeMap<Vec<u64>, BTreeMap<u64, Spent>> {
    // Of paths beyond it is not known where they run.
    let cut = points.values().filter_map(|point| point.spent.left_out_from()).min();
    let mut by_path: BTreeMap<u64, Vec<(u64, Spent)>> = BTreeMap::new();
    for (&number, point) in points {
        let processes = u128::from(point.steps.div_ceil(numbers.max(1)).max(1));
        let known =
            point.spent.times().iter().filter(|(path, ns)| *ns > 0 && cut.is_none_or(|cut| *path < cut));
        for &(path, ns) in known {
            let spent = by_path.entry(path).or_default();
            if spent.len() <= most {
                let all_ns = u128::from(ns);
                spent.push((number, Spent { all_ns, mean_ns: all_ns / processes }));
            }
        }
    }
    let mut together: BTreeMap<Vec<u64>, BTreeMap<u64, Spent>> = BTreeMap::new();
    for spent in by_path.into_values().filter(|spent| (MIN_STEPS..=most).contains(&spent.len())) {
        let spent: Vec<(u64, Spent)> =
            spent.into_iter().filter_map(|(point, spent)| Some((step(point)?, spent))).collect();
        let sums = together.entry(spent.iter().map(|&(number, _)| number).collect()).or_default();
        for (number, spent) in spent {
            let sum = sums.entry(number).or_default();
            sum.all_ns = sum.all_ns.saturating_add(spent.all_ns);
            sum.mean_ns = sum.mean_ns.saturating_add(spent.mean_ns);
        }
    }
    together
}

/// The period of such steps, which rise: equally far apart, and none left out after the first of them, but for one in
/// [`MOSTLY`]. Few of them are counted from 0 or from 1, as programs count. The run's last step may be one more: what it
/// has made is saved.
fn period(steps: &[u64], numbers: u64, times: &[(u64, u64)]) -> Option<Period> {
    let distances: Vec<u64> =
        steps.iter().zip(steps.iter().skip(1)).map(|(a, b)| b.saturating_sub(*a)).collect();
    let every = median(&distances);
    // Between two of them is a point without any.
    if every < MIN_EVERY.saturating_mul(numbers) {
        return None;
    }
    let mut remainders: Vec<u64> = steps.iter().map(|number| number % every).collect();
    remainders.sort_unstable();
    let most = remainders.chunk_by(|a, b| a == b).rev().max_by_key(|equal| equal.len());
    let remainder = *most?.first()?;
    let of_class = |number: &u64| number % every == remainder;
    let mine = steps.iter().copied().filter(of_class).count();
    let first = steps.iter().copied().find(of_class)?;
    let class = || times.iter().map(|&(number, _)| number).filter(of_class);
    let left_out = class().filter(|&number| number >= first).count().saturating_sub(mine);
    let end = times.last().map(|&(number, _)| number);
    let elsewhere = steps.iter().filter(|number| !of_class(number) && Some(**number) != end).count();
    let is_counted = mine >= MIN_MEMBERS || remainder == 0 || remainder == every - 1;
    if mine < MIN_STEPS || !is_counted || left_out.max(elsewhere) * MOSTLY > mine {
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
