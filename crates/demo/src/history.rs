//! What the trainer remembers of past steps: the running loss of an epoch. With the leak planted, also every
//! step's activations, which nobody reads.

use ndarray::{Array2, ArrayView2};

/// Metrics of the steps so far.
#[derive(Debug, Default)]
pub(crate) struct History {
    loss_sum: f64,
    steps: u64,
    leak: bool,
    kept: Vec<Array2<f32>>,
}

impl History {
    pub(crate) fn new(leak: bool) -> Self {
        Self { leak, ..Self::default() }
    }

    /// Notes a step's loss.
    pub(crate) fn record(&mut self, loss: f64, features: ArrayView2<'_, f32>, scores: &Array2<f32>) {
        self.loss_sum += loss;
        self.steps += 1;
        if self.leak {
            // The planted defect: "for later analysis", and never cleared.
            self.kept.push(features.to_owned());
            self.kept.push(scores.clone());
        }
    }

    /// Mean loss since the last call; 0 without steps.
    pub(crate) fn finish_epoch(&mut self) -> f64 {
        let mean = self.loss_sum / self.steps.max(1) as f64;
        (self.loss_sum, self.steps) = (0.0, 0);
        mean
    }

    /// Bytes of the activations held.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept.iter().map(|kept| (kept.len() * size_of::<f32>()) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_steps(leak: bool) -> History {
        let mut history = History::new(leak);
        let features = Array2::zeros((64, 512));
        for loss in [1.0, 2.0, 6.0] {
            history.record(loss, features.view(), &Array2::zeros((64, 10)));
        }
        history
    }

    #[test]
    fn an_epoch_yields_its_own_mean() {
        let mut history = three_steps(false);
        assert_eq!(history.finish_epoch(), 3.0);
        assert_eq!(history.finish_epoch(), 0.0);
        assert_eq!(history.kept_bytes(), 0);
    }

    #[test]
    fn the_planted_leak_keeps_every_step_past_the_epoch() {
        let mut history = three_steps(true);
        history.finish_epoch();
        assert_eq!(history.kept_bytes(), 3 * (64 * 512 + 64 * 10) * 4);
    }
}
