//! Starting other programs from the root of the workspace.

use crate::Outcome;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The cargo that started us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    command(program, arguments)
}

/// A program with the workspace's root as its directory.
pub(crate) fn command(program: impl Into<OsString>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program.into());
    command.args(arguments).current_dir(root());
    command
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs to the end, output passed through.
pub(crate) fn run(mut command: Command) -> Outcome {
    let line = shown(&command);
    eprintln!("$ {line}");
    let status = command.status().map_err(|error| format!("failed to start `{line}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed ({status})")) }
}

/// Runs to the end and gives its standard output; standard error is passed through.
pub(crate) fn capture(mut command: Command) -> Outcome<String> {
    let line = shown(&command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("failed to start `{line}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{line}` failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{line}` wrote something that is not UTF-8"))
}

/// Whether the program starts and succeeds with these arguments, its output discarded.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = command(program, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
