//! Loaders and waits.

use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::Figure;

use crate::build::{Build, summarise};

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
    assert_eq!(loader.utilisation, Some(300.0 / 1_120.0));
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
    build.span(1, "next_batch", 0, 30).thread(2);
    let summary = summarise([&build.trace()]);
    assert_eq!((summary.waits.wait.count, summary.waits.wait.total), (2, 130));
    assert_eq!(summary.waits.produce.p50, Some(400));
    assert_eq!((summary.waits.queue.count, summary.waits.queue.max), (1, Some(0)));
    assert_eq!(summary.waits.depth.p50, Some(1));
    assert_eq!(summary.series_of(Mode::Train).unwrap().points[0].wait_ns, 100);
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
