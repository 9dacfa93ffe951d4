//! The verdict on input and what happens between steps.

use stepscope_analyze::summary::{InputVerdict, PhaseName};
use stepscope_core::Phase;
use stepscope_model::Trace;

use crate::build::{Build, summarise};

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
