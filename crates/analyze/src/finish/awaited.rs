//! What loaders did at the times at which they were waited for.

use super::{narrow, share};
use crate::batches::{Held, LoaderAcc, Made};
use crate::by_time::ByTime;
use crate::merge::Merge;
use crate::summary::WhileAwaited;

/// Batches that a stretch of time has on average at least: a queue may bridge what varies within so many.
const BATCHES: u64 = 32;

/// Figures of a loader, of each stretch of time by as much as it was waited for in that; `waits` are those for its batches.
pub(super) fn of<'a>(
    parts: impl Iterator<Item = &'a LoaderAcc>,
    waits: &ByTime<Held>,
) -> Option<WhileAwaited> {
    let (mut made, mut workers) = (ByTime::<Made>::default(), Vec::new());
    for part in parts {
        made.absorb(&part.made);
        let bounds = part.workers.values().filter_map(|worker| worker.first_ns.zip(worker.last_ns));
        workers.extend(bounds);
    }
    let mut waits = waits.clone();
    made.coarsen(waits.shift());
    let batches = made.iter().fold(0, |sum, (_, made)| made.batches.saturating_add(sum));
    while made.len() > 1
        && batches < BATCHES.saturating_mul(made.len() as u64)
        && made.shift() < u64::BITS - 1
    {
        made.coarsen(made.shift() + 1);
    }
    waits.coarsen(made.shift());
    let (mut busy, mut possible, mut making, mut count) = (0u128, 0u128, 0u128, 0u128);
    for (start, made) in made.iter() {
        let waited_ns = waits.get(start).map_or(0, |held| held.total_ns);
        let weighed = |value: u64| waited_ns.saturating_mul(value.into());
        let length_ns = 1u64.checked_shl(waits.shift()).unwrap_or(u64::MAX);
        let from_ns = start.saturating_mul(length_ns);
        let until_ns = from_ns.saturating_add(length_ns);
        let there = |&(first, last): &(u64, u64)| last.min(until_ns).saturating_sub(first.max(from_ns));
        let possible_ns = workers.iter().map(there).fold(0, u64::saturating_add);
        let working_ns = made.busy_ns.min(made.making_ns.saturating_sub(made.waiting_ns));
        busy = busy.saturating_add(weighed(working_ns));
        possible = possible.saturating_add(weighed(possible_ns));
        making = making.saturating_add(weighed(made.making_ns));
        count = count.saturating_add(weighed(made.batches));
    }
    let produce_mean_ns = narrow(making.checked_div(count)?);
    (possible > 0).then(|| WhileAwaited { utilisation: share(busy.min(possible), possible), produce_mean_ns })
}
