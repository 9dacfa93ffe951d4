//! Fixtures of `slow_calls`.

use stepscope_analyze::summary::{PeriodCause, PeriodicSteps, PhaseName, StepPeriod, Summary};
use stepscope_core::{Mode, Phase};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, queued};

const RULE: &str = "slow_calls";

/// One call in 20 takes 41 ms, the others 1 ms; a step takes 10 ms on average.
fn spikes() -> Vec<u64> {
    (0..20).map(|call| if call == 7 { 41 * MS } else { MS }).collect()
}

#[test]
fn a_few_slow_calls_are_found() {
    let summary =
        Run::of(200, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).varying("log", &spikes()).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    // 40 ms in 20 steps of 10 ms.
    assert_eq!(
        finding.title,
        "Few calls of step/log cost 20 % of the step time: the slowest takes 41 times the median."
    );
    assert_eq!((finding.severity, finding.section.as_deref()), (20.0, Some("step/log")));
    assert_eq!(finding.predicted_gain.unwrap().saved_ns_per_step, 2 * MS);
}

#[test]
fn few_slow_calls_may_be_chance() {
    let with = |slow: usize| {
        let durations: Vec<u64> = (0..200).map(|call| if call < slow { 401 * MS } else { MS }).collect();
        let [finding] =
            found(RULE, &Run::of(200, 20 * MS).varying("log", &durations).build()).try_into().unwrap();
        finding.severity
    };
    // One to four calls of 400 ms more in 200 steps of 20 ms.
    assert_eq!([1, 3, 4].map(with), [9.0, 9.0, 40.0]);
}

#[test]
fn sections_of_few_calls_are_not_judged() {
    let with = |calls: u64| {
        let mut summary = Run::of(200, 10 * MS).varying("log", &spikes()).build();
        summary.sections.iter_mut().find(|row| row.path == "step/log").unwrap().stats.count = calls;
        summary
    };
    assert_eq!(found(RULE, &with(100)).len(), 1);
    unknown(RULE, &with(99));
}

#[test]
fn what_others_on_the_machine_may_have_taken_is_told_and_no_fault() {
    let with = |taken_ns: u64| {
        let mut summary = Run::of(200, 10 * MS).varying("log", &spikes()).build();
        queued(&mut summary, |step| if step % 20 == 7 { taken_ns } else { 0 });
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding.severity
    };
    assert_eq!((with(20 * MS), with(19 * MS)), (9.0, 20.0));
}

#[test]
fn of_nested_sections_the_innermost_is_named() {
    let outer: Vec<u64> = spikes().into_iter().map(|ns| ns + MS).collect();
    let run = Run::of(200, 10 * MS).varying("log", &outer).varying("log/flush", &spikes());
    let sections: Vec<_> = found(RULE, &run.build()).into_iter().map(|finding| finding.section).collect();
    assert_eq!(sections, [Some("step/log/flush".to_owned())]);
}

#[test]
fn usual_variation_and_regular_work_are_fine() {
    let because = "of 6 sections with 100 calls and more none has few that take 10 times the usual one";
    assert_eq!(fine(RULE, &healthy().build()), because);
    // Every fourth call is a slow one: that is its work.
    let regular = Run::of(200, 10 * MS).varying("log", &[MS, MS, MS, 30 * MS]).build();
    assert!(fine(RULE, &regular).starts_with("of 1 section with 100 calls"));
    // 9 times the median.
    let varying: Vec<u64> = (0..20).map(|call| if call == 7 { 9 * MS } else { MS }).collect();
    assert!(fine(RULE, &Run::of(200, 10 * MS).varying("log", &varying).build()).starts_with("of 1 section"));
}

#[test]
fn slow_calls_of_the_first_steps_are_warmup() {
    let once: Vec<u64> = (0..200).map(|call| if call == 0 { 900 * MS } else { MS }).collect();
    let run = || Run::of(200, 10 * MS).varying("forward", &once);
    assert_eq!(found(RULE, &run().build()).len(), 1);
    let warm = run().warmup(&[900 * MS]).warmup_of("step/forward", &[900 * MS], MS);
    assert!(fine(RULE, &warm.build()).starts_with("of 1 section"));
    // What other sections take in the first steps is none of its, if that is known.
    let other = || run().untagged("jit", 1, MS).warmup(&[900 * MS]);
    assert_eq!(found(RULE, &other().warmup_of("step/jit", &[900 * MS], MS).build()).len(), 1);
    assert!(fine(RULE, &other().build()).starts_with("the slow calls of step/forward cost most, 0.4"));
}

/// Every twentieth of 200 steps of 10 ms takes `more_ns` more, and `above_ns` in all, most of it in this phase.
fn with_period(mut summary: Summary, phase: Option<Phase>, more_ns: u64, above_ns: u64) -> Summary {
    let cause = PeriodCause { phase: phase.map(PhaseName::Known), usual_ns: MS, periodic_ns: MS + more_ns };
    let period = StepPeriod {
        every: 20,
        first_step: 7,
        steps: 10,
        median_ns: 10 * MS + more_ns,
        above_ns,
        cause: Some(cause),
    };
    let usual = summary.modes[0].steady;
    summary.periodic = vec![PeriodicSteps { mode: Mode::Train, usual, periods: vec![period] }];
    summary
}

#[test]
fn periodic_work_of_the_model_itself_is_found() {
    // Every twentieth of 200 steps of 10 ms takes 40 ms more, in `forward` itself or in what it saves.
    let with = |phase: Phase, name: &str| {
        let mut summary = Run::of(200, 10 * MS).varying(name, &spikes()).build();
        let row = summary.sections.iter_mut().find(|row| row.name == name).unwrap();
        row.phase = Some(PhaseName::Known(phase));
        with_period(summary, Some(phase), 40 * MS, 400 * MS)
    };
    for (phase, name) in [(Phase::Forward, "forward"), (Phase::Backward, "backward")] {
        let [finding] = found(RULE, &with(phase, name)).try_into().unwrap();
        assert_eq!(
            finding.title,
            format!(
                "Few calls of step/{name} cost 20 % of the step time: the slowest takes 41 times the \
                 median."
            )
        );
        assert_eq!(finding.severity, 20.0);
        assert!(
            finding.recommendation.contains("does in its slowest calls (41.0 ms, against"),
            "{}",
            finding.recommendation
        );
    }
    // The optimizer works once in so many steps where gradients are accumulated, and what is logged is meant to be.
    for (phase, name) in [(Phase::Optimizer, "optimizer"), (Phase::Io, "log")] {
        assert!(fine(RULE, &with(phase, name)).contains("cost most, 0 % of "), "{name}");
    }
}

#[test]
fn checkpoints_and_waits_are_left_to_their_rules() {
    for phase in [Phase::Checkpoint, Phase::DataWait] {
        let mut summary = Run::of(200, 10 * MS).varying("part", &spikes()).build();
        let row = summary.sections.iter_mut().find(|row| row.name == "part").unwrap();
        row.phase = Some(PhaseName::Known(phase));
        assert!(fine(RULE, &summary).starts_with("of "), "{phase}");
    }
}

#[test]
fn what_loaders_do_and_steps_read_in_part_are_not_judged() {
    let run = || Run::of(200, 10 * MS).varying("log", &spikes());
    let mut elsewhere = run().build();
    elsewhere.sections.iter_mut().flat_map(|row| &mut row.in_steps).for_each(|part| part.driving_ns = 0);
    assert!(fine(RULE, &elsewhere).starts_with("of "));
    let mut partly = run().build();
    partly.coverage.recorded_steps = Some(2_000);
    assert!(unknown(RULE, &partly).contains("how rare slow calls are may not be"));
    let few = unknown(RULE, &Run::of(99, 10 * MS).varying("log", &spikes()).build());
    assert_eq!(few, "no section has the 100 calls that few slow ones are told among");
}
