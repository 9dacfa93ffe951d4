//! What stages run their tests with: the built programs, interpreters, target folders, and what is built ahead of them.

use super::stages::Stage;
use crate::process::{capture, cargo, command, run as run_command, succeeds};
use crate::{Outcome, frameworks, fuzz as fuzzing, otel};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example whose run the stage `stack` looks at.
pub(super) const WITH_BURN: &str = "examples/burn-digits";

/// What compiles the foreign programs that the stage `stack` runs.
pub(super) const FOREIGN: [&str; 5] = ["build", "collector", "jaeger", "prometheus", "collector-gateway"];

/// What is built while the first stages run, as lines of a shell.
pub(super) fn first_ahead(stages: &[&Stage]) -> Outcome<Vec<String>> {
    let mut lines = Vec::new();
    if is_in("smoke", stages) {
        lines.push("scripts/stack build jaeger collector-slim".to_owned());
    }
    if is_in("foreign", stages) {
        lines.push(format!("scripts/stack {}", FOREIGN.join(" ")));
        lines.push(frameworks::line(WITH_BURN, &framework_target()?));
    }
    Ok(lines)
}

/// What is built beside the stage `stack`.
pub(super) fn second_ahead(stages: &[&Stage]) -> Outcome<Vec<String>> {
    Ok(if is_in("frameworks", stages) { frameworks::lines(&framework_target()?) } else { Vec::new() })
}

fn is_in(name: &str, stages: &[&Stage]) -> bool {
    stages.iter().any(|stage| stage.name == name)
}

/// Builds the programs that tests of other packages run: cargo builds them only for those packages' own tests. Here as
/// in all stages the workspace is chosen whole, as a part of it would be built anew, for the features that it asks for.
pub(super) fn build() -> Outcome {
    run_command(cargo(&["build", "--workspace", "--examples", "--bins"]))
}

/// A test binary of the workspace. What it measures belongs into the log.
pub(super) fn test_binary(name: &str, arguments: &[&str]) -> Command {
    cargo(&[&["test", "--workspace", "--test", name, "--", "--nocapture"], arguments].concat())
}

/// Some of the end-to-end tests on a built program. They find it in `STEPSCOPE_BIN` and the second implementation's
/// interpreter on the path.
pub(super) fn end_to_end(program: &Path, arguments: &[&str]) -> Outcome {
    python()?;
    let python = otel::interpreter();
    if python.is_none() {
        eprintln!(
            "\nSKIPPED: no Python with OpenTelemetry could be made, so `record` is not tested with one"
        );
    }
    let mut tests = test_binary("e2e", arguments);
    tests.env("STEPSCOPE_BIN", program);
    if let Some(python) = &python {
        tests.env("STEPSCOPE_OTEL_PYTHON", python);
    }
    run_command(tests)
}

/// The modules of tests that judge the times of real training runs, beside which nothing else may run: they hold `alone`.
pub(super) fn judged_by_times(folder: &Path) -> Outcome<Vec<String>> {
    let problem = |error| format!("{}: {error}", folder.display());
    let mut modules = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if is_source && std::fs::read_to_string(&path).map_err(problem)?.contains("= alone();") {
            modules.extend(path.file_stem().map(|stem| format!("{}::", stem.to_string_lossy())));
        }
    }
    modules.sort();
    Ok(modules)
}

/// Every fuzz target, all of them together for `seconds`.
pub(crate) fn fuzz(seconds: u64) -> Outcome {
    fuzzing::run(seconds, &target_directory()?)
}

/// Of the integrations, examples and benches, each a workspace: they share nothing with this one's build but the sources.
pub(super) fn framework_target() -> Outcome<PathBuf> {
    Ok(target_directory()?.join("frameworks"))
}

/// What the stage `release` has built.
pub(super) fn release_program() -> Outcome<PathBuf> {
    Ok(target_directory()?.join("release").join(executable("stepscope")))
}

/// The program as [`build`] makes it.
pub(super) fn debug_program() -> Outcome<PathBuf> {
    Ok(target_directory()?.join("debug").join(executable("stepscope")))
}

/// The generator of large runs, as [`build`] makes it.
pub(super) fn generator() -> Outcome<PathBuf> {
    Ok(target_directory()?.join("debug").join(executable("generate-run")))
}

fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

pub(super) fn target_directory() -> Outcome<PathBuf> {
    let metadata = capture(cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    field(&metadata, "target_directory")
        .map(PathBuf::from)
        .ok_or_else(|| "cargo names no target directory".into())
}

/// The value of a string field in a JSON text that has it once; `\\` is the one escape that paths need.
fn field(json: &str, name: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    Some(rest.split_once('"')?.0.replace("\\\\", "\\"))
}

/// Makes sure that there is a Python for the second implementation of the report's figures.
pub(super) fn python() -> Outcome {
    if succeeds("python3", &["--version"]) {
        return Ok(());
    }
    eprintln!("python3 is missing: installing it");
    // The names of packages only; a machine that does not want this has its own way to install them.
    let installed = succeeds("apt-get", &["--version"])
        && run_command(command("apt-get", &["update"])).is_ok()
        && run_command(command("apt-get", &["install", "-y", "--no-install-recommends", "python3"])).is_ok();
    if installed && succeeds("python3", &["--version"]) {
        return Ok(());
    }
    Err("python3 is missing and could not be installed: install Python 3.9 or later (Debian: `apt-get install \
         python3`). The tests compute the report's figures a second time with it"
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    #[test]
    fn tests_that_judge_times_are_known() {
        let modules = judged_by_times(&root().join("tests/e2e")).unwrap();
        assert!(["demo::", "planted::"].iter().all(|name| modules.iter().any(|module| module == name)));
        assert!(!modules.iter().any(|module| module == "figures::"), "{modules:?}");
    }

    #[test]
    fn a_field_is_read_from_json() {
        let json = r#"{"a":1,"target_directory":"C:\\x\\target","b":"c"}"#;
        assert_eq!(field(json, "target_directory").as_deref(), Some("C:\\x\\target"));
        assert_eq!(field(json, "missing"), None);
    }
}
