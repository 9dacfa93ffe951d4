//! `doctor` on programs with real faults in their set-up: a filter that eats sections, one that does not, and a program
//! that records itself well.

use serde_json::Value;
use stepscope_testkit::{TempFolder, binaries, process};

use crate::program::{LIMIT, parse, stepscope};

/// The checks and the exit code of `doctor` on an example of the layer's.
fn doctor(example: &str, arguments: &[&str], log: Option<&str>) -> (Option<i32>, Vec<Value>) {
    let folder = TempFolder::new("doctor").expect("a folder");
    let example = binaries::find(example).expect("cargo build -p stepscope --examples");
    let mut call = stepscope(&["doctor", "--format", "json", "--"]);
    call.arg(example).args(arguments).current_dir(folder.path()).env_remove("RUST_LOG");
    if let Some(log) = log {
        call.env("RUST_LOG", log);
    }
    let ended = process::run(&mut call, LIMIT).expect("starts");
    let said = parse(&ended.stdout_text());
    (ended.status.code(), said["checks"].as_array().expect("a list").clone())
}

fn check<'c>(checks: &'c [Value], name: &str) -> &'c Value {
    let mut found = checks.iter().filter(|check| check["check"] == name);
    let first = found.next().unwrap_or_else(|| panic!("no check {name}: {checks:#?}"));
    assert!(found.next().is_none(), "{name} is said twice: {checks:#?}");
    first
}

#[test]
fn a_filter_that_eats_sections_is_named() {
    for log in [None, Some("warn")] {
        let (code, checks) = doctor("programs", &["logs", "with", "global"], log);
        let filter = check(&checks, "filter");
        assert_eq!((code, &filter["state"]), (Some(1), &Value::from("broken")), "{log:?}: {filter}");
        let text = filter["text"].as_str().expect("words");
        assert!(text.contains("train_step"), "{log:?}: {text}");
        assert!(filter["fix"].as_str().is_some_and(|fix| fix.contains("with_filter")), "{filter}");
        // It is installed: said where the filter left a section that shows it, and never denied.
        let allocator = checks.iter().filter(|check| check["check"] == "allocator");
        assert!(allocator.map(|check| &check["state"]).all(|state| state == "fine"), "{checks:#?}");
    }
}

#[test]
fn a_filter_on_the_log_alone_is_fine() {
    let (_, checks) = doctor("programs", &["logs", "with", "layer"], Some("warn"));
    assert_eq!(check(&checks, "filter")["state"], "fine");
    let (_, checks) = doctor("programs", &["logs", "with", "global"], Some("info"));
    assert_eq!(check(&checks, "filter")["state"], "fine", "it lets sections through");
}

#[test]
fn a_program_that_is_set_up_well_has_nothing_broken() {
    let (code, checks) = doctor("smoke", &["50"], None);
    assert_eq!(code, Some(0), "{checks:#?}");
    for name in ["export", "layer", "steps", "sections", "phases", "allocator", "run", "losses"] {
        assert_eq!(check(&checks, name)["state"], "fine", "{name}: {checks:#?}");
    }
}
