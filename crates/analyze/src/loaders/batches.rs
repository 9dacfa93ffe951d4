//! Loaders and the waits for what they make.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_model::{Figure, Span};

use crate::accumulate::distribution::Dist;
use crate::accumulate::time_buckets::TimeBuckets;
use crate::accumulate::{Merge, accumulate, keep_smallest, smallest};
use crate::sections::Sum;
use crate::sections::paths::shorten;

/// One thread that makes batches.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WorkerAcc {
    pub(crate) batches: u64,
    pub(crate) busy_ns: u128,
    /// CPU time of its batches; of those that do not say it, their busy time.
    pub(crate) computing_ns: u128,
    /// Durations of its batches.
    pub(crate) making_ns: u128,
    /// Of these, what it waited for batches of others.
    pub(crate) waiting_ns: u128,
    /// Time before them for which it waited for a place in the queue, of those that say it.
    pub(crate) slot_wait: Sum,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: Option<u64>,
}

accumulate!(WorkerAcc { sum: batches, busy_ns, computing_ns, making_ns, waiting_ns; merge: slot_wait; least: first_ns; max: last_ns; });

/// What a loader made, by when that began.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) batches: u64,
    pub(crate) busy_ns: u64,
    /// Durations of its batches.
    pub(crate) making_ns: u64,
    /// What its threads waited inside of them for batches of others.
    pub(crate) waiting_ns: u64,
    /// What they waited before them for a place in the queue.
    pub(crate) slot_wait_ns: u64,
    /// Duration of the longest.
    pub(crate) longest_ns: u64,
}

accumulate!(Made { sum: batches, busy_ns, making_ns, waiting_ns, slot_wait_ns; max: longest_ns; });

/// One loader of one instance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LoaderAcc {
    pub(crate) produce: Dist,
    pub(crate) samples: Sum,
    pub(crate) workers: BTreeMap<Option<i64>, WorkerAcc>,
    pub(crate) made: TimeBuckets<Made>,
    /// Whether there were more workers than are kept.
    pub(crate) is_cut: bool,
}

accumulate!(LoaderAcc { merge: produce, samples, workers, made; any: is_cut; });

/// The loaders of one instance: by their names, else by that of the section that makes a batch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Loaders {
    pub(crate) loaders: BTreeMap<Box<str>, LoaderAcc>,
    /// Whether there were more loaders than are kept.
    pub(crate) is_cut: bool,
}

impl Loaders {
    /// Adds one batch. Busy time is what its span says, else its duration.
    pub(crate) fn add(
        &mut self,
        name: &str,
        span: &Span,
        thread: Option<i64>,
        loaders: usize,
        threads: usize,
    ) {
        let Some(loader) = self.loader(name, loaders) else { return };
        loader.produce.record(span.duration_ns());
        loader.samples.add(span.amount(Figure::Samples));
        let busy_ns = span.amount(Figure::BusyNs).unwrap_or(span.duration_ns());
        let made = Made {
            batches: 1,
            busy_ns,
            making_ns: span.duration_ns(),
            waiting_ns: 0,
            slot_wait_ns: span.amount(Figure::BatchSlotWaitNs).unwrap_or(0),
            longest_ns: span.duration_ns(),
        };
        loader.made.add(span.start_ns, &made);
        let mut slot_wait = Sum::default();
        slot_wait.add(span.amount(Figure::BatchSlotWaitNs));
        loader.workers.entry(thread).or_default().absorb(&WorkerAcc {
            batches: 1,
            busy_ns: busy_ns.into(),
            computing_ns: span.amount(Figure::CpuNs).unwrap_or(busy_ns).into(),
            making_ns: span.duration_ns().into(),
            waiting_ns: 0,
            slot_wait,
            first_ns: Some(span.start_ns),
            last_ns: Some(span.end_ns),
        });
        loader.is_cut |= keep_smallest(&mut loader.workers, threads);
    }

    /// Adds what a thread waited inside of a batch of this loader. Its batch may come later: nothing may depend on that.
    pub(crate) fn waited(
        &mut self,
        name: &str,
        (start_ns, wait_ns): (u64, u64),
        thread: Option<i64>,
        loaders: usize,
        threads: usize,
    ) {
        let Some(loader) = self.loader(name, loaders) else { return };
        loader.made.add(start_ns, &Made { waiting_ns: wait_ns, ..Made::default() });
        let waited = WorkerAcc { waiting_ns: wait_ns.into(), ..WorkerAcc::default() };
        loader.workers.entry(thread).or_default().absorb(&waited);
        loader.is_cut |= keep_smallest(&mut loader.workers, threads);
    }

    /// The loader of this name; nothing beyond the bound.
    fn loader(&mut self, name: &str, loaders: usize) -> Option<&mut LoaderAcc> {
        smallest(&mut self.loaders, shorten(name), loaders, &mut self.is_cut)
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, loaders: usize, threads: usize) {
        self.loaders.absorb(&other.loaders);
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.loaders, loaders);
        for loader in self.loaders.values_mut() {
            loader.is_cut |= keep_smallest(&mut loader.workers, threads);
        }
    }
}

/// Waits for batches.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Waits {
    pub(crate) wait: Dist,
    pub(crate) produce: Dist,
    pub(crate) queue: Dist,
    pub(crate) depth: Dist,
    pub(crate) parts: WaitParts,
    /// When they began.
    pub(crate) when: TimeBuckets<WaitTime>,
    /// How far ahead batches were at least, by when they were taken.
    pub(crate) ahead: TimeBuckets<Ahead>,
}

/// How far ahead some batches were at least.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Ahead {
    /// Finished batches as one was taken, that one included.
    pub(crate) depth: Option<u64>,
    /// How long it had lain there.
    pub(crate) queue_ns: Option<u64>,
}

accumulate!(Ahead { least: depth, queue_ns; });

/// What those waits were for that know when their batch was made.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct WaitParts {
    pub(crate) waits: u64,
    /// Its making had not begun.
    pub(crate) behind_ns: u128,
    /// It was being made.
    pub(crate) making_ns: u128,
    /// It was finished, but not yet taken.
    pub(crate) handover_ns: u128,
}

impl WaitParts {
    fn add(&mut self, span: &Span) {
        let (Some(produce_ns), Some(queue_ns)) =
            (span.amount(Figure::BatchProduceNs), span.amount(Figure::BatchQueueNs))
        else {
            return;
        };
        // The batch is taken as the wait ends, so that its times are known backwards from there.
        let wait_ns = span.duration_ns();
        let handover_ns = queue_ns.min(wait_ns);
        let making_ns = produce_ns.min(wait_ns - handover_ns);
        self.absorb(&Self {
            waits: 1,
            behind_ns: (wait_ns - handover_ns - making_ns).into(),
            making_ns: making_ns.into(),
            handover_ns: handover_ns.into(),
        });
    }
}

accumulate!(WaitParts { sum: waits, behind_ns, making_ns, handover_ns; });

impl Waits {
    /// Adds a wait that took so long.
    pub(crate) fn wait(&mut self, span: &Span, waited_ns: u64) {
        self.wait.record(waited_ns);
        self.parts.add(span);
        self.when.add(span.start_ns, &WaitTime { waits: 1, total_ns: waited_ns.into() });
    }

    /// Whether a span says anything about a batch that it waited for.
    pub(crate) fn says_batch(span: &Span) -> bool {
        [Figure::BatchProduceNs, Figure::BatchQueueNs, Figure::BatchQueueDepth]
            .into_iter()
            .any(|figure| span.amount(figure).is_some())
    }

    /// Adds what a waiting span says about its batch.
    pub(crate) fn batch(&mut self, span: &Span) {
        let figures = [
            (Figure::BatchProduceNs, &mut self.produce),
            (Figure::BatchQueueNs, &mut self.queue),
            (Figure::BatchQueueDepth, &mut self.depth),
        ];
        for (figure, distribution) in figures {
            if let Some(value) = span.amount(figure) {
                distribution.record(value);
            }
        }
        let depth = span.amount(Figure::BatchQueueDepth);
        let queue_ns = span.amount(Figure::BatchQueueNs);
        if depth.is_some() || queue_ns.is_some() {
            self.ahead.add(span.end_ns, &Ahead { depth, queue_ns });
        }
    }
}

/// Waits of one loader's consumers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LoaderWaits {
    pub(crate) waits: Waits,
    /// Of the threads that drive what they wait in: in steps by mode, and outside of steps.
    pub(crate) held: [WaitTime; 4],
    /// Of those inside of batches, by the loader that made these.
    pub(crate) makers: BTreeMap<Box<str>, WaitTime>,
    /// Whether there were more of these loaders than are kept.
    pub(crate) is_cut: bool,
}

/// The place of waits outside of steps among those of [`LoaderWaits`].
pub(crate) const OUTSIDE: usize = 3;

/// How long a thread was held up.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct WaitTime {
    pub(crate) waits: u64,
    pub(crate) total_ns: u128,
}

impl LoaderWaits {
    /// Adds a wait inside of a batch of the loader `maker`.
    pub(crate) fn maker_waited(&mut self, maker: &str, wait_ns: u64, loaders: usize) {
        if let Some(held) = smallest(&mut self.makers, shorten(maker), loaders, &mut self.is_cut) {
            held.absorb(&WaitTime { waits: 1, total_ns: wait_ns.into() });
        }
    }

    /// Adds a wait that took so long; `place` among those of [`Self::held`] where it held up the thread that drives.
    pub(crate) fn wait(&mut self, span: &Span, waited_ns: u64, place: Option<usize>) {
        self.waits.wait(span, waited_ns);
        if let Some(held) = place.and_then(|place| self.held.get_mut(place)) {
            held.absorb(&WaitTime { waits: 1, total_ns: waited_ns.into() });
        }
    }
}

accumulate!(WaitTime { sum: waits, total_ns; });

accumulate!(LoaderWaits { merge: waits, held, makers; any: is_cut; });

/// Waits by the loader that they name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct NamedWaits {
    pub(crate) by_loader: BTreeMap<Box<str>, LoaderWaits>,
    /// Whether there were more loaders than are kept.
    pub(crate) is_cut: bool,
}

impl NamedWaits {
    /// Whether any loader was left out.
    pub(crate) fn is_any_cut(&self) -> bool {
        self.is_cut || self.by_loader.values().any(|waits| waits.is_cut)
    }

    /// Where waits for this loader go; nowhere without a name, and beyond the bound.
    pub(crate) fn of(&mut self, name: &str, loaders: usize) -> Option<&mut LoaderWaits> {
        if name.is_empty() {
            return None;
        }
        smallest(&mut self.by_loader, shorten(name), loaders, &mut self.is_cut)
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, loaders: usize) {
        self.by_loader.absorb(&other.by_loader);
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.by_loader, loaders);
        for waits in self.by_loader.values_mut() {
            waits.is_cut |= keep_smallest(&mut waits.makers, loaders);
        }
    }
}

accumulate!(Waits { merge: wait, produce, queue, depth, parts, when, ahead; });
