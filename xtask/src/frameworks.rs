//! The integrations and examples, each a workspace of its own: tests, builds, and `examples/check.py`, which runs
//! them and holds the reports against what was planted. What is judged is there, not here. Of the benches, which are
//! workspaces as well, that of spans does a little; the others are built, and for people to run.

use crate::process::{cargo, command, root, run};
use crate::{Outcome, lint};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with tests of their own.
const TESTED: [&str; 3] = ["examples/common", "integrations/candle", "integrations/burn"];

/// Folders whose programs `examples/check.py` runs.
const BUILT: [&str; 3] = ["examples/pipeline", "examples/candle-digits", "examples/burn-digits"];

/// The bench that takes the same frameworks as the examples. No stage runs it, as it needs minutes and quiet.
const BENCH: &str = "benches/overhead";

/// `target` is the folder of all builds, `stepscope` the program that reports.
pub(crate) fn check(target: &Path, stepscope: &Path) -> Outcome {
    // The programs before the tests: what both need is built with the programs' features.
    for folder in BUILT {
        within(folder, target, &["build", "--release", "--locked"])?;
    }
    for folder in TESTED {
        within(folder, target, &["test", "--release", "--locked"])?;
    }
    linted(BENCH, target)?;
    // Every rule has five seeds in the end-to-end tests.
    let mut check = command("python3", &["examples/check.py", "--seeds", "2"]);
    check.arg("--binaries").arg(target.join("release")).arg("--stepscope").arg(stepscope);
    check.env("CARGO_TARGET_DIR", target);
    run(check)
}

/// Builds one of the examples alone; gives its program.
pub(crate) fn build(example: &str, target: &Path) -> Outcome<PathBuf> {
    within(&format!("examples/{example}"), target, &["build", "--release", "--locked"])?;
    Ok(target.join("release").join(format!("{example}{}", std::env::consts::EXE_SUFFIX)))
}

/// The same as a line of a shell.
pub(crate) fn line(example: &str, target: &Path) -> String {
    let target = target.display();
    format!("cd examples/{example} && CARGO_TARGET_DIR='{target}' cargo build --release --locked")
}

/// Does a little of the bench of spans, and builds that of the analysis.
pub(crate) fn smoke(target: &Path) -> Outcome {
    within("benches/spans", target, &["run", "--release", "--locked", "--", "smoke"])?;
    linted("benches/analysis", target)
}

/// Builds a workspace with clippy as the compiler of its own crates, warnings denied. `cargo clippy` would check everything
/// that they depend on, too, which is built here already.
fn linted(folder: &str, target: &Path) -> Outcome {
    lint::component("clippy", "clippy")?;
    let mut build = command_in(folder, target, &["build", "--release", "--locked"]);
    // As `cargo clippy` hands its arguments over.
    build.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    run(build)
}

/// cargo in one of the workspaces, all of which share a target folder; its build of a framework is optimised even
/// for tests, since burn and candle without are fifty times as slow.
fn within(folder: &str, target: &Path, arguments: &[&str]) -> Outcome {
    run(command_in(folder, target, arguments))
}

fn command_in(folder: &str, target: &Path, arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.current_dir(root().join(folder)).env("CARGO_TARGET_DIR", target);
    eprintln!("in {folder}:");
    command
}
