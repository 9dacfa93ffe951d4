//! Times of phases as means of a step.

use std::cmp::Reverse;

use crate::accumulate::saturate::saturate;
use crate::phases::PhaseKey;
use crate::steps::series::PhaseTime;

/// Times of phases divided by the number of steps, those that have a name and a nanosecond; longest first.
pub(crate) fn by_step<'a>(times: impl Iterator<Item = (&'a PhaseKey, u128)>, steps: u64) -> Vec<PhaseTime> {
    let mean = |exposed_ns: u128| exposed_ns.checked_div(steps.into()).map_or(0, saturate);
    let times = times.filter_map(|(key, ns)| Some(PhaseTime { phase: key.name()?, exposed_ns: mean(ns) }));
    let mut times: Vec<PhaseTime> = times.filter(|time| time.exposed_ns > 0).collect();
    times.sort_by(|a, b| (Reverse(a.exposed_ns), &a.phase).cmp(&(Reverse(b.exposed_ns), &b.phase)));
    times
}
