//! Call paths, self time, figures, phases of sections.

use stepscope_analyze::summary::{FigureSum, PhaseName, PhaseSource, SectionMemory, SectionResident};
use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::Figure;

use crate::build::{Build, summarise};

#[test]
fn paths_go_from_the_root_down_and_steps_start_their_own() {
    let mut build = Build::new(1);
    build.span(0, "evaluate", 0, 100);
    build.span(1, "step", 10, 50).kind(SectionKind::Step).mode(Mode::Eval).figure(Figure::Step, 3);
    build.span(2, "forward", 20, 30);
    build.span(2, "a/b", 30, 40);
    let summary = summarise([&build.foreign().trace()]);
    let paths: Vec<&str> = summary.sections.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(paths, ["evaluate", "step", "step/a\\/b", "step/forward"]);
    assert_eq!(summary.section("step").unwrap().kind, SectionKind::Step);
    assert_eq!(summary.section("step/a\\/b").unwrap().name, "a/b");
    assert_eq!(summary.mode(Mode::Eval).unwrap().all.count, 1);
    // The evaluation's own time does not hold the step inside it.
    assert_eq!(summary.section("evaluate").unwrap().self_ns, Some(60));
}

#[test]
fn self_time_is_what_the_union_of_children_leaves() {
    let mut build = Build::new(1);
    build.step(0, 100, 200).thread(1);
    build.span(1, "a", 110, 150).thread(1);
    // Overlaps `a`, on another thread.
    build.span(1, "b", 140, 160).thread(2);
    // Sticks out of its parent at both ends: 110–115 of `a`.
    build.span(2, "c", 90, 115).thread(1);
    // Outlives the step: 190–200 of it.
    build.span(1, "d", 190, 250).thread(1);
    let summary = summarise([&build.trace()]);
    let self_ns = |path: &str| summary.section(path).unwrap().self_ns;
    assert_eq!(self_ns("step"), Some(100 - 50 - 10));
    assert_eq!(self_ns("step/a"), Some(40 - 5));
    assert_eq!(self_ns("step/a/c"), Some(25));
    assert_eq!(self_ns("step/d"), Some(60));
    assert_eq!(summary.section("step/d").unwrap().stats.total, 60);
}

#[test]
fn figures_are_summed_with_the_number_of_spans_that_have_them() {
    let mut build = Build::new(1);
    build.step(0, 0, 100);
    build.span(1, "a", 0, 10).figure(Figure::CpuNs, 7).figure(Figure::Samples, 32).error();
    build.span(1, "a", 10, 30).figure(Figure::CpuNs, 9);
    build.span(1, "a", 30, 60).figure(Figure::Samples, -5);
    build.span(1, "kernel", 60, 70).on_device();
    let summary = summarise([&build.trace()]);
    let row = summary.section("step/a").unwrap();
    assert_eq!((row.stats.count, row.stats.total, row.errors), (3, 60, 1));
    assert!(row.device_calls == 0 && !row.is_on_device());
    let kernel = summary.section("step/kernel").unwrap();
    assert!(kernel.device_calls == 1 && kernel.is_on_device());
    assert_eq!((row.stats.min, row.stats.max, row.stats.p50), (Some(10), Some(30), Some(20)));
    assert_eq!(row.cpu_ns, Some(FigureSum { spans: 2, sum: 16 }));
    // Negative amounts are damage, not values.
    assert_eq!(row.samples, Some(FigureSum { spans: 1, sum: 32 }));
    assert_eq!(row.tokens, None);
    assert_eq!(summary.state.errors, 1);
    let part = row.in_mode(Mode::Train).unwrap();
    assert_eq!((part.steps, part.calls, part.max_calls, part.total_ns), (1, 3, 3, 60));
}

#[test]
fn what_a_section_allocates_itself_is_without_children_on_its_thread() {
    let mut build = Build::new(1);
    let memory = |alloc: i64, free: i64| [(Figure::AllocBytes, alloc), (Figure::FreeBytes, free)];
    let with = |span: crate::build::SpanBuild<'_>, figures: [(Figure, i64); 2]| {
        figures.iter().fold(span, |span, &(figure, value)| span.figure(figure, value));
    };
    with(build.step(0, 0, 100).thread(1).figure(Figure::PeakBytes, 70), memory(100, 40));
    with(build.span(1, "same", 0, 10).thread(1).figure(Figure::AllocCount, 3), memory(60, 10));
    with(build.span(1, "other", 0, 10).thread(2), memory(1_000, 0));
    with(build.span(2, "deep", 0, 5).thread(1), memory(50, 0));
    let summary = summarise([&build.trace()]);
    assert_eq!(
        summary.section("step").unwrap().memory,
        Some(SectionMemory {
            spans: 1,
            alloc_bytes: 100,
            free_bytes: 40,
            alloc_count: 0,
            self_alloc_bytes: Some(40),
            self_free_bytes: Some(30),
            self_net_bytes: Some(10),
            peak_bytes: Some(70),
        })
    );
    let same = summary.section("step/same").unwrap().memory.unwrap();
    assert_eq!((same.self_alloc_bytes, same.self_net_bytes, same.alloc_count), (Some(10), Some(0), 3));
    assert_eq!(summary.section("step/other").unwrap().memory.unwrap().self_alloc_bytes, Some(1_000));
}

#[test]
fn resident_memory_over_calls_is_summed_and_its_most_kept() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).figure(Figure::RssDeltaBytes, 7);
    let load = |build: &mut Build, delta: i64, peak: i64| {
        build.span(1, "load", 0, 10).figure(Figure::RssDeltaBytes, delta).figure(Figure::RssPeakBytes, peak);
    };
    load(&mut build, -30, 900);
    load(&mut build, 50, 700);
    build.span(1, "load", 0, 1);
    let summary = summarise([&build.trace()]);
    let of = |spans, delta_bytes, largest_delta_bytes, peak_bytes| {
        Some(SectionResident { spans, delta_bytes, largest_delta_bytes, peak_bytes })
    };
    assert_eq!(summary.section("step/load").unwrap().resident, of(2, 20, 50, Some(900)));
    assert_eq!(summary.section("step").unwrap().resident, of(1, 7, 7, None));
}

/// Steps of 40 ns in an epoch and, every other one, in an evaluation; a short section beside them.
fn nested_elsewhere() -> Vec<stepscope_model::Trace> {
    let memory = |span: crate::build::SpanBuild<'_>, alloc: i64| {
        span.thread(1).figure(Figure::AllocBytes, alloc).figure(Figure::FreeBytes, alloc / 2);
    };
    let mut epoch = Build::new(1);
    memory(epoch.span(0, "run", 0, 1_000).kind(SectionKind::Run), 10_000);
    memory(epoch.span(1, "epoch", 0, 900).kind(SectionKind::Epoch), 9_000);
    let mut traces = vec![epoch.trace()];
    for i in 0..4 {
        let start = i * 200;
        let mut step = Build::new(10 + i);
        memory(step.step(i as i64, start + 10, start + 50), 500);
        traces.push(step.trace());
        let mut outside = Build::new(20 + i);
        memory(outside.span(0, "evaluate", start + 5, start + 60), 600);
        memory(outside.span(1, "score", start + 51, start + 60), 70);
        traces.push(outside.trace());
    }
    traces
}

#[test]
fn what_steps_in_other_traces_did_is_nobodys_own() {
    let summary = summarise(&nested_elsewhere());
    let row = |path: &str| summary.section(path).unwrap();
    for path in ["run", "epoch", "evaluate"] {
        let path = if path == "epoch" { "run/epoch" } else { path };
        let memory = row(path).memory.unwrap();
        assert_eq!(row(path).self_ns, None, "{path}");
        let own = (memory.self_alloc_bytes, memory.self_free_bytes, memory.self_net_bytes);
        assert_eq!(own, (None, None, None), "{path}");
    }
    assert_eq!(row("run").memory.unwrap().alloc_bytes, 10_000);
    // Steps hold no steps, and what is shorter than every step holds none either.
    assert_eq!((row("step").self_ns, row("step").memory.unwrap().self_alloc_bytes), (Some(160), Some(2_000)));
    let score = row("evaluate/score");
    assert_eq!((score.self_ns, score.memory.unwrap().self_net_bytes), (Some(36), Some(140)));
}

#[test]
fn a_phase_is_tagged_inferred_or_inherited() {
    let mut build = Build::new(1);
    build.step(0, 0, 100);
    build.span(1, "model", 0, 50).phase(Phase::Forward);
    build.span(2, "linear", 0, 20);
    build.span(1, "backward", 50, 60);
    build.span(1, "odd", 60, 70);
    build.custom("shuffle");
    build.span(5, "inner", 60, 65);
    let summary = summarise([&build.trace()]);
    let phase = |path: &str| {
        let row = summary.section(path).unwrap();
        row.phase.clone().map(|phase| phase.to_string()).zip(row.phase_source)
    };
    assert_eq!(phase("step"), None);
    assert_eq!(phase("step/model"), Some(("forward".into(), PhaseSource::Tagged)));
    assert_eq!(phase("step/model/linear"), Some(("forward".into(), PhaseSource::Inherited)));
    assert_eq!(phase("step/backward"), Some(("backward".into(), PhaseSource::Inferred)));
    assert_eq!(phase("step/odd"), Some(("shuffle".into(), PhaseSource::Tagged)));
    assert_eq!(phase("step/odd/inner"), Some(("shuffle".into(), PhaseSource::Inherited)));
}

#[test]
fn a_continued_trace_stands_under_the_path_it_continues() {
    let mut build = Build::new(1);
    build.span(0, "linear", 10, 20);
    build.continues("step/forward");
    let summary = summarise([&build.trace()]);
    let row = summary.section("step/forward/linear").unwrap();
    assert_eq!(row.stats.count, 1);
    assert_eq!(row.phase, Some(PhaseName::Known(Phase::Forward)));
    assert!(summary.section("step").is_none(), "no span, no row");
    assert!(summary.between_steps.is_empty(), "its time is the step's");
}

#[test]
fn recursion_below_the_depth_bound_counts_its_time_once() {
    let mut build = Build::new(1);
    build.step(0, 0, 1_000);
    for depth in 1..=70 {
        build.span(depth, "f", depth, 1_000 - depth);
    }
    let summary = summarise([&build.trace()]);
    let deepest = summary.sections.iter().max_by_key(|row| row.depth).unwrap();
    // Names 1 to 64, then one element for all below: spans 65 to 71, of which the outermost has a duration.
    assert_eq!((deepest.depth, deepest.name.as_str()), (65, "…"));
    assert_eq!((deepest.stats.count, deepest.collapsed_calls), (1, 6));
    assert_eq!(deepest.stats.total, 1_000 - 2 * 64);
    assert_eq!(deepest.self_ns, Some(1_000 - 2 * 64));
}

#[test]
fn the_slowest_and_the_most_variable_are_ranked() {
    let mut traces = Vec::new();
    for i in 0..40u64 {
        let mut build = Build::new(i);
        let start = i * 1_000;
        build.step(i as i64, start, start + 900);
        build.span(1, "steady", start, start + 500);
        build.span(1, "jumpy", start + 500, start + 510 + 10 * (i % 20));
        traces.push(build.trace());
    }
    let summary = summarise(&traces);
    let names = |list: &[usize]| list.iter().map(|&i| summary.sections[i].name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&summary.slowest), ["steady", "jumpy"]);
    assert_eq!(names(&summary.most_variable), ["jumpy"]);
}
