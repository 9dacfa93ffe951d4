//! Steps that a pool of threads runs, each polled more often than its record can hold: what they wait for and compute is theirs,
//! on whatever thread it began.

use std::process::Command;

use serde_json::Value;
use stepscope_testkit::{TempFolder, binaries, process};

use crate::figures::compare_report;
use crate::program::{LIMIT, clean, report};

const STEPS: u64 = 60;
/// Before the wait of a step and behind it: with its ends, polls for twice the room.
const YIELDS: u64 = 7;

/// Share of a wait, and of the time of steps, by which times may be off: between two entries that follow each other others
/// may have the processor.
const NEAR: f64 = 0.1;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Times of a section in steps: all, on the thread that drives them, exposed.
fn times(report: &Value, path: &str) -> [f64; 3] {
    let sections = report["sections"].as_array().expect("a list");
    let row = sections.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("no section {path}"));
    assert_eq!(row["count"].as_u64(), Some(STEPS), "{row}");
    ["total_ns", "driving_ns", "exposed_ns"].map(|figure| number(&row["in_steps"][0][figure]))
}

#[test]
fn waits_of_steps_that_are_polled_on_several_threads_are_theirs() {
    for threads in [1, 2, 4, 12] {
        let folder = TempFolder::new("pool").expect("a folder");
        let example = binaries::find("programs").expect("cargo build -p stepscope --examples");
        let mut command = clean(Command::new(example));
        command.args(["pool".into(), threads.to_string(), YIELDS.to_string(), STEPS.to_string()]);
        let profiles = folder.join("profiles");
        command.current_dir(folder.path()).env("STEPSCOPE_DIR", &profiles);
        process::run(&mut command, LIMIT).expect("starts").success().expect("trains on");
        let report = report(&[&profiles]);
        let [step_ns, ..] = times(&report, "step");
        for path in ["step/data_wait", "step/forward", "step/backward"] {
            let [total_ns, driving_ns, exposed_ns] = times(&report, path);
            assert_eq!(driving_ns, total_ns, "{path} on {threads}");
            let is_exposed = exposed_ns <= total_ns && exposed_ns >= (1.0 - NEAR) * total_ns;
            assert!(is_exposed, "{path} on {threads}: {exposed_ns} of {total_ns}");
        }
        let waits = &report["detailed_metrics"]["waits"]["wait"]["count"];
        assert_eq!(waits.as_u64(), Some(STEPS), "{threads} threads");
        let [waited_ns, ..] = times(&report, "step/data_wait");
        let share = number(&report["summary"]["input"]["share"]);
        println!("{threads} threads: {share:.3} of the time is input, {:.3} by hand", waited_ns / step_ns);
        assert!((share - waited_ns / step_ns).abs() < NEAR, "{threads}: {share}, {waited_ns} of {step_ns}");
        compare_report(&folder, &profiles);
    }
}
