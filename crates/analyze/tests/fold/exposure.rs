//! Exposed time and phase totals of steps.

use stepscope_core::{Mode, Phase};
use stepscope_model::{Figure, Link};

use crate::build::{Build, summarise};

/// Phase, exposed, total, self, spans.
type Row = (String, u64, u64, u64, u64);

/// The phases of training steps, and what nothing covers.
fn phases(build: Build) -> (Vec<Row>, u64) {
    let summary = summarise([&build.trace()]);
    let mode = summary.mode(Mode::Train).unwrap();
    let rows: Vec<Row> = mode
        .phases
        .iter()
        .map(|row| (row.phase.to_string(), row.exposed_ns, row.total_ns, row.self_ns, row.spans))
        .collect();
    assert_eq!(rows.iter().map(|row| row.1).sum::<u64>() + mode.unattributed_ns, mode.steady_ns);
    (rows, mode.unattributed_ns)
}

#[test]
fn the_driving_thread_alone_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 10, 60).thread(1);
    // A loader that is busy all the time, on another thread: hidden.
    build.span(1, "load_batch", 0, 100).thread(2);
    let (rows, unattributed) = phases(build);
    assert_eq!(rows, [("forward".into(), 50, 50, 50, 1), ("data_loading".into(), 0, 100, 100, 1)]);
    assert_eq!(unattributed, 50);
}

#[test]
fn the_innermost_span_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 80).thread(1);
    // Inherits forward.
    build.span(2, "linear", 10, 30).thread(1);
    build.span(2, "barrier", 30, 50).thread(1);
    let (rows, unattributed) = phases(build);
    assert_eq!(rows, [("forward".into(), 60, 80, 60, 2), ("synchronization".into(), 20, 20, 20, 1)]);
    assert_eq!(unattributed, 20);
}

#[test]
fn of_concurrent_spans_the_higher_class_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "load_batch", 0, 60).thread(1);
    build.span(1, "all_reduce", 40, 80).thread(1);
    build.span(1, "forward", 50, 90).thread(1);
    let (rows, unattributed) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(exposed, [("data_loading", 40), ("communication", 40), ("forward", 10)]);
    assert_eq!(unattributed, 10);
}

#[test]
fn what_the_thread_writes_inside_a_computation_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "backward", 0, 80).thread(1);
    build.span(2, "offload", 10, 40).thread(1).phase(Phase::Io);
    // Inside of the writing, without a phase of its own.
    build.span(3, "flush", 20, 30).thread(1);
    build.span(2, "checkpoint", 50, 60).thread(1);
    build.span(2, "log", 65, 70).thread(1);
    build.custom("metrics");
    // On another thread: behind the computation.
    build.span(2, "spill", 0, 80).thread(2).phase(Phase::Io);
    let (rows, unattributed) = phases(build);
    let exposed: Vec<(&str, u64, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1, row.2)).collect();
    assert_eq!(exposed, [("backward", 35, 80), ("io", 30, 80), ("checkpoint", 10, 10), ("metrics", 5, 5)]);
    assert_eq!(unattributed, 20);
}

#[test]
fn time_outside_of_the_step_is_not_the_steps() {
    let mut build = Build::new(1);
    build.step(0, 100, 200).thread(1);
    build.span(1, "forward", 50, 120).thread(1);
    build.span(1, "backward", 180, 300).thread(1);
    let (rows, unattributed) = phases(build);
    let figures: Vec<(&str, u64, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1, row.2)).collect();
    assert_eq!(figures, [("forward", 20, 20), ("backward", 20, 20)]);
    assert_eq!(unattributed, 60);
}

#[test]
fn what_a_checkpoint_copies_and_writes_is_checkpoint_and_what_it_computes_is_not() {
    let mut build = Build::new(1);
    build.step(0, 0, 100);
    build.span(1, "checkpoint", 0, 90);
    build.span(2, "fetch", 10, 20).phase(Phase::DeviceToHost);
    build.span(2, "write", 20, 60).phase(Phase::Io);
    build.span(2, "evaluate", 60, 80).phase(Phase::Evaluation);
    build.span(1, "log", 90, 95).phase(Phase::Io);
    let (rows, unattributed) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(exposed, [("checkpoint", 70), ("evaluation", 20), ("io", 5)]);
    assert_eq!(unattributed, 5);
}

#[test]
fn the_users_own_phases_are_exposed_under_their_names() {
    let mut build = Build::new(1);
    build.step(0, 0, 100);
    build.span(1, "a", 0, 50);
    build.custom("zeta");
    build.span(1, "b", 20, 70);
    build.custom("alpha");
    build.span(1, "c", 60, 80).phase(Phase::Io);
    let (rows, _) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    // All are of the lowest class: ours first, then by name.
    assert_eq!(exposed, [("alpha", 40), ("zeta", 20), ("io", 20)]);
}

#[test]
fn sections_know_their_exposed_part() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 80).thread(1);
    build.span(2, "linear", 10, 30).thread(1);
    build.span(2, "linear", 40, 50).thread(2);
    let summary = summarise([&build.trace()]);
    let part = |path: &str| *summary.section(path).unwrap().in_mode(Mode::Train).unwrap();
    assert_eq!((part("step/forward").exposed_ns, part("step/forward").driving_ns), (50, 80));
    // The second call ran on another thread while the first thread had nothing else to do in `forward`.
    let linear = part("step/forward/linear");
    assert_eq!((linear.exposed_ns, linear.driving_ns, linear.total_ns), (30, 20, 30));
    assert_eq!(part("step").exposed_ns, 20);
}

/// Exposed time by phase, and what nothing covers.
fn exposed(build: Build) -> (Vec<(String, u64)>, u64) {
    let (rows, unattributed) = phases(build);
    (rows.into_iter().filter(|row| row.1 > 0).map(|row| (row.0, row.1)).collect(), unattributed)
}

#[test]
fn a_step_that_waits_for_another_thread_is_in_what_runs_there() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 40).thread(1);
    // Hidden until 40, then joined.
    build.span(1, "all_reduce", 20, 90).thread(2);
    assert_eq!(exposed(build), ([("communication".into(), 50), ("forward".into(), 40)].into(), 10));
}

/// A step whose thread is in `name` from 300 to 900 µs while another one's section, below the step as well, is in `all_reduce`.
/// The thread used a processor for 500 µs in all.
fn beside(name: &str, all_reduce_us: (u64, u64), cpu_us: Option<i64>) -> Build {
    beside_in(&[(Figure::CpuNs, 500_000)], name, all_reduce_us, cpu_us)
}

/// As [`beside`], of a step with these figures.
fn beside_in(figures: &[(Figure, i64)], name: &str, all_reduce_us: (u64, u64), cpu_us: Option<i64>) -> Build {
    let mut build = Build::new(1);
    let us = |time: u64| time * 1_000;
    let step = build.step(0, 0, us(1_000)).thread(1);
    figures.iter().fold(step, |step, &(figure, value)| step.figure(figure, value));
    build.span(1, "forward", 0, us(300)).thread(1);
    build.span(1, "all_reduce", us(all_reduce_us.0), us(all_reduce_us.1)).thread(2);
    let wait = build.span(1, name, us(300), us(900)).thread(1);
    if let Some(cpu_us) = cpu_us {
        wait.figure(Figure::CpuNs, cpu_us * 1_000);
    }
    build.span(1, "optimizer", us(900), us(1_000)).thread(1);
    build
}

#[test]
fn a_section_that_ends_with_another_threads_work_waited_for_it() {
    let forward = ("forward".to_owned(), 300_000);
    let optimizer = ("optimizer".to_owned(), 100_000);
    let communication = |ns| ("communication".to_owned(), ns);
    let waited = |ns| (vec![communication(ns), forward.clone(), optimizer.clone()], 600_000 - ns);
    let own = (vec![forward.clone(), optimizer.clone()], 600_000);
    assert_eq!(exposed(beside("wait_comm", (250, 895), None)), waited(595_000));
    // Who worked all over the step, or wanted to, ends with others by chance; and so may who says nothing of that.
    let (cpu, run_queue) = (Figure::CpuNs, Figure::RunQueueNs);
    for figures in [&[(cpu, 900_000)][..], &[(cpu, 500_000), (run_queue, 400_000)], &[]] {
        assert_eq!(exposed(beside_in(figures, "wait_comm", (250, 895), None)), own);
    }
    // But who synchronizes or communicates says so.
    assert_eq!(exposed(beside_in(&[], "synchronize", (250, 895), None)).0[0], communication(595_000));
    // It ended long before, or was no more than a part of it.
    assert_eq!(exposed(beside("wait_comm", (250, 840), None)), own);
    assert_eq!(exposed(beside("wait_comm", (650, 895), None)), own);
    // Whoever goes on with something else ends with nobody.
    let mut goes_on = beside("wait_comm", (250, 895), None);
    goes_on.span(1, "later", 896_000, 950_000).thread(2);
    assert_eq!(exposed(goes_on), own);
    // Who uses no processor waits, and who does works.
    assert_eq!(exposed(beside("wait_comm", (350, 840), Some(1))), waited(490_000));
    assert_eq!(exposed(beside("wait_comm", (250, 895), Some(300))), own);
    // A section that synchronizes; one of a phase of its own.
    let synchronization = ("synchronization".to_owned(), 5_000);
    let synchronized = [communication(595_000), forward.clone(), optimizer.clone(), synchronization];
    assert_eq!(exposed(beside("synchronize", (250, 895), None)), (synchronized.into(), 0));
    assert_eq!(exposed(beside("backward", (250, 895), None)).0[0], ("backward".into(), 600_000));
    // Loading beside the step says nothing of it.
    let mut loading = beside("wait_comm", (250, 895), None);
    loading.0.spans[2].phase = stepscope_model::PhaseTag::Known(Phase::DataLoading);
    assert_eq!(exposed(loading), own);
    // But where it says that it waited for it.
    let mut loading = beside("synchronize", (250, 895), None);
    loading.0.spans[2].phase = stepscope_model::PhaseTag::Known(Phase::DataLoading);
    loading.0.links = vec![Link { span: 4, trace: loading.0.id, target: 3 }];
    assert_eq!(exposed(loading).0[0], ("data_loading".into(), 595_000));
}

#[test]
fn between_steps_others_are_waited_for_as_well() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    let mut between = Build::new(2);
    between.span(0, "exchange", 100, 200).thread(1);
    between.span(1, "all_reduce", 120, 190).thread(2);
    let mut last = Build::new(3);
    last.step(1, 200, 300).thread(1);
    let summary = summarise([&build.trace(), &between.trace(), &last.trace()]);
    let rows: Vec<_> = summary
        .between_steps
        .iter()
        .map(|row| (row.phase.as_ref().map(ToString::to_string), row.exposed_ns))
        .collect();
    assert_eq!(rows, [(None, 30), (Some("communication".into()), 70)]);
}
