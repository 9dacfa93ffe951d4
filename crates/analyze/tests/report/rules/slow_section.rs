//! Fixtures of `slow_section`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "slow_section";

#[test]
fn helper_code_inside_the_step_is_found() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Forward, "forward", 6 * MS)
        .untagged("log_metrics", 3, MS)
        .untagged("cheap", 1, MS / 10)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "30 % of the step time goes into step/log_metrics itself.");
    assert_eq!((finding.severity, finding.phase), (30.0, None));
    assert!(finding.recommendation.contains("3 times a step, 1.00 ms each"), "{}", finding.recommendation);
}

#[test]
fn long_calls_are_found_from_a_lower_share() {
    let second = 1_000 * MS;
    let long = Run::of(100, 20 * second).untagged("dump", 1, 1_200 * MS).build();
    assert_eq!(found(RULE, &long).len(), 1);
    let short = Run::of(100, 10 * MS)
        .phase(Phase::Forward, "forward", 5 * MS)
        .untagged("dump", 1, MS * 6 / 10)
        .build();
    assert!(fine(RULE, &short).contains("step/dump, takes 6.0 % of "), "{}", fine(RULE, &short));
}

#[test]
fn the_stages_of_training_may_take_the_time() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "the costliest section beside the stages of a step, step/metrics, takes 1.0 % of 2.00 s of steps; limit 10 %"
    );
}

#[test]
fn without_phases_regular_stages_cannot_be_told() {
    let run = || Run::of(100, 10 * MS).untagged("model", 1, 6 * MS);
    assert!(unknown(RULE, &run().build()).starts_with("phases cover only 0 %"));
    // What is tagged as something else is found all the same.
    let synchronizing = run().phase(Phase::Other, "sync", 2 * MS).build();
    let sections: Vec<_> = found(RULE, &synchronizing).into_iter().map(|finding| finding.section).collect();
    assert_eq!(sections, [Some("step/sync".to_owned())]);
}

#[test]
fn steps_without_sections_are_not_judged() {
    assert!(unknown(RULE, &Run::of(100, 10 * MS).build()).starts_with("steps hold no sections"));
}

#[test]
fn phases_with_a_rule_of_their_own_are_left_to_it() {
    for phase in [Phase::Communication, Phase::Synchronization, Phase::Io, Phase::Checkpoint] {
        let summary = Run::of(100, 10 * MS)
            .phase(Phase::Forward, "forward", 5 * MS)
            .phase(phase, "part", 4 * MS)
            .build();
        assert!(fine(RULE, &summary).starts_with("all sections are stages"), "{phase}");
    }
}
