//! The training of `examples/candle-digits`, its loop as it is there, without evaluation.

use std::error::Error;
use std::sync::PoisonError;

use candle_core::{DType, Device, Module as _, Tensor};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW, VarBuilder, VarMap, loss};
use examples_common::Random;
use examples_common::digits::Digits;
use stepscope_candle::{Prefetch, Profiled};

use crate::options;
use crate::steps::Steps;
use batches::{BATCH_SIZE, Batch, Source};
use network::Network;

#[path = "../../../examples/candle-digits/src/batches.rs"]
#[expect(dead_code, reason = "the example plants faults, and this does not")]
mod batches;
#[path = "../../../examples/candle-digits/src/network.rs"]
mod network;

/// Trains with candle.
pub(crate) fn train(measured: &mut Steps, steps: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let device = Device::Cpu;
    let variables = VarMap::new();
    let network = Network::new(VarBuilder::from_varmap(&variables, DType::F32, &device))?;
    set(&variables)?;
    let parameters = ParamsAdamW { lr: 2e-3, ..ParamsAdamW::default() };
    let mut optimizer = Profiled::optimizer(AdamW::new(variables.all_vars(), parameters)?);
    let source = Source::new(Digits::unpack()?.train, &options(steps));
    let mut batches = Prefetch::start("loader", 2, 8, steps, {
        let device = device.clone();
        move |step| source.batch(step, &device)
    })?;
    for number in 0..steps {
        if measured.are_over() {
            break;
        }
        measured.step(|| -> Result<(), Box<dyn Error + Send + Sync>> {
            let _step = stepscope::step!(number, samples = BATCH_SIZE);
            let batch = batches.next().ok_or("a loader thread ended early")??;
            let loss = forward(&network, &batch)?;
            optimizer.backward_step(&loss)?;
            stepscope::value!("loss", loss.to_scalar::<f32>()?);
            Ok(())
        })?;
    }
    Ok(())
}

/// Gives all weights the same values in each run, which candle does not: some operations need more instructions for some
/// values.
fn set(variables: &VarMap) -> candle_core::Result<()> {
    let named = variables.data().lock().unwrap_or_else(PoisonError::into_inner);
    for (name, variable) in named.iter() {
        let mut random =
            Random::new(name.bytes().fold(1, |seed, byte| seed.wrapping_mul(31) + u64::from(byte)));
        let values: Vec<f32> = (0..variable.elem_count()).map(|_| 0.1 * random.signed()).collect();
        variable.set(&Tensor::from_vec(values, variable.shape(), variable.device())?)?;
    }
    Ok(())
}

/// Network and loss: inside of one section, whose phase its name tells.
#[tracing::instrument(skip_all)]
fn forward(network: &Network, batch: &Batch) -> candle_core::Result<Tensor> {
    let scores = network.forward(&batch.images)?;
    let _section = stepscope::section!("loss");
    loss::cross_entropy(&scores, &batch.labels)
}
