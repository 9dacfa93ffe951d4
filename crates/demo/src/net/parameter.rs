//! A learned matrix with its gradient. How it changes lives in the optimizer.

use ndarray::{Array2, Axis};

use crate::random::Random;

/// A weight matrix or bias column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) value: Array2<f32>,
    /// Of the mean loss of a batch; same shape as `value`.
    pub(crate) gradient: Array2<f32>,
}

impl Parameter {
    pub(crate) fn zeros(shape: (usize, usize)) -> Self {
        Self { value: Array2::zeros(shape), gradient: Array2::zeros(shape) }
    }

    /// Weights `outputs x inputs`, uniform with the variance 2 / inputs that keeps the scale of rectified
    /// signals (K. He et al., "Delving deep into rectifiers", 2015).
    pub(crate) fn weights(outputs: usize, inputs: usize, random: &mut Random) -> Self {
        let limit = (6.0 / inputs.max(1) as f32).sqrt();
        let value = Array2::from_shape_simple_fn((outputs, inputs), || random.symmetric(limit));
        Self { gradient: Array2::zeros(value.dim()), value }
    }

    /// Takes the sums of the rows of `rows` as the gradient of a bias column.
    pub(crate) fn set_gradient_to_row_sums(&mut self, rows: &Array2<f32>) {
        self.gradient = rows.sum_axis(Axis(1)).insert_axis(Axis(1));
    }
}
