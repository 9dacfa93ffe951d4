//! What loaders did after warm-up, and at the times at which they were waited for.

use crate::accumulate::Merge;
use crate::accumulate::saturate::{saturate, share};
use crate::accumulate::time_buckets::TimeBuckets;
use crate::loaders::batches::{LoaderAcc, Made, WaitTime, WorkerAcc};
use crate::summary::{AfterWarmup, UnderDemand};

/// Batches that a stretch of time has on average at least: a queue may bridge what varies within so many.
const BATCHES: u64 = 32;

/// Into how many parts such a stretch is cut to tell for how long a loader was waited for without a break, as a power of two.
const PARTS: u32 = 2;

/// What is waited in one of them at least, of its length.
const WAITED: u128 = 20;

/// A loader after warm-up.
pub(crate) struct Steady {
    made: TimeBuckets<Made>,
    /// First and last time of its workers, and whether their batches say how long they waited for places.
    workers: Vec<(u64, u64, bool)>,
    instances: u128,
}

impl Steady {
    /// Of one loader in all processes; warm-up ends at `from_ns`.
    pub(crate) fn of<'a>(parts: impl Iterator<Item = &'a LoaderAcc>, from_ns: u64) -> Self {
        let (mut made, mut workers, mut instances) = (TimeBuckets::<Made>::default(), Vec::new(), 0u128);
        let bounds = |worker: &WorkerAcc| {
            let (first_ns, last_ns) = worker.first_ns.zip(worker.last_ns)?;
            (last_ns > from_ns).then(|| (first_ns.max(from_ns), last_ns, worker.slot_wait.spans > 0))
        };
        for part in parts {
            made.absorb(&part.made);
            workers.extend(part.workers.values().filter_map(bounds));
            instances = instances.saturating_add(1);
        }
        Self { made: made.since(from_ns), workers, instances }
    }

    /// Its figures; absent where it made nothing then.
    pub(crate) fn figures(&self) -> Option<AfterWarmup> {
        let mut sum = Made::default();
        self.made.iter().for_each(|(_, made)| sum.absorb(made));
        // One batch that takes long makes no slow loader.
        let longest_ns = sum.longest_ns;
        sum.batches = sum.batches.saturating_sub(1);
        sum.making_ns = sum.making_ns.saturating_sub(longest_ns);
        sum.busy_ns = sum.busy_ns.saturating_sub(longest_ns);
        let busy = u128::from(working_ns(&sum));
        let produce_mean_ns = sum.making_ns.checked_div(sum.batches)?;
        let of = |says: bool| {
            let workers = self.workers.iter().filter(|worker| worker.2 || !says);
            let times_ns = workers.map(|worker| u128::from(worker.1.saturating_sub(worker.0)));
            times_ns.fold(0u128, u128::saturating_add).saturating_sub(longest_ns.into())
        };
        let (possible, slots) = (of(false), of(true));
        Some(AfterWarmup {
            produce_mean_ns,
            utilisation: (possible > 0).then(|| share(busy.min(possible), possible)),
            slot_wait_share: (slots > 0).then(|| share(u128::from(sum.slot_wait_ns).min(slots), slots)),
        })
    }

    /// Figures of each stretch of time by as much as it was waited for in that; `waits` are those for its batches.
    pub(crate) fn awaited(&self, waits: &TimeBuckets<WaitTime>, from_ns: u64) -> Option<UnderDemand> {
        let (mut made, mut waits) = (self.made.clone(), waits.since(from_ns));
        made.coarsen(waits.shift());
        let batches = made.iter().fold(0, |sum, (_, made)| made.batches.saturating_add(sum));
        while made.len() > 1
            && batches < BATCHES.saturating_mul(made.len() as u64)
            && made.shift() < u64::BITS - 1
        {
            made.coarsen(made.shift() + 1);
        }
        waits.coarsen(made.shift().saturating_sub(PARTS));
        let longest_stall_ns = self.longest_stall_ns(&waits);
        waits.coarsen(made.shift());
        let (mut busy, mut possible, mut making, mut count) = (0u128, 0u128, 0u128, 0u128);
        for (start, made) in made.iter() {
            let waited_ns = waits.get(start).map_or(0, |held| held.total_ns);
            let weighed = |value: u64| waited_ns.saturating_mul(value.into());
            let length_ns = length_ns(waits.shift());
            let from_ns = start.saturating_mul(length_ns);
            let until_ns = from_ns.saturating_add(length_ns);
            let there =
                |&(first, last, _): &(u64, u64, bool)| last.min(until_ns).saturating_sub(first.max(from_ns));
            let possible_ns = self.workers.iter().map(there).fold(0, u64::saturating_add);
            busy = busy.saturating_add(weighed(working_ns(made)));
            possible = possible.saturating_add(weighed(possible_ns));
            making = making.saturating_add(weighed(made.making_ns.saturating_sub(made.longest_ns)));
            count = count.saturating_add(weighed(made.batches.saturating_sub(1)));
        }
        let produce_mean_ns = saturate(making.checked_div(count)?);
        (possible > 0).then(|| UnderDemand {
            utilisation: share(busy.min(possible), possible),
            produce_mean_ns,
            longest_stall_ns,
        })
    }

    /// The most that a process waited without a break; absent where that goes on to the end.
    fn longest_stall_ns(&self, waits: &TimeBuckets<WaitTime>) -> Option<u64> {
        let least = u128::from(length_ns(waits.shift())).saturating_mul(self.instances) / WAITED;
        // (The sum, the last stretch of it.)
        let (mut most, mut now): ((u128, u64), (u128, Option<u64>)) = ((0, 0), (0, None));
        let mut ends = [None; 2];
        for (start, held) in waits.iter() {
            ends = [ends[1], Some(start)];
            if held.total_ns < least.max(1) {
                now = (0, None);
                continue;
            }
            let follows = now.1.is_some_and(|last| last.saturating_add(1) == start);
            now = (held.total_ns.saturating_add(if follows { now.0 } else { 0 }), Some(start));
            if now.0 >= most.0 {
                most = (now.0, start);
            }
        }
        // The last stretch is one in part.
        let is_over = most.0 > 0 && !ends.contains(&Some(most.1));
        is_over.then(|| saturate(most.0 / self.instances.max(1)))
    }
}

/// Time of its threads that went into batches, and not into waiting for others.
fn working_ns(made: &Made) -> u64 {
    made.busy_ns.min(made.making_ns.saturating_sub(made.waiting_ns))
}

fn length_ns(shift: u32) -> u64 {
    1u64.checked_shl(shift).unwrap_or(u64::MAX)
}
