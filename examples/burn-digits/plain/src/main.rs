//! A network that learns handwritten digits with burn, as one writes it without a profiler: what it says of itself
//! are the spans of `#[instrument]`. `../add-stepscope.diff` adds stepscope to it.

use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::InMemDataset;
use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig, PaddingConfig2d, Relu};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Int, Tensor, TensorData};
use examples_common::digits::{CLASSES, Digit, Digits, PIXELS, SIDE};
use tracing::instrument;

const BATCH_SIZE: usize = 64;

#[derive(Module, Debug)]
struct Network {
    conv: Conv2d,
    relu: Relu,
    dense: Linear,
}

impl Network {
    fn new(device: &Device) -> Self {
        Self {
            conv: Conv2dConfig::new([1, 16], [3, 3]).with_padding(PaddingConfig2d::Same).init(device),
            relu: Relu::new(),
            dense: LinearConfig::new(16 * PIXELS, CLASSES).init(device),
        }
    }

    #[instrument(skip_all)]
    fn forward(&self, batch: Batch) -> Tensor<1> {
        let features = self.relu.forward(self.conv.forward(batch.images));
        let scores = self.dense.forward(features.flatten(1, 3));
        CrossEntropyLossConfig::new().init(&scores.device()).forward(scores, batch.labels)
    }
}

#[derive(Debug, Clone)]
struct Batch {
    images: Tensor<4>,
    labels: Tensor<1, Int>,
}

struct ToTensors;

impl Batcher<Digit, Batch> for ToTensors {
    fn batch(&self, digits: Vec<Digit>, device: &Device) -> Batch {
        let pixels: Vec<f32> = digits.iter().flat_map(|digit| digit.pixels).collect();
        let labels: Vec<i64> = digits.iter().map(|digit| i64::from(digit.label)).collect();
        Batch {
            images: Tensor::from_data(TensorData::new(pixels, [digits.len(), 1, SIDE, SIDE]), device),
            labels: Tensor::from_data(TensorData::new(labels, [digits.len()]), device),
        }
    }
}

#[instrument(skip_all)]
fn backward(network: &Network, loss: &Tensor<1>) -> GradientsParams {
    GradientsParams::from_grads(loss.backward(), network)
}

#[instrument(skip_all)]
fn optimizer_step(optimizer: &mut ModuleOptimizer, network: Network, gradients: GradientsParams) -> Network {
    optimizer.step(1e-3, network, gradients)
}

#[instrument(skip_all)]
fn train_step(network: Network, optimizer: &mut ModuleOptimizer, batch: Batch) -> (Network, f32) {
    let loss = network.forward(batch);
    let gradients = backward(&network, &loss);
    (optimizer_step(optimizer, network, gradients), loss.into_scalar())
}

fn batches(digits: Vec<Digit>, device: &Device) -> Arc<dyn DataLoader<Batch>> {
    let loader = DataLoaderBuilder::new(ToTensors).batch_size(BATCH_SIZE).shuffle(1).num_workers(1);
    loader.set_device(device.clone()).build(InMemDataset::new(digits))
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let device = Device::flex().autodiff();
    let mut network = Network::new(&device);
    let mut optimizer = AdamWConfig::new().init();
    let digits = batches(Digits::unpack()?.train, &device);
    for epoch in 0..10 {
        let mut last = 0.0;
        for batch in digits.iter() {
            (network, last) = train_step(network, &mut optimizer, batch?);
        }
        println!("epoch {epoch}: loss {last:.3}");
    }
    Ok(())
}
