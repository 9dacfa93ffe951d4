//! The training of `examples/burn-digits`, its loop as it is there, without evaluation.

use std::error::Error;

use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::Device;
use burn_digits::batches::{self, BATCH_SIZE};
use burn_digits::network::{Network, loss};
use examples_common::digits::Digits;
use stepscope::section;

use crate::options;
use crate::steps::Steps;

/// Trains with burn.
pub(crate) fn burn(measured: &mut Steps, steps: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let device = Device::flex();
    device.seed(1);
    let training = device.autodiff();
    let train = batches::train(Digits::unpack()?.train, &options(steps), &training);
    let mut network = Network::new(&training);
    let mut optimizer = AdamWConfig::new().init();
    let mut number = 0;
    while number < steps && !measured.are_over() {
        let mut batches = train.iter();
        // The digits of an epoch; the wait that finds its end is in no step.
        for _ in 0..(train.num_items() / BATCH_SIZE).min(steps - number) {
            if measured.are_over() {
                break;
            }
            network = measured.step(|| -> Result<Network, Box<dyn Error + Send + Sync>> {
                let _step = stepscope::step!(number, samples = BATCH_SIZE);
                let batch = batches.next().ok_or("an epoch ended early")??;
                let loss = loss(network.forward(batch.images), batch.labels);
                stepscope::value!("loss", loss.clone().into_scalar::<f32>());
                let gradients = {
                    let _section = section!("backward", phase = Backward);
                    GradientsParams::from_grads(loss.backward(), &network)
                };
                let _section = section!("optimizer", phase = Optimizer);
                Ok(optimizer.step(2e-3, network, gradients))
            })?;
            number += 1;
        }
    }
    Ok(())
}
