//! Aggregates: latest wins, summed over instances, preferred where they have seen more.

use stepscope_analyze::Partial;
use stepscope_analyze::summary::FigureSource;
use stepscope_core::{Histogram, SectionKind, metric};
use stepscope_model::{Figure, MetricPoint, SectionValue, Trace};

use crate::build::{Build, fold, process};

fn integer(path: &str, name: &'static str, value: i64) -> MetricPoint {
    MetricPoint::Section {
        path: path.into(),
        phase: String::new(),
        kind: String::new(),
        value: SectionValue::Integer(name, value),
    }
}

/// What a process with these durations of `path` would send.
fn send(partial: &mut Partial, rank: i64, time_ns: u64, path: &str, durations: &[u64]) {
    let mut histogram = Histogram::default();
    durations.iter().for_each(|&value| histogram.record(value));
    let squares: u128 = durations.iter().map(|&value| u128::from(value) * u128::from(value)).sum();
    let mut point = |point: &MetricPoint| partial.metric(&process(rank), 0, time_ns, point);
    point(&integer(path, metric::SECTION_COUNT, durations.len() as i64));
    point(&integer(path, metric::SECTION_TOTAL, durations.iter().sum::<u64>() as i64));
    point(&integer(path, metric::SECTION_SQUARES_LOW, metric::squares_low(squares)));
    point(&integer(path, metric::SECTION_SQUARES_HIGH, metric::squares_high(squares)));
    point(&integer(path, metric::SECTION_MIN, *durations.iter().min().unwrap() as i64));
    point(&integer(path, metric::SECTION_MAX, *durations.iter().max().unwrap() as i64));
    point(&integer(path, metric::SECTION_SELF_BUSY, durations.iter().sum::<u64>() as i64 / 2));
    point(&integer(path, metric::SECTION_SELF_ALLOC, 64));
    point(&integer(path, metric::SECTION_SELF_FREE, 24));
    let value = SectionValue::Durations {
        count: durations.len() as u64,
        zeros: histogram.zeros(),
        buckets: histogram.buckets().collect(),
    };
    point(&MetricPoint::Section { path: path.into(), phase: "forward".into(), kind: String::new(), value });
}

/// A whole run: marker, a step of 100 ns with one section of 40 ns, the run span.
fn whole_run() -> Vec<Trace> {
    let mut start = Build::new(1);
    start.span(0, "run.started", 0, 0).kind(SectionKind::Run);
    let mut step = Build::new(2);
    step.step(0, 0, 100).figure(Figure::TraceSpans, 2);
    step.span(1, "forward", 0, 40);
    let mut end = Build::new(3);
    end.span(0, "run", 0, 200).kind(SectionKind::Run);
    vec![start.trace(), step.trace(), end.trace()]
}

#[test]
fn the_latest_point_counts_whatever_comes_last() {
    let mut partial = fold(&whole_run());
    send(&mut partial, 0, 30, "step/forward", &[40, 60, 80]);
    send(&mut partial, 0, 20, "step/forward", &[40, 60]);
    let summary = partial.finish(None);
    let row = summary.section("step/forward").unwrap();
    assert_eq!(row.source, FigureSource::Aggregates);
    assert_eq!(
        (row.stats.count, row.stats.total, row.stats.min, row.stats.max),
        (3, 180, Some(40), Some(80))
    );
    assert_eq!((row.stats.mean, row.stats.std), (Some(60.0), Some(20.0)));
    // Own time is known of the calls that were read only: of one of three.
    assert_eq!(row.self_ns, None);
    assert_eq!(row.self_busy_ns, Some(90));
    assert_eq!(row.memory.unwrap().self_alloc_bytes, Some(64));
    assert!(!row.stats.is_exact);
}

#[test]
fn instances_are_summed() {
    let mut partial = fold(&whole_run());
    send(&mut partial, 0, 30, "step/forward", &[40, 60]);
    send(&mut partial, 1, 10, "step/forward", &[10, 20]);
    let summary = partial.finish(None);
    let stats = summary.section("step/forward").unwrap().stats;
    assert_eq!((stats.count, stats.total, stats.min, stats.max), (4, 130, Some(10), Some(60)));
}

#[test]
fn aggregates_that_are_behind_the_spans_are_not_used() {
    let mut traces = whole_run();
    let mut step = Build::new(9);
    step.step(1, 100, 200);
    step.span(1, "forward", 100, 150);
    traces.push(step.trace());
    let mut partial = fold(&traces);
    send(&mut partial, 0, 30, "step/forward", &[40]);
    let summary = partial.finish(None);
    let row = summary.section("step/forward").unwrap();
    assert_eq!((row.source, row.stats.count, row.stats.total), (FigureSource::Spans, 2, 90));
}

#[test]
fn equal_counts_keep_the_exact_quantiles_of_the_spans() {
    let mut partial = fold(&whole_run());
    send(&mut partial, 0, 30, "step/forward", &[40]);
    let summary = partial.finish(None);
    let row = summary.section("step/forward").unwrap();
    assert_eq!((row.source, row.stats.p50, row.stats.is_exact), (FigureSource::Aggregates, Some(40), true));
}

#[test]
fn sections_without_spans_are_there_from_aggregates() {
    let mut partial = fold(&whole_run());
    send(&mut partial, 0, 30, "step/model/linear", &[5, 6]);
    let summary = partial.finish(None);
    let row = summary.section("step/model/linear").unwrap();
    assert_eq!((row.name.as_str(), row.depth, row.stats.count, row.self_ns), ("linear", 3, 2, None));
    assert_eq!(row.phase.clone().unwrap().to_string(), "forward");
    // A path that has sent only a part is no row.
    partial.metric(&process(0), 0, 30, &integer("step/torn", metric::SECTION_COUNT, 3));
    assert!(partial.finish(None).section("step/torn").is_none());
}
