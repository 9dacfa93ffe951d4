//! The network: two convolutions, a pooling, two linear layers; 18,346 parameters. Each layer is a section.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Conv2d, Conv2dConfig, Linear, VarBuilder, conv2d, linear};
use examples_common::digits::{CLASSES, SIDE};
use stepscope_candle::{Profiled, profiled};

/// The layers that have weights.
pub struct Network {
    conv1: Profiled<Conv2d>,
    conv2: Profiled<Conv2d>,
    dense1: Profiled<Linear>,
    dense2: Profiled<Linear>,
}

impl Network {
    /// A network with random weights.
    pub fn new(weights: VarBuilder<'_>) -> Result<Self> {
        let same = Conv2dConfig { padding: 1, ..Conv2dConfig::default() };
        let pixels = (SIDE / 2) * (SIDE / 2);
        Ok(Self {
            conv1: profiled!("conv1", conv2d(1, 8, 3, same, weights.pp("conv1"))?),
            conv2: profiled!("conv2", conv2d(8, 16, 3, same, weights.pp("conv2"))?),
            dense1: profiled!("dense1", linear(16 * pixels, 64, weights.pp("dense1"))?),
            dense2: profiled!("dense2", linear(64, CLASSES, weights.pp("dense2"))?),
        })
    }
}

impl Module for Network {
    /// Scores of the ten digits for images of the shape (batch, 1, 8, 8).
    fn forward(&self, images: &Tensor) -> Result<Tensor> {
        let x = self.conv1.forward(images)?.relu()?;
        let x = self.conv2.forward(&x)?.relu()?.max_pool2d(2)?;
        let x = self.dense1.forward(&x.flatten_from(1)?)?.relu()?;
        self.dense2.forward(&x)
    }
}
