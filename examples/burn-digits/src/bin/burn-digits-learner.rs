//! Training with burn-train's `Learner`: the loop is burn's, so its loaders say where steps begin and end, and the
//! model's `TrainStep` holds the sections.

use std::error::Error;

use burn::lr_scheduler::constant::ConstantLr;
use burn::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::module::Module;
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::Device;
use burn::train::logger::InMemoryMetricLogger;
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::{ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep};
use burn_digits::batches::{self, BATCH_SIZE, Batch};
use burn_digits::network::{Network, loss};
use examples_common::Options;
use examples_common::digits::Digits;
use stepscope::section;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// The network as the `Learner` trains it.
#[derive(Module, Debug)]
struct Trained {
    network: Network,
    /// The planted fault: the step distorts its images itself.
    #[module(skip)]
    distorts: bool,
}

impl Trained {
    fn output(&self, batch: Batch) -> ClassificationOutput {
        let scores = self.network.forward(batch.images);
        ClassificationOutput::new(loss(scores.clone(), batch.labels.clone()), scores, batch.labels)
    }
}

impl TrainStep for Trained {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        let batch = if self.distorts { batches::distorted(batch, 1) } else { batch };
        let output = self.output(batch);
        let _section = section!("backward", phase = Backward);
        TrainOutput::new(self, output.loss.backward(), output)
    }

    fn optimize(
        self,
        optimizer: &mut ModuleOptimizer,
        rate: ModuleLearningRate,
        gradients: GradientsParams,
    ) -> Self {
        let _section = section!("optimizer", phase = Optimizer);
        optimizer.step(rate, self, gradients)
    }
}

impl InferenceStep for Trained {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        self.output(batch)
    }
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let options = Options::from_arguments(&batches::PLANTS)?;
    // Before `launch`: a subscriber that is there first stays, and burn is told below not to bring its own.
    let _run = options
        .recorded
        .then(|| stepscope::builder().service_name("burn-digits-learner").directory(&options.out).install());
    let device = Device::flex();
    device.seed(options.seed);
    let training = device.clone().autodiff();
    let digits = Digits::unpack()?;
    let per_epoch = digits.train.len() / BATCH_SIZE;
    let train = stepscope_burn::steps(batches::train(digits.train, &options, &training));
    let held_out = stepscope_burn::evaluation_steps(batches::held_out(digits.held_out, &device));

    let model = Trained { network: Network::new(&training), distorts: options.plants("augment-in-step") };
    let folder = tempfile::tempdir()?;
    let started = std::time::Instant::now();
    let epochs = options.steps.div_ceil(per_epoch);
    SupervisedTraining::new(folder.path(), train, held_out)
        .num_epochs(epochs)
        .metric_train_numeric(LossMetric::new())
        .metric_valid_numeric(LossMetric::new())
        .metric_valid_numeric(AccuracyMetric::new())
        .with_metric_logger(InMemoryMetricLogger::new())
        .with_application_logger(None)
        .launch(Learner::new(model, AdamWConfig::new().init(), ConstantLr::new(2e-3)));
    let steps = epochs * per_epoch;
    // Evaluation included: the loop is burn's, and so is its end.
    println!("steps={steps} median_us={:.1}", started.elapsed().as_secs_f64() * 1e6 / steps as f64);
    Ok(())
}
