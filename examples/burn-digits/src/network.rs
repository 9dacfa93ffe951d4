//! The network: two convolutions, a pooling, two linear layers; 18,346 parameters.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{Linear, LinearConfig, PaddingConfig2d, Relu};
use burn::tensor::{Device, Int, Tensor};
use examples_common::digits::{CLASSES, SIDE};
use stepscope::section;
use tracing::instrument;

/// The layers.
#[derive(Module, Debug)]
pub struct Network {
    conv1: Conv2d,
    conv2: Conv2d,
    pool: MaxPool2d,
    dense1: Linear,
    dense2: Linear,
    relu: Relu,
}

impl Network {
    /// A network with random weights.
    pub fn new(device: &Device) -> Self {
        let conv =
            |from, to| Conv2dConfig::new([from, to], [3, 3]).with_padding(PaddingConfig2d::Same).init(device);
        let pixels = (SIDE / 2) * (SIDE / 2);
        Self {
            conv1: conv(1, 8),
            conv2: conv(8, 16),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            dense1: LinearConfig::new(16 * pixels, 64).init(device),
            dense2: LinearConfig::new(64, CLASSES).init(device),
            relu: Relu::new(),
        }
    }

    /// Scores of the ten digits for images of the shape (batch, 1, 8, 8).
    #[instrument(skip_all)]
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let x = {
            let _section = section!("conv1");
            self.relu.forward(self.conv1.forward(images))
        };
        let x = {
            let _section = section!("conv2");
            self.pool.forward(self.relu.forward(self.conv2.forward(x)))
        };
        let _section = section!("dense");
        let x = self.relu.forward(self.dense1.forward(x.flatten(1, 3)));
        self.dense2.forward(x)
    }
}

/// Mean cross entropy of the scores.
#[instrument(skip_all, fields(stepscope.phase = "forward"))]
pub fn loss(scores: Tensor<2>, labels: Tensor<1, Int>) -> Tensor<1> {
    CrossEntropyLossConfig::new().init(&scores.device()).forward(scores, labels)
}
