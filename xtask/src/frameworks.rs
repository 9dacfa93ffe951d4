//! The integrations and examples, each a workspace of its own: tests, builds, and `examples/check.py`, which runs
//! them and holds the reports against what was planted. What is judged is there, not here. Of the benches, which are
//! workspaces as well, that of spans does a little; the others are for people to run.

use crate::Outcome;
use crate::process::{cargo, command, root, run};
use std::path::{Path, PathBuf};

/// Folders with tests of their own.
const TESTED: [&str; 4] = ["examples/common", "integrations/candle", "integrations/burn", "tests/allocators"];

/// Folders whose programs `examples/check.py` runs.
const BUILT: [&str; 3] = ["examples/pipeline", "examples/candle-digits", "examples/burn-digits"];

/// The bench that does a little of its work.
const SMOKE: &str = "benches/spans";

/// Benches and programs that no stage runs: they need minutes or quiet, or both. To build one of them takes three times as long.
const CHECKED: [&str; 8] = [
    "benches/analysis",
    "benches/leaks",
    "benches/memory",
    "benches/metrics",
    "benches/overhead",
    "examples/faults",
    "examples/leaks",
    "examples/wide",
];

/// What candle brings that nothing here runs, and that takes a fifth of its build to optimise.
const UNUSED: [&str; 6] =
    ["tokenizers", "fancy-regex", "regex-automata", "regex-syntax", "aho-corasick", "zip"];

const BUILD: &[&str] = &["build", "--release", "--locked"];
const TEST: &[&str] = &["test", "--release", "--locked"];

/// `target` is the folder of all builds, `stepscope` the program that reports.
pub(crate) fn check(target: &Path, stepscope: &Path) -> Outcome {
    // The programs before the tests: what both need is built with the programs' features.
    for folder in BUILT {
        within(folder, target, BUILD)?;
    }
    for folder in TESTED {
        within(folder, target, TEST)?;
    }
    // Every rule has five seeds in the end-to-end tests.
    let mut check = command("python3", &["examples/check.py", "--seeds", "2"]);
    check.arg("--binaries").arg(target.join("release")).arg("--stepscope").arg(stepscope);
    check.env("CARGO_TARGET_DIR", target);
    run(check)
}

/// Builds one of them alone.
pub(crate) fn build(folder: &str, target: &Path) -> Outcome {
    within(folder, target, BUILD)
}

/// Where the program of an example is once it is built.
pub(crate) fn program(folder: &str, target: &Path) -> PathBuf {
    let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
    target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The build of one of them as a line of a shell.
pub(crate) fn line(folder: &str, target: &Path) -> String {
    line_of(folder, target, BUILD)
}

/// All that is built here, as lines of a shell: what takes longest first.
pub(crate) fn lines(target: &Path) -> Vec<String> {
    let built = BUILT.iter().rev().map(|folder| line(folder, target));
    let tests = [TEST, &["--no-run"]].concat();
    let tested = TESTED.iter().map(|folder| line_of(folder, target, &tests));
    built.chain(tested).chain([line(SMOKE, target)]).collect()
}

fn line_of(folder: &str, target: &Path, arguments: &[&str]) -> String {
    let quoted = whole(arguments).map(|argument| format!("'{argument}'")).collect::<Vec<_>>().join(" ");
    format!("(cd {folder} && CARGO_TARGET_DIR='{}' cargo {quoted})", target.display())
}

/// Does a little of the bench of spans, and looks whether the others compile.
pub(crate) fn smoke(target: &Path) -> Outcome {
    within(SMOKE, target, &["run", "--release", "--locked", "--", "smoke"])?;
    let check = ["clippy", "--release", "--locked", "--", "-D", "warnings"];
    CHECKED.iter().try_for_each(|folder| within(folder, target, &check))
}

/// cargo in one of the workspaces, all of which share a target folder; its build of a framework is optimised even
/// for tests, since burn and candle without are fifty times as slow.
fn within(folder: &str, target: &Path, arguments: &[&str]) -> Outcome {
    let mut command = cargo(&[]);
    command.args(whole(arguments)).current_dir(root().join(folder)).env("CARGO_TARGET_DIR", target);
    eprintln!("in {folder}:");
    run(command)
}

/// Arguments of cargo, with what holds for all builds here.
fn whole(arguments: &[&str]) -> impl Iterator<Item = String> {
    let options = UNUSED.map(|name| format!("--config=profile.release.package.{name}.opt-level=0"));
    options.into_iter().chain(arguments.iter().map(|&argument| argument.to_owned()))
}
