//! The verdict on input and what happens between steps.

use stepscope_analyze::summary::{InputVerdict, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::Trace;

use crate::build::{Build, fold, summarise};

/// `count` loops of 1,000 ns: a wait before the step, and one inside it.
fn loops(count: u64, before_ns: u64, inside_ns: u64) -> Vec<Trace> {
    let mut traces = Vec::new();
    for i in 0..count {
        let start = i * 10_000;
        if before_ns > 0 {
            let mut wait = Build::new(2 * i);
            wait.span(0, "data_wait", start, start + before_ns).thread(1);
            traces.push(wait.trace());
        }
        let mut step = Build::new(2 * i + 1);
        let start = start + before_ns;
        step.step(i as i64, start, start + 1_000).thread(1);
        step.span(1, "data_wait", start, start + inside_ns).thread(1);
        step.span(1, "forward", start + inside_ns, start + 1_000).thread(1);
        traces.push(step.trace());
    }
    traces
}

fn verdict(count: u64, before_ns: u64, inside_ns: u64) -> InputVerdict {
    summarise(&loops(count, before_ns, inside_ns)).input.verdict
}

#[test]
fn the_borders_are_five_and_twenty_per_cent() {
    assert_eq!(verdict(100, 0, 49), InputVerdict::No);
    assert_eq!(verdict(100, 0, 50), InputVerdict::Moderate);
    assert_eq!(verdict(100, 0, 199), InputVerdict::Moderate);
    assert_eq!(verdict(100, 0, 200), InputVerdict::High);
    assert_eq!(verdict(19, 0, 200), InputVerdict::NotEnoughData);
    assert_eq!(verdict(20, 0, 200), InputVerdict::High);
}

#[test]
fn waits_between_steps_count_and_the_first_one_does_not() {
    let summary = summarise(&loops(100, 500, 100));
    // 100 · 100 ns inside 100 · 1,000 ns of steps; 99 · 500 ns between them: the first wait is before any step.
    assert_eq!(summary.input.in_steps_ns, 10_000);
    assert_eq!(summary.input.between_ns, 49_500);
    assert_eq!(summary.input.share, Some(59_500.0 / 149_500.0));
    let wait = &summary.outside[0];
    assert_eq!(wait.phase, Some(PhaseName::Known(Phase::DataWait)));
    assert_eq!((wait.stats.count, wait.stats.p50, wait.exposed_ns), (99, Some(500), 49_500));
}

/// After every tenth of these loops a validation of 3,000 ns which waits for 2,000 of them.
fn validated(mut traces: Vec<Trace>, count: u64) -> Vec<Trace> {
    for i in (5..count).step_by(10) {
        let start = i * 10_000 + 5_000;
        let mut build = Build::new(100_000 + i);
        build.span(0, "validate", start, start + 3_000).phase(Phase::Evaluation).thread(1);
        build.span(1, "data_wait", start, start + 2_000).thread(1);
        let name = build.0.push_text("validation");
        build.0.spans[1].loader = name;
        traces.push(build.trace());
    }
    traces
}

#[test]
fn what_evaluation_waits_for_is_not_waited_for_by_training() {
    let without = summarise(&loops(100, 500, 100));
    let summary = summarise(&validated(loops(100, 500, 100), 100));
    assert_eq!(summary.input, without.input);
    let rows: Vec<_> = summary
        .outside
        .iter()
        .map(|row| (row.phase.as_ref().map(PhaseName::as_str), row.stats.total, row.exposed_ns))
        .collect();
    assert_eq!(rows, [(Some("data_wait"), 49_500, 49_500), (Some("evaluation"), 30_000, 30_000)]);
    let loader = &summary.batches.loaders[0];
    let held: Vec<_> = loader.held_up.iter().map(|held| (held.mode, held.waits, held.total_ns)).collect();
    assert_eq!((loader.name.as_str(), held), ("validation", vec![(Some(Mode::Eval), 10, 20_000)]));
    // In a run that only evaluates it is what the steps wait for.
    let mut traces = validated(loops(100, 0, 100), 100);
    for trace in &mut traces {
        trace.spans[0].mode = Mode::Eval;
    }
    let summary = summarise(&traces);
    assert_eq!((summary.primary().unwrap().mode, summary.input.between_ns), (Mode::Eval, 20_000));
}

#[test]
fn what_follows_the_last_step_is_not_between_steps() {
    let mut traces = loops(1_200, 500, 100);
    let last_ns = 1_199 * 10_000 + 1_500;
    for i in 0..300 {
        let mut wait = Build::new(10_000 + i);
        wait.span(0, "data_wait", last_ns + i * 1_000, last_ns + i * 1_000 + 400).thread(1);
        traces.push(wait.trace());
    }
    let mut checkpoint = Build::new(20_000);
    checkpoint.span(0, "save_checkpoint", last_ns + 400_000, last_ns + 900_000).thread(1);
    traces.push(checkpoint.trace());
    let summary = summarise(&traces);
    // As many as there are steps, without the one before the first.
    assert_eq!((summary.outside.len(), summary.outside[0].stats.count), (1, 1_199));
    assert_eq!(summary.input.between_ns, 1_199 * 500);
    // In whatever order, and in parts.
    traces.reverse();
    assert_eq!(format!("{:?}", summarise(&traces).outside), format!("{:?}", summary.outside));
}

#[test]
fn a_section_is_between_steps_although_it_runs_before_and_after_them_as_well() {
    // 100 steps of 1,000 ns, each followed by 5,000 ns of `dump` and 4,000 ns of nothing, the last one too; before the
    // first a setup that takes longer than all of that.
    let mut traces = vec![];
    let mut section = |name: &str, start: u64, end: u64| {
        let mut build = Build::new(start);
        build.span(0, name, start, end).thread(1);
        traces.push(build.trace());
    };
    section("setup", 0, 2_000_000);
    section("dump", 2_500_000, 2_505_000);
    for i in 0..100 {
        section("dump", 3_001_000 + i * 10_000, 3_006_000 + i * 10_000);
    }
    for i in 0..100 {
        let start = 3_000_000 + i * 10_000;
        let mut step = Build::new(start);
        step.step(i as i64, start, start + 1_000).thread(1);
        step.span(1, "forward", start, start + 1_000).thread(1);
        traces.push(step.trace());
    }
    let summary = summarise(&traces);
    let beyond: Vec<(&str, u64)> = summary.beyond.iter().map(|(path, &ns)| (path.as_str(), ns)).collect();
    assert_eq!(beyond, [("dump", 10_000), ("setup", 2_000_000)]);
    assert_eq!((summary.outside.len(), summary.outside[0].stats.total), (1, 99 * 5_000));
    let report = stepscope_analyze::report::build(&summary, Default::default(), &Default::default());
    let named: Vec<_> = report
        .bottlenecks
        .iter()
        .filter(|found| found.rule == "between_steps")
        .map(|found| found.section.as_deref())
        .collect();
    assert_eq!(named, [Some("dump"), None]);
    // In whatever order, and in parts.
    let (one, other) = traces.split_at(90);
    let mut merged = fold(other);
    merged.merge(&fold(one));
    assert_eq!(merged.finish(None).beyond, summary.beyond);
}

#[test]
fn steps_of_other_modes_count_where_they_are_between_steps() {
    let between_ns = |starts: &[u64]| {
        let mut traces = loops(100, 0, 100);
        for (&start, i) in starts.iter().zip(0..) {
            let mut eval = Build::new(10_000 + i);
            eval.step(i as i64, start, start + 2_000).mode(Mode::Eval).thread(1);
            traces.push(eval.trace());
        }
        summarise(&traces).instances[0].other_steps_ns
    };
    let at = |first: u64, count: u64| (0..count).map(|i| first + 10_000 * i).collect::<Vec<u64>>();
    assert_eq!(between_ns(&at(12_000, 20)), 20 * 2_000);
    assert_eq!(between_ns(&at(1_000_000, 400)), 0);
    // The last one reaches beyond the last step, and what follows is after it.
    assert_eq!(between_ns(&[500_000, 990_500, 1_200_000]), 2_000 + 500);
}

#[test]
fn what_other_threads_do_between_steps_is_hidden() {
    let mut traces = loops(100, 0, 0);
    for i in 0..100 {
        let mut loader = Build::new(1_000 + i);
        loader.span(0, "load_batch", i * 10_000, i * 10_000 + 10_000).thread(2);
        traces.push(loader.trace());
    }
    let summary = summarise(&traces);
    assert_eq!(summary.input.verdict, InputVerdict::No);
    assert_eq!(summary.input.share, Some(0.0));
    assert!(summary.outside.is_empty());
}

#[test]
fn checkpoints_and_evaluations_are_told_by_phase() {
    let mut traces = loops(100, 0, 0);
    for i in 1..4u64 {
        let mut checkpoint = Build::new(1_000 + i);
        checkpoint.span(0, "save_checkpoint", i * 10_000 + 2_000, i * 10_000 + 2_000 + i * 100).thread(1);
        checkpoint.span(1, "write", i * 10_000 + 2_000, i * 10_000 + 2_050).phase(Phase::Io).thread(1);
        traces.push(checkpoint.trace());
    }
    let summary = summarise(&traces);
    // What is written in them is a part of them.
    assert_eq!(summary.outside.len(), 1);
    let checkpoint = &summary.outside[0];
    assert_eq!(checkpoint.phase, Some(PhaseName::Known(Phase::Checkpoint)));
    assert_eq!((checkpoint.stats.count, checkpoint.stats.total, checkpoint.stats.max), (3, 600, Some(300)));
    assert_eq!(checkpoint.exposed_ns, 600);
    let of = |path: &str| summary.sections.iter().find(|row| row.path == path).unwrap().phase.clone();
    assert_eq!(of("save_checkpoint/write"), Some(PhaseName::Known(Phase::Checkpoint)));
}

#[test]
fn without_any_phase_nothing_can_be_said() {
    let traces: Vec<Trace> =
        (0..50).map(|i| crate::build::bare_step(i, i as i64, i * 100, i * 100 + 50)).collect();
    let summary = summarise(&traces);
    assert_eq!((summary.input.verdict, summary.input.share), (InputVerdict::NotEnoughData, None));
}
