//! A network that learns handwritten digits with candle, as one writes it without a profiler: what it says of itself
//! are the spans of `#[instrument]`. `../add-stepscope.diff` adds stepscope to it.

use candle_core::backprop::GradStore;
use candle_core::{DType, Device, Module as _, Result, Tensor};
use candle_nn::{
    AdamW, Conv2d, Conv2dConfig, Linear, Optimizer as _, VarBuilder, VarMap, conv2d, linear, loss,
};
use examples_common::Random;
use examples_common::digits::{CLASSES, Digit, Digits, PIXELS, SIDE};
use tracing::instrument;

const BATCH_SIZE: usize = 64;

struct Network {
    conv: Conv2d,
    dense: Linear,
}

impl Network {
    fn new(weights: VarBuilder<'_>) -> Result<Self> {
        let same = Conv2dConfig { padding: 1, ..Conv2dConfig::default() };
        Ok(Self {
            conv: conv2d(1, 16, 3, same, weights.pp("conv"))?,
            dense: linear(16 * PIXELS, CLASSES, weights.pp("dense"))?,
        })
    }

    #[instrument(skip_all)]
    fn forward(&self, batch: &Batch) -> Result<Tensor> {
        let features = self.conv.forward(&batch.images)?.relu()?;
        loss::cross_entropy(&self.dense.forward(&features.flatten_from(1)?)?, &batch.labels)
    }
}

struct Batch {
    images: Tensor,
    labels: Tensor,
}

impl Batch {
    fn new(digits: &[Digit], device: &Device) -> Result<Self> {
        let pixels: Vec<[f32; PIXELS]> = digits.iter().map(|digit| digit.pixels).collect();
        let labels: Vec<u32> = digits.iter().map(|digit| u32::from(digit.label)).collect();
        Ok(Self {
            images: Tensor::from_slice(pixels.as_flattened(), (digits.len(), 1, SIDE, SIDE), device)?,
            labels: Tensor::new(labels, device)?,
        })
    }
}

#[instrument(skip_all)]
fn backward(loss: &Tensor) -> Result<GradStore> {
    loss.backward()
}

#[instrument(skip_all)]
fn optimizer_step(optimizer: &mut AdamW, gradients: &GradStore) -> Result<()> {
    optimizer.step(gradients)
}

#[instrument(skip_all)]
fn train_step(network: &Network, optimizer: &mut AdamW, batch: &Batch) -> Result<f32> {
    let loss = network.forward(batch)?;
    let gradients = backward(&loss)?;
    optimizer_step(optimizer, &gradients)?;
    loss.to_scalar()
}

fn batches(digits: &[Digit], device: &Device) -> impl Iterator<Item = Result<Batch>> {
    digits.chunks(BATCH_SIZE).map(|digits| Batch::new(digits, device))
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let device = Device::Cpu;
    let variables = VarMap::new();
    let network = Network::new(VarBuilder::from_varmap(&variables, DType::F32, &device))?;
    let mut optimizer = AdamW::new_lr(variables.all_vars(), 1e-3)?;
    let mut digits = Digits::unpack()?.train;
    for epoch in 0..10 {
        Random::new(epoch).shuffle(&mut digits);
        let mut last = 0.0;
        for batch in batches(&digits, &device) {
            last = train_step(&network, &mut optimizer, &batch?)?;
        }
        println!("epoch {epoch}: loss {last:.3}");
    }
    Ok(())
}
