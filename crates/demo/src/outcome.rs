//! What a run reports about itself, measured by the trainer's own clock reads and independent of any recorder.

use std::path::PathBuf;
use std::time::Duration;

/// Result of a finished run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Share of the held-out digits that the network names right after the last step, 0 to 1.
    pub accuracy: f64,
    /// Mean cross-entropy (nats) of the last epoch's training batches.
    pub loss: f64,
    /// Training steps of this run.
    pub steps: u64,
    /// Training images of this run.
    pub samples: u64,
    /// Wall time from the first loader thread's start to the last checkpoint.
    pub seconds: f64,
    /// Training images per second of `seconds`, evaluation and checkpoints included.
    pub samples_per_s: f64,
    /// Wall time of the training steps.
    pub step_ms: StepMs,
    /// Share of the step time that the training thread waited for batches, 0 to 1.
    pub wait_share: f64,
    /// Share of the step time that went into preprocessing on the training thread, 0 to 1.
    pub preprocessing_share: f64,
    /// One entry for every epoch that this run touched.
    pub epochs: Vec<EpochOutcome>,
    /// The checkpoints written, oldest first.
    pub checkpoints: Vec<PathBuf>,
    /// Work that planted defects do more of.
    pub work: Work,
}

/// How an epoch ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EpochOutcome {
    /// The epoch, from 0.
    pub epoch: u64,
    /// Training steps since the start of training, in earlier runs too.
    pub global_step: u64,
    /// Mean cross-entropy (nats) of the epoch's training batches.
    pub loss: f64,
    /// Share of the held-out digits named right, 0 to 1.
    pub accuracy: f64,
}

/// Milliseconds of a training step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepMs {
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle value, the upper one of two.
    pub median: f64,
    /// Longest step.
    pub max: f64,
}

/// Work counted, not timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Work {
    /// Lines of the archive that loader threads parsed for the batches used.
    pub archive_lines: u64,
    /// Pixels of the training set whose mean and deviation were computed in steps, each time anew.
    pub statistics_pixels: u64,
    /// Bytes of activations still held when training ended.
    pub kept_bytes: u64,
}

impl StepMs {
    /// `None` without steps. Sorts `steps`.
    pub(crate) fn of(steps: &mut [Duration]) -> Option<Self> {
        steps.sort_unstable();
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let median = ms(*steps.get(steps.len() / 2)?);
        let max = ms(*steps.last()?);
        let total: Duration = steps.iter().sum();
        Some(Self { mean: ms(total) / steps.len() as f64, median, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_times_are_summarised_in_milliseconds() {
        let mut steps = [9, 1, 2, 4].map(Duration::from_millis);
        assert_eq!(StepMs::of(&mut steps), Some(StepMs { mean: 4.0, median: 4.0, max: 9.0 }));
        assert_eq!(StepMs::of(&mut []), None);
    }
}
