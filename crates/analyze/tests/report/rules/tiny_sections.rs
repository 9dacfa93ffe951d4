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
    assert_eq!(fine(RULE, &healthy().build()), "no section takes less than 1.00 µs");
    let some = Run::of(100, 10 * MS).untagged("neuron", 2_000, 100).build();
    assert_eq!(fine(RULE, &some), "recording the sections below 1.00 µs takes 4.0 %");
}

#[test]
fn what_others_recorded_is_not_judged() {
    let mut summary = Run::of(100, 10 * MS).untagged("neuron", 5_000, 100).build();
    summary.state.is_ours = false;
    assert!(unknown(RULE, &summary).starts_with("another library"));
    assert!(unknown(RULE, &Run::of(19, MS).untagged("x", 5_000, 1).build()).starts_with("19 steps"));
}

#[test]
fn what_other_threads_record_is_no_time_of_the_training_thread() {
    let run = |driving_percent: u64| {
        let mut summary =
            Run::of(100, 10 * MS).untagged("tiny", 4_000, 400).untagged("neuron", 3_000, 100).build();
        let row = summary.sections.iter_mut().find(|row| row.path == "step/tiny").unwrap();
        row.in_steps[0].driving_ns = row.in_steps[0].total_ns / 100 * driving_percent;
        summary
    };
    // 3,000 calls at 200 ns are 0.6 ms; with a quarter of the others 4,000 are 0.8 ms. In all 7,000 may take 7 ms.
    for (driving_percent, title, calls, elsewhere) in [
        (0, "Recording tiny sections takes 6.0 % of the step time.", 3_000, 4_000),
        (25, "Recording tiny sections takes 8.0 % of the step time.", 4_000, 3_000),
    ] {
        let [finding] = found(RULE, &run(driving_percent)).try_into().unwrap();
        assert_eq!((finding.title.as_str(), finding.section.as_deref()), (title, Some("step/neuron")));
        assert_eq!(finding.evidence.get("tiny_calls_per_step"), Some(&calls.into()));
        assert_eq!(finding.evidence.get("tiny_calls_on_other_threads_per_step"), Some(&elsewhere.into()));
        let gain = finding.predicted_gain.unwrap();
        assert_eq!(gain.saved_ns_per_step, 7 * MS);
        assert!(gain.because.unwrap().ends_with("on other threads, if it waits for these"));
    }
    let mut summary = run(0);
    summary.sections.retain(|row| row.path != "step/neuron");
    assert_eq!(fine(RULE, &summary), "recording the sections below 1.00 µs takes 0 %");
}
