//! What a run can be told. How each option takes effect lives with the stage it changes.

use std::path::PathBuf;

use crate::error::DemoError;

/// Images in a training batch. Batches are always full: what is left over at an epoch's end is dropped, and
/// another shuffle leaves out other images.
pub const BATCH_SIZE: usize = 64;

/// A real slow stage, planted on purpose. The weights a run ends with are the same with and without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// The training thread computes the mean and deviation of the whole training set anew for every image it
    /// normalises, where once would do.
    Preprocessing,
    /// A single loader thread unpacks and parses the whole archive of digits again and again for every batch,
    /// where the images are in memory.
    Loader,
}

/// Options of [`run`](crate::run). Start from [`Options::new`] and change fields.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Passes over the training set, counted from the start of training, also in a resumed run. 1 to 10,000.
    pub epochs: u32,
    /// Stop after this many steps of this run, if the epochs have not ended it before. At least 1.
    pub steps: Option<u64>,
    /// Seed of everything random: split, weights, shuffles, augmentation.
    pub seed: u64,
    /// Loader threads, 1 to 64. [`Slow::Loader`] and `busy_loaders` use one, whatever stands here.
    pub loaders: usize,
    /// Batches that may wait in the queues of all loader threads together, 1 to 1024; each thread has a queue
    /// of its own that holds at least one.
    pub queue_capacity: usize,
    /// Directory of the checkpoints (`epoch-0000.ckpt`, ...), created if missing.
    pub out_dir: PathBuf,
    /// Checkpoint to continue from. It must come from a run with the same seed.
    pub resume: Option<PathBuf>,
    /// The slow stage to plant.
    pub slow: Option<Slow>,
    /// Plants a leak: every step's activations are kept for ever.
    pub leak: bool,
    /// Keeps the loader thread at work nearly all the time without making the trainer wait: it reads the archive
    /// again for as long as enough batches are queued.
    pub busy_loaders: bool,
}

impl Options {
    /// The plain demo: 40 epochs, two loader threads, nothing planted.
    pub fn new(out_dir: impl Into<PathBuf>) -> Self {
        Self {
            epochs: 40,
            steps: None,
            seed: 0,
            loaders: 2,
            queue_capacity: 4,
            out_dir: out_dir.into(),
            resume: None,
            slow: None,
            leak: false,
            busy_loaders: false,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), DemoError> {
        if !(1..=10_000).contains(&self.epochs) {
            return Err(DemoError::options("epochs must be 1 to 10000"));
        }
        if self.steps == Some(0) {
            return Err(DemoError::options("steps must be at least 1"));
        }
        if !(1..=64).contains(&self.loaders) {
            return Err(DemoError::options("loaders must be 1 to 64"));
        }
        if !(1..=1024).contains(&self.queue_capacity) {
            return Err(DemoError::options("the queue capacity must be 1 to 1024"));
        }
        Ok(())
    }

    /// Loader threads that really start.
    pub(crate) fn loader_threads(&self) -> usize {
        if self.slow == Some(Slow::Loader) || self.busy_loaders { 1 } else { self.loaders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_refused() {
        let plain = Options::new("unused");
        assert!(plain.validate().is_ok());
        let refused: [fn(&mut Options); 7] = [
            |o| o.epochs = 0,
            |o| o.epochs = 10_001,
            |o| o.steps = Some(0),
            |o| o.loaders = 0,
            |o| o.loaders = 65,
            |o| o.queue_capacity = 0,
            |o| o.queue_capacity = 1025,
        ];
        for (index, change) in refused.iter().enumerate() {
            let mut options = plain.clone();
            change(&mut options);
            let error = options.validate().expect_err("out of range");
            assert!(error.is_invalid_options(), "case {index}: {error}");
        }
    }
}
