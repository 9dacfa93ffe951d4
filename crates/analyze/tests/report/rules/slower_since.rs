//! Fixtures of `slower_since`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ChangeKind, StepChange, StepNumbers, StepSeries};
use stepscope_core::{Mode, Phase, ThreadState};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, point, queued};
use crate::planted::{OWN, Planted};
use crate::schema::change;

const RULE: &str = "slower_since";

/// 200 steps, of which those from 120 on take 12 ms and the others 10 ms.
fn slower() -> Summary {
    let durations = (0..200).map(|step| if step < 120 { 10 * MS } else { 12 * MS }).collect();
    let run = Run::with_durations(durations).phase(Phase::Preprocessing, "preprocessing", 2 * MS);
    Summary { changes: vec![change(ChangeKind::Sudden, 120)], ..run.build() }
}

/// A level that follows.
fn then(step: u64, to_step: u64, before_ms: u64, after_ms: u64) -> StepChange {
    StepChange {
        to_step,
        steps_after: to_step + 1 - step,
        before_ns: before_ms * MS,
        after_ns: after_ms * MS,
        ..change(ChangeKind::Sudden, step)
    }
}

#[test]
fn a_lasting_slowdown_is_found_with_its_phase() {
    let [finding] = found(RULE, &slower()).try_into().unwrap();
    assert_eq!(finding.title, "Slower since step 120: steps take 20 % longer than before.");
    assert_eq!(finding.phase.as_deref(), Some("preprocessing"));
    assert_eq!(finding.evidence.get("longer_share"), Some(&json!(0.2)));
    // 1.800006 of 2 ms.
    assert_eq!(finding.evidence.get("explained_share"), Some(&json!(0.900_003)));
    assert_eq!(finding.section.as_deref(), Some("step/prepare/decode"));
    let advice = &finding.recommendation;
    assert!(
        advice.starts_with("`step/prepare/decode` takes 3.20 ms of a step instead of 1.50 ms"),
        "{advice}"
    );
    // 80 of 200 steps take 2 ms longer, in a mean of 10.8 ms: 0.8 / 10.8.
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (800_000, 10 * MS));
    assert_eq!(finding.severity, 7.0);
}

#[test]
fn a_drift_costs_half_of_what_it_reaches() {
    let mut summary = slower();
    summary.changes = vec![change(ChangeKind::Gradual, 0)];
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Slower bit by bit since step 0: steps take 20 % longer at last.");
    // 200 steps with 1 ms on average.
    assert_eq!(finding.predicted_gain.unwrap().saved_ns_per_step, MS);
    let advice = &finding.recommendation;
    let means = "`step/prepare/decode` takes 3.20 ms of a step instead of 1.50 ms: look for what grows with the steps in it";
    assert!(advice.starts_with(means), "{advice}");
}

#[test]
fn only_what_lasts_counts() {
    let mut summary = slower();
    // 10 ms, 14 ms, 11 ms, 12 ms: 1 ms lasts since step 60, another one since step 150. Each gain is what steps since then
    // take above the level before because of it: 40 times 4 ms and 100 times 1 ms; 50 times 1 ms. Together it is all that
    // they take above 10 ms.
    summary.changes = vec![then(60, 99, 10, 14), then(100, 149, 14, 11), then(150, 199, 11, 12)];
    let findings = found(RULE, &summary);
    let told: Vec<(u64, u64)> = findings
        .iter()
        .map(|finding| {
            let since = finding.evidence.get("since_step").unwrap().as_u64().unwrap();
            (since, finding.predicted_gain.as_ref().unwrap().saved_ns_per_step)
        })
        .collect();
    assert_eq!(told, [(60, 260 * MS / 200), (150, 50 * MS / 200)]);
    // Back where it was, or faster.
    summary.changes = vec![then(60, 99, 10, 14), then(100, 199, 14, 10)];
    assert_eq!(fine(RULE, &summary), "step times change 2 times, and do not stay longer");
    summary.changes.clear();
    assert!(unknown(RULE, &summary).starts_with("steps have no numbers"));
}

#[test]
fn what_later_changes_add_is_theirs() {
    let gains = |changes: Vec<StepChange>| -> Vec<u64> {
        let mut summary = slower();
        summary.changes = changes;
        let points = (0..200).map(point).collect();
        summary.series = vec![StepSeries { mode: Mode::Train, shift: 0, points }];
        let findings = found(RULE, &summary);
        findings.iter().map(|finding| finding.predicted_gain.as_ref().unwrap().saved_ns_per_step).collect()
    };
    // 10 ms, 14 ms, 18 ms: 4 ms of 140 of 200 steps, and 4 ms of 50.
    assert_eq!(gains(vec![then(60, 149, 10, 14), then(150, 199, 14, 18)]), [560 * MS / 200, 200 * MS / 200]);
    // To 14 ms bit by bit in 90 steps, which are halfway on average, then 18 ms: 90 times 2 ms and 50 times 4 ms.
    let drift = StepChange { kind: ChangeKind::Gradual, from_step: 30, ..then(60, 149, 10, 14) };
    let later = then(150, 199, 14, 18);
    assert_eq!(gains(vec![drift, later]), [380 * MS / 200, 200 * MS / 200]);
    // Bit by bit to 18 ms at last: of 50 steps 16 ms on average, of which 2 ms are the drift's.
    let later = StepChange { kind: ChangeKind::Gradual, from_step: 60, ..then(150, 199, 14, 18) };
    assert_eq!(gains(vec![then(60, 149, 10, 14), later]), [560 * MS / 200, 100 * MS / 200]);
}

#[test]
fn what_would_not_have_been_seen_is_not_fine() {
    let with = |duration_ns: &dyn Fn(u64) -> u64| {
        let mut summary = slower();
        summary.changes.clear();
        queued(&mut summary, |_| 0);
        for point in &mut summary.series[0].points {
            point.duration_sum_ns = duration_ns(point.step);
        }
        summary
    };
    let noise = |step: u64| step * 7_919 % 13 * MS / 50;
    assert_eq!(
        fine(RULE, &with(&|step| 10 * MS + noise(step))),
        "step times keep their level: a change of the usual step by 3.0 % from the middle on would have been seen"
    );
    // Eight steps each at one of five levels.
    let wandering = with(&|step| [10, 20, 14, 26, 12][(step / 8 % 5) as usize] * MS + noise(step));
    let unseen = unknown(RULE, &wandering);
    assert!(unseen.starts_with("steps vary so much that a change of less than"), "{unseen}");
}

#[test]
fn what_slows_all_of_a_step_by_little_may_be_the_machines_clock_and_is_not_severe() {
    // From 10 ms at step 20 of 200, of which one phase takes six tenths before and after.
    let all_of_it = |after_ms: u64| {
        let mut summary = slower();
        let change = &mut summary.changes[0];
        (change.step, change.steps_before, change.steps_after) = (20, 20, 180);
        change.after_ns = after_ms * MS / 100;
        let cause = change.cause.as_mut().unwrap();
        (cause.before_ns, cause.after_ns) = (6 * MS, after_ms * MS * 6 / 1_000);
        (cause.step_before_ns, cause.step_after_ns) = (10 * MS, after_ms * MS / 100);
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    let finding = all_of_it(1_240);
    let gain = finding.predicted_gain.unwrap().share;
    assert!(gain > 0.15, "{gain}");
    assert_eq!((finding.phase, finding.severity), (None, 9.0));
    assert!(finding.recommendation.starts_with("No phase explains it"), "{}", finding.recommendation);
    // More than any clock does: as severe as what it costs.
    for after_ms in [1_250, 3_000] {
        let finding = all_of_it(after_ms);
        let gain = finding.predicted_gain.unwrap().share;
        assert!(gain > 0.15 && finding.severity == (gain * 100.0).round(), "{gain}: {}", finding.severity);
        assert_eq!(finding.phase, None);
    }
}

#[test]
fn what_other_programs_may_have_done_is_told_and_no_fault() {
    let running = |_| vec![(OWN, ThreadState::Running, 0)];
    let with = |others| {
        let planted = Planted { steps: 240, others, others_since: 120, ..Planted::default() };
        let [finding] = found(RULE, &planted.run(running)).try_into().unwrap();
        (finding.severity, finding.recommendation)
    };
    let (severity, advice) = with(200);
    assert!(advice.starts_with("Other programs used 0.0 processors before and 2.0 since. "), "{advice}");
    assert_eq!(severity, 9.0);
    let (severity, advice) = with(20);
    assert!(severity > 9.0 && !advice.starts_with("Other programs"), "{severity} {advice}");
}

#[test]
fn parts_of_a_run_and_steps_without_numbers_are_not_judged() {
    let mut summary = slower();
    summary.coverage.recorded_steps = Some(20_000);
    assert!(unknown(RULE, &summary).contains("200 of 20,000 steps were read"));
    let mut summary = slower();
    summary.modes[0].step_range = None;
    assert!(unknown(RULE, &summary).contains("no numbers"));
    let mut summary = slower();
    summary.modes[0].numbers = StepNumbers::Repeated;
    assert!(unknown(RULE, &summary).starts_with("steps share their numbers"));
    assert!(unknown(RULE, &Run::of(99, MS).build()).contains("99 steps"));
}
