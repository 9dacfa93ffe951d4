//! rayon's ways to submit work, for the section that submits it: see [`Submitter`]. Threads and pools stay rayon's.

use ::rayon::iter::plumbing::{Consumer, Folder, ProducerCallback, UnindexedConsumer};
use ::rayon::iter::{IndexedParallelIterator, ParallelIterator};

use super::submitter::{Submitter, in_section};

/// As [`rayon::join`](::rayon::join), both halves for the section that is current now.
pub fn join<A, B, RA, RB>(one: A, other: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let section = Submitter::here();
    ::rayon::join(|| section.run(one), || section.run(other))
}

/// As [`rayon::spawn`](::rayon::spawn), for the section that is current now.
pub fn spawn(work: impl FnOnce() + Send + 'static) {
    ::rayon::spawn(in_section(work));
}

/// What parallel iterators can do beside.
pub trait InSection: ParallelIterator {
    /// What comes behind this in the chain, up to the next `zip`, `enumerate`, `chunks` or the like, is done for the section that is
    /// current now. So it belongs right before the `map` or `for_each` that does the work.
    ///
    /// ```
    /// use rayon::prelude::*;
    /// use stepscope::rayon::InSection;
    ///
    /// let squares: Vec<u32> = [1, 2, 3].into_par_iter().in_section().map(|number| number * number).collect();
    /// assert_eq!(squares, [1, 4, 9]);
    /// ```
    fn in_section(self) -> Within<Self> {
        Within { base: self, section: Submitter::here() }
    }
}

impl<I: ParallelIterator> InSection for I {}

/// An iterator whose consumers work for a section; see [`InSection::in_section`].
#[derive(Debug, Clone)]
#[must_use = "iterators do nothing unless they are consumed"]
pub struct Within<T> {
    base: T,
    section: Submitter,
}

impl<I: ParallelIterator> ParallelIterator for Within<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Within { base: consumer, section: self.section })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Within<I> {
    fn len(&self) -> usize {
        self.base.len()
    }

    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive(Within { base: consumer, section: self.section })
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        self.base.with_producer(callback)
    }
}

impl<T, C: Consumer<T>> Consumer<T> for Within<C> {
    type Folder = Within<C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, Self::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        (Self { base: left, ..self }, Self { base: right, section: self.section }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        Within { base: self.base.into_folder(), section: self.section }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, C: UnindexedConsumer<T>> UnindexedConsumer<T> for Within<C> {
    fn split_off_left(&self) -> Self {
        Self { base: self.base.split_off_left(), section: self.section }
    }

    fn to_reducer(&self) -> Self::Reducer {
        self.base.to_reducer()
    }
}

impl<T, F: Folder<T>> Folder<T> for Within<F> {
    type Result = F::Result;

    fn consume(self, item: T) -> Self {
        let Self { base, section } = self;
        Self { base: section.run(|| base.consume(item)), section }
    }

    fn consume_iter<I: IntoIterator<Item = T>>(self, items: I) -> Self {
        let Self { base, section } = self;
        Self { base: section.run(|| base.consume_iter(items)), section }
    }

    fn complete(self) -> F::Result {
        self.section.run(|| self.base.complete())
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

#[cfg(all(test, feature = "mem"))]
mod tests {
    use super::*;
    use crate::hot::live_context;
    use ::rayon::prelude::*;

    #[test]
    fn threads_of_the_pool_work_for_the_section_that_submits() {
        const NUMBER: u32 = 77;
        let pool = ::rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let seen: Vec<u32> = live_context::working_for(NUMBER, || {
            let items = (0..1_000_u32).into_par_iter().in_section();
            // The pool's threads know nothing of the section by themselves.
            pool.install(|| items.map(|_| live_context::section()).collect())
        });
        assert_eq!(seen, vec![NUMBER; 1_000]);
        let (one, other) =
            live_context::working_for(NUMBER, || join(live_context::section, live_context::section));
        assert_eq!((one, other), (NUMBER, NUMBER));
        let (told, heard) = std::sync::mpsc::sync_channel(1);
        live_context::working_for(NUMBER, || spawn(move || told.send(live_context::section()).unwrap()));
        assert_eq!(heard.recv(), Ok(NUMBER));
        assert_eq!(pool.install(live_context::section), 0, "and forget it");
    }

    #[test]
    fn the_order_of_items_stays() {
        let doubled: Vec<u32> = (0..500_u32).into_par_iter().in_section().map(|number| 2 * number).collect();
        assert_eq!(doubled, (0..500).map(|number| 2 * number).collect::<Vec<u32>>());
        let even = (0..500_u32).into_par_iter().filter(|number| number % 2 == 0).in_section().sum::<u32>();
        assert_eq!(even, (0..500_u32).step_by(2).sum::<u32>());
    }
}
