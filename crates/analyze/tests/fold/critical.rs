//! Critical paths of steps: who held up their end, with how much room beside it. All times by hand.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{CriticalPath, ThroughBatches, WaitParts};
use stepscope_core::SectionKind;
use stepscope_model::{Figure, Link, Trace};

use crate::build::{Build, fold, summarise};

/// Path, time on the critical path, calls on it, calls beside it, smallest slack.
pub(crate) type Row<'a> = (&'a str, u64, u64, u64, Option<u64>);

pub(crate) fn critical(summary: &Summary) -> &CriticalPath {
    let critical = summary.critical_path.as_ref().unwrap();
    let sections: u64 = critical.sections.iter().map(|row| row.on_path_ns).sum();
    assert_eq!(sections + critical.other_ns, critical.total_ns, "pieces are exactly the windows");
    critical
}

pub(crate) fn rows(critical: &CriticalPath) -> Vec<Row<'_>> {
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
fn what_lies_outside_of_a_step_is_not_on_its_path() {
    let mut build = Build::new(1);
    build.step(0, 100, 200).thread(1);
    build.span(1, "early", 50, 60).thread(1);
    build.span(1, "mark", 100, 100).thread(1);
    build.span(1, "forward", 110, 150).thread(1);
    build.span(1, "late", 210, 220).thread(1);
    let expected: [Row<'_>; 2] = [("step/forward", 40, 1, 0, None), ("step/mark", 0, 1, 0, None)];
    assert_eq!(rows(critical(&summarise([&build.trace()]))), expected);
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
fn the_mean_slack_is_that_of_the_calls_beside_the_path() {
    // In steps of 100: to 70 beside another; on the path; twice beside another, to 60 and to 45.
    let mut traces = Vec::new();
    for (step, ends) in [&[70][..], &[100], &[60, 45]].into_iter().enumerate() {
        let start = 100 * step as u64;
        let mut build = Build::new(step as u64 + 1);
        build.step(step as i64, start, start + 100).thread(1);
        for (&end, thread) in ends.iter().zip(2..) {
            build.span(1, "shard", start, start + end).thread(thread);
        }
        build.span(1, "slowest", start, start + 99).thread(9);
        traces.push(build.trace());
    }
    let summary = summarise(&traces);
    let row = critical(&summary).sections.iter().find(|row| row.path == "step/shard").unwrap();
    assert_eq!((row.on_path_calls, row.beside_calls), (1, 3));
    // 29, 39 and 54: 122 by three calls, and neither by two steps nor by all four calls.
    assert_eq!((row.slack_mean_ns, row.slack_min_ns), (Some(40), Some(29)));
}

#[test]
fn what_ends_a_little_after_its_parent_on_another_thread_was_waited_for() {
    let paths = |end_ns: u64| {
        let mut build = Build::new(1);
        build.step(0, 0, 1000).thread(1);
        build.span(1, "shard", 100, end_ns).thread(2);
        build.span(2, "gemm", 200, 800).thread(2);
        summarise([&build.trace()])
    };
    // A tenth of all that it took; then more.
    let expected: [Row<'_>; 2] = [("step/shard/gemm", 600, 1, 0, None), ("step/shard", 300, 1, 0, None)];
    assert_eq!(rows(critical(&paths(1_100))), expected);
    assert_eq!(rows(critical(&paths(1_101))), []);
}

#[test]
fn threads_are_compared_within_one_process_only() {
    // Both name thread numbers, and the server's clock is ahead.
    let paths = |server: u32, is_ours: bool| {
        let mut build = Build::new(1);
        build.step(0, 0, 1000).thread(1);
        build.span(1, "client", 100, 900).thread(1);
        build.span(2, "server", 150, 1900).thread(57).process(server);
        build.span(3, "db", 200, 800).thread(57).process(server);
        let mut trace = build.trace();
        trace.is_ours = is_ours;
        summarise([&trace])
    };
    let expected: [Row<'_>; 3] = [
        ("step/client/server/db", 600, 1, 0, None),
        ("step/client/server", 150, 1, 0, None),
        ("step/client", 50, 1, 0, None),
    ];
    assert_eq!(rows(critical(&paths(7, true))), expected);
    assert_eq!(rows(critical(&paths(0, true))), [("step/client", 800, 1, 0, None)]);
    // What others write is cut to its parent, as Jaeger and CRISP do.
    for server in [0, 7] {
        assert_eq!(rows(critical(&paths(server, false))), expected);
    }
}

#[test]
fn suspended_sections_take_turns_on_the_path_where_they_say_when_they_ran() {
    let paths = |polls: &[(u64, u64, i64, u64)]| {
        let mut build = Build::new(1);
        build.step(0, 0, 1000).thread(1);
        build.span(1, "fetch", 0, 1000).thread(1).figure(Figure::BusyNs, 250).figure(Figure::IdleNs, 750);
        build.polls(&[(0, 100, 1, 1), (400, 500, 1, 1), (950, 1000, 1, 2)]);
        build.span(1, "parse", 90, 940).thread(1).figure(Figure::BusyNs, 500).figure(Figure::IdleNs, 350);
        build.polls(polls);
        build.span(3, "decode", 600, 700).thread(1);
        summarise([&build.trace()])
    };
    let expected: [Row<'_>; 3] = [
        ("step/parse", 500, 1, 0, None),
        ("step/fetch", 400, 1, 0, None),
        ("step/parse/decode", 100, 1, 0, None),
    ];
    assert_eq!(rows(critical(&paths(&[(100, 300, 1, 1), (500, 900, 1, 1)]))), expected);
    // On another thread it kept nobody waiting; of several entries it is not known when.
    let alone: [Row<'_>; 3] = [
        ("step/fetch", 1000, 1, 0, None),
        ("step/parse", 0, 0, 1, Some(60)),
        ("step/parse/decode", 0, 0, 1, Some(60)),
    ];
    assert_eq!(rows(critical(&paths(&[(100, 300, 2, 1), (500, 900, 2, 1)]))), alone);
    assert_eq!(rows(critical(&paths(&[(100, 900, 1, 2)]))), alone);
    assert_eq!(rows(critical(&paths(&[]))), alone);
    // More than our own layer writes are not looked at.
    let many: Vec<_> = (0..65).map(|number| (100 + number * 3, 102 + number * 3, 1, 1)).collect();
    assert_eq!(rows(critical(&paths(&many))), alone);
    assert_eq!(rows(critical(&paths(&many[..64])))[1].1, 2 * 64);
}

/// A step that begins at `start_ns` with a wait for the batch of another trace, and that batch.
fn linked(number: u64, start_ns: u64, is_linked: bool) -> [Trace; 2] {
    let mut build = Build::new(2 * number);
    let step = i64::try_from(number).unwrap();
    build.step(step, start_ns, start_ns + 1000).thread(1);
    build.span(1, "data_wait", start_ns, start_ns + 800).thread(1);
    build.span(1, "forward", start_ns + 800, start_ns + 1000).thread(1);
    let mut batch = Build::new(2 * number + 1);
    batch.span(0, "batch", start_ns + 100, start_ns + 780).kind(SectionKind::Batch).thread(2);
    batch.span(1, "decode", start_ns + 150, start_ns + 700).thread(2);
    if is_linked {
        build.0.links = vec![Link { span: 2, trace: batch.0.id, target: 1 }];
    }
    [build.trace(), batch.trace()]
}

#[test]
fn the_path_goes_on_through_a_wait_into_the_batch_that_it_links_to() {
    let [step, batch] = linked(1, 1000, true);
    let expected: [Row<'_>; 4] = [
        ("batch/decode", 550, 1, 0, None),
        ("step/forward", 200, 1, 0, None),
        ("batch", 130, 1, 0, None),
        ("step/data_wait", 120, 1, 0, None),
    ];
    let mut parts = fold([&step]);
    parts.merge(&fold([&batch]));
    let mut reverse = fold([&batch]);
    reverse.merge(&fold([&step]));
    for summary in
        [summarise([&step, &batch]), summarise([&batch, &step]), parts.finish(None), reverse.finish(None)]
    {
        assert_eq!(rows(critical(&summary)), expected);
        let said = ThroughBatches { linked_ns: 800, in_production_ns: 680, is_exact: true };
        assert_eq!(critical(&summary).through_batches, Some(said));
    }
    // Without its batch's trace, and without the link, the time is the wait's.
    let expected: [Row<'_>; 2] = [("step/data_wait", 800, 1, 0, None), ("step/forward", 200, 1, 0, None)];
    let alone = summarise([&step]);
    assert_eq!(rows(critical(&alone)), expected);
    let said = ThroughBatches { linked_ns: 800, in_production_ns: 0, is_exact: true };
    assert_eq!(critical(&alone).through_batches, Some(said));
    let unlinked = summarise(&linked(1, 1000, false));
    assert_eq!(rows(critical(&unlinked)), expected);
    assert_eq!(critical(&unlinked).through_batches, None);
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
    let expected = WaitParts { waits: 2, not_started_ns: 20, in_production_ns: 30, in_transit_ns: 15 };
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
    // The root is a section as those below it.
    let expected: [Row<'_>; 3] = [
        ("request", 50, 1, 0, None),
        ("request/render", 50, 1, 0, None),
        ("request/query", 0, 0, 1, Some(40)),
    ];
    assert_eq!(rows(critical), expected);
    assert_eq!((critical.other_ns, critical.explained_share), (0, 1.0));
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
