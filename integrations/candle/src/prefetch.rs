//! Loader threads in front of a training loop, which candle has none of: batches in order, each with a trace of
//! its own. An iterator of batches without threads (candle-datasets' `Batcher`) needs only `stepscope::batches`.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};

use stepscope::{Loader, Traced};

/// Batches that threads make ahead, in the order of their numbers. Taking one is a section `data_wait`, linked to
/// the trace in which the batch was made.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let batches = stepscope_candle::Prefetch::start("train", 2, 4, 10, |number| {
///     Tensor::full(number as f32, (64, 8), &Device::Cpu)
/// })?;
/// for (number, batch) in batches.enumerate() {
///     let _step = stepscope::step!(number);
///     assert_eq!(batch?.mean_all()?.to_scalar::<f32>()?, number as f32);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To see the wait inside of the step, take the batch there, and discard the step after the last:
///
/// ```
/// # let mut batches = stepscope_candle::Prefetch::start("train", 1, 1, 3, |number| number)?;
/// loop {
///     let step = stepscope::step!(0);
///     let Some(batch) = batches.next() else { break step.discard() };
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Prefetch<B> {
    loader: Loader,
    /// One for each thread; a batch's number says which.
    queues: Vec<Receiver<Traced<B>>>,
    taken: usize,
    threads: Vec<JoinHandle<()>>,
}

impl<B: Send + 'static> Prefetch<B> {
    /// Starts `threads` threads (at least one) called `{name}-{index}`. Together they make the batches 0 to
    /// `batches` by calling `make` with the number, and stay at most `ahead` finished batches in front of the loop
    /// (rounded up to the same number for each thread, at least one).
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start<F>(name: &str, threads: usize, ahead: usize, batches: usize, make: F) -> io::Result<Self>
    where
        F: Fn(usize) -> B + Send + Sync + 'static,
    {
        let threads = threads.max(1);
        let make = Arc::new(make);
        let mut prefetch =
            Self { loader: Loader::new(name), queues: Vec::new(), taken: 0, threads: Vec::new() };
        for thread in 0..threads {
            let (sender, receiver) = sync_channel(ahead.div_ceil(threads).max(1));
            let (loader, make) = (prefetch.loader.clone(), Arc::clone(&make));
            prefetch.queues.push(receiver);
            let work = move || {
                for number in (thread..batches).step_by(threads) {
                    if sender.send(loader.produce(|| make(number))).is_err() {
                        return;
                    }
                }
            };
            prefetch.threads.push(Builder::new().name(format!("{name}-{thread}")).spawn(work)?);
        }
        Ok(prefetch)
    }
}

impl<B> Iterator for Prefetch<B> {
    type Item = B;

    /// The next batch; `None` after the last, or when its thread panicked.
    fn next(&mut self) -> Option<B> {
        let queue = self.queues.get(self.taken % self.queues.len().max(1))?;
        let batch = self.loader.wait(|| queue.recv().ok())?;
        self.taken += 1;
        Some(batch)
    }
}

impl<B> Drop for Prefetch<B> {
    /// Waits for the threads, each of which ends with the batch that it is making.
    fn drop(&mut self) {
        self.queues.clear();
        for thread in self.threads.drain(..) {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn batches_come_in_order_whatever_the_number_of_threads() {
        for (threads, ahead) in [(0, 0), (1, 1), (2, 4), (3, 1), (7, 64)] {
            let prefetch = Prefetch::start("t", threads, ahead, 50, |number| number).unwrap();
            assert_eq!(prefetch.collect::<Vec<_>>(), (0..50).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn threads_end_when_the_loop_leaves_early_and_are_never_further_ahead_than_asked() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let mut prefetch = Prefetch::start("t", 2, 4, usize::MAX, move |number| {
            counter.fetch_add(1, Ordering::SeqCst);
            number
        })
        .unwrap();
        assert_eq!(prefetch.next(), Some(0));
        drop(prefetch);
        // Taken: 1. Queued: 2 for each thread. In the making: 1 for each thread.
        assert!(made.load(Ordering::SeqCst) <= 1 + 4 + 2);
    }

    #[test]
    fn a_panic_while_making_a_batch_ends_the_batches() {
        let prefetch = Prefetch::start("t", 1, 1, 9, |number| assert!(number < 3)).unwrap();
        assert_eq!(prefetch.count(), 3);
    }
}
