//! The verdict on input and what happens between steps.

use stepscope_analyze::Summary;
use stepscope_analyze::loaders::{InputShare, InputVerdict, Thresholds};
use stepscope_analyze::report::Reading;
use stepscope_analyze::summary::{Limit, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::{IssueKind, ReadIssue, Trace};

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
    assert_eq!(verdict(19, 0, 200), InputVerdict::Unknown);
    assert_eq!(verdict(20, 0, 200), InputVerdict::High);
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
fn waits_that_say_they_are_for_evaluation_are_between_its_steps() {
    let mut traces = loops(100, 500, 100);
    for i in (5..100).step_by(10) {
        let start = i * 10_000 + 5_000;
        let mut wait = Build::new(100_000 + 2 * i);
        wait.span(0, "data_wait", start, start + 2_000).thread(1);
        let name = wait.0.push_text("eval");
        wait.0.spans[0].loader = name;
        wait.0.spans[0].mode = Mode::Eval;
        let mut step = Build::new(100_001 + 2 * i);
        step.step(i as i64, start + 2_000, start + 3_000).mode(Mode::Eval).thread(1);
        traces.extend([wait.trace(), step.trace()]);
    }
    let summary = summarise(&traces);
    assert_eq!(summary.input, summarise(&loops(100, 500, 100)).input);
    let of_mode: Vec<_> = summary.modes.iter().map(|row| (row.mode, row.input_between_ns)).collect();
    assert_eq!(of_mode, [(Mode::Train, 49_500), (Mode::Eval, 20_000)]);
    let held = &summary.batches.loaders[0].stalls;
    let held: Vec<_> = held.iter().map(|held| (held.mode, held.waits, held.total_ns)).collect();
    assert_eq!(held, [(Some(Mode::Eval), 10, 20_000)]);
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
    assert_eq!((summary.between_steps.len(), summary.between_steps[0].stats.count), (1, 1_199));
    assert_eq!(summary.input.between_ns, 1_199 * 500);
    // In whatever order, and in parts.
    traces.reverse();
    assert_eq!(format!("{:?}", summarise(&traces).between_steps), format!("{:?}", summary.between_steps));
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
    let beyond: Vec<(&str, u64)> =
        summary.not_between_steps_ns.iter().map(|(path, &ns)| (path.as_str(), ns)).collect();
    assert_eq!(beyond, [("dump", 10_000), ("setup", 2_000_000)]);
    assert_eq!((summary.between_steps.len(), summary.between_steps[0].stats.total), (1, 99 * 5_000));
    let report = stepscope_analyze::report::build(&summary, Default::default(), &Default::default());
    let named: Vec<_> = report
        .findings
        .iter()
        .filter(|found| found.rule == "between_steps")
        .map(|found| found.section.as_deref())
        .collect();
    assert_eq!(named, [Some("dump"), None]);
    // In whatever order, and in parts.
    let (one, other) = traces.split_at(90);
    let mut merged = fold(other);
    merged.merge(&fold(one));
    assert_eq!(merged.finish(None).not_between_steps_ns, summary.not_between_steps_ns);
}

#[test]
fn where_a_clock_was_set_nothing_is_said_of_the_time_between_steps() {
    // 50 steps of 1,000 ns, an hour without any, and 50 more.
    let hour = 3_600_000_000_000;
    let step = |i: u64| bare_step(i, i as i64, i * 1_000 + i / 50 * hour, i * 1_000 + i / 50 * hour + 1_000);
    let traces: Vec<Trace> = (0..100).map(step).collect();
    let summary = summarise(&traces);
    let states = |kinds: &[IssueKind]| {
        let issue = |&kind| {
            let (file, reason) = ("input".into(), "some".into());
            ReadIssue { file, kind, offset: None, count: 1, reason }
        };
        let reading = Reading { issues: kinds.iter().map(issue).collect(), ..Reading::default() };
        let report = stepscope_analyze::report::build(&summary, reading, &Default::default());
        let state = report.detailed_metrics.rules.iter().find(|state| state.rule == "between_steps").unwrap();
        let found = report.findings.iter().any(|found| found.rule == "between_steps");
        (found, state.because.clone())
    };
    assert_eq!(states(&[IssueKind::Truncated]), (true, None));
    let because = "a clock was set: how long the run took is not known".to_owned();
    assert_eq!(states(&[IssueKind::Truncated, IssueKind::ClockJump]), (false, Some(because)));
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
    assert_eq!(summary.between_steps.len(), 1);
    let checkpoint = &summary.between_steps[0];
    assert_eq!(checkpoint.phase, Some(PhaseName::Known(Phase::Checkpoint)));
    assert_eq!((checkpoint.stats.count, checkpoint.stats.total, checkpoint.stats.max), (3, 600, Some(300)));
    assert_eq!(checkpoint.exposed_ns, 600);
    let of = |path: &str| summary.sections.iter().find(|row| row.path == path).unwrap().phase.clone();
    assert_eq!(of("save_checkpoint/write"), Some(PhaseName::Known(Phase::Checkpoint)));
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

#[test]
fn however_much_is_before_the_first_step_and_after_the_last_it_is_not_between_steps() {
    // 3,000 files before the first step, and as many after the last one; in between 400 steps with 100 ns of saving from one
    // to the next.
    for name in ["read_file", "prepare"] {
        let mut traces = on_a_pool(400, ("", 0), ("save_checkpoint", 100));
        let end = 1_000_000 + 400 * 11_000;
        for i in 0..3_000u64 {
            for (number, start) in [(10_000 + i, 900_000 - 300 * i), (20_000 + i, end + 1_000 * i)] {
                let mut build = Build::new(number);
                let phase = (name == "read_file").then_some(Phase::DataLoading);
                let span = build.span(0, name, start, start + 290).thread((i % 4) as i64);
                phase.map(|phase| span.phase(phase));
                traces.push(build.trace());
            }
        }
        let summary = summarise(&traces);
        let elapsed_ns = summary.instances[0].throughput.elapsed_ns;
        assert_eq!(elapsed_ns, 399 * 11_000 + 10_000);
        let rows = rows(&summary);
        assert_eq!(rows[0], (Some("checkpoint"), 399, 39_900, 39_900), "{name}");
        // Of what nobody keeps singly it is known in which of 64 stretches of time it is, of 131,072 ns here: what begins in
        // the one in which the steps end may be between them.
        let rest_ns: u64 = rows[1..].iter().map(|row| row.2).sum();
        assert!(rest_ns <= 132 * 290, "{name} {rest_ns}");
    }
}

#[test]
fn sections_between_steps_take_no_longer_than_steps_leave() {
    // 5,000 steps of 10,000 ns, 1,000 ns from one to the next. From the 300th on a task beside them saves for 9,000 ns of each:
    // nobody knows that of those that are not kept, but that there were 999 ns from step to step for each.
    let mut traces = on_a_pool(5_000, ("load_batch", 9_000), ("", 0));
    traces.retain(|trace| trace.spans[0].start_ns >= 1_000_000 + 300 * 11_000 || trace.spans.len() > 1);
    let summary = summarise(&traces);
    let (phase, calls, total_ns, exposed_ns) = rows(&summary)[0];
    assert_eq!((phase, total_ns <= 4_999 * 1_000, exposed_ns), (Some("data_loading"), true, total_ns));
    // Calls by their time.
    assert!(calls.abs_diff(total_ns / 9_000) <= 1, "{calls} {total_ns}");
    assert_eq!(summary.limits, [Limit::BetweenStepsEstimated]);
}

#[test]
fn steps_that_overlap_leave_their_threads_what_these_do() {
    // Two threads, each with steps of 600 ns and a wait of 400 ns after each.
    let mut traces = vec![];
    for i in 0..600u64 {
        for thread in 0..2u64 {
            let start = i * 1_000 + thread * 300;
            let mut step = Build::new(4 * i + 2 * thread);
            step.step((2 * i + thread) as i64, start, start + 600).thread(thread as i64);
            step.span(1, "forward", start, start + 600).thread(thread as i64);
            let mut wait = Build::new(4 * i + 2 * thread + 1);
            wait.span(0, "data_wait", start + 600, start + 1_000).thread(thread as i64);
            traces.extend([step.trace(), wait.trace()]);
        }
    }
    let summary = summarise(&traces);
    // The last one of the first thread but 100 ns is after the last step.
    assert!((1_198 * 400..=1_199 * 400).contains(&summary.input.between_ns), "{}", summary.input.between_ns);
}
