//! What can be read and what cannot, where the result goes, and the exit codes of both.

use serde_json::json;
use stepscope_testkit::{Forest, ForestOptions, Format};

use crate::program::{folder, framed, json, messages, output, recording, run, run_with, write};

#[test]
fn the_default_input_is_the_folder_of_the_layer() {
    let folder = folder("default");
    write(&folder, "profiles/run/part.otlp", &recording("run-a", 1));
    assert_eq!(output(folder.path(), &["analyze"]), output(folder.path(), &["analyze", "profiles"]));
}

#[test]
fn the_same_spans_give_the_same_report_in_any_format() {
    let folder = folder("formats");
    let forest = Forest::new(ForestOptions { steps: 60, ..ForestOptions::default() });
    forest.write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    forest.write_file(Format::Json, &folder.join("b.jsonl")).expect("a file can be written");
    let mut proto = json(folder.path(), &["analyze", "a.otlp"]);
    let mut lines = json(folder.path(), &["analyze", "b.jsonl"]);
    assert_eq!(proto["inputs"][0]["path"], json!("a.otlp"));
    assert_eq!(proto["read_issues"], json!([]));
    proto["inputs"].take();
    lines["inputs"].take();
    assert_eq!(proto, lines);
}

#[test]
fn standard_input_is_read() {
    let folder = folder("stdin");
    let bytes = recording("run-a", 1);
    write(&folder, "a.otlp", &bytes);
    let ended = run_with(folder.path(), &["analyze", "-", "--format", "json"], &bytes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let by_name = output(folder.path(), &["analyze", "a.otlp", "--format", "json"]);
    assert_eq!(ended.stdout.replace(r#""path":"-""#, r#""path":"a.otlp""#), by_name);
}

#[test]
fn unreadable_input_is_code_3_and_named() {
    let folder = folder("unreadable");
    write(&folder, "empty", b"");
    write(&folder, "foreign", b"this is no trace\n");
    std::fs::create_dir(folder.join("nothing")).expect("a folder can be made");
    for input in ["missing", "empty", "foreign", "nothing"] {
        for arguments in [&["analyze", input][..], &["analyze", "--partial", "out", input], &["merge", input]]
        {
            let ended = run(folder.path(), arguments);
            if input == "foreign" && arguments.contains(&"--partial") {
                // It may be a piece from the middle of a record: only the merge can tell.
                assert_eq!(ended.code, 0, "{}", ended.stderr);
                assert!(ended.stderr.contains("no whole record"), "{}", ended.stderr);
                assert_eq!(run(folder.path(), &["merge", "out"]).code, 3);
                std::fs::remove_file(folder.join("out")).expect("it was written");
                continue;
            }
            assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{arguments:?}: {}", ended.stderr);
            assert!(
                ended.stderr.starts_with("stepscope: ") && ended.stderr.contains(input),
                "{}",
                ended.stderr
            );
            assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        }
    }
    assert!(!folder.join("out").exists());
}

#[test]
fn what_is_wrong_with_an_unreadable_file_is_said() {
    let folder = folder("said");
    write(&folder, "empty", b"");
    write(&folder, "cut", &[0x28, 0xb5, 0x2f, 0xfd]);
    for (input, words) in [("empty", "is empty"), ("cut", "cut off at its start")] {
        for arguments in [&["analyze", input][..], &["analyze", "--partial", "out", input]] {
            let ended = run(folder.path(), arguments);
            assert_eq!(ended.code, 3);
            assert!(ended.stderr.contains(words), "{}", ended.stderr);
        }
    }
}

#[test]
fn an_input_without_spans_is_not_fine() {
    let folder = folder("no-spans");
    write(&folder, "a.jsonl", b"{\"resourceSpans\":[]}\n");
    let ended = run(folder.path(), &["analyze", "a.jsonl"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stdout.starts_with("Nothing to report"), "{}", ended.stdout);
    // Another kind of JSON is named, with what to give instead, whether its format is read or not.
    for (text, said) in [
        (
            r#"{"traces":[{"traceID":"2f","rootServiceName":"a"}],"metrics":{}}"#,
            "Tempo's search, which holds no spans; fetch",
        ),
        (r#"[{"traceId":"1","id":"2","timestamp":3}]"#, "spans of Zipkin, which are not read; export"),
        (r#"{"resourceLogs":[{"scopeLogs":[]}]}"#, "OTLP logs, which hold no spans; export"),
    ] {
        write(&folder, "b.json", text.as_bytes());
        let ended = run(folder.path(), &["analyze", "b.json"]);
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("b.json"), "{}", ended.stderr);
    }
}

#[test]
fn damage_is_told_and_the_rest_is_read() {
    let folder = folder("damage");
    let whole = recording("run-a", 1);
    write(&folder, "cut.otlp", &whole[..whole.len() - 100]);
    let report = json(folder.path(), &["analyze", "cut.otlp"]);
    assert_eq!(report["read_issues"][0]["kind"], json!("truncated"));
    assert!(report["run"]["spans"].as_u64() > Some(500));
    assert!(output(folder.path(), &["analyze", "cut.otlp"]).contains("cut.otlp at byte"));
}

#[test]
fn several_inputs_are_one_run() {
    let folder = folder("several");
    let messages = messages("run-a", 1);
    let (front, back) = messages.split_at(messages.len() / 2);
    write(&folder, "1.otlp", &framed(front));
    write(&folder, "2.otlp", &framed(back));
    write(&folder, "whole/all.otlp", &framed(&messages));
    let mut parts = json(folder.path(), &["analyze", "2.otlp", "1.otlp"]);
    let mut whole = json(folder.path(), &["analyze", "whole"]);
    assert_eq!(parts["inputs"].as_array().map(Vec::len), Some(2));
    parts["inputs"].take();
    whole["inputs"].take();
    assert_eq!(parts, whole);
}

#[test]
fn one_of_several_runs_is_chosen() {
    let folder = folder("runs");
    write(&folder, "profiles/a.otlp", &recording("run-a", 1));
    write(&folder, "profiles/b.otlp", &recording("run-b", 2));
    let chosen = json(folder.path(), &["analyze", "--run", "run-a"]);
    assert_eq!(chosen["run"]["id"], json!("run-a"));
    assert_eq!(chosen["run"]["other_runs"][0]["run"]["id"], json!("run-b"));
    let ended = run(folder.path(), &["analyze", "--run", "run-c"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("run-a") && ended.stderr.contains("run-b"), "{}", ended.stderr);
}

#[test]
fn severe_findings_fail_where_asked() {
    let folder = folder("fail-on");
    let options = ForestOptions { ended: false, steps: 60, ..ForestOptions::default() };
    Forest::new(options).write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    let report = json(folder.path(), &["analyze", "a.otlp"]);
    let severities =
        report["findings"].as_array().expect("a list").iter().filter_map(|found| found["severity"].as_f64());
    let worst = severities.fold(0.0, f64::max);
    assert!(worst > 0.0, "a run that did not end is a finding");
    let code = |limit: f64| run(folder.path(), &["analyze", "a.otlp", "--fail-on", &limit.to_string()]).code;
    assert_eq!((code(worst), code(worst + 0.1)), (1, 0));
}

#[test]
fn the_report_goes_where_it_is_told_to() {
    let folder = folder("output");
    write(&folder, "a.otlp", &recording("run-a", 1));
    let printed = output(folder.path(), &["analyze", "a.otlp"]);
    let ended = run(folder.path(), &["analyze", "a.otlp", "--output", "report.txt"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(folder.join("report.txt")).expect("it was written"), printed);
    let ended = run(folder.path(), &["analyze", "a.otlp", "--output", "missing/report.txt"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("failed to write missing/report.txt"), "{}", ended.stderr);
}

#[test]
fn nothing_but_the_report_is_written() {
    let folder = folder("silent");
    write(&folder, "a.otlp", &recording("run-a", 1));
    let ended = run(folder.path(), &["analyze", "a.otlp"]);
    assert_eq!(ended.stderr, "");
    // Neither a pipe nor a file gets colours.
    assert!(!ended.stdout.contains('\u{1b}'));
}

#[test]
fn a_profile_of_memory_that_nobody_recorded_is_an_error_behind_the_report() {
    let folder = folder("pprof");
    write(&folder, "a.otlp", &recording("run-a", 1));
    let ended = run(folder.path(), &["analyze", "a.otlp", "--pprof", "memory.pb.gz"]);
    assert_eq!((ended.code, ended.stdout), (3, output(folder.path(), &["analyze", "a.otlp"])));
    assert!(ended.stderr.contains("static ALLOC: stepscope::Alloc"), "{}", ended.stderr);
    assert!(!folder.join("memory.pb.gz").exists());
}

#[test]
fn an_input_is_never_overwritten() {
    let folder = folder("overwrite");
    let bytes = recording("run-a", 1);
    write(&folder, "a.otlp", &bytes);
    for option in ["--output", "--partial", "--pprof"] {
        let ended = run(folder.path(), &["analyze", "a.otlp", option, "./a.otlp"]);
        assert_eq!(ended.code, 2, "{option}: {}", ended.stderr);
        assert!(ended.stderr.contains("would be overwritten"), "{}", ended.stderr);
        assert_eq!(std::fs::read(folder.join("a.otlp")).expect("it is there"), bytes);
    }
}
