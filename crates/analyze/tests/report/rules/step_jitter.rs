//! Fixtures of `step_jitter`.

use serde_json::json;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run};

const RULE: &str = "step_jitter";

/// 200 steps of 10 ms, every tenth of them `slow_ns`.
fn every_tenth(slow_ns: u64) -> Run {
    Run::with_durations((0..200).map(|step| if step % 10 == 9 { slow_ns } else { 10 * MS }).collect())
}

#[test]
fn slow_steps_are_explained_by_their_phase() {
    let summary = every_tenth(60 * MS).slow_because(Phase::Checkpoint).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    // Mean 15 ms, median 10 ms.
    assert_eq!(finding.title, "Steps vary: p95 is 6.0 times the median, which costs 33 % of the step time.");
    assert!((finding.severity - 33.3).abs() < 0.5, "{}", finding.severity);
    assert_eq!(finding.phase.as_deref(), Some("checkpoint"));
    assert_eq!(finding.evidence.get("explained_share"), Some(&json!(1.0)));
    assert_eq!(finding.evidence.get("p95_to_p50_ratio").unwrap().as_f64().unwrap().round(), 6.0);
    assert!(finding.recommendation.contains("write checkpoints in a thread"), "{}", finding.recommendation);
    let gain = finding.predicted_gain.unwrap();
    assert!(gain.step_time_ns.abs_diff(10 * MS) < MS / 10, "{gain:?}");
}

#[test]
fn steps_that_were_chosen_by_their_length_say_nothing_of_their_spread() {
    let mut summary = every_tenth(60 * MS).build();
    summary.coverage.recorded_steps = Some(20_000);
    assert_eq!(
        unknown(RULE, &summary),
        "200 of 20,000 steps were read, perhaps not at random: their spread may not be the run's"
    );
}

#[test]
fn waits_explain_with_their_own_advice() {
    let [finding] =
        found(RULE, &every_tenth(60 * MS).slow_because(Phase::DataWait).build()).try_into().unwrap();
    assert!(finding.recommendation.contains("deepen the queue"), "{}", finding.recommendation);
}

#[test]
fn slowness_without_a_phase_is_said_to_have_none() {
    let [finding] = found(RULE, &every_tenth(60 * MS).build()).try_into().unwrap();
    assert_eq!((finding.phase, finding.evidence.get("explained_by")), (None, None));
    assert!(finding.recommendation.starts_with("No phase explains"), "{}", finding.recommendation);
}

#[test]
fn a_tail_that_costs_little_is_fine() {
    // One step in ten is 1.4 times as long.
    assert!(fine(RULE, &every_tenth(14 * MS).build()).contains("p95 is 1.4"));
    // A single outlier costs 2 % of the time.
    let mut durations = vec![10 * MS; 500];
    durations[77] = 110 * MS;
    fine(RULE, &Run::with_durations(durations).build());
}

#[test]
fn percentiles_of_few_steps_mean_little() {
    let summary = Run::with_durations((0..99).map(|step| (1 + step % 10) * MS).collect()).build();
    assert!(unknown(RULE, &summary).contains("99 steps"));
}
