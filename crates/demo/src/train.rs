//! The training loop. The stages it calls live in files of their own.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ndarray::Array2;

use crate::checkpoint::{Position, load_checkpoint, save_checkpoint};
use crate::data::{ARCHIVE, Digits, PIXELS, Split};
use crate::decode::Decoder;
use crate::error::DemoError;
use crate::history::History;
use crate::loader::{self, Batch, Batches, Source};
use crate::net::{Network, cross_entropy};
use crate::optimizer::{Sgd, learning_rate};
use crate::options::{BATCH_SIZE, Options};
use crate::outcome::{EpochOutcome, Outcome, StepMs, Work};
use crate::plan::Plan;
use crate::preprocess::Normalizer;

/// Trains as the options say, without reporting progress.
///
/// The weights depend on seed and number of steps alone: not on the loader threads, nor on planted defects.
///
/// # Errors
/// When options are out of range, or a checkpoint cannot be written or read.
pub fn run(options: &Options) -> Result<Outcome, DemoError> {
    run_with_progress(options, &mut |_| {})
}

/// Trains as [`run`] does, and calls `on_epoch` after each epoch's evaluation and checkpoint.
///
/// # Errors
/// As [`run`].
pub fn run_with_progress(
    options: &Options,
    on_epoch: &mut dyn FnMut(&EpochOutcome),
) -> Result<Outcome, DemoError> {
    options.validate()?;
    fs::create_dir_all(&options.out_dir)
        .map_err(|error| DemoError::checkpoint_io("cannot create the directory", &options.out_dir, error))?;
    let digits = Digits::unpack(ARCHIVE)?;
    let split = Split::new(digits.len(), options.seed);
    let mut network = Network::new(options.seed);
    let mut optimizer = Sgd::new(&network.parameters());
    let first = resume(options, &mut network, &mut optimizer)?;
    let plan = Plan::new(options, split.train.len(), first)?;
    let decoder = Decoder::for_options(options);
    let source = Source { digits: &digits, train: &split.train, plan: &plan, decoder, seed: options.seed };
    let mut trainer = Trainer {
        options,
        plan: &plan,
        network,
        optimizer,
        normalizer: Normalizer::new(&digits, &split.train, options.slow),
        history: History::new(options.leak),
        held_out: HeldOut::new(&digits, &split.held_out)?,
        times: Times::default(),
        archive_lines: 0,
        epochs: Vec::new(),
        checkpoints: Vec::new(),
    };
    trainer.times.steps.reserve((plan.steps.end - plan.steps.start) as usize);

    let started = Instant::now();
    std::thread::scope(|scope| {
        let (mut batches, workers) = loader::start(scope, &source, options)?;
        let trained = trainer.train(&mut batches, on_epoch);
        // The threads end when nobody takes their batches any more.
        drop(batches);
        workers.join()?;
        trained
    })?;
    trainer.outcome(started.elapsed())
}

/// Steps done before this run.
fn resume(options: &Options, network: &mut Network, optimizer: &mut Sgd) -> Result<u64, DemoError> {
    let Some(path) = &options.resume else { return Ok(0) };
    let position = load_checkpoint(path, network, optimizer)?;
    if position.seed == options.seed {
        Ok(position.steps)
    } else {
        Err(DemoError::checkpoint(format!("the checkpoint was trained with seed {}", position.seed), path))
    }
}

struct Trainer<'a> {
    options: &'a Options,
    plan: &'a Plan,
    network: Network,
    optimizer: Sgd,
    normalizer: Normalizer<'a>,
    history: History,
    held_out: HeldOut,
    times: Times,
    archive_lines: u64,
    epochs: Vec<EpochOutcome>,
    checkpoints: Vec<PathBuf>,
}

/// Wall times by the trainer's own clock reads.
#[derive(Default)]
struct Times {
    steps: Vec<Duration>,
    wait: Duration,
    preprocessing: Duration,
}

impl Trainer<'_> {
    fn train(
        &mut self,
        batches: &mut Batches,
        on_epoch: &mut dyn FnMut(&EpochOutcome),
    ) -> Result<(), DemoError> {
        let mut global_step = self.plan.steps.start;
        for epoch in self.plan.epochs() {
            let _epoch = stepscope::epoch!(epoch);
            while global_step < self.plan.epoch_end(epoch) {
                let started = Instant::now();
                let step = stepscope::step!(global_step, samples = BATCH_SIZE as u64);
                let Some(batch) = batches.next() else {
                    step.discard();
                    break;
                };
                self.times.wait += started.elapsed();
                self.train_step(batch?, epoch);
                drop(step);
                self.times.steps.push(started.elapsed());
                global_step += 1;
            }
            on_epoch(&self.finish_epoch(epoch, global_step)?);
        }
        if global_step == self.plan.steps.end {
            Ok(())
        } else {
            Err(DemoError::loader(format!("no batch for step {global_step}")))
        }
    }

    fn train_step(&mut self, mut batch: Batch, epoch: u64) {
        self.archive_lines += batch.archive_lines;
        let preprocessing = Instant::now();
        self.normalizer.preprocess(&mut batch.images);
        self.times.preprocessing += preprocessing.elapsed();

        let scores = {
            let _section = stepscope::section!("forward", phase = Forward);
            self.network.forward(&batch.images)
        };
        let loss = {
            let _section = stepscope::section!("loss", phase = Forward);
            cross_entropy(&scores, &batch.labels)
        };
        {
            let _section = stepscope::section!("backward", phase = Backward);
            self.network.backward(&loss.gradient);
        }
        let learning_rate = learning_rate(epoch);
        {
            let _section = stepscope::section!("optimizer", phase = Optimizer);
            self.optimizer.step(self.network.parameters_mut(), learning_rate);
        }
        {
            let _section = stepscope::section!("metrics_history", phase = Other);
            self.history.record(loss.mean, self.network.features(), &scores);
        }
        stepscope::value!("loss", loss.mean);
        stepscope::value!("learning_rate", f64::from(learning_rate));
    }

    /// Evaluates and saves what the epoch made of the network.
    fn finish_epoch(&mut self, epoch: u64, global_step: u64) -> Result<EpochOutcome, DemoError> {
        let accuracy = {
            let _step = stepscope::step!(global_step, mode = eval);
            let accuracy = evaluate(&mut self.network, &self.normalizer, &self.held_out);
            stepscope::value!("accuracy", accuracy);
            accuracy
        };
        let position = Position { seed: self.options.seed, steps: global_step };
        let directory = &self.options.out_dir;
        self.checkpoints.push(save_checkpoint(directory, epoch, position, &self.network, &self.optimizer)?);
        let outcome = EpochOutcome { epoch, global_step, loss: self.history.finish_epoch(), accuracy };
        self.epochs.push(outcome);
        Ok(outcome)
    }

    fn outcome(mut self, elapsed: Duration) -> Result<Outcome, DemoError> {
        let in_steps = self.times.steps.iter().sum::<Duration>();
        let (Some(last), Some(step_ms)) = (self.epochs.last().copied(), StepMs::of(&mut self.times.steps))
        else {
            return Err(DemoError::loader("no step was taken"));
        };
        let share = |part: Duration| part.as_secs_f64() / in_steps.as_secs_f64().max(f64::MIN_POSITIVE);
        let steps = self.times.steps.len() as u64;
        let samples = steps * BATCH_SIZE as u64;
        let seconds = elapsed.as_secs_f64();
        Ok(Outcome {
            accuracy: last.accuracy,
            loss: last.loss,
            steps,
            samples,
            seconds,
            samples_per_s: samples as f64 / seconds.max(f64::MIN_POSITIVE),
            step_ms,
            wait_share: share(self.times.wait),
            preprocessing_share: share(self.times.preprocessing),
            work: Work {
                archive_lines: self.archive_lines,
                statistics_pixels: self.normalizer.statistics_pixels(),
                kept_bytes: self.history.kept_bytes(),
            },
            epochs: self.epochs,
            checkpoints: self.checkpoints,
        })
    }
}

/// The digits kept apart, in batches, in the archive's scale.
struct HeldOut {
    batches: Vec<(Array2<f32>, Vec<u8>)>,
    images: usize,
}

impl HeldOut {
    fn new(digits: &Digits, indices: &[usize]) -> Result<Self, DemoError> {
        let mut batches = Vec::new();
        for indices in indices.chunks(BATCH_SIZE) {
            let decoded = Decoder::Memory.decode(digits, indices, || 0)?;
            let pixels = decoded.samples.iter().flat_map(|(image, _)| image).copied().collect();
            let images = Array2::from_shape_vec((1, indices.len() * PIXELS), pixels)
                .map_err(|error| DemoError::data(error.to_string()))?;
            batches.push((images, decoded.samples.iter().map(|&(_, label)| label).collect()));
        }
        Ok(Self { batches, images: indices.len() })
    }
}

/// Share of the held-out digits that the network names right, 0 to 1.
#[tracing::instrument(skip_all, fields(images = held_out.images, stepscope.phase = "evaluation"))]
fn evaluate(network: &mut Network, normalizer: &Normalizer<'_>, held_out: &HeldOut) -> f64 {
    let mut correct = 0;
    for (images, labels) in &held_out.batches {
        let mut images = images.clone();
        normalizer.normalize(&mut images);
        correct += cross_entropy(&network.forward(&images), labels).correct;
    }
    correct as f64 / held_out.images.max(1) as f64
}
