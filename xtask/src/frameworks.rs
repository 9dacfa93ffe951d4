//! The integrations and examples, each a workspace of its own: tests, builds, and `examples/check.py`, which runs
//! them and holds the reports against what was planted. What is judged is there, not here. Of the benches, which are
//! workspaces as well, that of spans does a little; the others are for people to run.

use crate::Outcome;
use crate::process::{cargo, command, root, run};
use std::path::{Path, PathBuf};

/// Folders with tests of their own.
const TESTED: [&str; 3] = ["examples/common", "integrations/candle", "integrations/burn"];

/// Folders whose programs `examples/check.py` runs.
const BUILT: [&str; 3] = ["examples/pipeline", "examples/candle-digits", "examples/burn-digits"];

/// Benches that no stage runs: they need minutes or quiet, or both.
const CHECKED: [&str; 2] = ["benches/analysis", "benches/overhead"];

/// `target` is the folder of all builds, `stepscope` the program that reports.
pub(crate) fn check(target: &Path, stepscope: &Path) -> Outcome {
    // The programs before the tests: what both need is built with the programs' features.
    for folder in BUILT {
        within(folder, target, &["build", "--release", "--locked"])?;
    }
    for folder in TESTED {
        within(folder, target, &["test", "--release", "--locked"])?;
    }
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

/// Does a little of the bench of spans, and looks whether the others compile.
pub(crate) fn smoke(target: &Path) -> Outcome {
    const FOLDER: &str = "benches/spans";
    within(FOLDER, target, &["run", "--release", "--locked", "--", "smoke"])?;
    for folder in CHECKED {
        within(folder, target, &["clippy", "--release", "--locked", "--", "-D", "warnings"])?;
    }
    Ok(())
}

/// cargo in one of the workspaces, all of which share a target folder; its build of a framework is optimised even
/// for tests, since burn and candle without are fifty times as slow.
fn within(folder: &str, target: &Path, arguments: &[&str]) -> Outcome {
    let mut command = cargo(arguments);
    command.current_dir(root().join(folder)).env("CARGO_TARGET_DIR", target);
    eprintln!("in {folder}:");
    run(command)
}
