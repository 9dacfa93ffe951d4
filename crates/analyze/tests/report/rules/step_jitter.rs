//! Fixtures of `step_jitter`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ChangeKind, PeriodicSteps, StepChange, StepPeriod};
use stepscope_core::{Mode, Phase};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, queued};
use crate::schema::change;

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
fn what_others_on_the_machine_take_is_told_and_no_fault() {
    let with = |taken_ns: u64| {
        let mut summary = every_tenth(60 * MS).build();
        queued(&mut summary, |step| if step % 10 == 9 { taken_ns } else { 0 });
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    // Steps take 5 ms above the median on average.
    let others = with(45 * MS);
    let share = others.evidence.get("taken_by_others_share").unwrap().as_f64().unwrap();
    assert!(others.severity == 9.0 && (share - 0.9).abs() < 0.02, "{others:?}");
    assert!(others.recommendation.contains("something else had the processor"), "{others:?}");
    assert!(with(24 * MS).severity > 30.0);
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
fn slowness_of_a_section_without_a_phase_is_its_own() {
    let lock = |slow_ns: u64| {
        let mut durations = vec![MS; 10];
        durations[9] = slow_ns;
        every_tenth(60 * MS).varying("lock", &durations).build()
    };
    let [finding] = found(RULE, &lock(41 * MS)).try_into().unwrap();
    // Twenty calls take 40 ms above the usual each, the steps 50 ms.
    assert_eq!(finding.section.as_deref(), Some("step/lock"));
    let share = finding.evidence.get("explained_share").unwrap().as_f64().unwrap();
    assert!((share - 0.8).abs() < 0.02, "{share}");
    assert!(finding.recommendation.contains("slow calls of `step/lock` (80 %"), "{}", finding.recommendation);
    // Less than half of it explains nothing, nor do calls on another thread.
    let [finding] = found(RULE, &lock(21 * MS)).try_into().unwrap();
    assert!(finding.section.is_none() && finding.recommendation.starts_with("No phase explains"));
    let mut elsewhere = lock(41 * MS);
    elsewhere.sections.iter_mut().flat_map(|row| &mut row.in_steps).for_each(|part| part.driving_ns = 0);
    let [finding] = found(RULE, &elsewhere).try_into().unwrap();
    assert_eq!(finding.section, None);
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
fn what_percentiles_do_not_see_is_found_by_what_it_costs() {
    let with = |slow: usize, slow_ns: u64| {
        let mut durations = vec![10 * MS; 1_000];
        (0..slow).for_each(|at| durations[77 + at * 200] = slow_ns);
        let [finding] = found(RULE, &Run::with_durations(durations).build()).try_into().unwrap();
        finding
    };
    // 9.99 s of 20 s above the median.
    let one = with(1, 10_000 * MS);
    // Of percentiles the places in the histogram are known.
    assert!(one.title.starts_with("Steps vary: step 77 is 99"), "{}", one.title);
    assert!(one.recommendation.starts_with("Step 77 took 10.0 s, 0 ns into the run. No phase explains"));
    assert!(one.title.ends_with(" times the median, which costs 50 % of the step time."), "{}", one.title);
    assert_eq!((one.severity, one.evidence.get("rare_steps")), (9.0, Some(&json!(1))));
    let two = with(2, 1_000 * MS);
    assert!(two.title.starts_with("Steps vary: the longest is "), "{}", two.title);
    assert!(
        two.recommendation.starts_with("Step 77 took 1.00 s, 0 ns into the run. Step 277 took 1.00 s"),
        "{}",
        two.recommendation
    );
    // 4 times 0.99 s of 13.96 s.
    let four = with(4, 1_000 * MS);
    assert_eq!((four.severity, four.evidence.get("rare_steps")), (28.0, Some(&json!(4))));
    assert!(four.recommendation.starts_with("No phase explains the slow steps"), "{}", four.recommendation);
}

#[test]
fn percentiles_of_few_steps_mean_little() {
    let summary =
        Run::with_durations((0..99).map(|step| if step % 10 == 9 { 26 * MS } else { 10 * MS }).collect())
            .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(
        finding.title.starts_with("Steps vary: the longest is 2.6 times the median"),
        "{}",
        finding.title
    );
    assert_eq!(finding.severity, 9.0);
    assert!(
        unknown(RULE, &Run::of(3, MS).build()).starts_with("3 steps: which of them are warm-up is not known")
    );
}

/// Steps of those durations, of which every tenth takes 60 ms because it is meant to.
fn periodic(durations: Vec<u64>, phase: Phase) -> Summary {
    let usual: Vec<u64> = durations.iter().copied().filter(|&ns| ns != 60 * MS).collect();
    let steps = (durations.len() - usual.len()) as u64;
    let usual = Run::with_durations(usual).build().modes[0].steady;
    let mut summary = Run::with_durations(durations).slow_because(phase).build();
    let period = StepPeriod {
        every: 10,
        first_step: 9,
        steps,
        median_ns: 60 * MS,
        above_ns: steps * 50 * MS,
        cause: None,
    };
    summary.periodic = vec![PeriodicSteps { mode: Mode::Train, usual, periods: vec![period] }];
    summary
}

#[test]
fn periodic_steps_are_no_jitter() {
    let durations = (0..200).map(|step| if step % 10 == 9 { 60 * MS } else { 10 * MS }).collect();
    assert_eq!(
        fine(RULE, &periodic(durations, Phase::Checkpoint)),
        "p95 is 1.00 times the median (limit 2), p99 1.00 (limit 3), 0 % of the time above the median (limit 5.0 %), periodic \
         steps left out"
    );
}

/// Steps of 10 ms, from number 120 on 30 ms: as such no jitter.
fn at_two_levels(slow_ns: u64) -> Run {
    let step = |step| match step {
        _ if step % 10 == 9 => slow_ns,
        ..120 => 10 * MS,
        _ => 30 * MS,
    };
    Run::with_durations((0..200).map(step).collect())
}

#[test]
fn steps_are_compared_with_the_level_that_they_are_on() {
    let changed = || StepChange { steps_before: 120, after_ns: 30 * MS, ..change(ChangeKind::Sudden, 120) };
    let mut summary = at_two_levels(31 * MS).build();
    // As long as nobody knows of the levels.
    assert_eq!(found(RULE, &summary).len(), 1);
    summary.changes = vec![changed()];
    assert!(fine(RULE, &summary).starts_with("p95 is 1.0"), "{}", fine(RULE, &summary));
    let mut summary = at_two_levels(150 * MS).build();
    summary.changes = vec![changed()];
    let [finding] = found(RULE, &summary).try_into().unwrap();
    // The levels have a mean of 18 ms, the steps one of (108 · 10 + 72 · 30 + 20 · 150) / 200.
    assert!(
        finding.title.starts_with("Steps vary: p95 is 5.0 times the longest level of the run"),
        "{}",
        finding.title
    );
    let expected = (31.2 - 18.0) / 31.2;
    let gain = finding.predicted_gain.unwrap();
    assert!((gain.share - expected).abs() < 0.001, "{gain:?}");
}
