//! Fixtures of `between_steps`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::report::{Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::StepGap;
use stepscope_core::{Mode, Phase};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, same};

const RULE: &str = "between_steps";

/// 100 steps of 10 ms that take `elapsed_ms` from the first to the last.
fn run(elapsed_ms: u64) -> Run {
    let mut run = Run::of(100, 10 * MS);
    run.summary.instances[0].throughput.elapsed_ns = elapsed_ms * MS;
    run
}

#[test]
fn time_in_which_nothing_is_recorded_is_found() {
    let [finding] = found(RULE, &run(2_000).build()).try_into().unwrap();
    assert_eq!(finding.title, "50 % of the time passes between steps, where nothing is recorded.");
    assert_eq!((finding.severity, finding.section, finding.phase), (50.0, None, None));
    assert_eq!(finding.evidence.get("between_ns"), Some(&json!(1_000 * MS)));
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns, gain.share), (10 * MS, 10 * MS, 0.5));
    assert!(finding.recommendation.contains("10.0 ms on average"), "{}", finding.recommendation);
}

#[test]
fn the_pauses_that_make_most_of_it_are_located() {
    let with = |pauses_ms: &[u64], run: Run| {
        let mut summary = run.build();
        summary.instances[0].usual_gap_ns = Some(0);
        let start_ns = summary.state.first_ns.unwrap();
        let pauses = pauses_ms.iter().zip(1u64..).map(|(&pause_ms, at)| StepGap {
            step: 20 * at - 1,
            step_numbers: 1,
            start_ns: start_ns + 200 * at * MS,
            gap_ns: pause_ms * MS,
        });
        summary.modes[0].step_gaps = pauses.collect();
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    // Of 1 s in all.
    let one = with(&[600, 100, 100], run(2_000));
    assert_eq!(
        one.title,
        "50 % of the time passes between steps, where nothing is recorded: most of it after step 19 (600 ms, 200 ms into \
         the run)."
    );
    assert_eq!(one.evidence.get("longest_pause_ns"), Some(&json!(600 * MS)));
    assert_eq!(one.evidence.get("longest_pause_after_step"), Some(&json!(19)));
    let three = with(&[200, 200, 100], run(2_000));
    assert!(three.title.contains("most of it in 3 pauses"), "{}", three.title);
    // Less than half of it; or as much as checkpoints may have taken there.
    let few = with(&[200, 200, 90], run(2_000));
    assert!(few.title.contains("in few pauses in which nothing"), "{}", few.title);
    let beside = with(&[600], run(2_200).between(Phase::Checkpoint, "checkpoint", &[200 * MS]));
    assert!(beside.title.contains("in few pauses in which nothing"), "{}", beside.title);
}

#[test]
fn sections_without_a_phase_are_named() {
    // 1,000 ms of steps, 600 ms of dumps, 200 ms of checkpoints, 200 ms of nothing.
    let summary = run(2_000)
        .between_untagged("dump", &[30 * MS; 20])
        .between(Phase::Checkpoint, "checkpoint", &[200 * MS])
        .build();
    let [dump, nothing] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(dump.title, "30 % of the time passes between steps in sections without a phase.");
    assert_eq!((dump.severity, dump.section.as_deref()), (30.0, Some("dump")));
    assert_eq!(dump.evidence.get("calls"), Some(&json!(20)));
    assert!(dump.recommendation.starts_with("`dump` takes 600 ms in 20 calls: "), "{}", dump.recommendation);
    assert_eq!((nothing.severity, nothing.section), (10.0, None));
}

#[test]
fn what_other_rules_judge_is_fine() {
    let summary = run(1_500).between(Phase::Checkpoint, "checkpoint", &[500 * MS]).build();
    assert!(fine(RULE, &summary).starts_with("0 % of "), "{}", fine(RULE, &summary));
    assert_eq!(
        fine(RULE, &run(1_040).build()),
        "3.8 % of 1.04 s of training passes between steps in no phase; limit 5.0 %"
    );
    // Steps of another mode between them.
    let mut summary = run(1_500).build();
    let mut eval = summary.modes[0].clone();
    (eval.mode, eval.all) = (Mode::Eval, same(50, 10 * MS));
    summary.modes.push(eval);
    summary.instances[0].other_steps_ns = 500 * MS;
    assert!(fine(RULE, &summary).starts_with("0 % of "), "{}", fine(RULE, &summary));
    // Steps of another mode before the first or after the last of them: all of it is without a phase.
    summary.instances[0].other_steps_ns = 0;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.severity, 33.0);
    // What reaches beyond the last step may be more than there is between them.
    let summary = run(1_500)
        .between(Phase::Checkpoint, "checkpoint", &[500 * MS])
        .between_untagged("log", &[MS])
        .build();
    assert!(fine(RULE, &summary).starts_with("0 % of "), "{}", fine(RULE, &summary));
}

#[test]
fn several_processes_are_added_up() {
    let mut summary: Summary = run(1_000).build();
    let second = summary.instances[0].clone();
    summary.instances.push(second);
    let mode = &mut summary.modes[0];
    (mode.steady_ns, mode.steady) = (1_500 * MS, same(200, 7_500_000));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.severity, 25.0);
}

#[test]
fn steps_that_were_not_read_may_be_between_the_others() {
    let mut summary = run(2_000).build();
    summary.coverage.recorded_steps = Some(200);
    assert!(unknown(RULE, &summary).starts_with("100 of 200 steps were read"));
    // Nobody counted them, but numbers are missing.
    summary.coverage.recorded_steps = None;
    summary.modes[0].step_range = Some((0, 199));
    assert!(unknown(RULE, &summary).starts_with("100 of 200 steps were read"));
    // Something long follows the last step, or is between others.
    let summary = run(1_100).between_untagged("export", &[500 * MS]).build();
    assert!(unknown(RULE, &summary).starts_with("sections that no other rule judges last longer"));
    // Sections were lost, perhaps there.
    let mut summary = run(2_000).build();
    summary.coverage.whole_steps = 90;
    assert!(
        unknown(RULE, &summary).starts_with("50 % of the time passes between steps, and sections were lost")
    );
    assert_eq!(unknown(RULE, &run(0).build()), "when steps ran is not known");
}

#[test]
fn several_runs_in_one_input_are_told_first() {
    let of = |ranks: [Option<i64>; 2], later_ms: u64| {
        let mut summary = Run::of(100, 10 * MS).build();
        summary.modes[0].all = same(200, 10 * MS);
        summary.modes[0].step_range = Some((0, 99));
        let mut later = summary.instances[0].clone();
        let (first_ns, last_ns) = (1_000_000 * MS, 1_001_000 * MS);
        for (row, after_ms) in [(&mut summary.instances[0], 0), (&mut later, later_ms)] {
            row.first_ns = Some(first_ns + after_ms * MS);
            row.last_ns = Some(last_ns + after_ms * MS);
        }
        summary.instances[0].resource.rank = ranks[0];
        later.resource.rank = ranks[1];
        summary.instances.push(later);
        let report = build(&summary, Reading::default(), &Config::default());
        let told = report.notes.iter().any(|note| note.text.contains("several runs"));
        (report.summary.verdict.contains("These may be several runs, 1 h 00 min apart"), told)
    };
    // The first takes a second.
    assert_eq!(of([None, None], 3_601_000), (true, true));
    assert_eq!(of([Some(0), Some(0)], 3_601_000), (true, true));
    // Clocks that differ, and ranks side by side.
    assert_eq!(of([Some(0), Some(1)], 3_601_000), (false, false));
    assert_eq!(of([None, None], 500), (false, false));
}
