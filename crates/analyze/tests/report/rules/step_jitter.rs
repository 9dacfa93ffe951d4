//! Fixtures of `step_jitter`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::report::Verdict;
use stepscope_analyze::summary::{ChangeKind, InstanceRow, PeriodicSteps, StepChange, StepPeriod};
use stepscope_core::{Mode, Phase};

use super::{check, fine, found, unknown};
use crate::fixture::{MS, Run, queued, same};
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
fn what_makes_all_of_a_step_slower_is_no_matter_of_its_longest_phase() {
    // Of a step 0.8 are `forward`; every tenth takes 60 ms, the others 10.
    let with = |slow_forward_ns: u64| {
        let mut summary = every_tenth(60 * MS)
            .phase(Phase::Forward, "forward", 8 * MS)
            .slow_because(Phase::Forward)
            .build();
        summary.modes[0].phases[0].exposed_ns = summary.modes[0].whole.total_ns / 10 * 8;
        let parts = summary.modes[0].slowest.iter_mut().flat_map(|step| &mut step.phases);
        parts.for_each(|part| part.exposed_ns = slow_forward_ns);
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    let all = with(48 * MS);
    assert_eq!((&all.phase, all.evidence.get("explained_by")), (&None, None), "{all:?}");
    assert!(all.recommendation.starts_with("No phase explains"), "{}", all.recommendation);
    // A tenth of the steps are slow, so that the usual one spends 12 ms less a tenth of these 51 in it, of nine tenths: 7.7.
    // It grows by 5.6 times its own, and the rest, 9 ms instead of 2.3, by 2.9 times.
    assert_eq!(with(51 * MS).phase.as_deref(), Some("forward"));
    // Now by 5.2 times, and the rest by 3.9.
    assert_eq!(with(49 * MS + MS / 2).phase, None);
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
fn a_section_that_only_slow_steps_run_explains_them() {
    // Twenty of 200 steps take 50 ms above the usual; a section runs in so many of them, for 40 ms each.
    let of = |steps: u64| {
        let mut summary = every_tenth(60 * MS).varying("log", &[40 * MS]).build();
        let row = summary.sections.iter_mut().find(|row| row.name == "log").unwrap();
        (row.stats, row.slow_excess_ns) = (same(steps, 40 * MS), Some(0));
        let part = &mut row.in_steps[0];
        (part.steps, part.calls, part.total_ns, part.driving_ns) =
            (steps, steps, steps * 40 * MS, steps * 40 * MS);
        summary
    };
    let [finding] = found(RULE, &of(20)).try_into().unwrap();
    assert_eq!(finding.section.as_deref(), Some("step/log"));
    assert!(
        finding
            .recommendation
            .contains("by `step/log` (80 % of what steps take above the usual), which 20 steps run:"),
        "{}",
        finding.recommendation
    );
    // In more than one step of ten it is nothing that only slow steps do, and of less than half it explains nothing.
    for steps in [21, 12] {
        let [finding] = found(RULE, &of(steps)).try_into().unwrap();
        assert_eq!(finding.section, None, "{steps}");
        assert!(finding.recommendation.contains("No phase explains"), "{}", finding.recommendation);
    }
    // What periodic steps run is not what makes others slow.
    let mut summary = of(20);
    summary.periodic = periodic(vec![10 * MS; 200], Phase::Checkpoint).periodic;
    summary.periodic[0].usual = summary.modes[0].steady;
    let [finding] = found(RULE, &summary).try_into().unwrap();
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
    let summary = Run::with_durations((0..99).map(|step| (1 + step % 10) * MS).collect()).build();
    assert!(unknown(RULE, &summary).contains("99 steps"));
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
        "p95 is 1.00 times the median, p99 1.00 times; the mean step is not above the median, periodic steps left out; \
         a finding needs a p95 of 2 times or a p99 of 3 times, and a mean above by 5.0 % of itself"
    );
}

#[test]
fn beside_periodic_steps_the_longest_of_all_ranks_are_compared_with_each_other() {
    let durations = (0..200).map(|step| if step % 10 == 9 { 60 * MS } else { 10 * MS }).collect();
    let mut summary = periodic(durations, Phase::Checkpoint);
    let slow = summary.instances.remove(0);
    summary.instances = [10, 6]
        .map(|ms| InstanceRow { steps: same(200, ms * MS), works: same(200, ms * MS), ..slow.clone() })
        .into();
    summary.modes[0].all = same(400, 10 * MS);
    summary.instances[1].resource.rank = Some(1);
    summary.instances[0].resource.rank = Some(0);
    assert!(matches!(check("slow_rank", &summary), Verdict::Found(_)));
    let because = fine(RULE, &summary);
    assert!(because.contains("the mean step is not above the median, periodic steps left out"), "{because}");
}

#[test]
fn the_others_are_judged_beside_periodic_steps() {
    // Of 200 steps, twenty are periodic, eighteen of the others take 110 ms.
    let durations = (0..200).map(|step| match step % 10 {
        9 => 60 * MS,
        4 if step < 180 => 110 * MS,
        _ => 10 * MS,
    });
    let [finding] = found(RULE, &periodic(durations.collect(), Phase::DataWait)).try_into().unwrap();
    // 1,800 ms above the median in 180 steps of 200, in a mean of 24 ms.
    assert!(finding.title.starts_with("Steps vary: p95 is 11.0 times the median"), "{}", finding.title);
    assert_eq!(finding.evidence.get("periodic_steps_left_out"), Some(&json!(20)));
    assert_eq!(finding.phase.as_deref(), Some("data_wait"));
    let gain = finding.predicted_gain.unwrap();
    assert!(gain.saved_ns_per_step.abs_diff(9 * MS) < MS / 10, "{gain:?}");
    assert_eq!(gain.saved_ns_per_step + gain.step_time_ns, 24 * MS);
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

#[test]
fn levels_are_those_of_the_steps_without_their_input() {
    let with = |alone: (u64, u64)| {
        let (before, after) = (Some(alone.0 * MS), Some(alone.1 * MS));
        let mut summary = at_two_levels(150 * MS).build();
        summary.changes = vec![StepChange {
            steps_before: 120,
            after_ns: 90 * MS,
            duration_before_ns: before,
            duration_after_ns: after,
            ..change(ChangeKind::Sudden, 120)
        }];
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    let finding = with((10, 30));
    assert_eq!(finding.evidence.get("longest_level_ns"), Some(&(30 * MS).into()));
    // All that changed is before the steps.
    assert_eq!(with((10, 10)).evidence.get("longest_level_ns"), None);
}

#[test]
fn beside_periodic_steps_levels_are_no_jitter_either() {
    // 10 ms, from number 120 on 40 ms; every tenth step takes 60 ms because it is meant to.
    let step = |step, slow_ns| match step {
        _ if step % 10 == 9 => 60 * MS,
        _ if step % 10 == 4 => slow_ns,
        ..120 => 10 * MS,
        _ => 40 * MS,
    };
    let summary = |slow_ns| {
        let durations = (0..200).map(|number| {
            if slow_ns == 0 && number % 10 == 4 { step(number + 1, 0) } else { step(number, slow_ns) }
        });
        let mut summary = periodic(durations.collect(), Phase::Checkpoint);
        summary.changes =
            vec![StepChange { steps_before: 120, after_ns: 40 * MS, ..change(ChangeKind::Sudden, 120) }];
        summary
    };
    assert!(
        fine(RULE, &summary(0)).starts_with("p95 is 1.00 times the longest level"),
        "{}",
        fine(RULE, &summary(0))
    );
    let [finding] = found(RULE, &summary(200 * MS)).try_into().unwrap();
    assert!(
        finding.title.starts_with("Steps vary: p95 is 5.0 times the longest level of the run"),
        "{}",
        finding.title
    );
}

#[test]
fn preparation_on_the_training_thread_has_no_queue_to_deepen() {
    let [finding] =
        found(RULE, &every_tenth(60 * MS).slow_because(Phase::Preprocessing).build()).try_into().unwrap();
    assert!(finding.recommendation.contains("let loader threads do this"), "{}", finding.recommendation);
}
