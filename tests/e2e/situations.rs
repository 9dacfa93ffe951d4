//! What a user sees when not all is well: a run that its directory's bound has thinned, one recorded at `basic`,
//! one that names no phases, a full disk, a directory that cannot be written, a collector that is not there. The
//! program trains on each time; what is missing is counted, said, and not made up.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stepscope_testkit::process::{self, Ended};
use stepscope_testkit::{TempFolder, binaries};

use crate::figures::{compare, compare_report};
use crate::program::{LIMIT, clean, output, report, stepscope};

/// Steps of an epoch of the program that is recorded here, which has two.
const STEPS: u64 = 3_000;

/// Runs the layer's own example below `folder` and gives what it said; it must succeed whatever happens.
fn record(folder: &TempFolder, settings: &[(&str, &str)]) -> Ended {
    let example = binaries::find("smoke").expect("cargo build -p stepscope --examples");
    run(clean(Command::new(example)).arg(STEPS.to_string()), folder, settings)
}

fn run(command: &mut Command, folder: &TempFolder, settings: &[(&str, &str)]) -> Ended {
    // The rings hold the whole run: what is lost here is lost behind them.
    command.current_dir(folder.path()).env("STEPSCOPE_RING_BYTES", "67108864");
    // Deep steps are whole at any level.
    command.env("STEPSCOPE_DEEP_STEPS", "off");
    command.envs(settings.iter().copied());
    process::run(command, LIMIT).expect("starts").success().expect("trains on")
}

/// The report as a terminal shows it, with its line breaks undone.
fn text(input: &Path) -> String {
    let shown = output(stepscope(&["--quiet", "--no-color", "analyze"]).arg(input));
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Spans dropped for a reason.
fn dropped(report: &Value, reason: &str) -> u64 {
    let rows = report["losses"]["dropped"].as_array().expect("a list");
    rows.iter().filter(|row| row["reason"] == reason).map(|row| number(&row["spans"])).sum()
}

fn section<'a>(report: &'a Value, path: &str) -> &'a Value {
    let sections = report["sections"].as_array().expect("a list");
    sections.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("no section {path}"))
}

/// Emitted spans are those taken by the directory and those dropped there or before.
fn assert_accounted(report: &Value) {
    let losses = &report["losses"];
    let exported: u64 =
        losses["exported"].as_array().expect("a list").iter().map(|row| number(&row["spans"])).sum();
    assert_eq!(number(&losses["emitted"]), exported + number(&losses["dropped_total"]), "{losses}");
}

/// All steps were read, and are whole unless something keeps them from it.
fn assert_covered(report: &Value, parts_because: &str) {
    let coverage = &report["summary"]["coverage"];
    let whole = if parts_because.is_empty() { 2 * STEPS } else { 0 };
    let expected = [2 * STEPS, 2 * STEPS, whole];
    assert_eq!(["recorded_steps", "read_steps", "whole_steps"].map(|name| number(&coverage[name])), expected);
    assert_eq!(coverage["unread_because"], Value::Null);
    assert_eq!(coverage["parts_because"].as_str().unwrap_or_default(), parts_because);
}

/// The answers of a rule.
fn answer<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let rules = report["detailed_metrics"]["rules"].as_array().expect("a list");
    rules.iter().find(|row| row["rule"] == rule).unwrap_or_else(|| panic!("no rule {rule}"))
}

#[test]
fn a_thinned_run_is_judged_by_its_sums_and_says_so() {
    let folder = TempFolder::new("thinned").expect("a folder");
    let example = binaries::find("programs").expect("cargo build -p stepscope --examples");
    let mut command = clean(Command::new(example));
    command.args(["budget", &STEPS.to_string()]);
    run(&mut command, &folder, &[("STEPSCOPE_DIR_BYTES", "1000000")]);
    let profiles = folder.join("profiles");
    let report = report(&[&profiles]);
    assert_accounted(&report);
    assert!(dropped(&report, "thinned") > 0 && dropped(&report, "size_bound") > 0, "{}", report["losses"]);
    // Every step is in the sums, few are there as spans, and of these the whole ones carry the phases.
    let coverage = &report["summary"]["coverage"];
    let (read, whole) = (number(&coverage["read_steps"]), number(&coverage["whole_steps"]));
    assert_eq!(number(&coverage["recorded_steps"]), STEPS);
    assert_eq!(number(&section(&report, "step/forward")["count"]), 9 * STEPS);
    assert!(whole >= 100 && whole < read && read < STEPS, "{whole} of {read}");
    assert_eq!(
        (&coverage["unread_because"], &coverage["parts_because"]),
        (&"size_bound".into(), &"thinned".into())
    );
    // What of the steps is left is not typical: the sums of the same sections judge it, and the report says so.
    let input = &report["summary"]["input"];
    assert_eq!((&input["source"], number(&input["steps"])), (&"aggregates".into(), STEPS));
    assert_eq!(number(&input["steps_ns"]), number(&section(&report, "step")["total"]));
    let phases = report["summary"]["phase_sums"].as_array().expect("a list");
    let forward = phases.iter().find(|row| row["phase"] == "forward").expect("a phase of the example");
    assert_eq!(number(&forward["total_ns"]), number(&section(&report, "step/forward")["total"]));
    // What was not read is not made up.
    assert_eq!(section(&report, "step/forward")["self_ns"], Value::Null);
    assert_ne!(report["summary"]["input"]["verdict"], "unknown");
    assert_eq!(report["run"]["ended"], true);
    let text = text(&profiles);
    assert!(text.contains(&format!("{} of 3,000 steps were read. ", thousands(read))), "{text}");
    let parts =
        format!("{} of {} steps were read with all their sections", thousands(whole), thousands(read));
    assert!(
        text.contains(&parts) && text.contains("thinned out to stay within the directory's bound"),
        "{text}"
    );
    assert!(text.contains("raise the directory's bound (STEPSCOPE_DIR_BYTES)"), "{text}");
    assert!(text.contains("of 3,000 steps, all modes and warm-up included"), "{text}");
    assert!(!text.contains("record at level"), "that would not help: {text}");
    compare(&folder, &profiles);
}

/// A number below a million as the report shows it.
fn thousands(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

#[test]
fn a_run_at_basic_has_exact_sums_and_is_not_judged_by_phase() {
    let folder = TempFolder::new("basic").expect("a folder");
    record(&folder, &[("STEPSCOPE_LEVEL", "basic")]);
    let profiles = folder.join("profiles");
    let report = report(&[&profiles]);
    assert_eq!(number(&report["losses"]["dropped_total"]), 0, "{}", report["losses"]);
    assert_eq!(report["run"]["level"], "basic");
    assert_eq!(number(&section(&report, "step/backward")["count"]), 2 * STEPS);
    let mode = &report["detailed_metrics"]["modes"][0];
    assert_eq!((number(&mode["all"]["count"]), number(&mode["whole_all"]["steps"])), (2 * STEPS, 0));
    assert_eq!(mode["phases"].as_array().map(Vec::len), Some(0), "{}", mode["phases"]);
    // The sums know how long the steps waited, and not what lies between steps.
    let input = &report["summary"]["input"];
    assert_eq!((&input["verdict"], &input["source"]), (&"high".into(), &"aggregates".into()));
    let total = |path: &str| number(&section(&report, path)["total"]);
    assert_eq!(
        (number(&input["in_steps_ns"]), number(&input["steps_ns"])),
        (total("step/data_wait"), total("step"))
    );
    for (rule, state) in [("input_bound", "found"), ("checkpoint_stalls", "unknown")] {
        assert_eq!(answer(&report, rule)["state"], state, "{}", answer(&report, rule));
    }
    // Fine or unknown, as how much of so short steps is in no phase is the machine's.
    let preprocessing = answer(&report, "slow_preprocessing");
    assert!(
        preprocessing["because"].as_str().is_some_and(|why| why.starts_with("0 % of ")),
        "{preprocessing}"
    );
    assert_covered(&report, "level");
    let text = text(&profiles);
    assert!(text.contains("record at level `detailed`"), "{text}");
    assert!(!text.contains("STEPSCOPE_DIR_BYTES"), "nothing was thinned: {text}");
    compare(&folder, &profiles);
}

/// A foreign program: steps and sections, and no word of what they are for.
#[test]
fn a_run_without_phases_says_what_it_lacks() {
    let folder = TempFolder::new("phaseless").expect("a folder");
    let file = folder.join("run.jsonl");
    let lines: String = (1..=60u64).map(phaseless_step).collect();
    std::fs::write(&file, lines).expect("the run is written");
    let report = report(&[&file]);
    assert_eq!(report["detailed_metrics"]["modes"][0]["all"]["count"], 60);
    assert_eq!(report["summary"]["input"]["verdict"], "unknown");
    assert_eq!(answer(&report, "input_bound")["state"], "unknown");
    // Where no phase says more, the section that takes the step's time is named itself.
    assert_eq!(number(&section(&report, "step/alpha")["in_steps"][0]["exposed_ns"]), 60 * 700_000);
    let text = text(&file);
    assert!(text.contains("No section names a phase"), "{text}");
    assert!(text.contains("data_wait"), "an example shows how: {text}");
    compare_report(&folder, &file);
}

/// 1 ms with 0.7 ms in a section; the next follows at once.
fn phaseless_step(number: u64) -> String {
    let start = 1_700_000_000_000_000_000 + number * 1_000_000;
    let span = |id: u64, parent: &str, name: &str, start: u64, end: u64, more: &str| {
        format!(
            r#"{{"traceId":"{number:032x}","spanId":"{id:016x}","parentSpanId":"{parent}","name":"{name}",
            "startTimeUnixNano":"{start}","endTimeUnixNano":"{end}","attributes":[{more}]}}"#
        )
    };
    let step = format!(
        r#"{{"key":"stepscope.section.kind","value":{{"stringValue":"step"}}}},
        {{"key":"stepscope.step","value":{{"intValue":"{number}"}}}}"#
    );
    let root = span(1, "", "step", start, start + 1_000_000, &step);
    let inside = span(2, &format!("{:016x}", 1), "alpha", start + 100_000, start + 800_000, "");
    let message = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{root},{inside}]}}]}}]}}"#);
    message.replace('\n', " ") + "\n"
}

#[test]
fn a_full_disk_costs_spans_and_no_training() {
    let folder = TempFolder::new("full").expect("a folder");
    let example = binaries::find("smoke").expect("cargo build -p stepscope --examples");
    // Files may have 512 KiB: a write beyond fails, as the signal that would come first is ignored.
    let mut shell = clean(Command::new("sh"));
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "sh"]).arg(example);
    let ended = run(shell.arg(STEPS.to_string()), &folder, &[]);
    let warned = ended.stderr_text();
    assert_eq!(warned.lines().count(), 1, "{warned}");
    assert!(warned.contains("could not write to") && warned.contains("until there is room"), "{warned}");
    let profiles = folder.join("profiles");
    let report = report(&[&profiles]);
    assert_accounted(&report);
    assert!(dropped(&report, "write_failed") > 0, "{}", report["losses"]);
    assert_eq!(number(&section(&report, "step/forward")["count"]), 2 * STEPS, "the sums are exact");
    assert!(
        report["findings"].as_array().is_some_and(|all| all.iter().any(|one| one["rule"] == "spans_lost"))
    );
    let text = text(&profiles);
    assert!(text.contains("Check free space and permissions of the profile directory."), "{text}");
}

#[test]
fn a_directory_that_cannot_be_written_costs_one_line() {
    let folder = TempFolder::new("unwritable").expect("a folder");
    std::fs::write(folder.join("file"), "in the way").expect("a file");
    // Below a file, where not even the super-user can write.
    let warned = record(&folder, &[("STEPSCOPE_DIR", "file/profiles")]).stderr_text();
    assert_eq!(warned.lines().count(), 1, "{warned}");
    assert!(warned.contains("file/profiles") && warned.contains("nothing is stored"), "{warned}");
    assert!(warned.contains("STEPSCOPE_DIR"), "it says how to choose another: {warned}");
    // And the analysis of what is not there names it, with the code for unreadable input.
    let mut command = stepscope(&["--quiet", "analyze"]);
    command.arg(folder.join("nothing"));
    let ended = process::run(&mut command, LIMIT).expect("starts");
    assert_eq!(ended.status.code(), Some(3));
    assert!(ended.stderr_text().contains("nothing"), "{}", ended.stderr_text());
}

#[test]
fn without_a_collector_the_directory_still_has_everything() {
    let folder = TempFolder::new("alone").expect("a folder");
    // Port 9 of this machine: nobody listens there, and nobody may.
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let warned = record(&folder, &[endpoint, ("STEPSCOPE_DIR", "profiles")]).stderr_text();
    assert_eq!(warned.lines().count(), 1, "{warned}");
    assert!(warned.contains("127.0.0.1:9") && warned.contains("losses are counted"), "{warned}");
    let profiles = folder.join("profiles");
    let report = report(&[&profiles]);
    let emitted = number(&report["losses"]["emitted"]);
    assert_eq!(number(&report["run"]["spans"]), emitted, "the directory has every span");
    assert_eq!(number(&report["losses"]["missing_spans"]), 0);
    assert_eq!(dropped(&report, "export_failed"), emitted, "none was sent");
    assert_eq!((&report["losses"]["absent"], &report["losses"]["lost"]), (&0.into(), &0.into()));
    assert_covered(&report, "");
    // It is no finding about this input, and worth a note.
    let is_found =
        report["findings"].as_array().is_some_and(|all| all.iter().any(|one| one["rule"] == "spans_lost"));
    assert!(!is_found, "{}", report["findings"]);
    let text = text(&profiles);
    assert!(text.contains("spans were lost on the way to `otlp` (export_failed)"), "{text}");
    assert!(text.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{text}");
    assert!(!text.contains("steps were read"), "all were: {text}");
    compare(&folder, &profiles);
}

#[test]
fn without_a_collector_and_without_a_directory_training_goes_on() {
    let folder = TempFolder::new("nowhere").expect("a folder");
    let warned = record(&folder, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")]).stderr_text();
    assert_eq!(warned.lines().count(), 1, "{warned}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0, "an endpoint alone writes no files");
}
