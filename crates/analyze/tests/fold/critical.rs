//! Critical paths of steps: who held up their end, with how much room beside it. All times by hand.

use stepscope_analyze::summary::{CriticalPath, ThroughBatches, WaitParts};
use stepscope_analyze::{Bounds, Config, Partial, Summary};
use stepscope_core::{Phase, SectionKind};
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
fn what_was_polled_with_its_step_on_another_thread_and_goes_well_past_it_was_not_waited_for() {
    let path = |end_ns: u64| {
        let mut build = Build::new(1);
        build.step(0, 0, 1000).thread(1);
        build.polls(&[(0, 300, 1, 1), (500, 900, 2, 1)]);
        build.span(1, "forward", 600, end_ns).thread(2);
        let summary = summarise([&build.trace()]);
        let critical = critical(&summary);
        (critical.other_ns, critical.sections.iter().map(|row| row.on_path_ns).sum::<u64>())
    };
    assert_eq!(path(1040), (600, 400));
    assert_eq!(path(1050), (1000, 0));
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
fn what_goes_on_after_the_step_on_another_thread_held_up_nothing() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "write_checkpoint", 10, 150).thread(2);
    build.span(1, "forward", 20, 90).thread(1);
    let summary = summarise([&build.trace()]);
    assert_eq!(rows(critical(&summary)), [("step/forward", 70, 1, 0, None)]);
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
fn a_wait_goes_on_to_what_it_links_to_within_its_trace() {
    let paths = |phase: Phase, linked: &[u64]| {
        let mut build = Build::new(1);
        build.step(0, 0, 200).thread(1);
        build.span(1, "spawn", 0, 10).thread(1);
        build.span(2, "work", 5, 180).thread(2);
        build.span(3, "inner", 100, 120).thread(2);
        build.span(2, "more", 6, 160).thread(3);
        build.span(2, "late", 6, 190).thread(4);
        build.span(1, "join", 10, 181).thread(1).phase(phase);
        let mut trace = build.trace();
        trace.links.extend(linked.iter().map(|&target| Link { span: 7, trace: trace.id, target }));
        rows(critical(&summarise([&trace]))).iter().map(|row| (row.0.to_owned(), row.1)).collect::<Vec<_>>()
    };
    let row = |path: &str, time_ns| (path.to_owned(), time_ns);
    let waited = [row("step/join", 171), row("step/spawn", 10)];
    let worked = [
        row("step/spawn/work", 155), // From where it was begun.
        row("step/spawn/work/inner", 20),
        row("step/spawn", 5),
        row("step/join", 1),
    ];
    assert_eq!(paths(Phase::Synchronization, &[]), waited);
    assert_eq!(paths(Phase::Synchronization, &[3]), worked);
    // Of several the last that ended while it waited.
    assert_eq!(paths(Phase::DataWait, &[3, 5]), worked);
    assert_eq!(paths(Phase::Communication, &[6, 5, 3]), worked);
    // Else one that went on when it had handed over what was waited for.
    let handed = [row("step/spawn/late", 175), row("step/spawn", 6), row("step/join", 0)];
    assert_eq!(paths(Phase::Synchronization, &[6]), handed);
    // Its own parent, itself, nobody; a section that does not wait.
    assert_eq!(paths(Phase::Synchronization, &[1]), waited);
    assert_eq!(paths(Phase::Synchronization, &[7, 99]), waited);
    assert_eq!(paths(Phase::Forward, &[3]), waited);
}

#[test]
fn a_wait_goes_on_into_a_producer_that_ends_after_the_hand_over() {
    // The batch is put into the queue inside of `produce`, of the same trace or of one of its own.
    let paths = |handed_ns: u64, is_own_trace: bool| {
        let (mut step, mut own) = (Build::new(1), Build::new(2));
        step.step(0, 0, 1000).thread(1);
        step.span(1, "data_wait", 0, handed_ns).thread(1);
        step.span(1, "forward", handed_ns, 1000).thread(1);
        let produce = if is_own_trace {
            own.span(0, "produce", 100, 620).thread(2).kind(SectionKind::Batch);
            own.span(1, "decode", 150, 500).thread(2);
            Link { span: 2, trace: own.0.id, target: 1 }
        } else {
            step.span(1, "produce", 100, 620).thread(2);
            step.span(4, "decode", 150, 500).thread(2);
            Link { span: 2, trace: step.0.id, target: 4 }
        };
        step.0.links.push(produce);
        let summary = summarise(&[step.trace(), own.trace()]);
        let on_path = rows(critical(&summary)).into_iter().filter(|row| row.1 > 0);
        let name = |path: &str| path.replace("step/", "");
        let mut times: Vec<_> = on_path.map(|row| (name(row.0), row.1)).collect();
        times.sort();
        times
    };
    let row = |path: &str, time_ns| (path.to_owned(), time_ns);
    for handed_ns in [600, 619, 620, 700] {
        // From its start to its end, or to the end of the wait.
        let made_ns = handed_ns.min(620) - 100;
        let expected = [
            row("data_wait", handed_ns - made_ns),
            row("forward", 1000 - handed_ns),
            row("produce", made_ns - 350),
            row("produce/decode", 350),
        ];
        for is_own_trace in [false, true] {
            assert_eq!(paths(handed_ns, is_own_trace), expected, "{handed_ns}, {is_own_trace}");
        }
    }
}

#[test]
fn sections_that_wait_for_each_other_are_on_the_path_each_for_its_part() {
    let paths = |links: &[(u64, u64)]| {
        let mut build = Build::new(1);
        build.step(0, 0, 1000).thread(1);
        build.span(1, "get", 100, 900).thread(1).phase(Phase::DataWait);
        build.span(1, "put", 300, 950).thread(2).phase(Phase::Synchronization);
        build.span(1, "flush", 200, 920).thread(3).phase(Phase::Synchronization);
        let mut trace = build.trace();
        let link = |&(span, target)| Link { span, trace: trace.id, target };
        trace.links = links.iter().map(link).collect();
        let summary = summarise([&trace]);
        let path = critical(&summary);
        let rows: Vec<_> = rows(path).into_iter().map(|row| (row.0.to_owned(), row.1)).collect();
        assert_eq!(rows.iter().map(|row| row.1).sum::<u64>() + path.other_ns, 1000);
        rows.into_iter().filter(|row| row.1 > 0).collect::<Vec<_>>()
    };
    let row = |path: &str, time_ns| (path.to_owned(), time_ns);
    // The last to end; what it waited for, to its own start; where that one waited for it, it was there first.
    let two = [row("step/put", 50 + 600), row("step/get", 200)];
    assert_eq!(paths(&[(2, 3), (3, 2)]), two);
    // In a circle of three.
    let three = [row("step/flush", 20 + 700), row("step/get", 100), row("step/put", 30)];
    assert_eq!(paths(&[(3, 4), (4, 2), (2, 3)]), three);
    // Each for both others.
    let all: Vec<(u64, u64)> = (2..5).flat_map(|one| (2..5).map(move |other| (one, other))).collect();
    assert!(!paths(&all).is_empty());
}

#[test]
fn nothing_waits_for_what_is_around_it() {
    let mut build = Build::new(1);
    build.step(0, 0, 200).thread(1);
    build.span(1, "work", 5, 180).thread(2);
    // By another thread, a little longer.
    build.span(2, "join", 10, 181).thread(3).phase(Phase::Synchronization);
    let mut trace = build.trace();
    trace.links.push(Link { span: 3, trace: trace.id, target: 2 });
    let expected: [Row<'_>; 2] = [("step/work/join", 170, 1, 0, None), ("step/work", 5, 1, 0, None)];
    assert_eq!(rows(critical(&summarise([&trace]))), expected);
}

#[test]
fn what_ran_beside_threads_until_they_were_joined_had_room() {
    let mut build = Build::new(1);
    build.step(0, 0, 1000).thread(1);
    build.span(1, "forward", 0, 100).thread(1);
    build.span(1, "one", 100, 700).thread(2);
    build.span(1, "other", 100, 900).thread(3);
    build.span(1, "own", 100, 300).thread(1);
    build.span(1, "join", 300, 905).thread(1).phase(Phase::Synchronization);
    build.span(1, "optimizer", 905, 1000).thread(1);
    // Up to 600 longer, and it had ended with the last thread: the step's end had stayed where it is.
    let expected: [Row<'_>; 6] = [
        ("step/other", 800, 1, 0, None),
        ("step/forward", 100, 1, 0, None),
        ("step/optimizer", 95, 1, 0, None),
        ("step/join", 5, 1, 0, None),
        ("step/one", 0, 0, 1, Some(200)),
        ("step/own", 0, 0, 1, Some(600)),
    ];
    assert_eq!(rows(critical(&summarise([&build.trace()]))), expected);
}

#[test]
fn what_a_thread_was_begun_from_is_on_the_path_as_far_as_it_had_come() {
    let mut build = Build::new(1);
    build.step(0, 0, 1000).thread(1);
    build.span(1, "forward", 0, 980).thread(1);
    build.span(2, "layer", 100, 950).thread(1);
    build.span(3, "kernel", 200, 400).thread(1);
    build.span(1, "save", 900, 1000).thread(2);
    let expected: [Row<'_>; 4] = [
        ("step/forward/layer", 600, 1, 0, None),
        ("step/forward/layer/kernel", 200, 1, 0, None),
        ("step/forward", 100, 1, 0, None),
        ("step/save", 100, 1, 0, None),
    ];
    assert_eq!(rows(critical(&summarise([&build.trace()]))), expected);
}

#[test]
fn a_wait_goes_on_to_what_came_before_what_it_links_to() {
    // A producer that makes one item after the other, each in two sections; the step waits for the second item.
    let paths = |is_threaded: bool, is_around: bool| {
        let mut build = Build::new(1);
        build.span(0, "request", 0, 1000);
        let (around, name, end) = if is_around { (2, "producer", 890) } else { (1, "start", 20) };
        build.span(1, name, 10, end);
        for (name, start, end) in
            [("make", 20, 300), ("pack", 300, 420), ("make", 421, 700), ("pack", 700, 880)]
        {
            build.span(around, name, start, end);
        }
        build.span(1, "receive", 5, 900).phase(Phase::Synchronization);
        for span in build.0.spans.iter_mut().filter(|_| is_threaded) {
            span.set_figure(Figure::ThreadId, if [1, 7].contains(&span.id) { 1 } else { 2 });
        }
        build.0.links = vec![Link { span: 7, trace: build.0.id, target: 6 }];
        let summary = summarise([&build.foreign().trace()]);
        let mut times: Vec<_> =
            rows(critical(&summary)).iter().map(|row| (row.0.to_owned(), row.1)).collect();
        let root = times.iter().position(|time| time.0 == "request").unwrap();
        let (_, own_ns) = times.remove(root);
        times.retain(|time| time.1 > 0);
        (times, own_ns)
    };
    let row = |path: &str, time_ns| (path.to_owned(), time_ns);
    let made =
        |around: &str| [row(&format!("{around}/make"), 280 + 279), row(&format!("{around}/pack"), 120 + 180)];
    // What lies between two items is the wait's own, or the producer's where that is around them.
    let [make, pack] = made("request");
    let alone =
        (vec![make.clone(), pack.clone(), row("request/receive", 5 + 1 + 20), row("request/start", 10)], 105);
    assert_eq!(paths(true, false), alone);
    assert_eq!(paths(false, false), alone);
    let [make, pack] = made("request/producer");
    let around = (vec![make, pack, row("request/receive", 5 + 20), row("request/producer", 10 + 1)], 105);
    assert_eq!(paths(true, true), around);
    assert_eq!(paths(false, true), around);
}

#[test]
fn a_section_waits_for_the_thread_that_another_holds() {
    let mut build = Build::new(1);
    build.step(0, 0, 1000).thread(1);
    build.span(1, "a", 0, 100).thread(1);
    build.span(2, "other_task", 50, 95).thread(2);
    // Nobody waits for it, but `task` for its thread.
    build.span(2, "long_task", 60, 700).thread(2);
    build.span(1, "b", 100, 1000).thread(1);
    build.span(5, "task", 700, 1000).thread(2);
    let summary = summarise([&build.trace()]);
    let expected: [Row<'_>; 5] = [
        ("step/a/long_task", 600, 1, 0, None),
        ("step/b/task", 300, 1, 0, None),
        ("step/a", 55, 1, 0, None),
        ("step/a/other_task", 45, 1, 0, None),
        ("step/b", 0, 1, 0, None),
    ];
    assert_eq!(rows(critical(&summary)), expected);
}

#[test]
fn a_suspended_section_does_not_hold_its_thread() {
    let paths = |idle_ns: i64| {
        let mut build = Build::new(1);
        build.step(0, 0, 1000).thread(1);
        let fetch = build.span(1, "fetch", 0, 1000).thread(1);
        fetch.figure(Figure::BusyNs, 1000 - idle_ns).figure(Figure::IdleNs, idle_ns);
        build.span(1, "compute", 100, 900).thread(1);
        summarise([&build.trace()])
    };
    let expected: [Row<'_>; 2] = [("step/compute", 800, 1, 0, None), ("step/fetch", 200, 1, 0, None)];
    assert_eq!(rows(critical(&paths(990))), expected);
    let expected: [Row<'_>; 2] = [("step/fetch", 1000, 1, 0, None), ("step/compute", 0, 0, 1, Some(100))];
    assert_eq!(rows(critical(&paths(0))), expected);
}

#[test]
fn a_suspended_section_that_is_awaited_does_not_run_beside_itself() {
    let mut build = Build::new(1);
    build.step(0, 0, 1000);
    build.span(1, "take", 300, 1050).thread(1).figure(Figure::BusyNs, 440).figure(Figure::IdleNs, 7);
    build.polls(&[(400, 440, 1, 1), (400, 500, 1, 1), (800, 1050, 1, 2)]);
    build.span(1, "join", 700, 1100).phase(Phase::Communication);
    build.span(2, "inner", 420, 440).thread(1);
    build.0.links = vec![Link { span: 3, trace: build.0.id, target: 2 }];
    let path = summarise([&build.foreign().trace()]);
    let times: Vec<(&str, u64)> =
        critical(&path).sections.iter().map(|row| (row.path.as_str(), row.on_path_ns)).collect();
    assert_eq!(times, [("step/take", 680), ("step/take/inner", 20), ("step/join", 0)]);
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

#[test]
fn what_follows_from_its_own_trace_is_no_window() {
    let build = || {
        let mut build = Build::new(1);
        build.span(0, "request", 0, 100);
        build.span(1, "publish", 10, 40);
        build.span(0, "consume", 30, 90);
        build.span(3, "store", 40, 80);
        build.foreign()
    };
    let mut follows = build();
    follows.0.links = vec![Link { span: 3, trace: follows.0.id, target: 2 }];
    let summary = summarise([&follows.trace()]);
    assert_eq!((critical(&summary).windows, critical(&summary).total_ns), (1, 100));
    let expected: [Row<'_>; 2] = [("request", 70, 1, 0, None), ("request/publish", 30, 1, 0, None)];
    assert_eq!(rows(critical(&summary)), expected);
    // A link to another trace, or to itself, tells nothing of that.
    let mut others = build();
    others.0.links =
        vec![Link { span: 3, trace: [9; 16], target: 2 }, Link { span: 1, trace: others.0.id, target: 1 }];
    assert_eq!(critical(&summarise([&others.trace()])).windows, 2);
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
fn of_more_waits_than_are_kept_those_drawn_stand_for_all() {
    let traces: Vec<Trace> = (1..=1_100).flat_map(|number| linked(number, number * 1000, true)).collect();
    let forwards = summarise(&traces);
    let expected: [Row<'_>; 4] = [
        ("batch/decode", 1_100 * 550, 1_100, 0, None),
        ("step/forward", 1_100 * 200, 1_100, 0, None),
        ("batch", 1_100 * 130, 1_100, 0, None),
        ("step/data_wait", 1_100 * 120, 1_100, 0, None),
    ];
    assert_eq!(rows(critical(&forwards)), expected);
    let said = ThroughBatches { linked_ns: 1_100 * 800, in_production_ns: 1_100 * 680, is_exact: false };
    assert_eq!(critical(&forwards).through_batches, Some(said));
    let backwards = summarise(traces.iter().rev());
    assert_eq!(backwards.critical_path, forwards.critical_path);
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
fn traces_without_steps_are_on_the_path_under_the_names_of_their_roots() {
    // Calls that nest, a span alone, and one with a child on another thread.
    let mut nested = Build::new(1);
    nested.span(0, "load", 0, 100).thread(1);
    nested.span(1, "read", 10, 40).thread(1);
    let mut alone = Build::new(2);
    alone.span(0, "load", 200, 260).thread(1);
    let mut beside = Build::new(3);
    beside.span(0, "write", 300, 400).thread(1);
    beside.span(1, "flush", 320, 370).thread(2);
    let traces = [nested, alone, beside].map(|build| build.foreign().trace());
    let summary = summarise(&traces);
    let path = critical(&summary);
    assert_eq!((path.windows, path.total_ns, path.other_ns), (3, 260, 0));
    let expected: [Row<'_>; 4] = [
        ("load", 130, 2, 0, None),
        ("write", 50, 1, 0, None),
        ("write/flush", 50, 1, 0, None),
        ("load/read", 30, 1, 0, None),
    ];
    assert_eq!(rows(path), expected);
}

#[test]
fn where_paths_are_cut_to_none_no_section_explains_a_trace() {
    let traces = ["load", "read", "write"].into_iter().zip(1..).map(|(name, id)| {
        let mut build = Build::new(id);
        build.span(0, name, 0, 100);
        build.foreign().trace()
    });
    let traces: Vec<Trace> = traces.collect();
    let bounds = Bounds { paths: 2, ..Bounds::default() };
    let mut partial = Partial::new(Config { bounds, ..Config::default() });
    traces.iter().for_each(|trace| partial.add(trace));
    let summary = partial.finish(None);
    let path = critical(&summary);
    assert_eq!((path.total_ns, path.other_ns, path.explained_share), (300, 300, 0.0));
    assert_eq!(rows(path), []);
}

#[test]
fn what_overlaps_a_little_came_before() {
    let paths = |other: u32, threads: Option<[i64; 2]>| {
        let mut build = Build::new(1);
        build.span(0, "request", 0, 10_000);
        let login = build.span(1, "login", 0, 5_010).process(1);
        let _ = threads.map(|[thread, _]| login.thread(thread));
        let fetch = build.span(1, "fetch", 5_000, 10_000).process(other);
        let _ = threads.map(|[_, thread]| fetch.thread(thread));
        summarise([&build.foreign().trace()])
    };
    // 0.1 % of the request: one after the other, in two processes, on one thread, or where that is not known.
    let request: Row<'_> = ("request", 0, 1, 0, None);
    let expected = [("request/fetch", 5_000, 1, 0, None), ("request/login", 5_000, 1, 0, None), request];
    for (other, threads) in [(2, None), (1, None), (1, Some([7, 7])), (2, Some([7, 8]))] {
        assert_eq!(rows(critical(&paths(other, threads))), expected, "{other} {threads:?}");
    }
    // Side by side on two threads of one.
    let request: Row<'_> = ("request", 5_000, 1, 0, None);
    let expected = [request, ("request/fetch", 5_000, 1, 0, None), ("request/login", 0, 0, 1, Some(4_990))];
    assert_eq!(rows(critical(&paths(1, Some([7, 8])))), expected);
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
