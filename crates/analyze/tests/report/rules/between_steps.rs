//! Fixtures of `between_steps`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::report;
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{PhaseName, StepGap, StepNumbers};
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
fn steps_that_infer_may_wait_for_requests() {
    let mut summary = run(2_000).build();
    summary.modes[0].mode = Mode::Inference;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.severity, 9.0);
    assert!(finding.recommendation.ends_with("that is no loss."), "{}", finding.recommendation);
    summary.instances[0].throughput.elapsed_ns = 1_060 * MS;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.severity, 6.0);
}

#[test]
fn few_pauses_are_told_from_a_little_at_every_step() {
    let with = |usual_gap_ns, numbers| {
        let mut summary = run(2_000).build();
        summary.instances[0].usual_gap_ns = Some(usual_gap_ns);
        summary.modes[0].numbers = numbers;
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    let pauses = with(5 * MS, StepNumbers::Unique);
    assert_eq!(
        pauses.title,
        "50 % of the time passes between steps, in few pauses in which nothing is recorded."
    );
    assert_eq!(pauses.evidence.get("usual_gap_ns"), Some(&json!(5 * MS)));
    assert!(
        pauses.recommendation.contains("usually 5.00 ms, and 1.00 s in all"),
        "{}",
        pauses.recommendation
    );
    assert!(!pauses.recommendation.contains("several runs"));
    let again = with(0, StepNumbers::Repeated).recommendation;
    assert!(again.contains("the input may hold several runs of the program"), "{again}");
    assert!(with(6 * MS, StepNumbers::Repeated).recommendation.contains("10.0 ms on average"));
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
    assert!(
        three.recommendation.contains(
            "usually 0 ns, but not after step 19 (200 ms, 200 ms into the run), after step 39 (200 ms, 400 ms into the run) \
             and after step 59 (100 ms, 600 ms into the run): look"
        ),
        "{}",
        three.recommendation
    );
    // Less than half of it; or as much as checkpoints may have taken there.
    let few = with(&[200, 200, 90], run(2_000));
    assert!(few.title.contains("in few pauses in which nothing"), "{}", few.title);
    let beside = with(&[600], run(2_200).between(Phase::Checkpoint, "checkpoint", &[200 * MS]));
    assert!(beside.title.contains("in few pauses in which nothing"), "{}", beside.title);
}

#[test]
fn steps_at_the_same_time_have_no_time_between_them() {
    let mut summary = run(2_000).build();
    summary.instances[0].steps_overlap = true;
    assert_eq!(
        unknown(RULE, &summary),
        "steps overlap on several threads: what is between them is not known"
    );
}

#[test]
fn processes_that_do_the_same_steps_at_other_times_are_noted() {
    let note = |ranks: [i64; 2], numbers: u64, later_ns: u64| {
        let mut summary = run(1_000).build();
        summary.modes[0].step_range = Some((0, numbers - 1));
        let first = summary.instances[0].clone();
        let (mut a, mut b) = (first.clone(), first);
        (a.resource.rank, b.resource.rank) = (Some(ranks[0]), Some(ranks[1]));
        let start_ns = a.first_ns.unwrap();
        (a.last_ns, b.first_ns, b.last_ns) =
            (Some(start_ns + 500 * MS), Some(start_ns + later_ns), Some(start_ns + later_ns + 500 * MS));
        summary.instances = vec![b, a];
        let report = report::build(&summary, report::Reading::default(), &Config::default());
        report.notes.into_iter().find(|note| note.rule == RULE).map(|note| note.text)
    };
    let runs = note([0, 0], 50, 60_500 * MS).unwrap();
    assert!(
        runs.starts_with("Processes with steps of the same numbers follow each other, 1 min 00 s apart"),
        "{runs}"
    );
    let clocks = note([0, 1], 50, 3_600_000 * MS).unwrap();
    assert!(
        clocks.starts_with("Ranks do steps of the same numbers at other times, 1 h 00 min apart"),
        "{clocks}"
    );
    // At the same time, or other steps.
    assert_eq!(note([0, 1], 50, 400 * MS), None);
    assert_eq!(note([0, 0], 100, 60_500 * MS), None);
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
fn phases_that_no_rule_judges_are_told_as_none_is() {
    let with = |phase: PhaseName| {
        let mut summary = run(2_000).between_untagged("draw", &[30 * MS; 30]).build();
        let row = summary.sections.iter_mut().find(|row| row.path == "draw").unwrap();
        row.phase = Some(phase.clone());
        summary.between_steps.iter_mut().for_each(|row| row.phase = Some(phase.clone()));
        summary
    };
    for phase in [PhaseName::Custom("plotting".into()), PhaseName::Known(Phase::Compile)] {
        let findings = found(RULE, &with(phase.clone()));
        let draw = &findings[0];
        assert_eq!(
            draw.title,
            "45 % of the time passes between steps in sections that no other rule judges."
        );
        assert_eq!((draw.section.as_deref(), draw.phase.as_deref()), (Some("draw"), Some(phase.as_str())));
        let advice = &draw.recommendation;
        assert!(advice.starts_with("`draw` takes 900 ms in 30 calls: do it less often, or"), "{advice}");
    }
    // What the model does is no waste.
    for phase in [Phase::Evaluation, Phase::Inference, Phase::Forward] {
        let findings = found(RULE, &with(PhaseName::Known(phase)));
        assert!(findings.iter().all(|finding| finding.title.ends_with("nothing is recorded.")), "{phase}");
    }
}

#[test]
fn what_other_rules_judge_is_fine() {
    let summary = run(1_500).between(Phase::Checkpoint, "checkpoint", &[500 * MS]).build();
    assert_eq!(fine(RULE, &summary), "no time between steps is without a phase");
    assert_eq!(fine(RULE, &run(1_040).build()), "3.8 % of the time passes between steps in no phase");
    // Steps of another mode between them.
    let mut summary = run(1_500).build();
    let mut eval = summary.modes[0].clone();
    (eval.mode, eval.all) = (Mode::Eval, same(50, 10 * MS));
    summary.modes.push(eval);
    summary.instances[0].other_steps_ns = 500 * MS;
    assert_eq!(fine(RULE, &summary), "no time between steps is without a phase");
    // Steps of another mode before the first or after the last of them: all of it is without a phase.
    summary.instances[0].other_steps_ns = 0;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.severity, 33.0);
    // What reaches beyond the last step may be more than there is between them.
    let summary = run(1_500)
        .between(Phase::Checkpoint, "checkpoint", &[500 * MS])
        .between_untagged("log", &[MS])
        .build();
    assert_eq!(fine(RULE, &summary), "0 % of the time passes between steps in no phase");
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
    assert!(unknown(RULE, &Run::of(5, 10 * MS).build()).contains("5 steps"));
    assert_eq!(unknown(RULE, &run(0).build()), "when steps ran is not known");
}
