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
use crate::{exit, output, symbols};

/// Trains, records, analyses, reports.
pub(crate) fn run(args: &DemoArgs, global: Global) -> Result<u8, CliError> {
    output::renderer(args.format, args.output.as_deref())?;
    check_writable(&args.out)?;
    // The demo's checkpoints are real files that nobody needs afterwards.
    let checkpoints = tempfile::tempdir().map_err(|error| CliError::Output(std::env::temp_dir(), error))?;
    let (outcome, profile) = train(args, options(args, checkpoints.path()), global)?;
    output::note(global, &trained(&outcome));
    let mut analysis = Analysis::new(global);
    analysis.read(&profile)?;
    let (partial, read) = analysis.finish();
    let mut summary = partial.finish(None);
    symbols::resolve(&mut summary, &[])?;
    let report = build(&summary, output::reading(read), &Config::default().rules);
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

/// Makes the directory as the layer would, and finds out whether it takes a file: the layer itself can only name the
/// environment variable that sets its directory, and goes on without one.
fn check_writable(out: &Path) -> Result<(), CliError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(out).and_then(|()| tempfile::tempfile_in(out)).map(drop).map_err(|error| {
        CliError::Unwritable(format!(
            "failed to write to {}: {error}; name another directory with --out",
            out.display()
        ))
    })
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
            "nothing was recorded in {}; check that STEPSCOPE_LEVEL is not off, or name another directory with \
             --out",
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
    format!("\nThe profile lies in {}\nTry next: {}\n", profile.display(), suggestion(args))
}

/// The same at full length after a run that was cut short, in which rules may lack data; else the other kind.
fn suggestion(args: &DemoArgs) -> String {
    let planted = [
        args.slow.map(|stage| match stage {
            SlowStage::Preprocessing => "--slow preprocessing",
            SlowStage::Loader => "--slow loader",
        }),
        args.leak.then_some("--leak"),
        args.busy_loaders.then_some("--busy-loaders"),
    ];
    let planted: Vec<&str> = planted.into_iter().flatten().collect();
    let usual = Options::new("").epochs;
    let options = match args.steps.is_some() || args.epochs.is_some_and(|epochs| epochs < usual) {
        true => planted,
        false if planted.is_empty() => vec!["--slow loader"],
        false => Vec::new(),
    };
    [&["stepscope demo"], &options[..]].concat().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn suggested(arguments: &[&str]) -> String {
        let cli = Cli::parse_from([&["stepscope", "demo"], arguments].concat());
        match cli.command {
            Command::Demo(args) => suggestion(&args),
            _ => String::new(),
        }
    }

    #[test]
    fn what_to_try_next_follows_from_what_was_run() {
        assert_eq!(suggested(&[]), "stepscope demo --slow loader");
        assert_eq!(suggested(&["--slow", "loader"]), "stepscope demo");
        assert_eq!(suggested(&["--epochs", "1"]), "stepscope demo");
        assert_eq!(suggested(&["--steps", "20", "--leak"]), "stepscope demo --leak");
        assert_eq!(suggested(&["--epochs", "500"]), "stepscope demo --slow loader");
    }
}
