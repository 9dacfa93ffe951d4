//! Batches of burn's data loaders, each with a trace of its own, whichever thread makes it.

use std::fmt;
use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use stepscope::{Loader, Traced};

/// A data loader whose batches carry their trace: `build` makes it of the batcher that it is given, with burn's own
/// `DataLoaderBuilder`. Taking a batch is a section `data_wait`; the trace of the batch holds what the batcher does.
///
/// burn fetches the items of a batch from the dataset before it calls the batcher: what is done there is not part
/// of the batch's time. So decode and augment in the batcher, where the profile can see it.
pub fn loader<I, O, B>(
    name: &str,
    batcher: B,
    build: impl FnOnce(TracedBatcher<B>) -> Arc<dyn DataLoader<Made<O>>>,
) -> Arc<dyn DataLoader<O>>
where
    B: Batcher<I, O> + 'static,
    O: Send + 'static,
{
    let loader = Loader::new(name);
    let inner = build(TracedBatcher { batcher, loader: loader.clone() });
    Arc::new(TracedLoader { inner, loader })
}

/// A batcher that makes each batch a trace; see [`loader`].
#[derive(Debug, Clone)]
pub struct TracedBatcher<B> {
    batcher: B,
    loader: Loader,
}

impl<I, O, B: Batcher<I, O>> Batcher<I, Made<O>> for TracedBatcher<B> {
    fn batch(&self, items: Vec<I>, device: &Device) -> Made<O> {
        Made(Origin::Known(self.loader.produce(|| self.batcher.batch(items, device))))
    }
}

/// A batch on its way from the batcher to the loop.
pub struct Made<O>(Origin<O>);

enum Origin<O> {
    Known(Traced<O>),
    /// A copy: only one batch is taken out of a trace.
    Copied(O),
}

impl<O> Made<O> {
    /// The batch.
    pub fn get(&self) -> &O {
        match &self.0 {
            Origin::Known(batch) => batch.get(),
            Origin::Copied(batch) => batch,
        }
    }
}

/// burn's builder asks for `Clone`; its loaders do not clone batches.
impl<O: Clone> Clone for Made<O> {
    fn clone(&self) -> Self {
        Self(Origin::Copied(self.get().clone()))
    }
}

/// Without the batch itself: printing a tensor can synchronise a device.
impl<O> fmt::Debug for Made<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").finish_non_exhaustive()
    }
}

struct TracedLoader<O> {
    inner: Arc<dyn DataLoader<Made<O>>>,
    loader: Loader,
}

impl<O: Send + 'static> DataLoader<O> for TracedLoader<O> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<O> + 'a> {
        Box::new(TracedIterator { inner: self.inner.iter(), loader: &self.loader })
    }

    fn num_items(&self) -> usize {
        self.inner.num_items()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<O>> {
        Arc::new(Self { inner: self.inner.to_device(device), loader: self.loader.clone() })
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<O>> {
        Arc::new(Self { inner: self.inner.slice(start, end), loader: self.loader.clone() })
    }
}

struct TracedIterator<'a, O> {
    inner: Box<dyn DataLoaderIterator<Made<O>> + 'a>,
    loader: &'a Loader,
}

impl<O> Iterator for TracedIterator<'_, O> {
    type Item = Result<O, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        // What is no traced batch leaves the wait by another way than the batch.
        let mut other = None;
        let batch = self.loader.wait(|| match self.inner.next()? {
            Ok(Made(Origin::Known(batch))) => Some(batch),
            Ok(Made(Origin::Copied(batch))) => {
                other = Some(Ok(batch));
                None
            }
            Err(error) => {
                other = Some(Err(error));
                None
            }
        });
        batch.map(Ok).or(other)
    }
}

impl<O> DataLoaderIterator<O> for TracedIterator<'_, O> {
    fn progress(&self) -> Progress {
        self.inner.progress()
    }
}
