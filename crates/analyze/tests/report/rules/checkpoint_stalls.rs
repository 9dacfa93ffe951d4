//! Fixtures of `checkpoint_stalls`.

use serde_json::json;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "checkpoint_stalls";

#[test]
fn checkpoints_between_steps_are_found() {
    // 1 s of steps, 250 ms of checkpoints.
    let summary =
        Run::of(100, 10 * MS).between(Phase::Checkpoint, "checkpoint", &[50 * MS, 50 * MS, 150 * MS]).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "20 % of the training time goes into checkpoints.");
    assert_eq!(finding.severity, 20.0);
    assert_eq!(finding.section.as_deref(), Some("checkpoint"));
    assert_eq!(finding.evidence.get("checkpoints"), Some(&json!(3)));
    assert_eq!(finding.evidence.get("checkpoint_max_ns"), Some(&json!(150 * MS)));
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (2_500_000, 10 * MS));
}

#[test]
fn the_share_is_of_steps_and_of_input_and_checkpoints_between_them() {
    // 1 s of steps, 250 ms of checkpoints, 750 ms of input; an evaluation of 1 s is no part of it.
    let summary = Run::of(100, 10 * MS)
        .between(Phase::Checkpoint, "checkpoint", &[250 * MS])
        .between(Phase::DataWait, "data_wait", &[750 * MS])
        .between(Phase::Evaluation, "evaluation", &[1_000 * MS])
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "13 % of the training time goes into checkpoints.");
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (2_500_000, 17_500_000));
}

#[test]
fn checkpoints_inside_steps_are_found() {
    let summary = Run::of(100, 10 * MS).phase(Phase::Checkpoint, "save", MS).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!((finding.severity, finding.section.as_deref()), (10.0, Some("step/save")));
}

#[test]
fn few_or_hidden_checkpoints_are_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "0 % of 2.00 s of steps goes into checkpoints, 99 % has a phase; limit 5.0 %"
    );
    let run = Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 10 * MS);
    let summary = run.between(Phase::Checkpoint, "checkpoint", &[10 * MS]).build();
    assert_eq!(
        fine(RULE, &summary),
        "0.99 % of 1.01 s of training goes into checkpoints, 100 % has a phase; limit 5.0 %"
    );
}

#[test]
fn time_between_steps_that_no_section_tells_may_be_checkpoints() {
    let mut summary = Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 10 * MS).build();
    summary.instances[0].throughput.elapsed_ns = 1_250 * MS;
    let because = "20 % of 1.25 s of training passes between steps in no phase: what of that is checkpoints is not known";
    assert_eq!(unknown(RULE, &summary), because);
}
