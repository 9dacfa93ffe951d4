//! The report's figures equal those that another program, in another language, computes from the same spans;
//! and the figures from the aggregates equal those from the spans: of a demo, a generated run, two ranks, and random storms.
//! Other programs are in `figures_of_programs.rs`.

use std::path::Path;

use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder, crosscheck};

use crate::program::{output, program, report, report_text, stepscope};

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
fn of_random_storms_of_spans_that_wait_for_each_other() {
    println!("{}", crosscheck::storms(&program(), 100).expect("all figures equal"));
}

/// With faults that cost time and memory, in both encodings.
#[test]
fn of_the_demo() {
    // Batches join the trace of a deep step, which the second implementation does not do.
    for (format, fault, deep_steps) in
        [("json", &["--leak"][..], "on"), ("protobuf", &["--slow", "loader"], "off")]
    {
        let folder = TempFolder::new("figures-demo").expect("a folder");
        let profiles = folder.join("profiles");
        let out = profiles.to_string_lossy().into_owned();
        let mut command = stepscope(&["--quiet", "demo", "--steps", "220", "--out", &out]);
        output(command.args(fault).env("STEPSCOPE_FORMAT", format).env("STEPSCOPE_DEEP_STEPS", deep_steps));
        compare(&folder, &profiles);
        changes_are_noticed(&folder, &profiles);
    }
}

/// A count, an exposed time and a piece of the critical path that are wrong by one: each is reported.
fn changes_are_noticed(folder: &TempFolder, profiles: &Path) {
    let changed = folder.join("changed.json");
    for (place, figure) in [
        ("/run/spans", "spans"),
        ("/detailed_metrics/modes/0/phases/0/exposed_ns", "exposed_ns"),
        ("/critical_path/sections/0/on_path_ns", "on_path_ns"),
    ] {
        let mut report = report(&[profiles]);
        let value = report.pointer_mut(place).expect(place);
        *value = (value.as_u64().expect("a number") + 1).into();
        std::fs::write(&changed, report.to_string()).expect("the report is written");
        let problem = crosscheck::compare(&[profiles], &changed).expect_err("it is noticed");
        println!("{problem}");
        assert!(problem.contains("DIFFERENT") && problem.contains(figure), "{place}: {problem}");
    }
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

/// Two processes, each with warm-ups of its own in two modes.
#[test]
fn of_two_ranks() {
    let folder = TempFolder::new("figures-ranks").expect("a folder");
    let profiles = folder.join("profiles");
    let out = profiles.to_string_lossy().into_owned();
    for rank in ["0", "1"] {
        let mut command = stepscope(&["--quiet", "demo", "--steps", "200", "--out", &out]);
        command.envs([("STEPSCOPE_RANK", rank), ("STEPSCOPE_WORLD_SIZE", "2"), ("STEPSCOPE_RUN_ID", "two")]);
        output(&mut command);
    }
    assert_eq!(report(&[&profiles])["run"]["ranks"], 2);
    compare(&folder, &profiles);
}
