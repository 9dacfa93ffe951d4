//! Batches as tensors: made by burn's loader threads, augmented there or, as a planted fault, in the step.

use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::InMemDataset;
use burn::tensor::{Device, Int, Tensor, TensorData};
use examples_common::digits::{Augmentation, Digit, PIXELS, SIDE, augment};
use examples_common::{Options, Random};
use stepscope::section;
use tracing::instrument;

/// Images of a batch.
pub const BATCH_SIZE: usize = 64;
/// Faults that can be planted in the data.
pub const PLANTS: [&str; 2] = ["augment-in-step", "slow-loader"];

/// What a step trains on.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Shape (batch, 1, 8, 8), 0 to 1.
    pub images: Tensor<4>,
    /// Shape (batch).
    pub labels: Tensor<1, Int>,
}

/// Makes tensors of digits, in loader threads.
#[derive(Debug, Clone)]
pub struct Digits {
    seed: u64,
    augmentation: Option<Augmentation>,
}

impl Batcher<Digit, Batch> for Digits {
    fn batch(&self, mut digits: Vec<Digit>, device: &Device) -> Batch {
        if let Some(how) = self.augmentation {
            let _section = section!("augment", samples = digits.len());
            let mut random = random(self.seed, &digits);
            for digit in &mut digits {
                digit.pixels = augment(&digit.pixels, how, &mut random);
            }
        }
        let _section = section!("to_tensors");
        let labels: Vec<i64> = digits.iter().map(|digit| i64::from(digit.label)).collect();
        let labels = Tensor::from_data(TensorData::new(labels, [digits.len()]), device);
        Batch { images: images(digits.iter().map(|digit| digit.pixels), device), labels }
    }
}

fn images(pixels: impl ExactSizeIterator<Item = [f32; PIXELS]>, device: &Device) -> Tensor<4> {
    let shape = [pixels.len(), 1, SIDE, SIDE];
    Tensor::from_data(TensorData::new(pixels.flatten().collect::<Vec<f32>>(), shape), device)
}

/// The training batches, with the fault that the options plant. burn's threads stay up to 100 batches ahead.
pub fn train(digits: Vec<Digit>, options: &Options, device: &Device) -> Arc<dyn DataLoader<Batch>> {
    let augmentation = match options.plant.as_deref() {
        Some("augment-in-step") => None,
        Some("slow-loader") => Some(Augmentation::Elastic),
        _ => Some(Augmentation::Shift),
    };
    let whole = digits.len() / BATCH_SIZE * BATCH_SIZE;
    let digits = digits.into_iter().take(whole).collect();
    let batcher = Digits { seed: options.seed, augmentation };
    stepscope_burn::loader("train", batcher, |batcher| {
        DataLoaderBuilder::new(batcher)
            .batch_size(BATCH_SIZE)
            .shuffle(options.seed)
            .num_workers(if options.plants("slow-loader") { 1 } else { 2 })
            .set_device(device.clone())
            .build(InMemDataset::new(digits))
    })
}

/// The held-out digits as they are, made on the thread that evaluates.
pub fn held_out(digits: Vec<Digit>, device: &Device) -> Arc<dyn DataLoader<Batch>> {
    let loader = DataLoaderBuilder::new(Digits { seed: 0, augmentation: None }).batch_size(BATCH_SIZE);
    loader.set_device(device.clone()).build(InMemDataset::new(digits))
}

/// The planted fault: the step's own thread distorts the images, and holds up everything behind it.
#[instrument(skip_all, name = "augment")]
pub fn distorted(batch: Batch, seed: u64) -> Batch {
    let device = batch.images.device();
    let mut random = Random::new(seed);
    let Ok(values) = batch.images.clone().into_data().try_into_vec::<f32>() else { return batch };
    let (rows, _) = values.as_chunks::<PIXELS>();
    let pixels: Vec<_> = rows.iter().map(|row| augment(row, Augmentation::Elastic, &mut random)).collect();
    Batch { images: images(pixels.into_iter(), &device), labels: batch.labels }
}

/// Follows the images of the batch, since loader threads have no number for it.
fn random(seed: u64, digits: &[Digit]) -> Random {
    let ink: f32 = digits.iter().flat_map(|digit| digit.pixels).sum();
    Random::new(seed ^ u64::from(ink.to_bits()))
}
