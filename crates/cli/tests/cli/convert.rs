//! Conversion from the command line: the report stays the same, what is lost is named, mistakes leave nothing.

use serde_json::{Value, json};

use crate::program::{folder, json, output, recording, run, run_with, write};

/// The report without what names the file.
fn report(folder: &std::path::Path, input: &str) -> Value {
    let mut report = json(folder, &["analyze", input]);
    report["inputs"].take();
    report
}

#[test]
fn the_report_of_what_was_converted_is_the_same() {
    let folder = folder("convert");
    write(&folder, "a.otlp", &recording("run-a", 1));
    let whole = report(folder.path(), "a.otlp");
    for out in ["b.otlp", "b.jsonl"] {
        let ended = run(folder.path(), &["convert", "a.otlp", out]);
        assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("read ") && ended.stderr.lines().count() == 1, "{}", ended.stderr);
        assert_eq!(report(folder.path(), out), whole, "{out}");
    }
    // Jaeger has no metrics and no nanoseconds; the spans are all there.
    let ended = run(folder.path(), &["convert", "a.otlp", "b.jaeger.json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(report(folder.path(), "b.jaeger.json")["run"]["spans"], whole["run"]["spans"]);
    // A second time nothing is left to lose.
    output(folder.path(), &["convert", "b.jaeger.json", "c.jsonl", "--quiet"]);
    let ended = run(folder.path(), &["convert", "c.jsonl", "-", "--to", "jaeger", "--quiet"]);
    let first = std::fs::read_to_string(folder.join("b.jaeger.json")).expect("it was written");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout == first);
}

#[test]
fn chrome_is_a_document_with_every_span() {
    let folder = folder("convert-chrome");
    write(&folder, "a.otlp", &recording("run-a", 1));
    let spans = report(folder.path(), "a.otlp")["run"]["spans"].as_u64().expect("a number");
    assert_eq!(run(folder.path(), &["convert", "a.otlp", "a.perfetto.json"]).code, 0);
    let text = std::fs::read_to_string(folder.join("a.perfetto.json")).expect("it was written");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    let events = document["traceEvents"].as_array().expect("a list");
    let slices = events.iter().filter(|event| event["ph"] == json!("X") || event["ph"] == json!("b")).count();
    assert_eq!(slices as u64, spans);
}

#[test]
fn standard_input_and_output_are_used() {
    let folder = folder("convert-stdin");
    let bytes = recording("run-a", 1);
    write(&folder, "a.otlp", &bytes);
    output(folder.path(), &["convert", "a.otlp", "a.jsonl", "--quiet"]);
    let ended = run_with(folder.path(), &["convert", "-", "-", "--to", "jsonl", "--quiet"], &bytes);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_eq!(ended.stdout, std::fs::read_to_string(folder.join("a.jsonl")).expect("it was written"));
}

#[test]
fn damage_and_losses_are_told() {
    let folder = folder("convert-damage");
    let whole = recording("run-a", 1);
    write(&folder, "cut.otlp", &whole[..whole.len() - 100]);
    let ended = run(folder.path(), &["convert", "cut.otlp", "out.jaeger.json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("cut.otlp at byte") && ended.stderr.contains("cut off"),
        "{}",
        ended.stderr
    );
    write(
        &folder,
        "fine.jsonl",
        br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}"#,
    );
    let ended = run(folder.path(), &["convert", "fine.jsonl", "fine.jaeger.json"]);
    assert!(ended.stderr.contains("cannot be held: times finer than a microsecond (1)"), "{}", ended.stderr);
}

#[test]
fn mistakes_are_told_and_leave_nothing() {
    let folder = folder("convert-mistakes");
    write(&folder, "profiles/a.otlp", &recording("run-a", 1));
    write(&folder, "foreign", b"this is no trace\n");
    output(folder.path(), &["analyze", "--partial", "a.part"]);
    for (arguments, code, words) in [
        (&["convert", "profiles", "out.json"][..], 2, "--to"),
        (&["convert", "profiles", "out", "--to", "xml"], 2, "xml"),
        (&["convert", "profiles", "profiles/a.otlp"], 2, "part of the input"),
        (&["convert", "profiles", "profiles/new.otlp"], 2, "part of the input"),
        (&["convert", "profiles", "profiles/../profiles/new.otlp"], 2, "part of the input"),
        (&["convert", ".", "new.otlp"], 2, "part of the input"),
        (&["convert", "missing", "out.otlp"], 3, "missing"),
        (&["convert", "foreign", "out.jsonl"], 3, "none of the formats"),
        (&["convert", "foreign", "out.jaeger.json"], 3, "none of the formats"),
        (&["convert", "a.part", "out.jsonl"], 3, "stepscope merge a.part"),
        (&["convert", "profiles", "nowhere/out.jsonl"], 3, "failed to write nowhere/out.jsonl"),
    ] {
        let ended = run(folder.path(), arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{arguments:?}: {}", ended.stderr);
    }
    let left = std::fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(left, 3);
}

#[test]
fn an_input_without_spans_is_no_conversion() {
    let folder = folder("convert-nothing");
    write(&folder, "empty.json", br#"{"data":[]}"#);
    write(&folder, "b.jsonl", b"older");
    let ended = run(folder.path(), &["convert", "empty.json", "b.jsonl"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("b.jsonl was not written"), "{}", ended.stderr);
}
