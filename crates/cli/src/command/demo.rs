//! `stepscope demo`: trains the demo's model with the layer installed as any program would install it, then
//! analyses the directory that the layer wrote.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stepscope_analyze::report::{build, units};
use stepscope_demo::{EpochOutcome, Options, Outcome, Slow};

use crate::args::{DemoArgs, Format, Global, SlowStage};
use crate::config::Config;
use crate::error::CliError;
use crate::fold::Analysis;
use crate::progress::Progress;
use crate::{exit, output};

/// Trains, records, analyses, reports.
pub(crate) fn run(args: &DemoArgs, global: Global) -> Result<u8, CliError> {
    output::renderer(args.format, args.output.as_deref())?;
    // The demo's checkpoints are real files that nobody needs afterwards.
    let checkpoints = tempfile::tempdir().map_err(|error| CliError::Output(std::env::temp_dir(), error))?;
    let (outcome, profile) = train(args, options(args, checkpoints.path()), global)?;
    output::note(global, &trained(&outcome));
    let mut analysis = Analysis::new(global);
    analysis.read(&profile)?;
    let (partial, read) = analysis.finish();
    let report = build(&partial.finish(None), output::reading(read), &Config::default().rules);
    output::write(&report, args.format, args.output.as_deref(), global)?;
    let next = next(args, &profile);
    if args.format == Format::Text && args.output.is_none() {
        output::stdout(next.as_bytes())?;
    } else {
        output::note(global, next.trim_end());
    }
    Ok(exit::FINE)
}

fn options(args: &DemoArgs, checkpoints: &Path) -> Options {
    let mut options = Options::new(checkpoints);
    options.seed = args.seed;
    options.steps = args.steps;
    options.epochs = args.epochs.unwrap_or(options.epochs);
    options.slow = args.slow.map(|stage| match stage {
        SlowStage::Preprocessing => Slow::Preprocessing,
        SlowStage::Loader => Slow::Loader,
    });
    options.leak = args.leak;
    options.busy_loaders = args.busy_loaders;
    options
}

/// Trains with the layer; gives where the profile lies.
fn train(args: &DemoArgs, options: Options, global: Global) -> Result<(Outcome, PathBuf), CliError> {
    output::note(global, "Training a small network on handwritten digits, recorded by stepscope …");
    let guard = stepscope::builder().service_name("stepscope-demo").directory(&args.out).install();
    let profile = guard.directory().map(relative);
    let mut progress = Progress::new(global);
    let trained = stepscope_demo::run_with_progress(&options, &mut |epoch: &EpochOutcome| {
        progress.words(|| {
            format!(
                "epoch {} of {}: loss {:.3}, {} of the held-out digits right",
                epoch.epoch + 1,
                options.epochs,
                epoch.loss,
                units::percent(epoch.accuracy)
            )
        });
    });
    progress.done();
    drop(guard);
    let outcome = trained.map_err(|error| {
        if error.is_invalid_options() {
            CliError::Usage(error.to_string())
        } else {
            CliError::Internal(format!("the demo failed to train: {error}"))
        }
    })?;
    match profile {
        Some(profile) => Ok((outcome, profile)),
        None => Err(CliError::Input(format!(
            "nothing was recorded in {}; check that it can be written, and that STEPSCOPE_LEVEL is not off",
            args.out.display()
        ))),
    }
}

/// A path as a user types it: from here, where it lies below.
fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_path_buf()
}

fn trained(outcome: &Outcome) -> String {
    let seconds = Duration::try_from_secs_f64(outcome.seconds).unwrap_or_default();
    format!(
        "Trained {} in {}; {} of the held-out digits are named right.\n",
        units::things(outcome.steps, "step", "steps"),
        units::duration(u64::try_from(seconds.as_nanos()).unwrap_or(u64::MAX)),
        units::percent(outcome.accuracy)
    )
}

/// Where the profile lies and what to try next.
fn next(args: &DemoArgs, profile: &Path) -> String {
    let planted = args.slow.is_some() || args.leak || args.busy_loaders;
    let try_next = if planted { "stepscope demo" } else { "stepscope demo --slow loader" };
    format!("\nThe profile lies in {}\nTry next: {try_next}\n", profile.display())
}
