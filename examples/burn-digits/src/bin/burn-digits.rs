//! Training with a loop of one's own: every stage is a section of the step.

use std::error::Error;
use std::sync::Arc;

use burn::data::dataloader::DataLoader;
use burn::module::Module as _;
use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use burn_digits::batches::{self, BATCH_SIZE, Batch};
use burn_digits::network::{Network, loss};
use examples_common::digits::Digits;
use examples_common::{Options, Times};
use stepscope::section;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// Faults that can be planted; README.md says what the report makes of them.
const PLANTS: [&str; 3] = ["leak", batches::PLANTS[0], batches::PLANTS[1]];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let options = Options::from_arguments(&PLANTS)?;
    let _run = options
        .recorded
        .then(|| stepscope::builder().service_name("burn-digits").directory(&options.out).install());
    let device = Device::flex();
    device.seed(options.seed);
    let training = device.clone().autodiff();
    let digits = Digits::unpack()?;
    let train = batches::train(digits.train, &options, &training);
    let held_out = batches::held_out(digits.held_out, &device);

    let mut network = Network::new(&training);
    let mut optimizer = AdamWConfig::new().init();
    // Scores of the network beside the training, "for a plot later on": what the fault `leak` keeps.
    let mut monitored: Vec<Tensor<2>> = Vec::new();
    let mut times = Times::start(options.steps);
    let mut number = 0;
    for epoch in 0.. {
        if number == options.steps {
            break;
        }
        let _epoch = stepscope::epoch!(epoch);
        let mut batches = train.iter();
        while number < options.steps {
            let step = stepscope::step!(number, samples = BATCH_SIZE);
            let Some(batch) = batches.next() else {
                // The epoch ends here: what waited for nothing was no step.
                step.discard();
                break;
            };
            let mut batch = batch?;
            if options.plants("augment-in-step") {
                batch = batches::distorted(batch, options.seed ^ number as u64);
            }
            if options.plants("leak") {
                monitored.push(network.forward(batch.images.clone()));
            }
            let scores = network.forward(batch.images);
            let loss = loss(scores, batch.labels);
            stepscope::value!("loss", loss.clone().into_scalar::<f32>());
            let gradients = {
                let _section = section!("backward", phase = Backward);
                GradientsParams::from_grads(loss.backward(), &network)
            };
            network = {
                let _section = section!("optimizer", phase = Optimizer);
                optimizer.step(2e-3, network, gradients)
            };
            drop(step);
            times.lap();
            number += 1;
        }
        drop(batches);
        let accuracy = evaluate(&network.valid(), &held_out, number)?;
        println!("step {number}: {:.1} % of the held-out digits are named right", 100.0 * accuracy);
        times.skip();
    }
    println!("{times}");
    Ok(())
}

/// Share of the held-out digits that the network names right.
fn evaluate(
    network: &Network,
    held_out: &Arc<dyn DataLoader<Batch>>,
    number: usize,
) -> Result<f64, Box<dyn Error + Send + Sync>> {
    let _step = stepscope::step!(number, mode = eval);
    let mut right = 0.0_f32;
    for batch in held_out.iter() {
        let batch = batch?;
        let named = network.forward(batch.images).argmax(1).squeeze_dim::<1>(1);
        right += named.equal(batch.labels).float().sum().into_scalar::<f32>();
    }
    let accuracy = f64::from(right) / held_out.num_items().max(1) as f64;
    stepscope::value!("accuracy", accuracy);
    Ok(accuracy)
}
