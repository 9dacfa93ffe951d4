//! `demo`, short: it trains, records where it is told to, reports, and says what to try next. What its
//! reports must say is the end-to-end tests' business.

use crate::program::{folder, json, run};

#[test]
fn the_demo_records_and_reports() {
    let folder = folder("demo");
    let ended = run(folder.path(), &["demo", "--steps", "30", "--epochs", "2", "--out", "here"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("Trained 30 steps"), "{}", ended.stderr);
    assert!(ended.stdout.contains("stepscope-demo") && ended.stdout.contains("forward"), "{}", ended.stdout);
    let tail: Vec<&str> = ended.stdout.lines().rev().take(2).collect();
    assert!(tail[0].starts_with("Try next: stepscope demo"), "{tail:?}");
    let profile = tail[1].strip_prefix("The profile lies in ").expect("it says where");
    assert!(profile.starts_with("here/"), "{profile}");
    let report = json(folder.path(), &["analyze", profile]);
    assert_eq!(report["run"]["service"], "stepscope-demo");
    assert_eq!(report["run"]["ended"], true);
    let steps = report["summary"]["steps"].as_u64().zip(report["summary"]["warmup_steps"].as_u64());
    assert_eq!(steps.map(|(steady, warmup)| steady + warmup), Some(30));
    assert!(report["memory"]["live"].is_object(), "the program counts its allocations");
}

#[test]
fn the_demo_can_be_quiet_and_give_json() {
    let folder = folder("demo-json");
    let ended = run(
        folder.path(),
        &["demo", "--quiet", "--steps", "5", "--epochs", "1", "--format", "json", "--leak"],
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("the report is JSON");
    assert!(folder.join("profiles").is_dir());
    assert_eq!(report["run"]["epochs_ended"], 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_code_3() {
    let folder = folder("demo-unwritable");
    std::fs::write(folder.join("file"), b"in the way").expect("a file can be written");
    let ended = run(folder.path(), &["demo", "--steps", "5", "--epochs", "1", "--out", "file/below"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("file/below"), "{}", ended.stderr);
}
