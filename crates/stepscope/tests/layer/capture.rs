//! Steps that are recorded more closely than the others, by a plan or on demand, and the way back.

use std::collections::BTreeMap;

use stepscope_core::attr;

use crate::common::{Ended, Program, Recording, check};

const CLOSE: [&str; 3] = ["leaf", "outer", "step"];

/// Numbers of the steps that have spans of their sections; the others have none.
#[track_caller]
fn captured(recording: &Recording) -> Vec<i64> {
    let mut names: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for step in recording.steps() {
        let inside = recording.spans.iter().filter(|span| span.trace == step.trace);
        let mut inside: Vec<&str> = inside.map(|span| span.name.as_str()).collect();
        inside.sort_unstable();
        names.insert(step.int(attr::STEP).unwrap(), inside);
    }
    let is_close = |(&number, inside): (&i64, &Vec<&str>)| {
        assert!(inside == &["step"] || inside == &CLOSE, "{number}: {inside:?}");
        (inside == &CLOSE).then_some(number)
    };
    names.iter().filter_map(is_close).collect()
}

fn recording(ended: &Ended) -> Recording {
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    recording
}

fn at_basic(how: &str) -> Program {
    Program::new(&["captured", how]).env("STEPSCOPE_LEVEL", "basic")
}

#[test]
fn a_plan_captures_its_steps() {
    let plan = "skip=3,wait=7,steps=2,repeat=3,level=detailed";
    let ended = at_basic("plan").env("STEPSCOPE_CAPTURE", plan).succeed();
    let recording = recording(&ended);
    assert_eq!(captured(&recording), [10, 11, 19, 20, 28, 29]);
    // The run tells each change.
    let told: Vec<_> = recording.only("run").events.iter().map(|event| event.level.as_str()).collect();
    assert_eq!(told, ["detailed", "basic", "detailed", "basic", "detailed", "basic"]);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_plan_that_cannot_be_understood_is_named() {
    let ended = at_basic("plan").env("STEPSCOPE_CAPTURE", "every=10").succeed();
    assert_eq!(captured(&recording(&ended)), [0; 0]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("every=10"), "{}", ended.stderr);
}

#[test]
fn the_program_may_capture() {
    assert_eq!(captured(&recording(&at_basic("handle").succeed())), [10, 11, 12, 13]);
}

#[test]
fn a_signal_or_a_file_captures_the_next_steps() {
    let by_signal = || at_basic("signal").env("STEPSCOPE_SIGUSR2", "capture");
    // A plan that never comes says how much.
    let some = by_signal().env("STEPSCOPE_CAPTURE", "skip=1000000,steps=7,level=comprehensive");
    for (program, steps) in [(by_signal(), 10), (some, 7), (at_basic("file"), 5)] {
        let ended = program.succeed();
        let recording = recording(&ended);
        let (first, count) = (ended.truth()["first"] as i64, ended.truth()["captured"] as i64);
        assert_eq!(count, steps);
        assert_eq!(captured(&recording), (first..first + steps).collect::<Vec<_>>());
        for leaf in recording.named("leaf") {
            assert_eq!(leaf.int(attr::CPU_NS).is_some(), steps != 5, "{leaf:?}");
        }
        let wrong = ended.warnings();
        assert_eq!(wrong.len(), usize::from(steps == 5), "{wrong:?}");
    }
}

#[test]
fn a_signal_raises_the_level_and_brings_it_back() {
    let ended = at_basic("raise").env("STEPSCOPE_SIGUSR2", "level").succeed();
    let told = ended.recording();
    let told: Vec<_> = told.only("run").events.iter().map(|event| event.level.as_str()).collect();
    assert_eq!(told, ["detailed", "comprehensive", "basic"]);
}

#[test]
fn a_signal_that_nobody_asked_for_is_the_programs() {
    assert_eq!(at_basic("unasked").run().signal(), Some(libc::SIGUSR2));
    // Who is asked for, and records nothing, does nothing with it.
    for (variable, value) in [("STEPSCOPE_LEVEL", "off"), ("OTEL_SDK_DISABLED", "true")] {
        at_basic("unasked").env("STEPSCOPE_SIGUSR2", "capture").env(variable, value).succeed();
    }
    let ended = at_basic("own_handler").env("STEPSCOPE_SIGUSR2", "level").run();
    assert_eq!(ended.status.code(), Some(42));
    assert!(ended.stderr.contains("SIGUSR2"), "{}", ended.stderr);
}
