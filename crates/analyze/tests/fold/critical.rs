//! Critical paths of steps: who held up their end, with how much room beside it. All times by hand.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{CriticalPath, WaitParts};
use stepscope_core::SectionKind;
use stepscope_model::Figure;

use crate::build::{Build, summarise};

/// Path, time on the critical path, calls on it, calls beside it, smallest slack.
type Row<'a> = (&'a str, u64, u64, u64, Option<u64>);

fn critical(summary: &Summary) -> &CriticalPath {
    let critical = summary.critical_path.as_ref().unwrap();
    let sections: u64 = critical.sections.iter().map(|row| row.on_path_ns).sum();
    assert_eq!(sections + critical.other_ns, critical.total_ns, "pieces are exactly the windows");
    critical
}

fn rows(critical: &CriticalPath) -> Vec<Row<'_>> {
    let row = |row: &'_ stepscope_analyze::summary::CriticalSection| {
        (row.on_path_ns, row.on_path_calls, row.beside_calls, row.slack_min_ns)
    };
    critical
        .sections
        .iter()
        .map(|section| {
            let (on, calls, beside, slack) = row(section);
            (section.path.as_str(), on, calls, beside, slack)
        })
        .collect()
}

#[test]
fn calls_that_nest_are_on_the_path_with_their_own_time() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 10, 60).thread(1);
    build.span(2, "linear", 20, 30).thread(1);
    build.span(1, "backward", 60, 90).thread(1);
    let summary = summarise([&build.trace()]);
    let critical = critical(&summary);
    assert_eq!(
        (critical.window, critical.windows, critical.total_ns, critical.other_ns),
        ("step", 1, 100, 20)
    );
    assert!((critical.explained_share - 0.8).abs() < 1e-12);
    let expected: [Row<'_>; 3] = [
        ("step/forward", 40, 1, 0, None),
        ("step/backward", 30, 1, 0, None),
        ("step/forward/linear", 10, 1, 0, None),
    ];
    assert_eq!(rows(critical), expected);
}

#[test]
fn of_threads_side_by_side_the_last_to_end_holds_up_the_step() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "shard", 0, 70).thread(2);
    build.span(1, "shard", 0, 90).thread(3);
    build.span(3, "reduce", 80, 90).thread(3);
    build.span(1, "optimizer", 90, 100).thread(1);
    let summary = summarise([&build.trace()]);
    let expected: [Row<'_>; 3] = [
        ("step/shard", 80, 1, 1, Some(20)),
        ("step/optimizer", 10, 1, 0, None),
        ("step/shard/reduce", 10, 1, 0, None),
    ];
    assert_eq!(rows(critical(&summary)), expected);
}

#[test]
fn what_goes_on_after_the_step_on_another_thread_held_up_nothing() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "write_checkpoint", 10, 150).thread(2);
    build.span(1, "forward", 20, 90).thread(1);
    let summary = summarise([&build.trace()]);
    assert_eq!(rows(critical(&summary)), [("step/forward", 70, 1, 0, None)]);
}

#[test]
fn waits_are_split_by_what_became_of_their_batch() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    // Made in 30 and taken 10 after it was ready: 20 of the wait it had not been begun.
    let wait = build.span(1, "data_wait", 0, 60).thread(1);
    wait.figure(Figure::BatchProduceNs, 30).figure(Figure::BatchQueueNs, 10);
    // Ready before the wait began.
    let wait = build.span(1, "data_wait", 80, 85).thread(1);
    wait.figure(Figure::BatchProduceNs, 30).figure(Figure::BatchQueueNs, 1_000);
    let summary = summarise([&build.trace()]);
    let expected = WaitParts { waits: 2, behind_ns: 20, making_ns: 30, handover_ns: 15 };
    assert_eq!(critical(&summary).waits, Some(expected));
}

#[test]
fn a_program_without_steps_has_the_paths_of_its_traces() {
    let mut build = Build::new(1);
    build.span(0, "request", 0, 100);
    build.span(1, "query", 10, 50);
    build.span(1, "render", 40, 90);
    let summary = summarise([&build.foreign().trace()]);
    let critical = critical(&summary);
    assert_eq!((critical.window, critical.mode), ("trace", None));
    let expected: [Row<'_>; 2] = [("request/render", 50, 1, 0, None), ("request/query", 0, 0, 1, Some(40))];
    assert_eq!(rows(critical), expected);
}

#[test]
fn clocks_of_two_processes_may_disagree_a_little() {
    let paths = |other: u32| {
        let mut build = Build::new(1);
        build.span(0, "request", 0, 10_000);
        build.span(1, "login", 0, 5_010).process(1);
        build.span(1, "fetch", 5_000, 10_000).process(other);
        summarise([&build.foreign().trace()])
    };
    // 0.1 % of the request: one after the other in two processes, side by side in one.
    let expected: [Row<'_>; 2] = [("request/fetch", 5_000, 1, 0, None), ("request/login", 5_000, 1, 0, None)];
    assert_eq!(rows(critical(&paths(2))), expected);
    let expected: [Row<'_>; 2] =
        [("request/fetch", 5_000, 1, 0, None), ("request/login", 0, 0, 1, Some(4_990))];
    assert_eq!(rows(critical(&paths(1))), expected);
}

#[test]
fn steps_that_were_not_read_whole_have_no_path() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1).figure(Figure::TraceSpans, 5);
    build.span(1, "forward", 10, 60).thread(1);
    assert_eq!(summarise([&build.incomplete().trace()]).critical_path, None);
    let mut build = Build::new(1);
    build.span(0, "epoch", 0, 100).kind(SectionKind::Epoch);
    assert_eq!(summarise([&build.trace()]).critical_path, None);
}
