//! Running our own programs against the real ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use stepscope_testkit::{binaries, process};

/// No single call of a program takes longer than this on two busy cores.
pub const LIMIT: Duration = Duration::from_secs(300);

/// A call of `program` that inherits no setting of the caller's.
#[must_use]
pub fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if [
            "STEPSCOPE_",
            "OTEL_",
            "COLLECTOR_",
            "JAEGER_",
            "SAMPLING_",
            "STORE_",
            "GATEWAY_",
            "SPAN_METRICS_",
        ]
        .iter()
        .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    command.args(arguments);
    command
}

/// A call of `stepscope`: the program that `STEPSCOPE_BIN` names, else the one built beside the tests.
///
/// # Errors
/// When it is not there.
pub fn stepscope(arguments: &[&str]) -> Result<Command, String> {
    let program = match std::env::var_os("STEPSCOPE_BIN") {
        Some(path) => PathBuf::from(path),
        None => binaries::find("stepscope")?,
    };
    Ok(command(&program, arguments))
}

/// A call of an example program of the layer.
///
/// # Errors
/// When it is not built.
pub fn example(name: &str, arguments: &[&str]) -> Result<Command, String> {
    Ok(command(&binaries::find(name)?, arguments))
}

/// Standard output of a call that must succeed.
///
/// # Errors
/// When it does not, with its output.
pub fn output(command: &mut Command) -> Result<String, String> {
    let ended =
        process::run(command, LIMIT).map_err(|error| format!("failed to start {command:?}: {error}"))?;
    Ok(ended.success().map_err(|problem| format!("{command:?}: {problem}"))?.stdout_text())
}

/// The JSON report on `inputs`, as printed.
///
/// # Errors
/// When they cannot be analysed.
pub fn report_text(inputs: &[&Path]) -> Result<String, String> {
    output(stepscope(&["--quiet", "analyze", "--format", "json"])?.args(inputs))
}

/// A JSON text.
///
/// # Errors
/// When it is none.
pub fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}: {text:.300}"))
}
