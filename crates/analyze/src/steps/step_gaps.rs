//! The longest times between steps and where they are: over step numbers, so that it does not matter in which order and
//! in how many parts steps were read.

use std::cmp::Reverse;

use stepscope_core::Mode;

use crate::accumulate::saturate::saturate;
use crate::accumulate::step_series::numbers;
use crate::run::RunAcc;
use crate::steps::numbering::Numbers;
use crate::summary::{ModeSummary, StepGap, StepNumbers};

/// How many are told of a mode.
const TOLD: usize = 3;

/// Puts them to the modes whose steps have numbers of their own.
pub(crate) fn fill(run: &RunAcc, all: &Numbers, modes: &mut [ModeSummary]) {
    for row in modes.iter_mut().filter(|row| row.numbers != StepNumbers::Repeated) {
        row.step_gaps = of(run, all, row.mode, row.warmup.steady_step.unwrap_or(0));
    }
}

fn of(run: &RunAcc, all: &Numbers, mode: Mode, first: u64) -> Vec<StepGap> {
    let does =
        |acc: &&crate::run::InstanceAcc| acc.steps.get(mode as usize).is_some_and(|steps| steps.count() > 0);
    let processes = run.instances.values().filter(does).count().max(1) as u128;
    let Some(series) = run.series.get(mode as usize) else { return Vec::new() };
    let others = run.series.iter().enumerate().filter(|&(at, _)| at != mode as usize);
    let mut others: Vec<(u64, u128)> = others
        .flat_map(|(_, series)| series.points.values())
        .filter_map(|point| Some((point.first_ns?, u128::from(point.sum_ns))))
        .collect();
    others.sort_unstable();
    let points =
        all.of_mode(mode).told(series, |step, point| (step, point.first_ns, u128::from(point.sum_ns)));
    let points: Vec<(u64, u64, u128)> = points
        .into_iter()
        .filter_map(|(step, first_ns, sum_ns)| Some((step, first_ns?, sum_ns)))
        .filter(|&(step, ..)| step >= first)
        .collect();
    let mut pauses: Vec<StepGap> = points
        .iter()
        .zip(points.iter().skip(1))
        .map(|(&(step, start_ns, sum_ns), &(_, next_ns, _))| {
            let from = others.partition_point(|&(other_ns, _)| other_ns < start_ns);
            let meanwhile = others.iter().skip(from).take_while(|&&(other_ns, _)| other_ns < next_ns);
            let steps_ns = meanwhile.fold(sum_ns, |sum, &(_, ns)| sum.saturating_add(ns)) / processes;
            let gap_ns = next_ns.saturating_sub(start_ns).saturating_sub(saturate(steps_ns));
            StepGap { step, step_numbers: numbers(series.shift), start_ns, gap_ns }
        })
        .filter(|pause| pause.gap_ns > 0)
        .collect();
    let order = |pause: &StepGap| (Reverse(pause.gap_ns), pause.step);
    if pauses.len() > TOLD {
        pauses.select_nth_unstable_by_key(TOLD, order);
        pauses.truncate(TOLD);
    }
    pauses.sort_by_key(order);
    pauses
}
