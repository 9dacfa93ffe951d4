//! Running the program, and runs for it to read.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder};

/// A call in `folder` that inherits no setting of the caller's.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepscope"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("STEPSCOPE_") || text.starts_with("OTEL_") || text == "NO_COLOR" {
            command.env_remove(&name);
        }
    }
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// How a call ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            // A signal has no code; no test expects one.
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the program in `folder`.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ended {
    command(folder, arguments).output().expect("the program starts").into()
}

/// Runs it with bytes on its standard input.
pub(crate) fn run_with(folder: &Path, arguments: &[&str], input: &[u8]) -> Ended {
    let mut command = command(folder, arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let bytes = input.to_vec();
    let writer = std::thread::Builder::new()
        .name("stdin".into())
        // A program that stops reading is no failure of the test.
        .spawn(move || drop(stdin.write_all(&bytes)))
        .expect("a thread starts");
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer does not panic");
    output.into()
}

/// What a call that must succeed wrote.
pub(crate) fn output(folder: &Path, arguments: &[&str]) -> String {
    let ended = run(folder, arguments);
    assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
    ended.stdout
}

/// The JSON report of a call that must succeed.
pub(crate) fn json(folder: &Path, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.extend(["--format", "json"]);
    serde_json::from_str(&output(folder, &all)).expect("the report is JSON")
}

pub(crate) fn folder(label: &str) -> TempFolder {
    TempFolder::new(label).expect("a temporary folder can be made")
}

pub(crate) fn write(folder: &TempFolder, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("a folder can be made");
    }
    std::fs::write(path, bytes).expect("a file can be written");
}

/// The messages of a small run.
pub(crate) fn messages(run_id: &str, seed: u64) -> Vec<Vec<u8>> {
    let options = ForestOptions { seed, run_id: run_id.into(), steps: 60, ..ForestOptions::default() };
    Forest::new(options).messages(Format::Proto).0
}

/// A small run as one file.
pub(crate) fn recording(run_id: &str, seed: u64) -> Vec<u8> {
    framed(&messages(run_id, seed))
}

/// Messages as a file holds them.
pub(crate) fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    messages.iter().for_each(|message| Format::Proto.frame(message, &mut file));
    file
}
