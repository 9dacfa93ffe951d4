//! Fixtures of `slow_section`.

use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::InSteps;
use stepscope_core::Phase;

use super::{fine, found, notes as notes_of, unknown};
use crate::fixture::{MS, Run, healthy, stats};

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
fn a_mean_that_no_call_takes_is_told_with_the_usual_and_the_longest_call() {
    let with = |slow_ms: u64, calls: u64| {
        let mut summary = Run::of(400, 6 * MS)
            .phase(Phase::Forward, "forward", 3 * MS)
            .untagged("log", calls, 2 * MS)
            .build();
        // One call in fifty takes longer, and the others as much less as the mean stays.
        let row = summary.sections.iter_mut().find(|row| row.name == "log").unwrap();
        row.stats = stats(
            (0..400 * calls)
                .map(|call| if call % 50 == 49 { slow_ms * MS } else { (100 - slow_ms) * MS / 49 }),
        );
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding.recommendation
    };
    let advice = with(51, 1);
    assert!(
        advice.starts_with(
            "It takes 1.00 ms in the usual call and 51.0 ms in the longest, 2.00 ms of its own on average: look at what it \
             does in the long ones"
        ),
        "{advice}"
    );
    let advice = with(51, 2);
    assert!(
        advice.starts_with(
            "It runs 2 times a step, 1.00 ms in the usual call and 51.0 ms in the longest, 2.00 ms of"
        ),
        "{advice}"
    );
    // Mean and median are near each other.
    assert!(with(30, 1).starts_with("It takes 2.00 ms a call:"), "{}", with(30, 1));
}

#[test]
fn several_sections_come_largest_first() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Forward, "forward", 3 * MS)
        .untagged("a", 1, 2 * MS)
        .untagged("b", 1, 3 * MS)
        .phase(Phase::Other, "sync", 2 * MS)
        .build();
    let sections: Vec<_> = found(RULE, &summary).into_iter().filter_map(|finding| finding.section).collect();
    assert_eq!(sections, ["step/b", "step/a", "step/sync"]);
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
    assert_eq!(fine(RULE, &short), "the costliest such section, step/dump, takes 6.0 %");
}

#[test]
fn the_stages_of_training_may_take_the_time() {
    assert_eq!(fine(RULE, &healthy().build()), "the costliest such section, step/metrics, takes 1.0 %");
}

#[test]
fn long_calls_of_regular_stages_are_notes() {
    let summary = Run::of(50, 4_000 * MS)
        .phase(Phase::Forward, "forward", 1_500 * MS)
        .leaves("step/forward", 0)
        .build();
    assert!(fine(RULE, &summary).starts_with("no section"));
    let notes = notes_of(RULE, &summary, &Config::default());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].text, "step/forward takes 1.50 s of its own a call.");
    let mut config = Config::default();
    config.slow_section.large_alloc_bytes = 200_000;
    assert_eq!(notes_of(RULE, &summary, &config).len(), 2);
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
fn what_a_device_computes_is_no_helper_code() {
    let mut summary = Run::of(100, 4_000 * MS)
        .phase(Phase::Forward, "forward", 1_500 * MS)
        .untagged("sgemm", 1, 1_600 * MS)
        .build();
    assert_eq!(found(RULE, &summary).len(), 1);
    let row = summary.sections.iter_mut().find(|row| row.path == "step/sgemm").unwrap();
    row.device_calls = row.stats.count;
    assert!(fine(RULE, &summary).starts_with("no section"));
    let notes = notes_of(RULE, &summary, &Config::default());
    assert!(notes.iter().all(|note| note.section.as_deref() != Some("step/sgemm")), "{notes:?}");
    // A host section of this name, of which a few calls are annotations of a stream.
    let row = summary.sections.iter_mut().find(|row| row.path == "step/sgemm").unwrap();
    row.device_calls = row.stats.count / 2;
    assert_eq!(found(RULE, &summary).len(), 1);
}

#[test]
fn few_steps_are_not_judged() {
    assert!(unknown(RULE, &Run::of(19, 10 * MS).untagged("x", 1, 9 * MS).build()).starts_with("19 steps"));
}

#[test]
fn of_thinned_steps_the_whole_ones_count_calls() {
    let mut summary =
        Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 6 * MS).untagged("log_metrics", 3, MS).build();
    // A tenth was read whole, and sections are counted in it alone.
    let mode = &mut summary.modes[0];
    (mode.whole_all.steps, mode.whole_all.total_ns) = (10, 100 * MS);
    mode.whole = mode.whole_all;
    let tenth = |row: &mut InSteps| (row.calls, row.exposed_ns) = (row.calls / 10, row.exposed_ns / 10);
    summary.sections.iter_mut().flat_map(|row| &mut row.in_steps).for_each(tenth);
    mode.phases.iter_mut().for_each(|row| row.exposed_ns /= 10);
    mode.unattributed_ns /= 10;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.recommendation.contains("3 times a step, 1.00 ms each"), "{}", finding.recommendation);
    // Without a whole step there is nothing to say.
    summary.modes[0].whole_all.steps = 0;
    summary.modes[0].whole.steps = 0;
    assert!(unknown(RULE, &summary).starts_with("the steps were recorded without their sections"));
}

#[test]
fn phases_with_a_rule_of_their_own_are_left_to_it() {
    for phase in [Phase::Communication, Phase::Synchronization, Phase::Io, Phase::Checkpoint] {
        let summary = Run::of(100, 10 * MS)
            .phase(Phase::Forward, "forward", 5 * MS)
            .phase(phase, "part", 4 * MS)
            .build();
        assert!(fine(RULE, &summary).starts_with("no section"), "{phase}");
    }
}

#[test]
fn calls_of_which_one_in_ten_is_long_are_notes() {
    // 20 calls of 50 take 1.2 s, the others nothing to speak of; then 4 of them.
    let notes = |long: u64, own: u64| {
        let durations = (0..50).map(|step| if step < long { 1_200 * MS } else { MS });
        let mut summary = Run::of(50, 4_000 * MS).phase(Phase::Forward, "forward", 100 * MS).build();
        let row = summary.sections.iter_mut().find(|row| row.path == "step/forward").unwrap();
        row.stats = stats(durations);
        row.self_ns = Some(row.stats.total / 100 * own);
        notes_of(RULE, &summary, &Config::default()).into_iter().map(|note| note.text).collect::<Vec<_>>()
    };
    assert_eq!(notes(20, 100), ["step/forward takes 1.20 s or longer in one of ten calls."]);
    assert_eq!(notes(4, 100), [""; 0]);
    // What is inside takes most of it.
    assert_eq!(notes(20, 40), [""; 0]);
}
