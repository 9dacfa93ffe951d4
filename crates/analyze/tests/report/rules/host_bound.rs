//! Fixtures of `host_bound`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "host_bound";

/// 3 of 10 ms in no section.
fn run() -> Run {
    Run::of(100, 10 * MS)
        .phase(Phase::DataWait, "data_wait", MS)
        .phase(Phase::Forward, "forward", 6 * MS)
        .own_code(3 * MS)
}

#[test]
fn code_between_the_sections_is_found() {
    let [finding] = found(RULE, &run().build()).try_into().unwrap();
    assert_eq!(finding.title, "Host bound: 30 % of the step time is code of the step between its sections.");
    assert_eq!((finding.severity, finding.section.as_deref()), (30.0, Some("step")));
    assert!(finding.recommendation.ends_with("Input takes 10 %."), "{}", finding.recommendation);
    assert_eq!(finding.predicted_gain.unwrap().saved_ns_per_step, 3 * MS);
}

#[test]
fn what_the_path_leaves_to_a_step_whose_thread_is_in_a_section_is_not_its_code() {
    let mut summary = run().build();
    let step = summary.sections.iter_mut().find(|row| row.path == "step").unwrap();
    step.in_steps[0].exposed_ns = 100 * MS;
    assert!(fine(RULE, &summary).starts_with("10 % of 1.00 s of steps"));
}

#[test]
fn a_step_of_sections_is_fine() {
    let because =
        "0.50 % of 2.00 s of steps, 50.0 µs a step, is code between its sections; limits 15 % and 100 µs";
    assert_eq!(fine(RULE, &healthy().build()), because);
}

#[test]
fn what_recording_may_take_is_not_judged() {
    let short = Run::of(100, 100_000).phase(Phase::Forward, "forward", 60_000).own_code(40_000).build();
    assert!(fine(RULE, &short).starts_with("40 % of 10.0 ms of steps, 40.0 µs a step"));
}

#[test]
fn without_the_stages_of_training_nothing_can_be_told() {
    let waiting = Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 6 * MS).own_code(4 * MS).build();
    assert!(unknown(RULE, &waiting).starts_with("no stage of training"));
    let little = Run::of(100, 10 * MS).phase(Phase::Forward, "forward", MS).own_code(9 * MS).build();
    assert!(unknown(RULE, &little).starts_with("phases cover only 10 %"));
    let mut unread = run().build();
    unread.critical_path = None;
    assert!(unknown(RULE, &unread).starts_with("no step was read with all its sections"));
}
