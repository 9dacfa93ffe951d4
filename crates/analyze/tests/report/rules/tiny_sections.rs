//! Fixtures of `tiny_sections`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "tiny_sections";

#[test]
fn recording_that_takes_a_good_part_of_the_step_is_found() {
    // 5,000 calls at 200 ns are 1 ms of 10, with the background thread 5 ms; calls that take longer count for nothing.
    let summary = Run::of(100, 10 * MS)
        .untagged("neuron", 4_000, 100)
        .untagged("weight", 1_000, 1_000)
        .untagged("layer", 4_500, 1_001)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Recording tiny sections takes 10 % of the step time.");
    assert_eq!((finding.severity, finding.section.as_deref()), (10.0, Some("step/neuron")));
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.direct_share), (5 * MS, 0.1));
    let advice = &finding.recommendation;
    assert!(advice.contains("runs 4,000 times a step, 100 ns each"), "{advice}");
}

#[test]
fn a_few_are_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "recording the sections below 1.00 µs, 0 a step, takes about 0 % of 2.00 s of steps; limit 5.0 %"
    );
    let some = Run::of(100, 10 * MS).untagged("neuron", 2_000, 100).build();
    assert!(fine(RULE, &some).contains("takes about 4.0 % of "), "{}", fine(RULE, &some));
}

#[test]
fn what_others_recorded_is_not_judged() {
    let mut summary = Run::of(100, 10 * MS).untagged("neuron", 5_000, 100).build();
    summary.state.is_ours = false;
    assert!(unknown(RULE, &summary).starts_with("another library"));
}
