//! Where results go: standard output or a file, in the format asked for, with the exit code that follows from
//! them.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use stepscope_analyze::live_memory::pprof;
use stepscope_analyze::render::{self, Options, Output, RenderError, Renderer};
use stepscope_analyze::report::{Input, Reading, Report, build};
use stepscope_analyze::summary::RunIdentity;
use stepscope_analyze::{Partial, Summary};
use stepscope_model::{IssueKind, ReadOutcome};

use crate::args::{Format, Global, OutputArgs};
use crate::command::push;
use crate::config::Config;
use crate::error::CliError;
use crate::{exit, heap, symbols};

/// Runs that a message lists.
const RUNS_LISTED: usize = 10;

/// Writes to standard output.
pub(crate) fn stdout(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(CliError::stdout)
}

/// A note on standard error, unless they are not wanted.
pub(crate) fn note(global: Global, text: &str) {
    if !global.quiet {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Colours go to terminals only, and only where nobody objects.
pub(crate) fn options(global: Global, file: Option<&Path>) -> Options {
    let objected = global.no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Options { color: file.is_none() && !objected && std::io::stdout().is_terminal() }
}

/// Writes the report on one run of what was read, and gives the exit code.
pub(crate) fn report(
    read: (Partial, ReadOutcome),
    args: &OutputArgs,
    config: &Config,
    global: Global,
) -> Result<u8, CliError> {
    let (partial, outcome) = read;
    outcome.check().map_err(|error| CliError::Input(error.to_string()))?;
    let mut summary = partial.finish(args.run.as_deref());
    // It is large, and so is what follows.
    drop(partial);
    heap::give_back();
    if let Some(run) = args.run.as_deref().filter(|_| !summary.found) {
        return Err(no_such_run(run, &summary));
    }
    let resolved = symbols::resolve(&mut summary, &args.symbols);
    let compared = compare(&mut summary, &args.memory_between);
    let found = summary.found;
    let why = outcome.issues.iter().find(|issue| issue.kind == IssueKind::Empty);
    let why = why.map_or(String::new(), |issue| format!(": {} is {}", issue.file, issue.reason));
    let report = build(&summary, reading(outcome), &config.rules);
    drop(summary);
    write(&report, args.format, args.output.as_deref(), global)?;
    if !found {
        return Err(CliError::Input(format!(
            "the input holds no spans, so there is nothing to analyse{why}"
        )));
    }
    let written = args.pprof.as_ref().map_or(Ok(()), |path| pprof(&report, path));
    pushed(&report, args, global)?;
    written.and(compared).and(resolved)?;
    if args.fail_on.is_some() && report.summary.mode.is_none() && report.findings.is_empty() {
        note(
            global,
            "stepscope: no step was read, so nothing could be judged: --fail-on takes that for a failure",
        );
        return Ok(exit::FINDINGS);
    }
    Ok(code(&report, args.fail_on))
}

/// Compares live memory at two steps, if they are two.
fn compare(summary: &mut Summary, steps: &[u64]) -> Result<(), CliError> {
    let &[.., from, to] = steps else { return Ok(()) };
    let Some(memory) = &mut summary.live_memory else { return Err(no_samples("--memory-between")) };
    memory
        .compare(from, to)
        .map_err(|why| CliError::Input(format!("there is nothing for --memory-between: {why}")))
}

fn no_samples(option: &str) -> CliError {
    CliError::Unwritable(format!(
        "there is nothing for {option}: the run has no samples of live memory; have `#[global_allocator] static ALLOC: \
         stepscope::Alloc = stepscope::Alloc::system();` in the program"
    ))
}

/// Writes live memory as a profile.
fn pprof(report: &Report, path: &Path) -> Result<(), CliError> {
    let sampled = report.memory.as_ref().and_then(|memory| memory.sampled.as_ref());
    let Some(sampled) = sampled else { return Err(no_samples("--pprof")) };
    let write = || {
        let mut packed = GzEncoder::new(File::create(path)?, Compression::default());
        packed.write_all(&pprof::encode(sampled))?;
        packed.finish().map(drop)
    };
    write().map_err(|error| CliError::output(path, error))
}

/// Pushes the report where that is wanted. That it fails changes the exit code only where nothing else was asked for.
fn pushed(report: &Report, args: &OutputArgs, global: Global) -> Result<(), CliError> {
    let is_wanted = args.push || (args.pushes_where_configured && push::is_configured(&push::variable));
    if !is_wanted {
        return Ok(());
    }
    match push::push(report, args.output.as_deref(), &push::variable) {
        Ok(said) => note(global, &said),
        Err(why) if args.pushes_alone() => return Err(CliError::Unwritable(why)),
        Err(why) if args.push => drop(writeln!(std::io::stderr(), "stepscope: {why}")),
        Err(why) => note(global, &format!("stepscope: {why}")),
    }
    Ok(())
}

/// The renderer of a format; an error where it makes a folder and none is named. To be asked before the work begins.
pub(crate) fn renderer(format: Format, file: Option<&Path>) -> Result<&'static Renderer, CliError> {
    let name = format.name();
    let renderer = render::find(name)
        .ok_or_else(|| CliError::Internal(format!("there is no renderer called {name}")))?;
    match file {
        None if renderer.needs_folder() => {
            Err(CliError::Usage(format!("--format {name} writes several files: name a folder with --output")))
        }
        Some(path) if renderer.needs_folder() && path.is_file() => Err(CliError::Usage(format!(
            "--format {name} writes several files, and {} is a file: name a folder with --output",
            path.display()
        ))),
        _ => Ok(renderer),
    }
}

/// Writes a report.
pub(crate) fn write(
    report: &Report,
    format: Format,
    file: Option<&Path>,
    global: Global,
) -> Result<(), CliError> {
    let renderer = renderer(format, file)?;
    let fault = |error: RenderError| CliError::Internal(format!("failed to {error}"));
    match (renderer.output, file) {
        (Output::Text(render), None) => {
            stdout(render(report, options(global, None)).map_err(fault)?.as_bytes())
        }
        (Output::Text(render), Some(path)) => {
            let text = render(report, options(global, file)).map_err(fault)?;
            std::fs::write(path, text).map_err(|error| CliError::output(path, error))
        }
        (Output::Folder(render), folder) => {
            let folder = folder.unwrap_or(Path::new("."));
            let files = render(report).map_err(fault)?;
            std::fs::create_dir_all(folder).map_err(|error| CliError::output(folder, error))?;
            files.iter().try_for_each(|file| {
                let path = folder.join(file.name);
                std::fs::write(&path, &file.text).map_err(|error| CliError::output(&path, error))
            })
        }
    }
}

/// What the reader has to say, as reports carry it.
pub(crate) fn reading(outcome: ReadOutcome) -> Reading {
    let inputs = outcome.files.into_iter().map(|file| Input {
        path: file.path,
        format: file.format,
        bytes: file.bytes,
        spans: file.spans,
    });
    Reading { inputs: inputs.collect(), issues: outcome.issues }
}

fn code(report: &Report, fail_on: Option<f64>) -> u8 {
    let fails = fail_on.zip(report.max_severity()).is_some_and(|(limit, severity)| severity >= limit);
    if fails { exit::FINDINGS } else { exit::FINE }
}

fn no_such_run(run: &str, summary: &Summary) -> CliError {
    let others = &summary.other_runs;
    let all: Vec<RunIdentity> = others.iter().map(|other| other.run.clone()).collect();
    let listed: Vec<String> = all.iter().take(RUNS_LISTED).map(|run| run.selector(&all)).collect();
    let more = if others.len() > RUNS_LISTED { ", …" } else { "" };
    CliError::Usage(match listed.len() {
        0 => format!("no run is called '{run}'; the input holds none"),
        _ => format!("no run is called '{run}'; the input holds {}{more}", listed.join(", ")),
    })
}
