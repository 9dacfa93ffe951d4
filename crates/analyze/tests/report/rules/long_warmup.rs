//! Fixtures of `long_warmup`.

use stepscope_analyze::summary::PhaseName;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, queued, same};

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
fn one_step_of_warm_up_is_told_as_one() {
    let [finding] = found(RULE, &Run::of(190, 10 * MS).warmup(&[2_010 * MS]).build()).try_into().unwrap();
    let advice = &finding.recommendation;
    assert!(advice.ends_with(" The first step takes 2.00 s more than a usual one."), "{advice}");
    // And one of each rank.
    let mut summary = Run::of(190, 10 * MS).warmup(&[1_010 * MS; 2]).build();
    summary.modes[0].warmup.max_per_instance = 1;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let advice = &finding.recommendation;
    assert!(
        advice.ends_with(" The first steps of 2 ranks take 2.00 s more than as many usual ones."),
        "{advice}"
    );
}

#[test]
fn what_only_the_first_steps_do_is_named() {
    let compiling: Vec<u64> = (0..200).map(|call| if call < 10 { 204 * MS } else { 4 * MS }).collect();
    let run = Run::of(190, 10 * MS).warmup(&[210 * MS; 10]).varying("forward", &compiling);
    let mut summary = run.varying("forward/compile", &[200 * MS]).build();
    let row = summary.sections.iter_mut().find(|row| row.name == "compile").unwrap();
    row.stats = same(10, 200 * MS);
    row.in_steps[0].steps = 10;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.section.as_deref(), Some("step/forward/compile"));
    let advice = &finding.recommendation;
    assert!(advice.starts_with("`step/forward/compile` takes 2.00 s in 10 calls:"), "{advice}");
}

#[test]
fn of_several_ranks_the_section_is_named_that_others_wait_for() {
    // Of four ranks one compiles for 200 ms in each of ten steps, and three communicate as long.
    let of = |ranks: usize, compiling: u64, waiting: u64| {
        let waits: Vec<u64> = (0..200).map(|call| if call < waiting { 201 * MS } else { MS }).collect();
        let run = Run::of(190, 10 * MS).warmup(&[210 * MS; 40]).varying("all_reduce", &waits);
        let mut summary = run.varying("jit", &[200 * MS]).build();
        let row = |name: &str| summary.sections.iter().position(|row| row.name == name).unwrap();
        let (jit, reduce) = (row("jit"), row("all_reduce"));
        summary.sections[jit].stats = same(10, compiling);
        summary.sections[jit].in_steps[0].steps = 10;
        summary.sections[reduce].phase = Some(PhaseName::Known(Phase::Communication));
        let rank = summary.instances[0].clone();
        summary.instances = vec![rank; ranks];
        let [finding] = found(RULE, &summary).try_into().unwrap();
        (finding.section.unwrap(), finding.recommendation)
    };
    let (section, advice) = of(4, 200 * MS, 30);
    assert_eq!(section, "step/jit");
    assert!(advice.starts_with("`step/jit` takes 2.00 s in 10 calls: "), "{advice}");
    // What is less than half of what one of them takes explains nothing, even where all of them wait for nearly all of it;
    // and one process waits for none.
    for (section, _) in [of(4, 90 * MS, 30), of(4, 30 * MS, 39), of(1, 200 * MS, 30)] {
        assert_eq!(section, "step/all_reduce");
    }
}

#[test]
fn where_no_section_explains_it_none_is_named() {
    let run = Run::of(190, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).warmup(&[210 * MS; 10]);
    let [finding] = found(RULE, &run.build()).try_into().unwrap();
    assert_eq!(finding.section, None);
    assert!(finding.recommendation.starts_with("No section explains it"), "{}", finding.recommendation);
}

#[test]
fn short_warmup_bothers_nobody() {
    // Half of the time, and less than a second.
    let run = Run::of(90, 10 * MS).warmup(&[90 * MS; 10]);
    assert_eq!(
        fine(RULE, &run.build()),
        "the first 10 steps take 800 ms above the usual, 44 % of the time of all steps; below 1.00 s it bothers nobody"
    );
    let long = Run::of(10_000, 10 * MS).warmup(&[2_000 * MS]);
    let little = fine(RULE, &long.build());
    assert!(little.starts_with("the first step takes 1.99 s above"), "{little}");
    assert!(little.ends_with("of the time of all steps"), "{little}");
    assert!(fine(RULE, &healthy().build()).starts_with("the first steps take "));
}

#[test]
fn first_steps_of_a_run_read_in_part_are_not_judged() {
    let mut summary = Run::of(190, 10 * MS).warmup(&[210 * MS; 10]).build();
    summary.coverage.recorded_steps = Some(2_000);
    assert!(
        unknown(RULE, &summary).contains("were read, perhaps not at random: the share of the first ones")
    );
    assert!(unknown(RULE, &Run::of(19, MS).warmup(&[2_000 * MS]).build()).starts_with("19 steps"));
}
