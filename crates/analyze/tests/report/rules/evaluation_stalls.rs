//! Fixtures of `evaluation_stalls`.

use serde_json::json;
use stepscope_analyze::summary::{BetweenStepsRow, PhaseName};
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, same};

const RULE: &str = "evaluation_stalls";

#[test]
fn evaluation_that_waits_is_found() {
    // 1 s of training, and 1 s of evaluation, of which 0.5 s wait, 0.1 s read and 1 ms is preparation.
    let evaluation = Run::of(50, 20 * MS)
        .phase(Phase::Io, "read_labels", 2 * MS)
        .phase(Phase::DataWait, "data_wait", 10 * MS)
        .phase(Phase::Preprocessing, "crop", MS / 50);
    let training = Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 9 * MS);
    let [finding] = found(RULE, &training.evaluation(evaluation).build()).try_into().unwrap();
    assert_eq!(finding.title, "30 % of the training time goes into data_wait and io in evaluation steps.");
    assert_eq!((finding.severity, finding.section.as_deref()), (30.0, Some("eval_step/data_wait")));
    assert_eq!(finding.phase.as_deref(), Some("data_wait"));
    for (name, value) in
        [("evaluation_stalled_ns", 601 * MS), ("evaluation_total_ns", 1_000 * MS), ("evaluation_steps", 50)]
    {
        assert_eq!(finding.evidence.get(name), Some(&json!(value)), "{name}");
    }
    // A step of training, with the evaluation that comes to it.
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (6_010_000, 13_990_000));
}

#[test]
fn evaluation_is_judged_by_what_it_takes_of_the_training_time() {
    let training = || Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 10 * MS);
    let evaluation = |steps, wait_ns| Run::of(steps, 10 * MS).phase(Phase::DataWait, "data_wait", wait_ns);
    assert_eq!(
        fine(RULE, &healthy().build()),
        "no steps are evaluation, 0 % of 2.00 s of training is sections of it between them, 99 % has a phase; limit 5.0 %"
    );
    // One second of training; sections of evaluation between its steps.
    let sections = |ns: u64| {
        let mut summary = training().build();
        summary.between_steps = vec![BetweenStepsRow {
            phase: Some(PhaseName::Known(Phase::Evaluation)),
            stats: same(5, ns),
            exposed_ns: 5 * ns,
        }];
        summary
    };
    assert!(
        fine(RULE, &sections(10 * MS))
            .starts_with("no steps are evaluation, 4.8 % of 1.05 s of training is sections")
    );
    assert_eq!(
        unknown(RULE, &sections(200 * MS)),
        "50 % of the training time is evaluation between the steps, 1.00 s of it, and what it waits for is not known: make each of its \
         batches a step (`step!(n, mode = eval)`)"
    );
    // 20 of 1,020 ms, however much of it waits.
    let rare = training().evaluation(evaluation(2, 9 * MS)).build();
    assert_eq!(fine(RULE, &rare), "2.0 % of 1.02 s of training is evaluation steps; limit 5.0 %");
    let busy = training().evaluation(evaluation(100, MS / 2)).build();
    assert_eq!(
        fine(RULE, &busy),
        "50 % of 2.00 s of training is evaluation steps, 2.5 % goes into their input, reading and writing; limit 5.0 %"
    );
    // Code between the sections of a step may be evaluation.
    let untold = unknown(RULE, &Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 9 * MS).build());
    assert!(untold.ends_with(", and 10 % has no phase: give sections theirs"), "{untold}");
}
