//! Which steps a run takes. Steps are numbered from the start of training and everything random is derived from
//! that number, so a run is the same however its batches are spread over threads or resumed runs.

use std::ops::Range;

use crate::error::DemoError;
use crate::options::{BATCH_SIZE, Options};

/// The steps of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Steps of this run, counted from the start of training.
    pub(crate) steps: Range<u64>,
    /// Steps in an epoch, at least 1.
    pub(crate) steps_per_epoch: u64,
}

impl Plan {
    /// Plans a run over `train_images` images that continues at step `first`.
    ///
    /// # Errors
    /// When no full batch fits in the training set, or training had already ended at `first`.
    pub(crate) fn new(options: &Options, train_images: usize, first: u64) -> Result<Self, DemoError> {
        let steps_per_epoch = (train_images / BATCH_SIZE) as u64;
        if steps_per_epoch == 0 {
            return Err(DemoError::data("fewer training images than a batch needs"));
        }
        let end = steps_per_epoch.saturating_mul(u64::from(options.epochs));
        if first >= end {
            return Err(DemoError::options(
                "the checkpoint to resume from has all the epochs asked for; ask for more epochs",
            ));
        }
        let end = options.steps.map_or(end, |limit| end.min(first.saturating_add(limit)));
        Ok(Self { steps: first..end, steps_per_epoch })
    }

    /// The epochs this run touches.
    pub(crate) fn epochs(&self) -> Range<u64> {
        self.epoch_of(self.steps.start)..self.steps.end.div_ceil(self.steps_per_epoch)
    }

    /// The epoch of a step.
    pub(crate) fn epoch_of(&self, step: u64) -> u64 {
        step / self.steps_per_epoch
    }

    /// The place of a step in its epoch.
    pub(crate) fn index_in_epoch(&self, step: u64) -> u64 {
        step % self.steps_per_epoch
    }

    /// The end of an epoch, as the number of its last step plus one, also where this run ends before it.
    pub(crate) fn epoch_end(&self, epoch: u64) -> u64 {
        (epoch + 1).saturating_mul(self.steps_per_epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(epochs: u32, steps: Option<u64>) -> Options {
        let mut options = Options::new("unused");
        options.epochs = epochs;
        options.steps = steps;
        options
    }

    #[test]
    fn left_over_images_are_dropped() {
        let plan = Plan::new(&options(3, None), 22 * BATCH_SIZE + 29, 0).unwrap();
        assert_eq!((plan.steps.clone(), plan.epochs()), (0..66, 0..3));
        assert_eq!((plan.epoch_of(43), plan.index_in_epoch(43), plan.epoch_end(1)), (1, 21, 44));
    }

    #[test]
    fn a_limit_ends_within_an_epoch_and_a_resumed_run_goes_on_there() {
        let limited = Plan::new(&options(3, Some(30)), 22 * BATCH_SIZE, 0).unwrap();
        assert_eq!((limited.steps.clone(), limited.epochs()), (0..30, 0..2));
        let resumed = Plan::new(&options(3, None), 22 * BATCH_SIZE, 30).unwrap();
        assert_eq!((resumed.steps.clone(), resumed.epochs()), (30..66, 1..3));
    }

    #[test]
    fn nothing_left_to_train_is_an_error() {
        assert!(Plan::new(&options(3, None), 22 * BATCH_SIZE, 66).unwrap_err().is_invalid_options());
        assert!(Plan::new(&options(3, None), BATCH_SIZE - 1, 0).is_err());
    }
}
