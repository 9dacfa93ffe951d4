//! Steps and epochs for a loop that cannot be edited, such as the `Learner`'s: a step lasts from the moment when the
//! loop asks for a batch to the moment when it asks for the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use stepscope::SectionGuard;

/// Makes each turn of the loop over these batches a training step, and each pass an epoch. Steps and epochs are
/// numbered from 0 on. The batches have to be taken on the thread that trains.
pub fn steps<O: Send + 'static>(batches: Arc<dyn DataLoader<O>>) -> Arc<dyn DataLoader<O>> {
    Arc::new(Stepped { inner: batches, counts: Arc::default(), is_training: true })
}

/// The same for the batches of an evaluation, which is no epoch.
pub fn evaluation_steps<O: Send + 'static>(batches: Arc<dyn DataLoader<O>>) -> Arc<dyn DataLoader<O>> {
    Arc::new(Stepped { inner: batches, counts: Arc::default(), is_training: false })
}

/// How many there were before.
#[derive(Debug, Default)]
struct Counts {
    steps: AtomicU64,
    epochs: AtomicU64,
}

struct Stepped<O> {
    inner: Arc<dyn DataLoader<O>>,
    /// Shared with what is made of this loader: the `Learner` takes it to its device first.
    counts: Arc<Counts>,
    is_training: bool,
}

impl<O> Stepped<O> {
    fn with(&self, inner: Arc<dyn DataLoader<O>>) -> Self {
        Self { inner, counts: Arc::clone(&self.counts), is_training: self.is_training }
    }
}

impl<O: Send + 'static> DataLoader<O> for Stepped<O> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<O> + 'a> {
        let epoch = self.is_training.then(|| {
            let number = self.counts.epochs.fetch_add(1, Ordering::Relaxed);
            stepscope::epoch!(number)
        });
        Box::new(SteppedIterator {
            step: None,
            inner: self.inner.iter(),
            counts: &self.counts,
            is_training: self.is_training,
            _epoch: epoch,
        })
    }

    fn num_items(&self) -> usize {
        self.inner.num_items()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<O>> {
        Arc::new(self.with(self.inner.to_device(device)))
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<O>> {
        Arc::new(self.with(self.inner.slice(start, end)))
    }
}

/// Fields are dropped in this order: the step ends before its epoch.
struct SteppedIterator<'a, O> {
    step: Option<SectionGuard>,
    inner: Box<dyn DataLoaderIterator<O> + 'a>,
    counts: &'a Counts,
    is_training: bool,
    _epoch: Option<SectionGuard>,
}

impl<O> Iterator for SteppedIterator<'_, O> {
    type Item = Result<O, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step = None;
        let number = self.counts.steps.load(Ordering::Relaxed);
        let mut step =
            if self.is_training { stepscope::step!(number) } else { stepscope::step!(number, mode = eval) };
        let before = self.inner.progress().items_processed;
        let Some(batch) = self.inner.next() else {
            // The loop ends here: what waited for nothing was no step.
            step.discard();
            return None;
        };
        self.counts.steps.fetch_add(1, Ordering::Relaxed);
        // Loaders with several threads may tell their progress late; what is not known is not written.
        let samples = self.inner.progress().items_processed.saturating_sub(before);
        if samples > 0 {
            step.record("samples", samples);
        }
        self.step = Some(step);
        Some(batch)
    }
}

impl<O> DataLoaderIterator<O> for SteppedIterator<'_, O> {
    fn progress(&self) -> Progress {
        self.inner.progress()
    }
}
