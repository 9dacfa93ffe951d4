//! Loader threads: each makes every n-th batch and sends it through a bounded queue of its own, and the trainer
//! takes from the queues in turn. So the order of batches does not depend on which thread is faster, and what
//! waits is bounded. What a batch holds depends on seed and step alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use ndarray::Array2;

use crate::augment::augment;
use crate::data::{Digits, PIXELS};
use crate::decode::Decoder;
use crate::error::DemoError;
use crate::options::{BATCH_SIZE, Options};
use crate::plan::Plan;
use crate::random::{Random, Stream};

/// A batch as the trainer gets it.
#[derive(Debug, PartialEq)]
pub(crate) struct Batch {
    /// `1 x (images * 64)`, in the archive's scale.
    pub(crate) images: Array2<f32>,
    pub(crate) labels: Vec<u8>,
    /// Lines of the archive parsed for this batch.
    pub(crate) archive_lines: u64,
}

/// Makes the batches of a run.
#[derive(Debug, Clone)]
pub(crate) struct Source<'a> {
    pub(crate) digits: &'a Digits,
    pub(crate) train: &'a [usize],
    pub(crate) plan: &'a Plan,
    pub(crate) decoder: Decoder,
    pub(crate) seed: u64,
}

impl Source<'_> {
    /// The images of a step: its part of the epoch's own shuffle.
    fn indices(&self, step: u64) -> Vec<usize> {
        let mut order = self.train.to_vec();
        Random::new(self.seed, Stream::Shuffle, self.plan.epoch_of(step)).shuffle(&mut order);
        let first = self.plan.index_in_epoch(step) as usize * BATCH_SIZE;
        order.into_iter().skip(first).take(BATCH_SIZE).collect()
    }

    fn batch(&self, step: u64, queued: impl Fn() -> usize) -> Result<Batch, DemoError> {
        let mut decoded = {
            let _section = stepscope::section!("decode", phase = DataLoading);
            self.decoder.decode(self.digits, &self.indices(step), queued)?
        };
        {
            let _section = stepscope::section!("augmentation", phase = Augmentation);
            let mut random = Random::new(self.seed, Stream::Augmentation, step);
            for (image, _) in &mut decoded.samples {
                augment(image, &mut random);
            }
        }
        let _section = stepscope::section!("collate", phase = Collate);
        let labels: Vec<u8> = decoded.samples.iter().map(|&(_, label)| label).collect();
        let pixels = decoded.samples.iter().flat_map(|(image, _)| image).copied().collect();
        let images = Array2::from_shape_vec((1, labels.len() * PIXELS), pixels)
            .map_err(|error| DemoError::data(error.to_string()))?;
        Ok(Batch { images, labels, archive_lines: decoded.archive_lines })
    }
}

type Item = stepscope::Traced<Result<Batch, DemoError>>;

/// The trainer's end: batches in the order of the steps.
pub(crate) struct Batches {
    loader: stepscope::Loader,
    queues: Vec<Queue>,
    taken: usize,
}

struct Queue {
    receiver: Receiver<Item>,
    queued: Arc<AtomicUsize>,
}

impl Batches {
    /// Waits for the next batch; `None` after the last, or when its thread ended early.
    pub(crate) fn next(&mut self) -> Option<Result<Batch, DemoError>> {
        let queue = self.queues.get(self.taken % self.queues.len().max(1))?;
        let item = self.loader.wait(|| queue.receiver.recv().ok())?;
        queue.queued.fetch_sub(1, Ordering::Relaxed);
        self.taken += 1;
        Some(item)
    }
}

/// The loader threads of a run.
pub(crate) struct Workers<'scope>(Vec<ScopedJoinHandle<'scope, ()>>);

impl Workers<'_> {
    /// Waits for the threads to end, which they do once their [`Batches`] are gone.
    ///
    /// # Errors
    /// When one of them panicked.
    pub(crate) fn join(self) -> Result<(), DemoError> {
        let ended: Vec<_> = self.0.into_iter().map(ScopedJoinHandle::join).collect();
        if ended.iter().all(Result::is_ok) {
            Ok(())
        } else {
            Err(DemoError::loader("a loader thread panicked"))
        }
    }
}

/// Starts the loader threads of a run within `scope`.
pub(crate) fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    source: &Source<'env>,
    options: &Options,
) -> Result<(Batches, Workers<'scope>), DemoError> {
    let threads = options.loader_threads();
    let capacity = options.queue_capacity.div_ceil(threads);
    let mut batches =
        Batches { loader: stepscope::Loader::new("train"), queues: Vec::with_capacity(threads), taken: 0 };
    let mut workers = Workers(Vec::with_capacity(threads));
    for thread in 0..threads {
        let (sender, receiver) = sync_channel(capacity);
        let queued = Arc::new(AtomicUsize::new(0));
        batches.queues.push(Queue { receiver, queued: Arc::clone(&queued) });
        let worker = Worker { loader: batches.loader.clone(), source: source.clone(), sender, queued };
        let handle = Builder::new()
            .name(format!("loader-{thread}"))
            .spawn_scoped(scope, move || worker.run(thread, threads))
            .map_err(|error| DemoError::loader(error.to_string()))?;
        workers.0.push(handle);
    }
    Ok((batches, workers))
}

struct Worker<'a> {
    loader: stepscope::Loader,
    source: Source<'a>,
    sender: SyncSender<Item>,
    queued: Arc<AtomicUsize>,
}

impl Worker<'_> {
    fn run(&self, thread: usize, threads: usize) {
        for step in self.source.plan.steps.clone().skip(thread).step_by(threads) {
            let queued = || self.queued.load(Ordering::Relaxed);
            let item = self.loader.produce(|| self.source.batch(step, queued));
            let _section = stepscope::section!("queue_send", phase = Synchronization);
            // Counted before it can be taken, so that the count never falls below zero.
            self.queued.fetch_add(1, Ordering::Relaxed);
            if self.sender.send(item).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ARCHIVE, Split};

    /// All batches of a run with these options.
    fn batches(change: impl FnOnce(&mut Options)) -> Vec<Batch> {
        let mut options = Options::new("unused");
        options.epochs = 2;
        change(&mut options);
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let split = Split::new(digits.len(), options.seed);
        let plan = Plan::new(&options, split.train.len(), 0).unwrap();
        let decoder = Decoder::for_options(&options);
        let source =
            Source { digits: &digits, train: &split.train, plan: &plan, decoder, seed: options.seed };
        std::thread::scope(|scope| {
            let (mut batches, workers) = start(scope, &source, &options).unwrap();
            let mut all = Vec::new();
            while let Some(batch) = batches.next() {
                all.push(batch.unwrap());
            }
            drop(batches);
            workers.join().unwrap();
            all
        })
    }

    #[test]
    fn batches_come_in_order_whatever_the_number_of_threads() {
        let one = batches(|o| o.loaders = 1);
        assert_eq!(one.len(), 2 * 22);
        assert!(one.iter().all(|batch| batch.labels.len() == BATCH_SIZE));
        assert_ne!(one[0].labels, one[22].labels, "epochs are shuffled differently");
        for (threads, capacity) in [(2, 4), (3, 1), (7, 64)] {
            let more = batches(|o| (o.loaders, o.queue_capacity) = (threads, capacity));
            assert_eq!(one, more, "{threads} threads");
        }
    }

    #[test]
    fn an_epoch_shows_every_image_at_most_once() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let split = Split::new(digits.len(), 0);
        let plan = Plan::new(&Options::new("unused"), split.train.len(), 0).unwrap();
        let source =
            Source { digits: &digits, train: &split.train, plan: &plan, decoder: Decoder::Memory, seed: 0 };
        let mut seen: Vec<usize> = (0..22).flat_map(|step| source.indices(step)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 22 * BATCH_SIZE);
        assert!(seen.iter().all(|image| split.train.contains(image)));
    }

    #[test]
    fn the_planted_slow_loader_parses_the_archive_sixteen_times_a_batch() {
        let slow = batches(|o| (o.slow, o.steps) = (Some(crate::Slow::Loader), Some(2)));
        assert_eq!(slow.iter().map(|batch| batch.archive_lines).collect::<Vec<_>>(), [16 * 1797; 2]);
    }

    #[test]
    fn threads_end_when_the_trainer_leaves_early() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let options = Options::new("unused");
        let train: Vec<usize> = (0..digits.len()).collect();
        let plan = Plan::new(&options, train.len(), 0).unwrap();
        let source =
            Source { digits: &digits, train: &train, plan: &plan, decoder: Decoder::Memory, seed: 0 };
        std::thread::scope(|scope| {
            let (mut batches, workers) = start(scope, &source, &options).unwrap();
            assert!(batches.next().is_some());
            drop(batches);
            assert!(workers.join().is_ok());
        });
    }
}
