//! 3x3 convolution with a border of zeros, as one matrix product over the unfolded input ("im2col").

use ndarray::Array2;
use ndarray::linalg::general_mat_mul;

use super::parameter::Parameter;
use crate::data::{PIXELS, SIDE};
use crate::random::Random;

/// Side of the kernel.
const KERNEL: usize = 3;
/// Weights of a kernel.
const TAPS: usize = KERNEL * KERNEL;

/// A convolution over feature maps of 8 x 8 pixels.
#[derive(Debug)]
pub(crate) struct Conv {
    /// `output channels x (input channels * 9)`.
    pub(crate) weight: Parameter,
    /// `output channels x 1`.
    pub(crate) bias: Parameter,
    /// The unfolded input of the last forward pass, `(input channels * 9) x (images * 64)`. Kept from step to
    /// step: at 5 MB it is the largest matrix of the run.
    columns: Array2<f32>,
    /// Gradient of `columns`, kept for the same reason.
    columns_gradient: Array2<f32>,
}

impl Conv {
    pub(crate) fn new(inputs: usize, outputs: usize, random: &mut Random) -> Self {
        Self {
            weight: Parameter::weights(outputs, inputs * TAPS, random),
            bias: Parameter::zeros((outputs, 1)),
            columns: Array2::zeros((0, 0)),
            columns_gradient: Array2::zeros((0, 0)),
        }
    }

    /// `input channels x (images * 64)` to `output channels x (images * 64)`.
    pub(crate) fn forward(&mut self, input: &Array2<f32>) -> Array2<f32> {
        reshape(&mut self.columns, (input.nrows() * TAPS, input.ncols()));
        unfold(input, &mut self.columns);
        let mut output = Array2::zeros((self.weight.value.nrows(), input.ncols()));
        output += &self.bias.value;
        general_mat_mul(1.0, &self.weight.value, &self.columns, 1.0, &mut output);
        output
    }

    /// Fills in the gradients of weight and bias.
    pub(crate) fn parameter_gradients(&mut self, output_gradient: &Array2<f32>) {
        general_mat_mul(1.0, output_gradient, &self.columns.t(), 0.0, &mut self.weight.gradient);
        self.bias.set_gradient_to_row_sums(output_gradient);
    }

    /// Gradient of the input of the last forward pass.
    pub(crate) fn input_gradient(&mut self, output_gradient: &Array2<f32>) -> Array2<f32> {
        reshape(&mut self.columns_gradient, self.columns.dim());
        general_mat_mul(1.0, &self.weight.value.t(), output_gradient, 0.0, &mut self.columns_gradient);
        fold(&self.columns_gradient)
    }
}

/// Makes sure of a shape; the contents are whatever they were.
fn reshape(matrix: &mut Array2<f32>, shape: (usize, usize)) {
    if matrix.dim() != shape {
        *matrix = Array2::zeros(shape);
    }
}

/// Where a kernel row or column finds its pixels: first pixel read, first pixel written, how many.
fn overlap(tap: usize) -> (usize, usize, usize) {
    match tap {
        0 => (0, 1, SIDE - 1),
        1 => (0, 0, SIDE),
        _ => (1, 0, SIDE - 1),
    }
}

/// Copies, for every channel and kernel tap, the maps shifted by that tap; zeros come in at the border.
fn unfold(input: &Array2<f32>, columns: &mut Array2<f32>) {
    for (row, mut unfolded) in columns.rows_mut().into_iter().enumerate() {
        let source = input.row(row / TAPS);
        let (Some(source), Some(unfolded)) = (source.as_slice(), unfolded.as_slice_mut()) else { continue };
        let (from_y, to_y, height) = overlap(row % TAPS / KERNEL);
        let (from_x, to_x, width) = overlap(row % KERNEL);
        unfolded.fill(0.0);
        for (map, shifted) in source.chunks_exact(PIXELS).zip(unfolded.chunks_exact_mut(PIXELS)) {
            for y in 0..height {
                let (from, to) = ((from_y + y) * SIDE + from_x, (to_y + y) * SIDE + to_x);
                shifted[to..to + width].copy_from_slice(&map[from..from + width]);
            }
        }
    }
}

/// The transpose of [`unfold`]: adds every shifted map back to where it came from.
fn fold(columns: &Array2<f32>) -> Array2<f32> {
    let mut folded = Array2::zeros((columns.nrows() / TAPS, columns.ncols()));
    for (row, unfolded) in columns.rows().into_iter().enumerate() {
        let mut target = folded.row_mut(row / TAPS);
        let (Some(unfolded), Some(target)) = (unfolded.as_slice(), target.as_slice_mut()) else { continue };
        let (from_y, to_y, height) = overlap(row % TAPS / KERNEL);
        let (from_x, to_x, width) = overlap(row % KERNEL);
        for (shifted, map) in unfolded.chunks_exact(PIXELS).zip(target.chunks_exact_mut(PIXELS)) {
            for y in 0..height {
                let (from, to) = ((from_y + y) * SIDE + from_x, (to_y + y) * SIDE + to_x);
                for (sum, part) in map[from..from + width].iter_mut().zip(&shifted[to..to + width]) {
                    *sum += part;
                }
            }
        }
    }
    folded
}
