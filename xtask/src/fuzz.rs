//! Fuzzing: builds the targets of `fuzz/`, a workspace of its own, with the compiler's coverage instrumentation (which
//! needs no nightly) and runs each of them for its part of the time. What they check lives with them.

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{cargo, command, run as run_command};

/// What cargo-fuzz passes to the compiler, without a sanitizer: readers and receiver are safe Rust.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing";
/// Seconds in all where none are said: what CI has for it.
pub(crate) const SECONDS: u64 = 60;
/// Instrumented code is for the machine at hand only; naming it keeps the flags away from build scripts.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Runs every target, all of them together for `seconds` of a processor: as many at once as there are.
pub(crate) fn run(seconds: u64, target: &Path) -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("SKIPPED: the fuzz targets are built for {TRIPLE} only");
        return Ok(());
    }
    let folder = target.join("fuzz");
    let mut build = cargo(&["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", TRIPLE]);
    build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &folder);
    run_command(build)?;
    let names = targets()?;
    let each = (seconds / names.len() as u64).max(1);
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let part = |first: usize| {
        let mut mine = names.iter().skip(first).step_by(at_once);
        mine.try_for_each(|name| fuzz(name, each, &folder))
    };
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..at_once).map(|first| scope.spawn(move || part(first))).collect();
        let ended = parts.into_iter().map(|part| part.join().map_err(|_| "a thread panicked".to_owned()));
        // All of them end before the first problem is told.
        ended.collect::<Vec<_>>().into_iter().try_for_each(|outcome| outcome?)
    })
}

/// Runs one target for so many seconds.
fn fuzz(name: &str, seconds: u64, folder: &Path) -> Outcome {
    eprintln!("--- {name}, {seconds} s");
    let program = folder.join(TRIPLE).join("release").join(name);
    let (found, artifacts) = (folder.join("corpus").join(name), folder.join("artifacts"));
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let seconds = format!("-max_total_time={seconds}");
    let prefix = format!("-artifact_prefix={}/{name}-", artifacts.display());
    let (found, seeds) = (found.to_string_lossy(), format!("fuzz/corpus/{name}"));
    let bounds =
        ["-max_len=4096", "-rss_limit_mb=2048", "-timeout=20", "-verbosity=0", "-print_final_stats=1"];
    let arguments = [&[seconds.as_str(), prefix.as_str()][..], &bounds, &[&found, &seeds]].concat();
    run_command(command(&program, &arguments))
        .map_err(|problem| format!("{problem}: the input is in {}", artifacts.display()))
}

/// The names of the targets: one a file.
fn targets() -> Outcome<Vec<String>> {
    let entries = std::fs::read_dir("fuzz/targets").map_err(|error| format!("fuzz/targets: {error}"))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut names: Vec<String> = paths
        .filter_map(|path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}
