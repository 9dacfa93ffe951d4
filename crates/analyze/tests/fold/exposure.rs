//! Exposed time and phase totals of steps.

use stepscope_analyze::report::{Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_core::{Mode, Phase};
use stepscope_model::{Figure, Link, Trace};

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
fn spans_without_a_thread_count_as_on_the_driving_one() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 10, 60);
    assert_eq!(phases(build).0, [("forward".into(), 50, 50, 50, 1)]);
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
fn stalls_inside_of_computations_are_found() {
    // 200 steps: 4 ms forward, 11 ms backward with 6 ms written in it, 1 ms optimizer, which saves for 99 ms every 25 steps.
    const MS: u64 = 1_000_000;
    let mut now_ns = 0;
    let traces: Vec<Trace> = (0..200)
        .map(|number: u64| {
            let save_ns = if number % 25 == 24 { 99 * MS } else { 0 };
            let (start_ns, end_ns) = (now_ns, now_ns + 16 * MS + save_ns);
            now_ns = end_ns;
            let mut build = Build::new(number + 1);
            build.step(number as i64, start_ns, end_ns).thread(1);
            build.span(1, "forward", start_ns, start_ns + 4 * MS).thread(1);
            build.span(1, "backward", start_ns + 4 * MS, start_ns + 15 * MS).thread(1);
            build.span(3, "offload", start_ns + 4 * MS, start_ns + 10 * MS).thread(1).phase(Phase::Io);
            build.span(1, "optimizer", start_ns + 15 * MS, end_ns).thread(1);
            if save_ns > 0 {
                build.span(5, "save", end_ns - save_ns, end_ns).thread(1).phase(Phase::Checkpoint);
            }
            build.trace()
        })
        .collect();
    let report = build(&summarise(&traces), Reading::default(), &Config::default());
    let found = |rule: &str| report.findings.iter().find(|found| found.rule == rule).unwrap();
    // Of 3,200 ms and 8 times 99 ms: 1,200 ms and 792 ms.
    assert_eq!(found("io_stalls").title, "30 % of the step time goes into reading and writing.");
    assert_eq!(found("io_stalls").section.as_deref(), Some("step/backward/offload"));
    assert_eq!(found("checkpoint_stalls").title, "20 % of the training time goes into checkpoints.");
    assert_eq!(found("checkpoint_stalls").section.as_deref(), Some("step/optimizer/save"));
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
fn work_handed_to_another_thread_and_back_nests_in_the_driving_section_around_it() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 90).thread(1);
    build.span(2, "pool", 10, 80).thread(2);
    build.span(3, "barrier", 20, 40).thread(1);
    let (rows, unattributed) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(exposed, [("forward", 70), ("synchronization", 20)]);
    assert_eq!(unattributed, 10);
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

#[test]
fn what_is_beside_the_path_is_not_joined() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    // The step goes on with something else before it ends.
    build.span(1, "flush", 0, 30).thread(2).phase(Phase::Io);
    build.span(1, "forward", 20, 90).thread(1);
    assert_eq!(exposed(build), ([("forward".into(), 70)].into(), 30));
}

#[test]
fn who_synchronizes_is_in_what_it_waits_for() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "barrier", 0, 60).thread(1);
    build.span(2, "decode", 5, 50).thread(2).phase(Phase::Preprocessing);
    build.span(1, "optimizer", 60, 100).thread(1);
    // Of a lower class than what waits for it.
    build.span(4, "log", 60, 80).thread(2).phase(Phase::Io);
    let expected = [("preprocessing".into(), 45), ("optimizer".into(), 40), ("synchronization".into(), 15)];
    assert_eq!(exposed(build), (expected.into(), 0));
}

#[test]
fn a_wait_for_data_stays_one() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "next_batch", 0, 60).thread(1);
    build.span(2, "decode", 0, 55).thread(2).phase(Phase::Preprocessing);
    assert_eq!(exposed(build), ([("data_wait".into(), 60)].into(), 40));
}

#[test]
fn loading_counts_where_a_section_joins_it() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "read", 0, 60).thread(1);
    build.span(2, "load_batch", 0, 50).thread(2);
    // The innermost of a class; of a higher one what is around it.
    build.span(3, "decode", 10, 30).thread(2).phase(Phase::Preprocessing);
    build.span(3, "log", 30, 40).thread(3).phase(Phase::Io);
    // A loader that nobody waits for in a section runs beside.
    build.span(1, "load_batch", 60, 100).thread(2);
    let expected = [("data_loading".into(), 30), ("preprocessing".into(), 20)];
    assert_eq!(exposed(build), (expected.into(), 50));
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
fn chains_beside_each_other_keep_their_own_sections_whenever_they_end() {
    // Another thread's chain ends just before, with, and just after that of the step's thread.
    for end_ns in [99_000_000, 99_980_000, 100_000_000, 100_020_000] {
        let mut build = Build::new(1);
        build.step(0, 0, 101_000_000).thread(1);
        build.span(1, "chain_a", 0, 100_000_000).thread(1);
        build.span(2, "a1", 0, 60_000_000).thread(1);
        build.span(2, "a2", 60_000_000, 100_000_000).thread(1);
        build.span(1, "chain_b", 0, end_ns).thread(2);
        build.span(5, "b1", 0, 50_000_000).thread(2);
        build.span(5, "b2", 50_000_000, end_ns).thread(2);
        let critical = summarise([&build.trace()]).critical_path.unwrap();
        let on_path = |path: &str| critical.sections.iter().find(|row| row.path == path).unwrap().on_path_ns;
        let parts =
            ["step/chain_a/a1", "step/chain_a/a2", "step/chain_b", "step/chain_b/b1", "step/chain_b/b2"];
        // Of two that end at once the one with the larger id is taken: a whole chain, never pieces of both.
        let expected = match end_ns < 100_000_000 {
            true => [60_000_000, 40_000_000, 0, 0, 0],
            false => [0, 0, 0, 50_000_000, end_ns - 50_000_000],
        };
        assert_eq!(parts.map(on_path), expected, "{end_ns}");
    }
}

#[test]
fn what_is_hidden_behind_work_is_not_exposed() {
    // Preparation of the next batch, and communication, on another thread, end just before work without a phase does.
    for phase in [Phase::Preprocessing, Phase::Communication] {
        for cpu_ns in [Some(99_000_000), None] {
            let mut build = Build::new(1);
            let step = build.step(0, 0, 100_000_000).thread(1);
            cpu_ns.into_iter().fold(step, |step, value| step.figure(Figure::CpuNs, value));
            build.span(1, "compute", 0, 95_000_000).thread(1);
            build.span(1, "ahead", 0, 94_700_000).thread(2).phase(phase);
            build.span(1, "optimizer", 95_000_000, 100_000_000).thread(1);
            assert_eq!(exposed(build), (vec![("optimizer".into(), 5_000_000)], 95_000_000));
        }
    }
}

#[test]
fn a_wait_for_several_threads_goes_by_what_all_of_them_did() {
    // A device computes on one stream, then communicates on another one, for less than half of the wait.
    let build = |computed_until_us: u64| {
        let mut build = beside("synchronize", (695, 895), None);
        build.span(1, "sgemm", 250_000, computed_until_us * 1_000).thread(3);
        build
    };
    let communication = |build| exposed(build).0.iter().find(|row| row.0 == "communication").map(|row| row.1);
    assert_eq!(communication(build(690)), Some(200_000));
    // Both at once count once.
    let mut at_once = build(250);
    at_once.span(1, "sgemm", 690_000, 894_000).thread(3);
    assert_eq!(communication(at_once), None);
    assert_eq!(communication(build(390)), None);
}

#[test]
fn a_scope_is_what_its_threads_did_one_after_the_other() {
    let mut build = Build::new(1);
    build.step(0, 0, 1_000_000).thread(1).figure(Figure::CpuNs, 430_000);
    build.span(1, "preprocess", 0, 600_000).thread(1);
    // Two threads, each of which makes several items.
    for (thread, name, start, end) in [
        (2, "augment", 10_000, 250_000),
        (2, "tokenize", 251_000, 400_000),
        (2, "augment", 400_000, 598_000),
        (3, "augment", 10_000, 500_000),
    ] {
        build.span(1, name, start, end).thread(thread).phase(Phase::Preprocessing);
    }
    build.span(1, "forward", 600_000, 1_000_000).thread(1);
    let summary = summarise([&build.trace()]);
    let part = |path: &str| summary.section(path).unwrap().in_mode(Mode::Train).unwrap().exposed_ns;
    assert_eq!(part("step/augment"), 240_000 + 198_000);
    assert_eq!(part("step/tokenize"), 149_000);
    assert_eq!(part("step/preprocess"), 10_000 + 1_000 + 2_000);
    assert_eq!(part("step/forward"), 400_000);
    let critical = summary.critical_path.unwrap();
    let on_path = |path: &str| critical.sections.iter().find(|row| row.path == path).unwrap().on_path_ns;
    assert_eq!(["step/augment", "step/tokenize", "step/preprocess"].map(on_path), [438_000, 149_000, 13_000]);
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

/// One that is suspended between its polls: parent, name, from, to, and when it was entered, each time once on thread 1.
fn suspended(build: &mut Build, parent: u64, name: &str, time: (u64, u64), entered: &[(u64, u64)]) {
    build.span(parent, name, time.0, time.1).thread(1).figure(Figure::IdleNs, 1);
    let polls: Vec<_> = entered.iter().map(|&(start, end)| (start, end, 1, 1)).collect();
    build.polls(&polls);
}

/// A step of 10 ms in which a fetch is open from start to end, and ran for half a millisecond at both ends.
fn fetching() -> Build {
    let mut build = Build::new(1);
    build.step(0, 0, 10_000).thread(1);
    suspended(&mut build, 1, "load_batch", (0, 10_000), &[(0, 500), (9_500, 10_000)]);
    build
}

#[test]
fn what_is_fetched_while_the_step_computes_is_exposed_while_it_runs() {
    let mut build = fetching();
    build.span(1, "forward", 500, 4_000).thread(1);
    build.span(1, "backward", 4_000, 9_500).thread(1);
    let expected = [("backward".into(), 5_500), ("forward".into(), 3_500), ("data_loading".into(), 1_000)];
    assert_eq!(exposed(build), (expected.into(), 0));
}

#[test]
fn what_is_awaited_while_nothing_else_runs_is_exposed() {
    for reads in [false, true] {
        let mut build = fetching();
        if reads {
            // Two sections inside each other, of which the inner one is of a lower class.
            suspended(&mut build, 2, "read", (100, 9_900), &[(100, 400), (9_600, 9_900)]);
            build.0.spans[2].phase = stepscope_model::PhaseTag::Known(Phase::Io);
        }
        build.span(1, "forward", 500, 4_000).thread(1);
        build.span(1, "backward", 5_000, 9_500).thread(1);
        let expected =
            [("backward".into(), 4_500), ("forward".into(), 3_500), ("data_loading".into(), 2_000)];
        assert_eq!(exposed(build), (expected.into(), 0));
    }
}

#[test]
fn what_is_not_known_to_run_is_not_exposed_while_others_do() {
    // An interval of two entries, with a pause that may be anywhere; one on another thread; one of no length.
    for poll in [(0, 10_000, 1, 2), (0, 10_000, 2, 1), (0, 0, 1, 1)] {
        let mut build = Build::new(1);
        build.step(0, 0, 10_000).thread(1);
        build.span(1, "load_batch", 0, 10_000).thread(1).figure(Figure::IdleNs, 1);
        build.polls(&[poll]);
        build.span(1, "forward", 500, 8_500).thread(1);
        let expected = [("forward".into(), 8_000), ("data_loading".into(), 2_000)];
        assert_eq!(exposed(build), (expected.into(), 0));
    }
    // Without intervals it ran all the time, but where it was suspended for most of it.
    for (idle_ns, loading_ns) in [(0, 10_000), (5_000, 10_000), (5_001, 2_000), (9_000, 2_000)] {
        let mut build = Build::new(1);
        build.step(0, 0, 10_000).thread(1);
        build.span(1, "load_batch", 0, 10_000).thread(1).figure(Figure::IdleNs, idle_ns);
        build.span(1, "forward", 500, 8_500).thread(1);
        let loading = ("data_loading".to_owned(), loading_ns);
        let rest = ("forward".to_owned(), 10_000 - loading_ns);
        let mut expected = vec![loading, rest];
        expected.retain(|(_, ns)| *ns > 0);
        expected.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        assert_eq!(exposed(build), (expected, 0), "{idle_ns}");
    }
}

#[test]
fn communication_and_barriers_beside_computation_are_exposed_where_nothing_covers_them() {
    for (name, phase) in [("all_reduce", "communication"), ("barrier", "synchronization")] {
        let mut build = Build::new(1);
        build.step(0, 0, 10_000).thread(1);
        build.span(1, "backward", 0, 7_000).thread(1);
        // Begun inside of the computation, and awaited after it.
        suspended(&mut build, 1, name, (3_000, 9_000), &[(3_000, 3_100), (6_000, 6_050), (8_990, 9_000)]);
        build.span(1, "optimizer", 9_000, 10_000).thread(1);
        let expected = [("backward".into(), 6_850), (phase.into(), 2_150), ("optimizer".into(), 1_000)];
        assert_eq!(exposed(build), (expected.into(), 0));
    }
}

#[test]
fn a_step_that_is_suspended_itself_is_in_what_it_awaits() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1).figure(Figure::IdleNs, 30);
    build.polls(&[(0, 60, 1, 1), (90, 100, 1, 1)]);
    suspended(&mut build, 1, "next_batch", (10, 90), &[(10, 15)]);
    build.span(1, "forward", 30, 50).thread(1);
    // 0..10, 15..30, 50..60 and 90..100 it ran, with nothing inside.
    let expected = [("data_wait".into(), 35), ("forward".into(), 20)];
    assert_eq!(exposed(build), (expected.into(), 45));
}

#[test]
fn several_that_are_suspended_at_once_are_told_apart_by_their_phases() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    suspended(&mut build, 1, "load_batch", (0, 100), &[(0, 5), (95, 100)]);
    suspended(&mut build, 1, "all_reduce", (5, 60), &[(5, 10), (55, 60)]);
    // A part of the fetch: who has something running inside runs.
    build.span(2, "decode", 20, 30).thread(1).phase(Phase::Io);
    build.span(1, "forward", 70, 90).thread(1);
    let expected = [("communication".into(), 45), ("data_loading".into(), 35), ("forward".into(), 20)];
    assert_eq!(exposed(build), (expected.into(), 0));
}

#[test]
fn a_section_waits_for_what_is_suspended_inside_it_and_for_nothing_else() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    suspended(&mut build, 1, "load_batch", (0, 100), &[(0, 5), (95, 100)]);
    build.span(1, "block_on", 10, 60).thread(1);
    suspended(&mut build, 3, "write", (10, 60), &[(10, 15), (55, 60)]);
    build.0.spans[3].phase = stepscope_model::PhaseTag::Known(Phase::Io);
    assert_eq!(exposed(build), ([("data_loading".into(), 50), ("io".into(), 50)].into(), 0));
}

#[test]
fn what_a_step_joins_runs_whoever_is_suspended() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    suspended(&mut build, 1, "load_batch", (0, 60), &[(0, 10)]);
    build.span(1, "forward", 10, 40).thread(1);
    build.span(1, "write", 20, 90).thread(2).phase(Phase::Io);
    let expected = [("io".into(), 50), ("forward".into(), 30), ("data_loading".into(), 10)];
    assert_eq!(exposed(build), (expected.into(), 10));
}

#[test]
fn between_steps_what_is_suspended_is_exposed_as_inside_them() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    let mut between = Build::new(2);
    between.span(0, "prepare", 100, 200).thread(1);
    suspended(&mut between, 1, "load_batch", (100, 200), &[(100, 110)]);
    between.span(1, "evaluate", 120, 180).thread(1);
    let mut last = Build::new(3);
    last.step(1, 200, 300).thread(1);
    let summary = summarise([&build.trace(), &between.trace(), &last.trace()]);
    let rows: Vec<_> = summary
        .between_steps
        .iter()
        .map(|row| (row.phase.as_ref().map(ToString::to_string), row.exposed_ns))
        .collect();
    let expected = [(None, 0), (Some("evaluation".into()), 60), (Some("data_loading".into()), 40)];
    assert_eq!(rows, expected);
}

/// A step of 100 ns that a pool runs: on thread 1 up to 10, from there to 50 awaited while it fetches, begun on thread 2 and
/// ended on thread 3, where the step goes on. `polls` are those of the step.
fn migrated(number: u64, start: u64, polls: &[(u64, u64, i64, u64)]) -> Trace {
    let at = |polls: &[(u64, u64, i64, u64)]| -> Vec<_> {
        polls.iter().map(|&(from, to, thread, count)| (start + from, start + to, thread, count)).collect()
    };
    let mut build = Build::new(number);
    build.step(number as i64, start, start + 100).thread(1).figure(Figure::IdleNs, 40);
    build.polls(&at(polls));
    build.span(1, "data_wait", start + 10, start + 50).thread(2).figure(Figure::IdleNs, 38);
    build.polls(&at(&[(10, 11, 2, 1), (49, 50, 3, 1)]));
    build.span(1, "forward", start + 50, start + 98).thread(3);
    build.span(3, "layer", start + 60, start + 90).thread(3);
    build.trace()
}

#[test]
fn what_an_asynchronous_step_does_after_it_moved_to_another_thread_is_its_own() {
    let steps = |polls: &[(u64, u64, i64, u64)]| -> Vec<Trace> {
        (0..40).map(|i| migrated(i, 1_000 * i, polls)).collect()
    };
    let figures = |traces: &[Trace]| {
        let summary = summarise(traces);
        let mode = summary.mode(Mode::Train).unwrap();
        let phases: Vec<_> = mode.phases.iter().map(|row| (row.phase.to_string(), row.exposed_ns)).collect();
        let on_path = summary.section("step/data_wait").unwrap().in_mode(Mode::Train).unwrap().driving_ns;
        (phases, on_path, summary.input.share)
    };
    let polls = [(0, 10, 1, 1), (10, 11, 2, 1), (49, 100, 3, 1)];
    let expected = vec![("forward".into(), 40 * 48), ("data_wait".into(), 40 * 40)];
    assert_eq!(figures(&steps(&polls)), (expected, 40 * 40, Some(0.4)));
    // The step itself never was on thread 2: another task fetches, of which nothing says that the step waits for it.
    let elsewhere = [(0, 10, 1, 1), (49, 100, 3, 1)];
    let (phases, driving_ns, _) = figures(&steps(&elsewhere));
    assert_eq!((&phases[0], driving_ns), (&("forward".into(), 40 * 48), 0));
    // Nor was it there when that began.
    let later = [(0, 10, 1, 1), (11, 12, 2, 1), (49, 100, 3, 1)];
    assert_eq!(figures(&steps(&later)).1, 0);
}

/// What training steps are exposed to by phase, what sections at these two paths run on driving threads, the number of waits and
/// the share of input.
type Merged = (Vec<(String, u64)>, [u64; 2], u64, Option<f64>);

/// 40 steps of 100 ns that a pool of threads runs, with `polls` of their own: up to 12 on threads that nobody knows, to 50
/// awaited while it fetches (begun on thread 2, entered first at `first`), to 98 forward on thread 3. From 13 on another
/// thread loads for 47 ns.
fn merged(polls: &[(u64, u64, i64, u64)], first: (i64, u64)) -> Merged {
    let trace = |number: u64| {
        let start = 1_000 * number;
        let at =
            |&(from, to, thread, count): &(u64, u64, i64, u64)| (start + from, start + to, thread, count);
        let mut build = Build::new(number);
        build.step(number as i64, start, start + 100).thread(1).figure(Figure::IdleNs, 40);
        build.polls(&polls.iter().map(at).collect::<Vec<_>>());
        build.span(1, "data_wait", start + 12, start + 50).thread(2).figure(Figure::IdleNs, 36);
        let (thread, count) = first;
        build.polls(&[(12, 13, thread, count), (49, 50, 3, 1)].map(|poll| at(&poll)));
        build.span(1, "forward", start + 50, start + 98).thread(3);
        build.span(3, "layer", start + 60, start + 90).thread(3);
        build.span(1, "load_batch", start + 13, start + 60).thread(7);
        build.trace()
    };
    let traces: Vec<Trace> = (0..40).map(trace).collect();
    let summary = summarise(&traces);
    let mode = summary.mode(Mode::Train).unwrap();
    let phases = mode.phases.iter().map(|row| (row.phase.to_string(), row.exposed_ns)).collect();
    let driving = |path: &str| summary.section(path).unwrap().in_mode(Mode::Train).unwrap().driving_ns;
    let driving = ["step/data_wait", "step/load_batch"].map(driving);
    (phases, driving, summary.waits.wait.count, summary.input.share)
}

#[test]
fn what_begins_while_a_step_is_polled_on_threads_that_are_not_known_is_its_own() {
    let phases = vec![("forward".into(), 40 * 48), ("data_wait".into(), 40 * 38), ("data_loading".into(), 0)];
    // 38 of 100 ns waited, 48 computed; nothing asynchronous runs on thread 7, which loads beside the step.
    let expected = (phases, [40 * 38, 0], 40, Some(0.38));
    // Two intervals are of several threads; those that are known are found with the wait.
    let apart = [(0, 10, 1, 1), (10, 14, 0, 3), (49, 100, 0, 4)];
    assert_eq!(merged(&apart, (2, 1)), expected);
    // So is the wait's own first one: that it was begun on thread 2 says that this polls.
    assert_eq!(merged(&apart, (0, 2)), expected);
    assert_eq!(merged(&[(0, 100, 0, 9)], (0, 2)), expected);
    // As where each thread is known.
    let known = [(0, 10, 1, 1), (10, 12, 3, 2), (12, 13, 2, 1), (49, 100, 3, 1)];
    assert_eq!(merged(&known, (2, 1)), expected);
    // The pause between two intervals is none of them.
    let paused = [(0, 10, 1, 1), (10, 12, 0, 3), (49, 100, 0, 4)];
    assert_eq!(merged(&paused, (2, 1)).1, [0, 0]);
}

#[test]
fn threads_that_poll_are_those_of_one_process() {
    // In another process thread 3 is another one.
    let driving = |process: u32| {
        let mut build = Build::new(1);
        build.step(0, 0, 100).thread(1);
        build.polls(&[(0, 50, 0, 2), (90, 100, 1, 1)]);
        build.span(1, "fetch", 0, 20).thread(3);
        build.0.spans.last_mut().unwrap().process = process;
        build.polls(&[(0, 20, 3, 2)]);
        build.span(1, "forward", 20, 40).thread(3);
        let summary = summarise([&build.trace()]);
        summary.section("step/forward").unwrap().in_mode(Mode::Train).unwrap().driving_ns
    };
    assert_eq!((driving(0), driving(1)), (20, 0));
}

#[test]
fn what_a_section_that_drives_runs_on_another_thread_is_its_own() {
    // The step does not say when it was polled; the section that it runs, begun on its thread, does.
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "train", 0, 100).thread(1).figure(Figure::IdleNs, 20);
    build.polls(&[(0, 40, 1, 1), (60, 100, 2, 1)]);
    build.span(2, "forward", 60, 100).thread(2);
    build.span(2, "load_batch", 0, 100).thread(3);
    let summary = summarise([&build.trace()]);
    let driving = |path: &str| summary.section(path).unwrap().in_mode(Mode::Train).unwrap().driving_ns;
    assert_eq!((driving("step/train/forward"), driving("step/train/load_batch")), (40, 0));
}
