//! Fixtures of `long_warmup`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, queued};

const RULE: &str = "long_warmup";

#[test]
fn first_steps_that_take_long_are_found_with_their_section() {
    // 190 steps of 10 ms after 10 of 210 ms: 2 s more than usual, of 4 s in all.
    let compiling: Vec<u64> = (0..200).map(|call| if call < 10 { 204 * MS } else { 4 * MS }).collect();
    let mut run = Run::of(190, 10 * MS).phase(Phase::Backward, "backward", 5 * MS).warmup(&[210 * MS; 10]);
    run = run.varying("forward", &compiling);
    let [finding] = found(RULE, &run.build()).try_into().unwrap();
    assert_eq!(finding.title, "50 % of the training time is warm-up.");
    assert_eq!((finding.severity, finding.section.as_deref()), (50.0, Some("step/forward")));
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (10 * MS, 10 * MS));
    let advice = &finding.recommendation;
    assert!(advice.contains("204 ms in its slowest call and 4.00 ms in the usual one"), "{advice}");
    assert!(advice.ends_with("The first 10 steps take 2.00 s more than as many usual ones."), "{advice}");
}

#[test]
fn what_others_on_the_machine_take_is_told_and_no_fault() {
    let with = |taken_ns: u64| {
        let mut summary = Run::of(190, 10 * MS).warmup(&[210 * MS; 10]).build();
        summary.modes[0].warmup.steady_step = Some(10);
        queued(&mut summary, |step| if step < 10 { taken_ns } else { 5 * MS });
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding.severity
    };
    assert_eq!((with(100 * MS), with(99 * MS)), (9.0, 50.0));
}

#[test]
fn short_warmup_bothers_nobody() {
    // Half of the time, and less than half a second.
    let run = Run::of(50, 10 * MS).warmup(&[50 * MS; 10]);
    assert_eq!(
        fine(RULE, &run.build()),
        "the first 10 steps take 400 ms above the usual, 40 % of 1.00 s of steps; limits 10 % and 500 ms"
    );
    let long = Run::of(10_000, 10 * MS).warmup(&[2_000 * MS]);
    let little = fine(RULE, &long.build());
    assert!(little.starts_with("the first step takes 1.99 s above"), "{little}");
    assert!(little.ends_with("of 1 min 42 s of steps; limits 10 % and 500 ms"), "{little}");
    assert_eq!(
        fine(RULE, &healthy().build()),
        "the first of 200 steps take as long as the others, 2.00 s in all"
    );
}

#[test]
fn first_steps_of_a_run_read_in_part_are_not_judged() {
    let mut summary = Run::of(190, 10 * MS).warmup(&[210 * MS; 10]).build();
    summary.coverage.recorded_steps = Some(2_000);
    assert!(
        unknown(RULE, &summary).contains("were read, perhaps not at random: the share of the first ones")
    );
    let three = "3 steps: which of them are warm-up is not known; needs at least 4";
    assert_eq!(unknown(RULE, &Run::of(3, MS).build()), three);
}
