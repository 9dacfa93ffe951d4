//! Fixtures of `slow_calls`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

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
fn of_nested_sections_the_innermost_is_named() {
    let outer: Vec<u64> = spikes().into_iter().map(|ns| ns + MS).collect();
    let run = Run::of(200, 10 * MS).varying("log", &outer).varying("log/flush", &spikes());
    let sections: Vec<_> = found(RULE, &run.build()).into_iter().map(|finding| finding.section).collect();
    assert_eq!(sections, [Some("step/log/flush".to_owned())]);
}

#[test]
fn usual_variation_and_regular_work_are_fine() {
    let because = "no section has a few calls that take a multiple of the others";
    assert_eq!(fine(RULE, &healthy().build()), because);
    // Every fourth call is a slow one: that is its work.
    let regular = Run::of(200, 10 * MS).varying("log", &[MS, MS, MS, 30 * MS]).build();
    assert_eq!(fine(RULE, &regular), because);
    // 9 times the median.
    let varying: Vec<u64> = (0..20).map(|call| if call == 7 { 9 * MS } else { MS }).collect();
    assert_eq!(fine(RULE, &Run::of(200, 10 * MS).varying("log", &varying).build()), because);
}

#[test]
fn slow_calls_of_the_first_steps_are_warmup() {
    let once: Vec<u64> = (0..200).map(|call| if call == 0 { 900 * MS } else { MS }).collect();
    let run = || Run::of(200, 10 * MS).varying("forward", &once);
    assert_eq!(found(RULE, &run().build()).len(), 1);
    let because = "the slow calls of step/forward cost most, 0.45 % of the step time";
    assert_eq!(fine(RULE, &run().warmup(&[900 * MS]).build()), because);
}

#[test]
fn checkpoints_and_waits_are_left_to_their_rules() {
    for phase in [Phase::Checkpoint, Phase::DataWait] {
        let mut summary = Run::of(200, 10 * MS).varying("part", &spikes()).build();
        let row = summary.sections.iter_mut().find(|row| row.name == "part").unwrap();
        row.phase = Some(stepscope_analyze::summary::PhaseName::Known(phase));
        assert!(fine(RULE, &summary).starts_with("no section"), "{phase}");
    }
}

#[test]
fn what_loaders_do_and_steps_read_in_part_are_not_judged() {
    let run = || Run::of(200, 10 * MS).varying("log", &spikes());
    let mut elsewhere = run().build();
    elsewhere.sections.iter_mut().flat_map(|row| &mut row.in_steps).for_each(|part| part.driving_ns = 0);
    assert!(fine(RULE, &elsewhere).starts_with("no section"));
    let mut partly = run().build();
    partly.coverage.recorded_steps = Some(2_000);
    assert!(unknown(RULE, &partly).contains("how rare slow calls are is not known"));
    assert!(unknown(RULE, &Run::of(19, 10 * MS).varying("log", &spikes()).build()).starts_with("19 steps"));
}
