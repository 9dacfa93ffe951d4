//! Deep steps: counted, in no figure of what steps take, and what their threads did in sections.

use std::sync::Arc;

use stepscope_analyze::Summary;
use stepscope_analyze::report::Verdict;
use stepscope_analyze::summary::StateLooks;
use stepscope_core::{Phase, ThreadState};
use stepscope_model::{Figure, Resource, ThreadSample, Trace};

use crate::build::{Build, process, summarise};

/// Steps of 100 ns, every fourth of 1,000 and deep, with a forward pass of half of them.
fn steps(resource: &Arc<Resource>, has_sections: bool) -> Vec<Trace> {
    steps_of(resource, has_sections, 1_000)
}

/// The same with deep ones of another length.
fn steps_of(resource: &Arc<Resource>, has_sections: bool, deep_ns: u64) -> Vec<Trace> {
    let step = |number: i64| {
        let is_deep = number % 4 == 3;
        let (start, length) = (number.cast_unsigned() * 20_000, if is_deep { deep_ns } else { 100 });
        let mut build = Build::of(number.cast_unsigned() + 1, resource);
        let root = build.step(number, start, start + length).thread(1);
        if is_deep {
            root.figure(Figure::StepDeep, 1).figure(Figure::TraceLeftOut, 0);
        }
        if is_deep || has_sections {
            build.span(1, "forward", start, start + length / 2).thread(1).phase(Phase::Forward);
        }
        build.trace()
    };
    (0..32).map(step).collect()
}

#[test]
fn they_are_counted_and_in_no_figure_of_what_steps_take() {
    let summary = summarise(&steps(&process(0), true));
    let mode = &summary.modes[0];
    assert_eq!((mode.all.count, mode.deep_steps), (32, 8));
    assert_eq!(mode.all.total, 24 * 100 + 8 * 1_000);
    assert_eq!((mode.all.max, mode.steady.p95, mode.warmup.steps), (Some(100), Some(100), 0));
    assert_eq!(mode.slowest[0].duration_ns, 100);
    let deep = summary.series[0].points.iter().filter(|point| point.count == 0);
    assert!(deep.clone().all(|point| point.duration_max_ns == 0));
    assert_eq!(deep.count(), 8);
    assert_eq!(summary.coverage.read_steps, 32);
}

#[test]
fn a_rank_whose_deep_steps_take_longer_is_no_straggler() {
    let (mut all, mut other) = (steps_of(&process(0), true, 1_000), steps_of(&process(1), true, 10_000));
    other.iter_mut().for_each(|trace| trace.id[0] = 1);
    all.append(&mut other);
    let summary = summarise(&all);
    let means: Vec<Option<f64>> = summary.instances.iter().map(|row| row.steps.mean).collect();
    assert_eq!((means, summary.modes[0].deep_steps), (vec![Some(100.0); 2], 16));
    let slow_rank = stepscope_analyze::rules::find("slow_rank").unwrap();
    let said = (slow_rank.check)(&summary, &stepscope_analyze::rules::Config::default());
    assert_eq!(said, Verdict::fine("2 ranks work 100 ns a step each"));
}

/// What the processors did, in tenths of the time: this process and all others, until a deep step at that time.
fn used(rank: i64, host: &str, own: u64, all: u64) -> Vec<Trace> {
    let process = Arc::new(Resource { host_name: host.into(), cpus: Some(4), ..(*process(rank)).clone() });
    let step = |number: u64| {
        let mut build = Build::of(number + 1 + 100 * rank.cast_unsigned(), &process);
        let root = build.step(number.cast_signed(), number * 1_000, number * 1_000 + 100).thread(1);
        let root =
            root.figure(Figure::StepDeep, 1).figure(Figure::HostCpuNs, (number * 100 * all).cast_signed());
        root.figure(Figure::ProcessCpuNs, (number * 100 * own).cast_signed());
        build.trace()
    };
    (0..32).map(step).collect()
}

#[test]
fn processors_that_other_ranks_use_are_not_those_of_other_programs() {
    let on = |host: &str| {
        let summary = summarise(&[used(0, "a", 10, 25), used(1, host, 10, 25)].concat());
        let of = summary.threads.processors;
        let tenths = |used: Option<f64>| (10.0 * used.unwrap()).round();
        (tenths(of.own), tenths(of.other_ranks), tenths(of.others))
    };
    assert_eq!((on("a"), on("b")), ((10.0, 10.0, 5.0), (10.0, 0.0, 15.0)));
}

#[test]
fn at_basic_phases_are_those_of_the_deep_steps_alone() {
    let basic = Arc::new(Resource { level: "basic".into(), ..(*process(0)).clone() });
    let summary = summarise(&steps(&basic, false));
    let mode = &summary.modes[0];
    assert_eq!((mode.whole.steps, mode.steady.count), (8, 32));
    assert_eq!(mode.phases[0].exposed_share, 0.5);
    assert_eq!(summary.critical_path.unwrap().sections[0].share, 0.5);
}

/// One deep step of 100 ns on thread 1, in `outer` with `inner` in it from 20 to 60, looked at every 10 ns.
fn looked(state: impl Fn(u64) -> ThreadState) -> Summary {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1).figure(Figure::StepDeep, 1).figure(Figure::CpuNs, 60);
    let outer = build.span(1, "outer", 0, 100).thread(1).figure(Figure::CpuNs, 55);
    outer.figure(Figure::RunQueueNs, 20).figure(Figure::MinorFaults, 7);
    let inner = build.span(2, "inner", 20, 60).thread(1).figure(Figure::CpuNs, 10);
    inner.figure(Figure::RunQueueNs, 5).figure(Figure::MinorFaults, 3);
    let look = |at| ThreadSample { time_ns: at * 10, thread: 1, state: state(at), address: 0 };
    build.0.samples.extend((0..10).map(look));
    summarise(&[build.trace()])
}

#[test]
fn sections_have_their_own_time_and_the_looks_of_the_innermost_one() {
    let summary = looked(|at| if at < 5 { ThreadState::Running } else { ThreadState::Sleep });
    let sections = &summary.threads.modes[0].sections;
    let of = |path: &str| sections.iter().find(|row| row.path == path).unwrap();
    let (outer, inner) = (of("step/outer"), of("step/outer/inner"));
    assert_eq!((outer.duration_ns, outer.cpu_ns, outer.run_queue_ns, outer.blocked_ns), (60, 45, 15, 0));
    assert_eq!((inner.duration_ns, inner.cpu_ns, inner.run_queue_ns, inner.blocked_ns), (40, 10, 5, 25));
    assert_eq!((outer.minor_faults, inner.minor_faults), (4, 3));
    let looks = |running, sleeping| {
        let of = |(state, looks)| StateLooks { state, looks };
        [(ThreadState::Running, running), (ThreadState::Sleep, sleeping)].map(of)
    };
    assert_eq!(outer.looks, looks(2, 4));
    assert_eq!(inner.looks, looks(3, 1));
    assert_eq!(outer.own_looks, outer.looks);
}

#[test]
fn the_timeline_of_the_last_one_goes_from_its_start_to_its_end() {
    let summary = looked(|at| if at < 5 { ThreadState::Running } else { ThreadState::Sleep });
    let timeline = summary.threads.modes[0].timeline.as_ref().unwrap();
    let states = timeline.threads[0].states.iter().map(|of| (of.state, of.offset_ns, of.duration_ns));
    assert_eq!(states.collect::<Vec<_>>(), [(ThreadState::Running, 0, 50), (ThreadState::Sleep, 50, 50)]);
    assert_eq!((timeline.sections[0].name.as_str(), timeline.sections[0].duration_ns), ("outer", 100));
}

/// A deep step of 100 ns on thread 1 that waits while threads 2 and 3 take turns in `update`, beside it; `is_marked` says whether
/// their sections say that they belong to it.
fn beside(number: u64, is_marked: bool) -> Trace {
    let start = number * 1_000;
    let mut build = Build::new(number + 1);
    build.step(number.cast_signed(), start, start + 100).thread(1).figure(Figure::StepDeep, 1);
    for (thread, parent) in [(2, 2), (3, 4)] {
        let root = build.span(0, "share", start, start + 99).thread(thread);
        if is_marked {
            root.figure(Figure::StepDeep, 1);
        }
        build.span(parent, "update", start + 1, start + 98).thread(thread);
    }
    for at in 1..9_u64 {
        for thread in 1..4_i64 {
            let is_running = thread == 2 + at.cast_signed() % 2;
            let state = if is_running { ThreadState::Running } else { ThreadState::Futex };
            let address = if thread == 1 { 7 } else { 8 };
            let address = if is_running { 0 } else { address };
            build.0.samples.push(ThreadSample { time_ns: start + at * 10, thread, state, address });
        }
    }
    build.trace()
}

#[test]
fn what_other_threads_do_beside_a_deep_step_is_joined_to_their_sections() {
    let traces: Vec<Trace> = (0..4).map(|number| beside(number, true)).collect();
    let summary = summarise(&traces);
    let sections = &summary.threads.modes[0].sections;
    let row = sections.iter().find(|row| row.path == "share/update").unwrap();
    assert_eq!((row.contended, row.contended_steps, row.turns_steps, row.turns_threads), (32, 4, 4, 2));
    assert!(sections.iter().all(|row| !row.path.starts_with("step/")), "{sections:?}");
    let backwards: Vec<Trace> = traces.into_iter().rev().collect();
    assert_eq!(summarise(&backwards).threads, summary.threads);
    // What does not say that it belongs to the step may be anything.
    let unmarked: Vec<Trace> = (0..4).map(|number| beside(number, false)).collect();
    assert!(summarise(&unmarked).threads.modes[0].sections.iter().all(|row| row.contended == 0));
}
