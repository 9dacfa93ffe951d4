//! Fixtures of `evaluation_stalls`.

use serde_json::json;
use stepscope_analyze::summary::{BetweenStepsRow, PhaseName, PhaseTime};
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
fn what_evaluation_waits_for_between_its_steps_is_found() {
    // 1 s of training, 0.5 s of evaluation, and 0.5 s of waits between its steps.
    let with = |wait_ns| {
        let evaluation = Run::of(50, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).phase(
            Phase::DataWait,
            "data_wait",
            wait_ns,
        );
        let training = Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 9 * MS);
        let mut summary = training.evaluation(evaluation).build();
        summary.modes[1].input_between_ns = 500 * MS;
        let [finding] = found(RULE, &summary).try_into().unwrap();
        let gain = finding.predicted_gain.unwrap();
        assert_eq!(finding.evidence.get("evaluation_input_between_ns"), Some(&json!(500 * MS)));
        (finding.title, finding.severity, finding.phase, gain.saved_ns_per_step + gain.step_time_ns)
    };
    let title = "25 % of the training time goes into input between evaluation steps.".to_owned();
    assert_eq!(with(0), (title, 25.0, None, 20 * MS));
    let title = "30 % of the training time goes into data_wait in evaluation steps, and input between them.";
    assert_eq!(with(2 * MS), (title.to_owned(), 30.0, Some("data_wait".to_owned()), 20 * MS));
}

#[test]
fn evaluation_is_judged_by_what_it_takes_of_the_training_time() {
    let training = || Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 9 * MS);
    let evaluation = |steps, wait_ns| Run::of(steps, 10 * MS).phase(Phase::DataWait, "data_wait", wait_ns);
    assert_eq!(fine(RULE, &healthy().build()), "no steps are evaluation");
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
    assert_eq!(fine(RULE, &sections(10 * MS)), "no steps are evaluation");
    assert_eq!(
        unknown(RULE, &sections(200 * MS)),
        "50 % of the training time is evaluation between the steps, 1.00 s of it, and what it waits for is not known: make each of its \
         batches a step (`step!(n, mode = eval)`)"
    );
    // 20 of 1,020 ms, however much of it waits.
    let rare = training().evaluation(evaluation(2, 9 * MS)).build();
    assert_eq!(fine(RULE, &rare), "2.0 % of the training time is evaluation steps");
    let busy = training().evaluation(evaluation(100, MS / 2)).build();
    assert_eq!(
        fine(RULE, &busy),
        "50 % of the training time is evaluation steps, 2.5 % goes into their input, reading and writing"
    );
    let few = training().evaluation(evaluation(19, 9 * MS)).build();
    assert!(unknown(RULE, &few).starts_with("19 steps after warm-up: too few"), "{}", unknown(RULE, &few));
}

#[test]
fn where_one_rank_evaluates_the_share_is_of_its_time() {
    // Four ranks train for 3 s each; rank 0 evaluates for 720 ms besides, 480 of them reading.
    let with = |evaluating: &[usize]| {
        let evaluation = Run::of(60, 12 * MS).phase(Phase::DataLoading, "read", 8 * MS);
        let training =
            Run::of(1_200, 10 * MS).phase(Phase::Forward, "forward", 8 * MS).evaluation(evaluation);
        let mut summary = training.build();
        let first = summary.instances.remove(0);
        for rank in 0..4usize {
            let mut row = first.clone();
            row.resource.rank = i64::try_from(rank).ok();
            row.steps = same(300, 10 * MS);
            row.other_steps_ns = if evaluating.contains(&rank) { 720 * MS } else { 0 };
            let time = PhaseTime { phase: PhaseName::Known(Phase::DataWait), exposed_ns: MS };
            row.phases_between_steps = if rank == 3 { vec![time] } else { Vec::new() };
            summary.instances.push(row);
        }
        summary
    };
    let [finding] = found(RULE, &with(&[0])).try_into().unwrap();
    assert_eq!(
        finding.title,
        "13 % of the training time of rank 0 goes into data_loading in evaluation steps."
    );
    assert_eq!((finding.severity, finding.rank), (13.0, Some(0)));
    assert_eq!(finding.evidence.get("evaluation_stalled_share"), Some(&json!(0.129032)));
    assert_eq!(finding.evidence.get("evaluating_ranks"), Some(&json!(1)));
    assert_eq!(finding.evidence.get("steps"), Some(&json!(300)));
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (1_600_000, 10_800_000));
    let advice = &finding.recommendation;
    assert!(advice.ends_with(" let each evaluate a part of the samples."), "{advice}");
    // Two that evaluate, one of which waits 0.3 s between its steps: 480 of 7,020 ms.
    let [finding] = found(RULE, &with(&[0, 3])).try_into().unwrap();
    assert_eq!(
        finding.title,
        "6.8 % of the training time of the ranks that evaluate goes into data_loading in evaluation steps."
    );
    assert_eq!(finding.rank, None);
    // All, or nobody knows who: of all ranks' time.
    for evaluating in [&[0, 1, 2, 3][..], &[]] {
        assert_eq!(
            fine(RULE, &with(evaluating)),
            "5.7 % of the training time is evaluation steps, 3.8 % goes into their input, reading and writing"
        );
    }
}
