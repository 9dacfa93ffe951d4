//! The stages: what each is about, what it needs, and the commands that it runs.

use super::programs::{self, debug_program, judged_by_times, python, release_program, target_directory};
use crate::process::{cargo, command, root, run as run_command, succeeds};
use crate::{Outcome, budgets, docs, frameworks, fuzz, grafana, lint, otel, page};

/// Whether every change runs it, or only those that touch what it looks at, and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Long,
    /// Only what others build on.
    Build,
}

pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) length: Length,
    /// Stages that must have run before this one.
    pub(super) needs: &'static [&'static str],
    pub(super) run: fn() -> Outcome,
}

const fn stage(
    name: &'static str,
    about: &'static str,
    length: Length,
    needs: &'static [&'static str],
    run: fn() -> Outcome,
) -> Stage {
    Stage { name, about, length, needs, run }
}

/// In the order in which they run: what fails fast comes first.
pub(super) const STAGES: &[Stage] = &[
    stage("budgets", "weight and directions of the crates", Length::Short, &[], budgets::run),
    stage("docs", "generated documents are current", Length::Short, &[], docs::check),
    stage("lint", "source rules, format, one clippy", Length::Short, &[], lint_shortly),
    stage("unit", "tests of the crates, debug build", Length::Short, &[], unit),
    stage("loom", "what threads share without locks, in every order", Length::Short, &[], models),
    stage(
        "e2e",
        "figures, kill -9, cut and shuffled input, ranks; debug build",
        Length::Short,
        &[],
        end_to_end,
    ),
    stage(
        "smoke",
        "one page in a browser; one run through the collector and Jaeger",
        Length::Short,
        &[],
        smoke,
    ),
    stage("features", "clippy of every choice of the layer's features", Length::Long, &[], features),
    stage("rustdoc", "documentation without warnings", Length::Long, &[], rustdoc),
    stage("root", "the layer's tests through the root subscriber", Length::Long, &[], root_subscriber),
    stage(
        "allocator",
        "its counts over 10⁹ operations, and 10⁸ under AddressSanitizer",
        Length::Long,
        &[],
        allocator,
    ),
    stage("release", "the program, release build", Length::Build, &[], release),
    stage(
        "situations",
        "the other end-to-end tests that no clock judges",
        Length::Long,
        &["release"],
        situations,
    ),
    stage(
        "fuzz",
        "fuzz targets, a minute of a processor; damage at every place of a file",
        Length::Long,
        &[],
        fuzz_shortly,
    ),
    stage("perfetto", "converted traces in Perfetto's trace processor", Length::Long, &["release"], perfetto),
    stage(
        "grafana",
        "boards by Grafana's types and libraries, rules by promtool",
        Length::Long,
        &["release"],
        boards,
    ),
    stage("page", "the whole report page in a real browser", Length::Long, &["release"], page_in_browser),
    stage(
        "foreign",
        "builds collectors, Jaeger, Prometheus and a program with burn",
        Length::Build,
        &[],
        foreign,
    ),
    stage(
        "stack",
        "with the real collector, Jaeger and Prometheus",
        Length::Long,
        &["release", "foreign"],
        stack,
    ),
    stage("bench", "a little of the bench of spans; the others compile", Length::Long, &[], bench),
    stage("timed", "training runs that are judged by their times", Length::Long, &["release"], timed),
    stage(
        "frameworks",
        "integrations and examples: burn, candle, none",
        Length::Long,
        &["release"],
        frameworks,
    ),
];

/// Stages that need what is built ahead, or beside which nothing else may run.
pub(super) const ALONE: [&str; 5] = ["smoke", "foreign", "bench", "timed", "frameworks"];

fn lint_shortly() -> Outcome {
    lint::run(&["sources", "format", "dashboards", "clippy"])
}

fn features() -> Outcome {
    lint::run(&["features"])
}

fn rustdoc() -> Outcome {
    lint::run(&["rustdoc"])
}

fn unit() -> Outcome {
    let later = ["--exclude", "stepscope-tests", "--exclude", "stepscope-stack-tests"];
    run_command(cargo(&[&["test", "--workspace"][..], &later].concat()))
}

/// They repeat the files of the test `layer`, so `cargo test` leaves them out.
fn root_subscriber() -> Outcome {
    run_command(cargo(&["test", "--workspace", "--test", "root", "--test", "root_around"]))
}

/// A target folder of its own: the flag is one of every crate. Without the transport, which knows that flag, too.
fn models() -> Outcome {
    for package in [&["-p", "stepscope", "--no-default-features"] as &[&str], &["-p", "stepscope-mem"]] {
        let mut tests = cargo(&["test", "--test", "loom"]);
        tests.args(package);
        tests.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_directory()?.join("loom"));
        run_command(tests)?;
    }
    Ok(())
}

/// A sanitizer needs a flag that stable compilers have only where they are told so; their runtime libraries are there.
fn allocator() -> Outcome {
    let stress = ["test", "-p", "stepscope-mem", "--test", "stress"];
    run_command(cargo(&[&stress[..], &["--", "1000000000"]].concat()))?;
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("SKIPPED: AddressSanitizer is asked for on x86-64 Linux alone");
        return Ok(());
    }
    let arguments = ["--target", "x86_64-unknown-linux-gnu", "--", "100000000"];
    let mut sanitized = cargo(&[&stress[..], &arguments].concat());
    sanitized.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    sanitized.env("CARGO_TARGET_DIR", target_directory()?.join("sanitized"));
    run_command(sanitized)
}

fn release() -> Outcome {
    run_command(cargo(&["build", "--release", "-p", "stepscope-cli"]))
}

/// Modules of the end-to-end tests that every change runs.
const EVERY_CHANGE: [&str; 4] = ["disturbed::", "figures::", "golden::", "killed::"];

fn end_to_end() -> Outcome {
    programs::build()?;
    programs::end_to_end(&debug_program()?, &EVERY_CHANGE)
}

fn situations() -> Outcome {
    programs::build()?;
    let modules = judged_by_times(&root().join("tests/e2e"))?;
    let skipped = modules.iter().map(String::as_str).chain(EVERY_CHANGE);
    let arguments: Vec<&str> = skipped.flat_map(|module| ["--skip", module]).collect();
    programs::end_to_end(&release_program()?, &arguments)
}

/// One at a time, as two processors are few.
fn timed() -> Outcome {
    programs::build()?;
    let modules = judged_by_times(&root().join("tests/e2e"))?;
    let only: Vec<&str> = modules.iter().map(String::as_str).collect();
    programs::end_to_end(&release_program()?, &[&["--test-threads=1"], only.as_slice()].concat())
}

/// Fuzzing finds what nobody thought of; damage at every place of a file finds what is lost in silence.
fn fuzz_shortly() -> Outcome {
    let mut everywhere = cargo(&["test", "-p", "stepscope-model", "--test", "everywhere"]);
    everywhere.env("STEPSCOPE_DAMAGE_EVERYWHERE", "1");
    run_command(everywhere)?;
    programs::fuzz(fuzz::SECONDS)
}

/// The processor is WebAssembly in a package of PyPI, run by Node.
fn perfetto() -> Outcome {
    let python = if succeeds("node", &["--version"]) {
        otel::environment("perfetto-python", "tests/perfetto/requirements.txt")
    } else {
        None
    };
    let Some(python) = python else {
        eprintln!("SKIPPED: no Node, or no packages from PyPI, for Perfetto's trace processor");
        return Ok(());
    };
    let mut test = command(python, &["tests/perfetto/test_perfetto.py"]);
    test.env("STEPSCOPE_BIN", release_program()?);
    run_command(test)
}

fn boards() -> Outcome {
    python()?;
    programs::build()?;
    grafana::check(&target_directory()?, &release_program()?, &programs::generator()?)
}

/// The page of a real run, and that of a hundred thousand steps.
fn page_in_browser() -> Outcome {
    page_tests(&release_program()?, &[])
}

/// The page's figures in a browser, and the way through the real programs; each in its shortest form.
fn smoke() -> Outcome {
    page_tests(&debug_program()?, &["test_smoke"])?;
    run_command(command("scripts/stack", &["build", "collector-slim", "jaeger"]))?;
    let mut test = programs::test_binary("real", &["smoke::"]);
    test.env("STEPSCOPE_BIN", debug_program()?).env("STACK_COLLECTOR", "collector-slim");
    run_command(test)
}

fn page_tests(program: &std::path::Path, names: &[&str]) -> Outcome {
    python()?;
    programs::build()?;
    page::test(program, &programs::generator()?, &target_directory()?, names)
}

/// Without the other libraries, which the figures need and this does not.
fn bench() -> Outcome {
    frameworks::smoke(&programs::framework_target()?)
}

fn frameworks() -> Outcome {
    python()?;
    frameworks::check(&programs::framework_target()?, &release_program()?)
}

/// The foreign programs are compiled from sources that go.sum pins, by Go or what the script installs for it. The
/// program with burn is built where the stage `frameworks` finds it again.
fn foreign() -> Outcome {
    run_command(command("scripts/stack", &programs::FOREIGN))?;
    frameworks::build(programs::WITH_BURN, &programs::framework_target()?)
}

fn stack() -> Outcome {
    programs::build()?;
    let burn = frameworks::program(programs::WITH_BURN, &programs::framework_target()?);
    // One test at a time: each starts programs of its own, and two cores are few.
    let mut tests = programs::test_binary("real", &["--test-threads=1"]);
    tests.env("STEPSCOPE_BIN", release_program()?).env("STEPSCOPE_BURN_DIGITS", burn);
    run_command(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_one_stage() {
        for (position, stage) in STAGES.iter().enumerate() {
            assert!(STAGES[..position].iter().all(|earlier| earlier.name != stage.name), "{}", stage.name);
        }
        assert!(ALONE.iter().all(|name| STAGES.iter().any(|stage| stage.name == *name)));
    }

    #[test]
    fn no_test_of_every_change_is_judged_by_times() {
        let modules = judged_by_times(&root().join("tests/e2e")).unwrap();
        assert!(EVERY_CHANGE.iter().all(|name| !modules.iter().any(|module| module == name)), "{modules:?}");
    }
}
