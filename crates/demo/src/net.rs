//! The network: two 3x3 convolutions with rectifiers, a 2x2 maximum pool and a dense layer, with a forward and
//! a backward pass written out by hand. Loss and optimizer live elsewhere.
//!
//! Feature maps are `channels x (images * pixels)`, so that a convolution is one matrix product over the whole
//! batch.

mod conv;
mod dense;
mod loss;
mod parameter;
mod pool;
mod relu;

use ndarray::{Array2, ArrayView2};

use crate::data::{CLASSES, PIXELS};
use crate::random::{Random, Stream};

use conv::Conv;
use dense::Dense;
pub(crate) use loss::cross_entropy;
pub(crate) use parameter::Parameter;
use pool::{POOLED_PIXELS, Pool};
use relu::Relu;

const CONV1_CHANNELS: usize = 32;
const CONV2_CHANNELS: usize = 48;

/// Parameters of the network: weights and biases of three layers.
pub(crate) const PARAMETERS: usize = 6;

/// Weights, gradients, and what the forward pass keeps for the backward pass.
#[derive(Debug)]
pub(crate) struct Network {
    conv1: Conv,
    relu1: Relu,
    conv2: Conv,
    relu2: Relu,
    pool: Pool,
    dense: Dense,
}

impl Network {
    /// A network with random weights.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, Stream::Weights, 0);
        Self {
            conv1: Conv::new(1, CONV1_CHANNELS, &mut random),
            relu1: Relu::default(),
            conv2: Conv::new(CONV1_CHANNELS, CONV2_CHANNELS, &mut random),
            relu2: Relu::default(),
            pool: Pool::default(),
            dense: Dense::new(CONV2_CHANNELS * POOLED_PIXELS, CLASSES, &mut random),
        }
    }

    /// Scores, `images x 10`, of normalised images, `1 x (images * 64)`.
    pub(crate) fn forward(&mut self, images: &Array2<f32>) -> Array2<f32> {
        let count = (images.ncols() / PIXELS) as u64;
        let maps = {
            let _section = stepscope::section!("conv1", images = count);
            self.relu1.forward(self.conv1.forward(images))
        };
        let maps = {
            let _section = stepscope::section!("conv2", images = count);
            self.relu2.forward(self.conv2.forward(&maps))
        };
        let maps = {
            let _section = stepscope::section!("pool", images = count);
            self.pool.forward(&maps)
        };
        let _section = stepscope::section!("dense", images = count);
        self.dense.forward(features_by_image(&maps))
    }

    /// Fills in the gradients of all parameters, for the images of the last forward pass.
    pub(crate) fn backward(&mut self, scores_gradient: &Array2<f32>) {
        let gradient = {
            let _section = stepscope::section!("dense_backward");
            self.dense.parameter_gradients(scores_gradient);
            features_by_channel(&self.dense.input_gradient(scores_gradient), CONV2_CHANNELS)
        };
        let gradient = {
            let _section = stepscope::section!("pool_backward");
            self.pool.backward(&gradient)
        };
        let gradient = {
            let _section = stepscope::section!("conv2_backward");
            let gradient = self.relu2.backward(gradient);
            self.conv2.parameter_gradients(&gradient);
            self.conv2.input_gradient(&gradient)
        };
        let _section = stepscope::section!("conv1_backward");
        self.conv1.parameter_gradients(&self.relu1.backward(gradient));
    }

    /// What the dense layer saw in the last forward pass, `images x features`.
    pub(crate) fn features(&self) -> ArrayView2<'_, f32> {
        self.dense.input()
    }

    pub(crate) fn parameters(&self) -> [&Parameter; PARAMETERS] {
        let (conv1, conv2, dense) = (&self.conv1, &self.conv2, &self.dense);
        [&conv1.weight, &conv1.bias, &conv2.weight, &conv2.bias, &dense.weight, &dense.bias]
    }

    pub(crate) fn parameters_mut(&mut self) -> [&mut Parameter; PARAMETERS] {
        let (conv1, conv2, dense) = (&mut self.conv1, &mut self.conv2, &mut self.dense);
        [
            &mut conv1.weight,
            &mut conv1.bias,
            &mut conv2.weight,
            &mut conv2.bias,
            &mut dense.weight,
            &mut dense.bias,
        ]
    }
}

/// `channels x (images * pixels)` to `images x (channels * pixels)`.
fn features_by_image(maps: &Array2<f32>) -> Array2<f32> {
    swap_blocks(maps, maps.ncols() / POOLED_PIXELS)
}

/// `images x (channels * pixels)` to `channels x (images * pixels)`.
fn features_by_channel(features: &Array2<f32>, channels: usize) -> Array2<f32> {
    swap_blocks(features, channels)
}

/// Transposes a matrix whose elements are blocks of pixels, `blocks` to a row.
fn swap_blocks(matrix: &Array2<f32>, blocks: usize) -> Array2<f32> {
    let block = matrix.ncols().checked_div(blocks).unwrap_or(0);
    let mut swapped = Array2::zeros((blocks, matrix.nrows() * block));
    for (row, from) in matrix.rows().into_iter().enumerate() {
        for (index, pixels) in from.exact_chunks(block.max(1)).into_iter().enumerate() {
            swapped.slice_mut(ndarray::s![index, row * block..(row + 1) * block]).assign(&pixels);
        }
    }
    swapped
}

#[cfg(test)]
mod tests;
