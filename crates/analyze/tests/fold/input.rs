//! The verdict on input and what happens between steps.

use stepscope_analyze::Summary;
use stepscope_analyze::loaders::{InputShare, InputVerdict, Thresholds};
use stepscope_analyze::summary::{Limit, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::Trace;

use crate::build::{Build, bare_step, fold, summarise};

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

fn verdict_on(summary: &Summary) -> InputVerdict {
    InputShare::of(summary.input, &Thresholds::default()).verdict
}

fn verdict(count: u64, before_ns: u64, inside_ns: u64) -> InputVerdict {
    verdict_on(&summarise(&loops(count, before_ns, inside_ns)))
}

#[test]
fn the_borders_are_five_and_twenty_per_cent() {
    assert_eq!(verdict(100, 0, 49), InputVerdict::No);
    assert_eq!(verdict(100, 0, 50), InputVerdict::Moderate);
    assert_eq!(verdict(100, 0, 199), InputVerdict::Moderate);
    assert_eq!(verdict(100, 0, 200), InputVerdict::High);
    assert_eq!(verdict(1, 0, 200), InputVerdict::High);
}

#[test]
fn waits_between_steps_count_and_the_first_one_does_not() {
    let summary = summarise(&loops(100, 500, 100));
    // 100 · 100 ns inside 100 · 1,000 ns of steps; 99 · 500 ns between them: the first wait is before any step.
    assert_eq!(summary.input.in_steps_ns, 10_000);
    assert_eq!(summary.input.between_ns, 49_500);
    assert_eq!(summary.input.share, Some(59_500.0 / 149_500.0));
    let wait = &summary.between_steps[0];
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
        .between_steps
        .iter()
        .map(|row| (row.phase.as_ref().map(PhaseName::as_str), row.stats.total, row.exposed_ns))
        .collect();
    assert_eq!(rows, [(Some("data_wait"), 49_500, 49_500), (Some("evaluation"), 30_000, 30_000)]);
    let loader = &summary.batches.loaders[0];
    let held: Vec<_> = loader.stalls.iter().map(|held| (held.mode, held.waits, held.total_ns)).collect();
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
    assert_eq!(verdict_on(&summary), InputVerdict::No);
    assert_eq!(summary.input.share, Some(0.0));
    assert!(summary.between_steps.is_empty());
}

#[test]
fn without_any_phase_nothing_can_be_said() {
    let traces: Vec<Trace> = (0..50).map(|i| bare_step(i, i as i64, i * 100, i * 100 + 50)).collect();
    let summary = summarise(&traces);
    assert_eq!((verdict_on(&summary), summary.input.share), (InputVerdict::Unknown, None));
}

/// `count` steps of 10,000 ns each, 1,000 ns from one to the next, on one of four threads in turn, and beside each on the next
/// thread a section of `beside_ns`; from step to step on the step's thread one of `between_ns`.
fn on_a_pool(count: u64, (beside, beside_ns): (&str, u64), (between, between_ns): (&str, u64)) -> Vec<Trace> {
    let mut traces = vec![];
    for i in 0..count {
        let (start, thread) = (1_000_000 + i * 11_000, (i * 7 % 4) as i64);
        let mut step = Build::new(3 * i);
        step.step(i as i64, start, start + 10_000).thread(thread);
        step.span(1, "forward", start, start + 10_000).thread(thread);
        traces.push(step.trace());
        let mut section = |number: u64, name: &str, start: u64, length: u64, thread: i64| {
            let mut build = Build::new(number);
            build.span(0, name, start, start + length).thread(thread);
            traces.push(build.trace());
        };
        if beside_ns > 0 {
            section(3 * i + 1, beside, start + 500, beside_ns, (thread + 1) % 4);
        }
        if between_ns > 0 {
            section(3 * i + 2, between, start + 10_000, between_ns, thread);
        }
    }
    traces
}

/// Phase, calls, their time, and the exposed time of each row between steps.
fn rows(summary: &Summary) -> Vec<(Option<&str>, u64, u64, u64)> {
    let of = |row: &stepscope_analyze::summary::BetweenStepsRow| {
        (row.stats.count, row.stats.total, row.exposed_ns)
    };
    let rows = summary.between_steps.iter().map(|row| (row.phase.as_ref().map(PhaseName::as_str), of(row)));
    rows.map(|(phase, (count, total, exposed))| (phase, count, total, exposed)).collect()
}

#[test]
fn what_runs_beside_steps_is_not_between_them_whichever_thread_drives_these() {
    // Of 200 steps all are known.
    let summary = summarise(&on_a_pool(200, ("load_batch", 9_000), ("save_checkpoint", 700)));
    assert_eq!(rows(&summary), [(Some("checkpoint"), 199, 199 * 700, 199 * 700)]);
    assert_eq!((summary.input.between_ns, summary.limits.len()), (0, 0));
    // Its last 500 ns are after the step.
    let summary = summarise(&on_a_pool(200, ("load_batch", 10_000), ("", 0)));
    assert_eq!(rows(&summary), [(Some("data_loading"), 199, 199 * 500, 199 * 500)]);
}

#[test]
fn of_more_steps_than_are_kept_what_is_beside_them_is_told_from_the_first() {
    let traces = on_a_pool(3_000, ("load_batch", 9_000), ("save_checkpoint", 700));
    let summary = summarise(&traces);
    assert_eq!(rows(&summary), [(Some("checkpoint"), 2_999, 2_999 * 700, 2_999 * 700)]);
    assert_eq!((summary.input.between_ns, &summary.limits[..]), (0, &[Limit::BetweenStepsEstimated][..]));
    // In whatever order, and in parts.
    let parts: Vec<_> = (0..5).map(|part| fold(traces.iter().rev().skip(part).step_by(5))).collect();
    let mut merged = fold(&[]);
    parts.iter().for_each(|part| merged.merge(part));
    assert_eq!(merged.finish(None), summary);
}
