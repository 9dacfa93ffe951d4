//! A small convolutional network learns handwritten digits with candle, profiled by stepscope. The loop is here, the
//! network in `network`, its data in `batches`.

mod batches;
mod network;

use std::error::Error;

use candle_core::{D, DType, Device, Module as _, Tensor};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW, VarBuilder, VarMap, loss};
use examples_common::digits::Digits;
use examples_common::{Options, Times};
use stepscope_candle::{Prefetch, Profiled};
use tracing::instrument;

use batches::{BATCH_SIZE, Batch, Source};
use network::Network;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// Faults that can be planted; README.md says what the report makes of them.
const PLANTS: [&str; 3] = ["leak", "augment-in-step", "slow-loader"];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let options = Options::from_arguments(&PLANTS)?;
    let _run = options
        .recorded
        .then(|| stepscope::builder().service_name("candle-digits").directory(&options.out).install());
    let device = Device::Cpu;
    let digits = Digits::unpack()?;
    let held_out = Batch::of(&digits.held_out, &device)?;
    let per_epoch = digits.train.len() / BATCH_SIZE;

    let variables = VarMap::new();
    let network = Network::new(VarBuilder::from_varmap(&variables, DType::F32, &device))?;
    let parameters = ParamsAdamW { lr: 2e-3, ..ParamsAdamW::default() };
    let mut optimizer = Profiled::optimizer(AdamW::new(variables.all_vars(), parameters)?);

    let source = Source::new(digits.train, &options);
    let distorts_in_step = source.distorts_in_step();
    let (threads, ahead) = if options.plants("slow-loader") { (1, 1) } else { (2, 8) };
    let mut batches = Prefetch::start("loader", threads, ahead, options.steps, {
        let device = device.clone();
        move |step| source.batch(step, &device)
    })?;

    // Each step's loss, "for a plot later on": what the fault `leak` keeps.
    let mut history: Vec<Tensor> = Vec::new();
    let mut times = Times::start(options.steps);
    for number in 0..options.steps {
        let step = stepscope::step!(number, samples = BATCH_SIZE);
        let Some(batch) = batches.next() else {
            step.discard();
            return Err("a loader thread ended early".into());
        };
        let mut batch = batch?;
        if distorts_in_step {
            batch = batches::distorted(&batch, options.seed, number)?;
        }
        let loss = forward(&network, &batch)?;
        optimizer.backward_step(&loss)?;
        stepscope::value!("loss", loss.to_scalar::<f32>()?);
        if options.plants("leak") {
            history.push(loss);
        }
        drop(step);
        times.lap();
        if (number + 1) % per_epoch == 0 || number + 1 == options.steps {
            let accuracy = evaluate(&network, &held_out, number)?;
            println!("step {number}: {:.1} % of the held-out digits are named right", 100.0 * accuracy);
            times.skip();
        }
    }
    println!("{times}");
    Ok(())
}

/// Network and loss: inside of one section, whose phase its name tells.
#[instrument(skip_all)]
fn forward(network: &Network, batch: &Batch) -> candle_core::Result<Tensor> {
    let scores = network.forward(&batch.images)?;
    let _section = stepscope::section!("loss");
    loss::cross_entropy(&scores, &batch.labels)
}

/// Share of the batch's digits that the network names right.
fn evaluate(network: &Network, batch: &Batch, number: usize) -> candle_core::Result<f32> {
    let _step = stepscope::step!(number, mode = eval);
    let named = network.forward(&batch.images)?.argmax(D::Minus1)?;
    let accuracy = named.eq(&batch.labels)?.to_dtype(DType::F32)?.mean_all()?.to_scalar::<f32>()?;
    stepscope::value!("accuracy", accuracy);
    Ok(accuracy)
}
