//! A fully connected layer.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};

use super::parameter::Parameter;
use crate::random::Random;

/// Scores from features.
#[derive(Debug)]
pub(crate) struct Dense {
    /// `outputs x inputs`.
    pub(crate) weight: Parameter,
    /// `outputs x 1`.
    pub(crate) bias: Parameter,
    /// The last forward pass's input, `images x inputs`.
    input: Array2<f32>,
}

impl Dense {
    pub(crate) fn new(inputs: usize, outputs: usize, random: &mut Random) -> Self {
        Self {
            weight: Parameter::weights(outputs, inputs, random),
            bias: Parameter::zeros((outputs, 1)),
            input: Array2::zeros((0, inputs)),
        }
    }

    /// `images x inputs` to `images x outputs`.
    pub(crate) fn forward(&mut self, input: Array2<f32>) -> Array2<f32> {
        let mut output = Array2::zeros((input.nrows(), self.weight.value.nrows()));
        output += &self.bias.value.t();
        general_mat_mul(1.0, &input, &self.weight.value.t(), 1.0, &mut output);
        self.input = input;
        output
    }

    /// Fills in the gradients of weight and bias.
    pub(crate) fn parameter_gradients(&mut self, output_gradient: &Array2<f32>) {
        general_mat_mul(1.0, &output_gradient.t(), &self.input, 0.0, &mut self.weight.gradient);
        self.bias.gradient = output_gradient.sum_axis(Axis(0)).insert_axis(Axis(1));
    }

    /// Gradient of the last forward pass's input.
    pub(crate) fn input_gradient(&self, output_gradient: &Array2<f32>) -> Array2<f32> {
        output_gradient.dot(&self.weight.value)
    }

    pub(crate) fn input(&self) -> ArrayView2<'_, f32> {
        self.input.view()
    }
}
