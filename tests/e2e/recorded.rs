//! `record` around real programs: the demo, whose report must be that of the directory that it wrote itself; a Python
//! program with the OpenTelemetry SDK, in each protocol; and one that attacks the receiver.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stepscope_testkit::{TempFolder, binaries, process};

use crate::program::{LIMIT, clean, parse, program, report, report_text, stepscope};

/// Steps of the Python program, of three spans each.
const STEPS: u64 = 5_000;

/// What the receiver may have under way is half of it; the program around it needs little.
const PEAK_KIB: u64 = 512 << 10;

fn beside_this(name: &str) -> String {
    binaries::repository().join("tests/e2e").join(name).to_string_lossy().into_owned()
}

/// A call of `record` in `folder` that leaves its report in a file.
fn record(folder: &TempFolder, command: &[&str]) -> Command {
    let mut arguments = vec!["record", "--format", "json", "--output", "report.json", "--"];
    arguments.extend(command);
    let mut call = stepscope(&arguments);
    call.current_dir(folder.path());
    call
}

/// The text of a report without the lines that say where it was read from, and without the figure of single processors, which are
/// sent and not kept.
fn comparable(report: &str) -> String {
    let (before, rest) = report.split_once("  \"inputs\": [").expect("a report names its inputs");
    let (_, after) = rest.split_once("\n  ],").expect("the list ends");
    let core = "{\"figure\":\"busiest_core_share\"";
    let after = match after.split_once(core) {
        Some((first, rest)) => format!("{first}{}", rest.split_once("},").expect("others come behind").1),
        None => after.to_owned(),
    };
    format!("{before}{after}")
}

#[test]
fn the_demo_s_report_is_that_of_its_own_directory() {
    for protocol in ["http/protobuf", "grpc"] {
        let folder = TempFolder::new("recorded-demo").expect("a folder");
        let demo = program().to_string_lossy().into_owned();
        let arguments =
            [demo.as_str(), "--quiet", "demo", "--steps", "300", "--out", "direct", "--output", "own.txt"];
        let mut call = record(&folder, &arguments);
        call.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
        let notes =
            process::run(&mut call, LIMIT).expect("starts").success().expect("it succeeds").stderr_text();
        assert!(notes.contains(&format!("({protocol})")), "{notes}");
        let recorded = std::fs::read_to_string(folder.join("report.json")).expect("a report");
        let direct = report_text(&[&folder.join("direct")]);
        assert_ne!(recorded, direct);
        assert_eq!(comparable(&recorded), comparable(&direct), "{protocol}");
        let losses = &parse(&recorded)["losses"];
        assert_eq!(
            (losses["dropped_total"].as_u64(), losses["unknown"].as_u64().unwrap_or(0)),
            (Some(0), 0),
            "{losses}"
        );
    }
}

/// The interpreter with the SDK of `otel_requirements.txt`, where there is one.
fn interpreter() -> Option<String> {
    let interpreter = std::env::var("STEPSCOPE_OTEL_PYTHON").ok();
    if interpreter.is_none() {
        println!(
            "SKIPPED: STEPSCOPE_OTEL_PYTHON names no Python with OpenTelemetry (cargo xtask test e2e makes one)"
        );
    }
    interpreter
}

fn calls(report: &Value, path: &str) -> u64 {
    let sections = report["sections"].as_array().expect("a list of sections");
    let row = sections.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("no section {path}"));
    row["count"].as_u64().expect("a count")
}

/// Runs the Python program and holds the report and the notes against what it did.
fn assert_counted(command: &[&str], settings: &[(&str, &str)], protocol: &str) {
    let folder = TempFolder::new("recorded-python").expect("a folder");
    let mut call = record(&folder, command);
    call.envs(settings.iter().copied());
    let ended = process::run(&mut call, LIMIT).expect("starts").success().expect("the program succeeds");
    let notes = ended.stderr_text();
    assert!(notes.contains(&format!("({protocol})")), "{notes}");
    assert!(!notes.contains("refused") && !notes.contains("not taken"), "{notes}");
    let report = parse(&std::fs::read_to_string(folder.join("report.json")).expect("a report"));
    assert_eq!(report["run"]["spans"], Value::from(3 * STEPS), "{notes}");
    for path in ["step", "step/forward", "step/backward"] {
        assert_eq!(calls(&report, path), STEPS, "{path}");
    }
    assert_eq!(report["read_issues"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_python_program_is_recorded_in_each_protocol() {
    let Some(python) = interpreter() else { return };
    let (script, steps) = (beside_this("otel_program.py"), STEPS.to_string());
    let gzip = [("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")];
    for (way, protocol) in [("http", "http/protobuf"), ("grpc", "grpc")] {
        assert_counted(&[&python, &script, way, &steps], &[], protocol);
        assert_counted(&[&python, &script, way, &steps], &gzip, protocol);
    }
}

#[test]
fn a_program_that_leaves_it_to_the_distribution_needs_no_setting() {
    let Some(python) = interpreter() else { return };
    let (script, steps) = (beside_this("otel_program.py"), STEPS.to_string());
    let instrument = Path::new(&python).with_file_name("opentelemetry-instrument");
    let instrument = instrument.to_string_lossy();
    let command = [&*instrument, python.as_str(), &script, "api", &steps];
    assert_counted(&command, &[], "http/protobuf");
    assert_counted(&command, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "grpc");
}

#[test]
fn a_hostile_program_gets_its_answers_and_no_memory() {
    let folder = TempFolder::new("recorded-hostile").expect("a folder");
    let mut call = clean(record(&folder, &["python3", &beside_this("hostile_program.py")]));
    let ended = process::run(&mut call, LIMIT).expect("starts").success().expect("the report is made");
    let seen = parse(&std::fs::read_to_string(folder.join("answers.json")).expect("it came to its end"));
    println!("{seen}");
    let notes = ended.stderr_text();
    assert!(notes.contains("too many connections"), "{notes}");
    let peak_kib = seen["peak_kib"].as_u64().expect("a number");
    assert!(peak_kib < PEAK_KIB, "{peak_kib} KiB");
    let bombs = seen["answers"]["bomb"].as_object().expect("bombs were answered");
    assert!(bombs.keys().all(|status| status == "413" || status == "503"), "{bombs:?}");
    assert_eq!(seen["answers"]["garbage"], serde_json::json!({ "400": 1 }));
    assert_eq!(seen["answers"]["sound"]["200"], 1);
    let report = report(&[&folder.join("profiles")]);
    assert_eq!(report["run"]["spans"], 1);
}
