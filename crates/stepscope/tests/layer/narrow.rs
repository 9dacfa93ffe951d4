//! Where there is little room, or little left of a thread.

use stepscope_core::attr;

use crate::common::{Program, check};

#[test]
fn a_thread_with_a_small_stack_records() {
    let recording = Program::new(&["narrow", "stack"]).succeed().recording();
    check::all(&recording);
    for name in ["step", "span", "section"] {
        assert_eq!(recording.named(name).count(), 3, "{name}");
    }
}

#[test]
fn a_thread_that_is_first_heard_of_when_nothing_is_left_of_it_ends() {
    let ended = Program::new(&["narrow", "key"]).succeed();
    assert_eq!(ended.truth()["destructors"], 1);
    assert_eq!(ended.stderr, "");
    let recording = ended.recording();
    check::account(&recording, "directory");
    let there = ["in_the_destructor", "batch", "data_wait"].map(|name| recording.named(name).count() as u64);
    assert_eq!(there.iter().sum::<u64>() + recording.dropped("", "thread_teardown"), 3, "{there:?}");
}

#[test]
fn a_run_that_begins_while_its_thread_unwinds_records() {
    let ended = Program::new(&["narrow", "unwinding"]).succeed();
    assert_eq!(ended.truth()["recording"], 1);
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!((recording.named("step").count(), recording.named("section").count()), (1, 1));
}

#[test]
fn what_a_panic_of_a_formatted_field_leaves_hurts_nobody() {
    let recording = Program::new(&["narrow", "payload"]).succeed().recording();
    check::all(&recording);
    assert_eq!(recording.named("formatted").count(), 1);
}

#[test]
fn a_span_that_says_it_is_a_run_is_a_section() {
    let recording = Program::new(&["narrow", "kinds"]).succeed().recording();
    check::all(&recording);
    for name in ["inside", "outside", "section"] {
        let kinds: Vec<&str> = recording.named(name).map(|span| span.kind()).collect();
        assert_eq!(kinds, ["section"; 5], "{name}");
    }
    let runs: Vec<_> =
        recording.spans.iter().filter(|span| span.kind() == "run" && span.name == "run").collect();
    assert_eq!((runs.len(), runs[0].text(attr::PHASE)), (1, None));
}
