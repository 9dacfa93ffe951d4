//! Loaders and waits.

use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, fold, process, summarise};

#[test]
fn loaders_are_known_by_their_batches() {
    let mut traces = Vec::new();
    for i in 0..6u64 {
        let mut build = Build::new(i);
        let start = i * 100;
        build
            .span(0, "load_batch", start, start + 60)
            .kind(SectionKind::Batch)
            .thread(10 + (i % 2) as i64)
            .figure(Figure::BusyNs, 50)
            .figure(Figure::Samples, 8);
        build.span(1, "decode", start, start + 40).thread(10 + (i % 2) as i64);
        traces.push(build.trace());
    }
    let summary = summarise(&traces);
    assert_eq!(summary.batches.count, 6);
    let loader = &summary.batches.loaders[0];
    assert_eq!((loader.name.as_str(), loader.produce.count, loader.produce.p50), ("load_batch", 6, Some(60)));
    assert_eq!((loader.busy_ns, loader.elapsed_ns, loader.samples), (300, 560, Some(48)));
    // Each thread from its first batch to its last: 920 ns, in 560.
    assert_eq!(
        (loader.utilisation, loader.workers_at_once, loader.slowest),
        (Some(300.0 / 920.0), Some(2), None)
    );
    let workers: Vec<_> = loader.workers.iter().map(|row| (row.thread, row.batches, row.busy_ns)).collect();
    assert_eq!(workers, [(Some(10), 3, 150), (Some(11), 3, 150)]);
    let row = summary.section("load_batch").unwrap();
    assert_eq!(
        (row.kind, row.phase.clone().unwrap().to_string().as_str()),
        (SectionKind::Batch, "data_loading")
    );
    assert_eq!(summary.section("load_batch/decode").unwrap().stats.count, 6);
    assert!(summary.modes.is_empty());
}

/// Batches of 10 ns by threads that begin anew each pass of 100 ns, of which 60 are loaded in.
fn passes(rank: i64, threads: i64, every_ns: u64) -> Vec<Trace> {
    let mut traces = Vec::new();
    for pass in 0..10 {
        for thread in 0..threads {
            for start in (0..60).step_by(every_ns as usize) {
                let number = (rank as u64) << 32 | traces.len() as u64;
                let start = pass * 100 + start;
                let mut build = Build::of(number, &process(rank));
                build
                    .span(0, "load_batch", start, start + 10)
                    .kind(SectionKind::Batch)
                    .thread(pass as i64 * 100 + thread);
                traces.push(build.trace());
            }
        }
    }
    traces
}

#[test]
fn threads_that_are_started_anew_are_as_many_as_there_are_at_once() {
    let summary = summarise(&passes(0, 2, 10));
    let loader = &summary.batches.loaders[0];
    assert_eq!((loader.workers.len(), loader.workers_at_once), (20, Some(2)));
    // All the time that there are any, and so after warm-up.
    assert_eq!(
        (loader.utilisation, loader.after_warmup.and_then(|then| then.utilisation)),
        (Some(1.0), Some(1.0))
    );
    assert_eq!(loader.slowest, None);
}

#[test]
fn of_several_processes_the_slowest_is_known() {
    // Three threads with two batches in three times 10 ns, and one that makes one after the other.
    let traces = [passes(0, 3, 20), passes(1, 3, 20), passes(2, 1, 10), passes(3, 3, 20)].concat();
    let summary = summarise(&traces);
    let loader = &summary.batches.loaders[0];
    // (3 · 3 · 50 + 60) / (3 · 50 + 60), a pass.
    assert_eq!((loader.workers.len(), loader.workers_at_once), (100, Some(2)));
    let slowest = loader.slowest.unwrap();
    assert_eq!((slowest.rank, slowest.workers_at_once), (Some(2), 1));
    assert_eq!((slowest.after_warmup.produce_mean_ns, slowest.after_warmup.utilisation), (10, Some(1.0)));
    // Alike.
    let summary = summarise(&[passes(0, 3, 20), passes(1, 3, 20)].concat());
    assert_eq!(
        (summary.batches.loaders[0].workers_at_once, summary.batches.loaders[0].slowest),
        (Some(3), None)
    );
}

#[test]
fn who_waits_for_a_place_in_the_queue_waits_for_the_trainer() {
    let batch = |number: u64, thread: i64, (start, end): (u64, u64), waited: Option<i64>| {
        let mut build = Build::new(number);
        let span = build.span(0, "load_batch", start, end).kind(SectionKind::Batch).thread(thread);
        if let Some(waited) = waited {
            span.figure(Figure::BatchSlotWaitNs, waited);
        }
        build.trace()
    };
    let traces = [
        batch(1, 5, (100, 200), None),
        batch(2, 5, (280, 340), Some(50)),
        batch(3, 5, (360, 400), Some(20)),
        // More than there was: damage.
        batch(4, 6, (100, 200), Some(7)),
        batch(5, 6, (210, 220), Some(1_000)),
        // Says nothing.
        batch(6, 7, (0, 10), None),
        batch(7, 7, (90, 100), None),
    ];
    let summary = summarise(&traces);
    let loader = &summary.batches.loaders[0];
    let rows: Vec<_> = loader.workers.iter().map(|row| (row.slot_wait_ns, row.idle_ns)).collect();
    assert_eq!(rows, [(Some(70), Some(30)), (Some(10), Some(0)), (None, None)]);
    assert_eq!((loader.slot_wait_ns, loader.slot_wait_share), (Some(80), Some(80.0 / 420.0)));
}

#[test]
fn loaders_that_sleep_do_not_compute() {
    let batch = |number: u64, cpu_ns: Option<i64>| {
        let mut build = Build::new(number);
        let span = build.span(0, "load_batch", number * 100, number * 100 + 60).kind(SectionKind::Batch);
        if let Some(cpu_ns) = cpu_ns {
            span.figure(Figure::CpuNs, cpu_ns);
        }
        build.trace()
    };
    let computing_ns = |traces: &[_]| summarise(traces).batches.loaders[0].computing_ns;
    assert_eq!(computing_ns(&[batch(1, Some(5)), batch(2, Some(0))]), 5);
    // What nobody measured is taken to be work.
    assert_eq!(computing_ns(&[batch(1, Some(5)), batch(2, None)]), 65);
}

#[test]
fn waits_carry_what_their_batches_took() {
    let mut build = Build::new(1);
    build.step(7, 0, 1_000).thread(1);
    build
        .span(1, "data_wait", 0, 100)
        .thread(1)
        .figure(Figure::BatchProduceNs, 400)
        .figure(Figure::BatchQueueNs, 0)
        .figure(Figure::BatchQueueDepth, 1);
    // A wait inside the wait is the same wait.
    build.span(2, "inner", 10, 90).phase(Phase::DataWait).thread(1);
    // Of another thread: a wait, but not the step's.
    build.span(1, "next_batch", 0, 30).thread(2).figure(Figure::BatchProduceNs, 1);
    let summary = summarise([&build.trace()]);
    assert_eq!((summary.waits.wait.count, summary.waits.wait.total), (1, 100));
    assert_eq!(summary.waits.produce.p50, Some(400));
    assert_eq!((summary.waits.queue.count, summary.waits.queue.max), (1, Some(0)));
    assert_eq!(summary.waits.depth.p50, Some(1));
    assert_eq!(summary.series_of(Mode::Train).unwrap().points[0].wait_ns, 100);
}

#[test]
fn an_asynchronous_wait_takes_as_long_as_nothing_else_runs() {
    // Open all over the step, which computes meanwhile; polled at both ends, and awaited from 80 to 95.
    let step = |is_async: bool, thread: i64| {
        let mut build = Build::new(1);
        build.step(7, 0, 100).thread(1);
        let wait = build.span(1, "data_wait", 0, 100).thread(thread).figure(Figure::BatchProduceNs, 40);
        if is_async {
            wait.figure(Figure::IdleNs, 90);
            build.polls(&[(0, 5, thread, 1), (95, 100, thread, 1)]);
        }
        let loader = build.0.push_text("images");
        build.0.spans[1].loader = loader;
        // A part of it, and what it goes on beside.
        build.span(2, "recv", 85, 95).thread(thread).phase(Phase::Io);
        build.span(1, "forward", 5, 80).thread(1).phase(Phase::Forward);
        build
    };
    let waited = |build: Build| {
        let summary = summarise([&build.trace()]);
        let [loader] = &summary.batches.loaders[..] else { panic!("one loader") };
        let held_ns: Vec<u64> = loader.stalls.iter().map(|row| row.total_ns).collect();
        let point_ns = summary.series_of(Mode::Train).unwrap().points[0].wait_ns;
        assert_eq!(summary.waits.wait.total, point_ns);
        (loader.waits.wait.total, held_ns, point_ns)
    };
    assert_eq!(waited(step(true, 1)), (25, vec![25], 25));
    assert_eq!(waited(step(false, 1)), (100, vec![100], 100));
    // Of what other threads waited nobody knows what ran there meanwhile; nor of a step that was not read whole.
    assert_eq!(waited(step(true, 2)), (100, vec![], 0));
    let mut lossy = step(true, 1);
    lossy.0.spans[0].set_figure(Figure::TraceDropped, 1);
    assert_eq!(waited(lossy), (100, vec![100], 100));
}

#[test]
fn a_wait_between_steps_can_name_its_step() {
    let mut wait = Build::new(1);
    wait.span(0, "data_wait", 0, 70).thread(1).figure(Figure::Step, 3);
    let mut step = Build::new(2);
    step.step(3, 100, 200).thread(1);
    let summary = summarise(&[wait.trace(), step.trace()]);
    let points = &summary.series_of(Mode::Train).unwrap().points;
    assert_eq!(
        points.iter().map(|point| (point.step, point.count, point.wait_ns)).collect::<Vec<_>>(),
        [(3, 1, 70)]
    );
}

#[test]
fn loaders_with_names_are_told_apart() {
    let batch = |number: u64, loader: &str| {
        let mut build = Build::new(number);
        build.span(0, "batch", number * 100, number * 100 + 60).kind(SectionKind::Batch);
        let name = build.0.push_text(loader);
        build.0.spans[0].loader = name;
        build.trace()
    };
    let summary = summarise(&[batch(1, "train"), batch(2, "validation"), batch(3, "train")]);
    let loaders = summary.batches.loaders.iter().map(|row| (row.name.as_str(), row.produce.count));
    assert_eq!(loaders.collect::<Vec<_>>(), [("train", 2), ("validation", 1)]);
}

#[test]
fn waits_go_to_the_loader_that_they_name() {
    let wait = |build: &mut Build, parent: u64, (start, end): (u64, u64), loader: &str| {
        build.span(parent, "data_wait", start, end).thread(1).figure(Figure::BatchProduceNs, 400);
        let name = build.0.push_text(loader);
        build.0.spans.last_mut().unwrap().loader = name;
    };
    let mut train = Build::new(1);
    train.step(7, 0, 1_000).thread(1);
    wait(&mut train, 1, (0, 100), "train");
    wait(&mut train, 1, (100, 130), "masks");
    // Beside the step: a wait for the loader, not the step's.
    wait(&mut train, 1, (200, 207), "masks");
    train.0.spans.last_mut().unwrap().set_figure(Figure::ThreadId, 2);
    wait(&mut train, 1, (300, 350), "");
    let mut eval = Build::new(2);
    eval.step(8, 2_000, 3_000).mode(Mode::Eval).thread(1);
    wait(&mut eval, 1, (2_000, 2_500), "masks");
    let mut between = Build::new(3);
    wait(&mut between, 0, (1_500, 1_511), "train");
    let (first, second) = (fold([&train.trace()]), fold([&eval.trace(), &between.trace()]));
    let mut merged = second;
    merged.merge(&first);
    let summary = merged.finish(None);
    // Nothing of their batches was read.
    assert_eq!(summary.batches.count, 0);
    let rows: Vec<_> = summary
        .batches
        .loaders
        .iter()
        .map(|row| {
            let held: Vec<_> = row.stalls.iter().map(|held| (held.mode, held.waits, held.total_ns)).collect();
            (row.name.as_str(), row.waits.wait.count, row.waits.wait.total, row.waits.produce.p50, held)
        })
        .collect();
    let masks = vec![(Some(Mode::Train), 1, 30), (Some(Mode::Eval), 1, 500)];
    let train = vec![(Some(Mode::Train), 1, 100), (None, 1, 11)];
    assert_eq!(rows, [("masks", 3, 537, Some(400), masks), ("train", 2, 111, Some(400), train)]);
    assert_eq!(summary.batches.loaders[1].held_up_ns(Mode::Train), 111);
    assert_eq!((summary.waits.wait.count, summary.waits.wait.total), (5, 691));
}

#[test]
fn waits_of_a_run_are_those_of_threads_that_drive_steps() {
    // A decoder waits for a reader, inside of its batches or before them; the training thread in steps, between them, and
    // in a batch of its own.
    let wait = |number: u64, is_in_batch: bool, thread: i64, wait_ns: u64| {
        let mut build = Build::new(number);
        if is_in_batch {
            build.span(0, "batch", 0, 500).kind(SectionKind::Batch).thread(thread);
        }
        build
            .span(is_in_batch.into(), "data_wait", 0, wait_ns)
            .thread(thread)
            .figure(Figure::BatchProduceNs, 1_000 * wait_ns as i64)
            .figure(Figure::BatchQueueNs, 0);
        build.trace()
    };
    let others = [wait(1, true, 2, 3), wait(2, false, 2, 5), wait(3, false, 1, 7), wait(4, true, 1, 11)];
    let mut step = Build::new(5);
    step.step(7, 1_000, 2_000).thread(1);
    step.span(1, "data_wait", 1_000, 1_100)
        .thread(1)
        .figure(Figure::BatchProduceNs, 100_000)
        .figure(Figure::BatchQueueNs, 0);
    let step = [step.trace()];
    let figures = |of: &[&[_]]| {
        let mut merged = fold([]);
        of.iter().for_each(|&traces| merged.merge(&fold(traces)));
        let summary = merged.finish(None);
        let parts = summary.critical_path.and_then(|path| path.waits);
        let waits = &summary.waits;
        (
            waits.wait.count,
            waits.wait.total,
            waits.produce.total,
            parts.map(|parts| (parts.waits, parts.in_production_ns)),
        )
    };
    for order in [[&others[..], &step[..]], [&step[..], &others[..]]] {
        assert_eq!(figures(&order), (3, 118, 118_000, Some((3, 118))));
    }
    // Where nothing is a step nobody knows who trains.
    assert_eq!(figures(&[&others]), (4, 26, 26_000, None));
}

#[test]
fn stages_that_wait_for_each_other_are_known_by_pairs() {
    // Of two batches of `decode`, one waits for `read` twice, on its thread and on another, and for nobody knows whom.
    let wait = |build: &mut Build, (start, end): (u64, u64), thread: i64, loader: &str| {
        build.span(1, "data_wait", start, end).thread(thread);
        let name = build.0.push_text(loader);
        build.0.spans.last_mut().unwrap().loader = name;
    };
    let batch = |number: u64, start: u64, loader: &str| {
        let mut build = Build::new(number);
        build.span(0, "batch", start, start + 100).kind(SectionKind::Batch).thread(7);
        let name = build.0.push_text(loader);
        build.0.spans[0].loader = name;
        build
    };
    let mut first = batch(1, 0, "decode");
    wait(&mut first, (0, 60), 7, "read");
    wait(&mut first, (10, 15), 8, "read");
    wait(&mut first, (60, 70), 7, "");
    let second = batch(2, 100, "decode");
    let read = batch(3, 0, "read");
    let (first, rest) = (fold([&first.trace()]), fold([&second.trace(), &read.trace()]));
    let mut merged = rest;
    merged.merge(&first);
    let summary = merged.finish(None);
    let [decode, read] = summary.batches.loaders.as_slice() else { panic!("{:?}", summary.batches) };
    assert_eq!((decode.name.as_str(), read.name.as_str()), ("decode", "read"));
    // Of 200 ns it waited for 70; nobody measured what it computed.
    assert_eq!((decode.workers[0].waiting_ns, decode.workers[0].busy_ns), (70, 130));
    assert_eq!((decode.waiting_ns, read.waiting_ns), (70, 0));
    assert_eq!((decode.busy_ns, decode.computing_ns, decode.utilisation), (130, 130, Some(0.65)));
    assert_eq!((read.busy_ns, read.workers[0].waiting_ns), (100, 0));
    let waited: Vec<_> =
        read.waited_by.iter().map(|row| (row.loader.as_str(), row.waits, row.total_ns)).collect();
    assert_eq!(waited, [("decode", 2, 65)]);
    assert_eq!((decode.waited_by.len(), read.waited_by_ns("decode"), read.waited_by_ns("read")), (0, 65, 0));
    assert_eq!(read.stalls, []);
}
