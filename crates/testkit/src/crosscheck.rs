//! Runs the second implementation of the figures (`tests/crosscheck`, Python) on a profile and a report.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{binaries, process};

/// A run of 1 M spans takes a minute; nothing that tests compare takes longer than this.
const LIMIT: Duration = Duration::from_secs(600);

/// Compares `report` with the figures recomputed from the spans under `inputs`; gives what the script says.
///
/// # Errors
/// When a figure differs, with every difference; also where there is no `python3`, because a comparison that
/// was not made must not look like one that succeeded.
pub fn compare(inputs: &[&Path], report: &Path) -> Result<String, String> {
    script("crosscheck.py", |command| command.args(inputs).arg("--report").arg(report))
}

/// Compares only the aggregates under `inputs` with the spans there.
///
/// # Errors
/// As [`compare`].
pub fn aggregates(inputs: &[&Path]) -> Result<String, String> {
    script("crosscheck.py", |command| command.args(inputs))
}

/// Compares the reports of `program` on so many random traces with the figures recomputed from them.
///
/// # Errors
/// As [`compare`], with the seeds of those that differ.
pub fn storms(program: &Path, count: u32) -> Result<String, String> {
    let count = count.to_string();
    script("storm.py", |command| command.arg("--stepscope").arg(program).args(["--storms", &count]))
}

fn script(name: &str, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<String, String> {
    let mut command = Command::new("python3");
    command.arg("-B").arg(binaries::repository().join("tests/crosscheck").join(name));
    let ended = process::run(arguments(&mut command), LIMIT).map_err(|error| {
        format!("failed to start python3 ({error}): install Python 3.11 or later to compare the figures")
    })?;
    let ended = ended.success().map_err(|problem| format!("{command:?}: {problem}"))?;
    Ok(ended.stdout_text())
}
