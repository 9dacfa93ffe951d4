//! `stepscope record`: runs a program beside a receiver of its telemetry, then reports on what came.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_analyze::report::units;
use stepscope_server::Counts;

use crate::args::{Global, OutputArgs, RecordArgs};
use crate::child::{self, Out};
use crate::command::analyze;
use crate::error::CliError;
use crate::fold::Analysis;
use crate::{exit, output};

/// Names of folders end with numbers up to this.
const MAX_NUMBER: u32 = 999_999;

/// Runs, records, analyses. Gives the program's exit code, and the report's where the program ended well.
pub(crate) fn run(args: &RecordArgs, global: Global) -> Result<u8, CliError> {
    output::renderer(args.output.format, args.output.output.as_deref())?;
    let config = crate::config::load(args.output.config.as_deref(), global)?;
    let folder = create_folder(&args.out)?;
    output::note(global, &format!("Recording into {}", folder.display()));
    let ran = child::run(&args.command, &folder, Out::Inherited, &[], global)
        .inspect_err(|_| remove_if_empty(&folder))?;
    for note in notes(&ran.counts) {
        output::note(global, &note);
    }
    let code = ran.code();
    let reported = if ran.counts.taken() == 0 || (ran.counts.spans == 0 && ran.counts.points == 0) {
        remove_if_empty(&folder);
        Err(CliError::Input(nothing_came(&ran.counts)))
    } else {
        let mut analysis = Analysis::new(global);
        let output = OutputArgs { pushes_where_configured: true, ..args.output.clone() };
        analysis.read(&folder).and_then(|()| analyze::conclude(analysis, &output, &config, global))
    };
    match reported {
        Err(error) if code != exit::FINE => {
            output::note(global, &format!("stepscope: {error}"));
            Ok(code)
        }
        Ok(_) if code != exit::FINE => Ok(code),
        reported => reported,
    }
}

/// Makes a folder that was not there: the next number below `base`.
fn create_folder(base: &Path) -> Result<PathBuf, CliError> {
    let mut builder = DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(base).map_err(|error| CliError::output(base, error))?;
    builder.recursive(false);
    let mut number = last_number(base);
    while number < MAX_NUMBER {
        number += 1;
        let folder = base.join(format!("{PREFIX}{number:04}"));
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(CliError::output(&folder, error)),
        }
    }
    Err(CliError::output(base, io::Error::other("no number is left for a new folder")))
}

const PREFIX: &str = "record-";

/// The largest number below `base`, 0 where there is none.
fn last_number(base: &Path) -> u32 {
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let numbers = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(PREFIX)?.parse().ok())
        .filter(|&number| number < MAX_NUMBER);
    numbers.max().unwrap_or(0)
}

/// A folder with files in it stays: removing fails.
fn remove_if_empty(folder: &Path) {
    let _ = std::fs::remove_dir(folder);
}

/// What the user should know about what came.
fn notes(counts: &Counts) -> Vec<String> {
    let ways: Vec<&str> = counts.requests.keys().map(|way| way.name()).collect();
    let mut notes = Vec::new();
    if counts.taken() > 0 {
        notes.push(format!(
            "Recorded {} and {} of metrics in {} ({})",
            units::things(counts.spans, "span", "spans"),
            units::things(counts.points, "point", "points"),
            units::things(counts.taken(), "request", "requests"),
            ways.join(", ")
        ));
    }
    if counts.rejected > 0 {
        notes.push(format!("{} not taken", units::things(counts.rejected, "item was", "items were")));
    }
    if counts.refused > 0 {
        let things = units::things(counts.refused, "request was", "requests were");
        notes.push(format!("{things} refused:"));
        notes.extend(counts.reasons.iter().map(|(reason, count)| format!("  {count} × {reason}")));
    }
    notes
}

fn nothing_came(counts: &Counts) -> String {
    let came = if counts.taken() > 0 || counts.refused > 0 { "no spans" } else { "nothing" };
    format!(
        "the program sent {came}, so there is nothing to analyse; it must use stepscope's layer or an OpenTelemetry \
         SDK that reads OTEL_EXPORTER_OTLP_ENDPOINT"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_numbered_on() {
        let base = tempfile::tempdir().unwrap();
        let name = |folder: PathBuf| folder.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(name(create_folder(base.path()).unwrap()), "record-0001");
        std::fs::create_dir(base.path().join("record-0041")).unwrap();
        std::fs::create_dir(base.path().join("record-last")).unwrap();
        assert_eq!(name(create_folder(base.path()).unwrap()), "record-0042");
    }
}
