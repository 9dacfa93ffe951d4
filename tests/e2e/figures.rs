//! The report's figures equal those that another program, in another language, computes from the same spans;
//! and the figures from the aggregates equal those from the spans.

use std::path::Path;
use std::process::Command;

use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder, binaries, crosscheck};

use crate::program::{LIMIT, output, report, report_text, stepscope};

/// Compares the report on `input`, and the sums in it, with the second implementation's figures.
pub(crate) fn compare(folder: &TempFolder, input: &Path) {
    compare_report(folder, input);
    println!("{}", crosscheck::aggregates(&[input]).expect("aggregates equal the spans' sums"));
}

/// Compares the report on `input`, which may have no sums of its own.
pub(crate) fn compare_report(folder: &TempFolder, input: &Path) {
    let report = folder.join("report.json");
    std::fs::write(&report, report_text(&[input])).expect("the report is written");
    println!("{}", crosscheck::compare(&[input], &report).expect("all figures equal"));
}

#[test]
fn the_second_implementation_passes_its_own_tests() {
    println!("{}", crosscheck::self_test().expect("the script's own tests pass"));
}

#[test]
fn of_the_demo_in_both_encodings() {
    for format in ["json", "protobuf"] {
        let folder = TempFolder::new("figures-demo").expect("a folder");
        let profiles = folder.join("profiles");
        let out = profiles.to_string_lossy().into_owned();
        let arguments = ["--quiet", "demo", "--steps", "220", "--out", &out, "--slow", "preprocessing"];
        output(stepscope(&arguments).env("STEPSCOPE_FORMAT", format));
        compare(&folder, &profiles);
    }
}

#[test]
fn of_a_run_that_leaks() {
    let folder = TempFolder::new("figures-leak").expect("a folder");
    let profiles = folder.join("profiles");
    let out = profiles.to_string_lossy().into_owned();
    output(&mut stepscope(&["--quiet", "demo", "--steps", "220", "--out", &out, "--leak"]));
    let report = report(&[&profiles]);
    assert_eq!(report["leaks"][0]["verdict"], "growing");
    compare(&folder, &profiles);
}

#[test]
fn of_a_generated_run_with_async_recursion_and_foreign_threads() {
    for (seed, format, name) in [(11, Format::Proto, "run.otlp"), (12, Format::Json, "run.jsonl")] {
        let folder = TempFolder::new("figures-generated").expect("a folder");
        let file = folder.join(name);
        let options =
            ForestOptions { steps: 400, spans_per_step: 30, depth: 6, seed, ..ForestOptions::default() };
        write_run(&options, format, &file);
        compare(&folder, &file);
    }
}

/// Writes a generated run, and says what it consists of.
pub(crate) fn write_run(options: &ForestOptions, format: Format, file: &Path) {
    let truth = Forest::new(options.clone()).write_file(format, file).expect("the run is written");
    println!("{} spans in {} traces", truth.spans, truth.traces);
}

/// A real program of several kinds of sections, not the demo: the layer's own example.
#[test]
fn of_a_program_with_recursion_and_a_loader() {
    of_the_example("300");
}

#[test]
fn of_a_run_without_steps() {
    of_the_example("0");
}

fn of_the_example(steps: &str) {
    let example = binaries::find("smoke").expect("cargo build -p stepscope --examples");
    let folder = TempFolder::new("figures-smoke").expect("a folder");
    let mut command = Command::new(example);
    command.arg(steps).current_dir(folder.path()).env("STEPSCOPE_FORMAT", "json");
    stepscope_testkit::process::run(&mut command, LIMIT).expect("starts").success().expect("succeeds");
    compare(&folder, &folder.join("profiles"));
}
