//! Batches as tensors: made in loader threads, augmented there or, as a planted fault, in the step.

use candle_core::{Device, Result, Tensor};
use examples_common::digits::{Augmentation, Digit, PIXELS, SIDE, augment, indices};
use examples_common::{Options, Random};
use stepscope::section;
use tracing::instrument;

/// Images of a batch.
pub const BATCH_SIZE: usize = 64;

/// What a step trains on.
pub struct Batch {
    /// Shape (batch, 1, 8, 8), 0 to 1.
    pub images: Tensor,
    /// Shape (batch).
    pub labels: Tensor,
}

impl Batch {
    /// All of these digits.
    pub fn of(digits: &[Digit], device: &Device) -> Result<Self> {
        let pixels: Vec<[f32; PIXELS]> = digits.iter().map(|digit| digit.pixels).collect();
        let labels = digits.iter().map(|digit| u32::from(digit.label)).collect::<Vec<_>>();
        Ok(Self { images: images(&pixels, device)?, labels: Tensor::new(labels, device)? })
    }
}

fn images(pixels: &[[f32; PIXELS]], device: &Device) -> Result<Tensor> {
    Tensor::from_slice(pixels.as_flattened(), (pixels.len(), 1, SIDE, SIDE), device)
}

/// Where batches come from, shared by the loader threads.
pub struct Source {
    train: Vec<Digit>,
    seed: u64,
    /// None where the step augments.
    augmentation: Option<Augmentation>,
}

impl Source {
    /// Batches of these digits, with the fault that the options plant.
    pub fn new(train: Vec<Digit>, options: &Options) -> Self {
        let augmentation = match options.plant.as_deref() {
            Some("augment-in-step") => None,
            Some("slow-loader") => Some(Augmentation::Elastic),
            _ => Some(Augmentation::Shift),
        };
        Self { train, seed: options.seed, augmentation }
    }

    /// Whether images are left for the step to distort.
    pub fn distorts_in_step(&self) -> bool {
        self.augmentation.is_none()
    }

    /// The batch of a step.
    pub fn batch(&self, step: usize, device: &Device) -> Result<Batch> {
        let mut digits: Vec<Digit> = indices(self.train.len(), BATCH_SIZE, self.seed, step)
            .into_iter()
            .filter_map(|index| self.train.get(index).cloned())
            .collect();
        if let Some(how) = self.augmentation {
            let _section = section!("augment", samples = digits.len());
            let mut random = random(self.seed, step);
            for digit in &mut digits {
                digit.pixels = augment(&digit.pixels, how, &mut random);
            }
        }
        let _section = section!("to_tensors");
        Batch::of(&digits, device)
    }
}

/// The planted fault: the step's own thread distorts the images, and holds up everything behind it.
#[instrument(skip_all, name = "augment")]
pub fn distorted(batch: &Batch, seed: u64, step: usize) -> Result<Batch> {
    let mut random = random(seed, step);
    let rows = batch.images.flatten_from(1)?.to_vec2::<f32>()?;
    let pixels: Vec<[f32; PIXELS]> = rows
        .into_iter()
        .filter_map(|row| <[f32; PIXELS]>::try_from(row).ok())
        .map(|pixels| augment(&pixels, Augmentation::Elastic, &mut random))
        .collect();
    Ok(Batch { images: images(&pixels, batch.images.device())?, labels: batch.labels.clone() })
}

fn random(seed: u64, step: usize) -> Random {
    Random::new(seed.wrapping_mul(1_000_003).wrapping_add(step as u64))
}
