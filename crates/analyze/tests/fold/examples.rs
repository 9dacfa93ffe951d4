//! Steps kept with their spans: which, with what, and the series of phases beside them. All by hand.

use stepscope_analyze::summary::{Example, ExampleRole, PhaseName};
use stepscope_analyze::{EXAMPLE_SPANS, Summary};
use stepscope_core::{Mode, Phase};
use stepscope_model::{Figure, Link, Trace};

use crate::build::{Build, bare_step, summarise};

const FIRST: ExampleRole = ExampleRole::First;
const MEDIAN: ExampleRole = ExampleRole::Median;
const SLOWEST: ExampleRole = ExampleRole::Slowest;

/// Step number and roles of what is shown.
fn roles(summary: &Summary) -> Vec<(u64, &[ExampleRole])> {
    summary.exemplars.iter().map(|row| (row.step.step.unwrap(), row.roles.as_slice())).collect()
}

fn pieces(example: &Example) -> Vec<(&str, u64, u64)> {
    let name = |span: u64| example.spans[usize::try_from(span).unwrap()].name.as_str();
    example.critical_path.iter().map(|piece| (name(piece.span), piece.offset_ns, piece.duration_ns)).collect()
}

#[test]
fn first_median_and_slowest_are_kept() {
    // Step n takes 100 + n, but for 30 (the slowest) and 7.
    let duration = |n: u64| match n {
        30 => 5_000,
        7 => 4_000,
        n => 100 + n,
    };
    let traces: Vec<Trace> =
        (0..40).map(|n| bare_step(n, n as i64, n * 10_000, n * 10_000 + duration(n))).collect();
    let summary = summarise(&traces);
    let shown = roles(&summary);
    assert_eq!(shown[..2], [(0, &[FIRST][..]), (1, &[FIRST][..])]);
    assert_eq!(shown[3..], [(30, &[SLOWEST][..]), (7, &[SLOWEST]), (39, &[SLOWEST]), (38, &[SLOWEST])]);
    let median = &summary.exemplars[2];
    assert_eq!(median.roles, [MEDIAN]);
    let off = median.step.duration_ns.abs_diff(summary.modes[0].steady.p50.unwrap());
    assert!(off <= 8, "a sample of 16 of 40 is off by {off}");
    assert_eq!(summary.exemplars[3].step.trace_id, format!("{:032x}", 30));
    assert_eq!(summary.exemplars[3].span_id, format!("{:016x}", 1));
}

/// A step whose batch is waited for, with a thread beside it that ends first.
fn threaded() -> Trace {
    let mut build = Build::new(9);
    build.step(4, 1_000, 2_000).thread(7);
    build
        .span(1, "data_wait", 1_000, 1_300)
        .thread(7)
        .figure(Figure::BatchProduceNs, 250)
        .figure(Figure::BatchQueueNs, 20);
    build.span(1, "forward", 1_400, 1_900).thread(7);
    build.span(3, "shard", 1_450, 1_800).thread(8).error();
    let main = build.0.push_text("main");
    build.0.spans[0].thread_name = main;
    let mut trace = build.trace();
    // The run, then two batches: the smaller trace of the span's links is the one that is named.
    let link = |span, trace: u8| Link { span, trace: [trace; 16], target: 1 };
    trace.links = vec![link(1, 9), link(2, 6), link(2, 5)];
    trace
}

#[test]
fn a_step_is_kept_with_threads_phases_path_and_batch() {
    let summary = summarise(&[threaded()]);
    let example = &summary.exemplars[0];
    let lanes: Vec<_> =
        example.lanes.iter().map(|lane| (lane.thread_id, lane.thread_name.as_deref())).collect();
    assert_eq!(lanes, [(Some(7), Some("main")), (Some(8), None)]);
    let spans: Vec<_> = example
        .spans
        .iter()
        .map(|span| (&*span.name, span.parent, span.lane, span.offset_ns, span.duration_ns, span.critical_ns))
        .collect();
    assert_eq!(
        spans,
        [
            ("step", None, 0, 0, 1_000, 200),
            ("data_wait", Some(0), 0, 0, 300, 300),
            ("forward", Some(0), 0, 400, 500, 150),
            ("shard", Some(2), 1, 450, 350, 350),
        ]
    );
    assert_eq!(
        pieces(example),
        [
            ("data_wait", 0, 300),
            ("step", 300, 100),
            ("forward", 400, 50),
            ("shard", 450, 350),
            ("forward", 800, 100),
            ("step", 900, 100),
        ]
    );
    let phases: Vec<_> = example.spans.iter().map(|span| span.phase.clone()).collect();
    let forward = Some(PhaseName::Known(Phase::Forward));
    assert_eq!(phases, [None, Some(PhaseName::Known(Phase::DataWait)), forward.clone(), forward]);
    let batch = example.spans[1].batch.as_ref().unwrap();
    assert_eq!((batch.produce_ns, batch.queue_ns), (Some(250), Some(20)));
    assert_eq!(batch.trace_id, Some("05".repeat(16)));
    assert!(example.spans[0].batch.is_none(), "the link to the run is none to a batch");
    assert_eq!(example.spans.iter().filter(|span| span.is_error).count(), 1);
    assert_eq!((example.spans_in_step, example.step.rank), (4, Some(0)));
}

/// A step of `count` sections of 10 ns each, one after the other inside of one, every tenth longer.
fn wide(count: u64, name: &str) -> Trace {
    let mut build = Build::new(1);
    build.step(0, 0, count * 20);
    build.span(1, "all", 0, count * 20);
    for n in 0..count {
        build.span(2, name, n * 20, n * 20 + if n % 10 == 0 { 15 } else { 10 });
    }
    build.trace()
}

#[test]
fn of_many_spans_the_longest_are_kept_and_the_path_stays_the_step() {
    let summary = summarise(&[wide(1_000, "part")]);
    let example = &summary.exemplars[0];
    assert_eq!((example.spans.len(), example.spans_in_step), (EXAMPLE_SPANS, 1_002));
    assert_eq!(example.spans.iter().filter(|span| span.duration_ns == 15).count(), 100);
    assert!(example.spans.is_sorted_by_key(|span| span.offset_ns));
    let path: u64 = example.critical_path.iter().map(|piece| piece.duration_ns).sum();
    assert_eq!(path, 20_000);
    // What is left out counts for what is around it.
    let kept_ns: u64 = example.spans[2..].iter().map(|span| span.duration_ns).sum();
    assert_eq!(example.spans[1].critical_ns, 20_000 - kept_ns);
    assert!(
        example.critical_path.windows(2).all(|two| two[0].offset_ns + two[0].duration_ns == two[1].offset_ns)
    );
}

#[test]
fn steps_that_are_not_whole_are_no_examples() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).figure(Figure::TraceSpans, 3);
    assert_eq!(summarise(&[build.trace()]).exemplars, []);
}

#[test]
fn phases_over_steps_partition_the_steps() {
    let summary = summarise(&[threaded(), bare_step(5, 5, 5_000, 5_070)]);
    let series = &summary.phase_series[0];
    assert_eq!((series.mode, series.shift, series.points.len()), (Mode::Train, 0, 2));
    let point = &series.points[0];
    assert_eq!((point.step, point.steps, point.total_ns, point.unattributed_ns), (4, 1, 1_000, 200));
    let exposed: Vec<_> = point.exposed.iter().map(|time| (time.phase.as_str(), time.exposed_ns)).collect();
    assert_eq!(exposed, [("data_wait", 300), ("forward", 500)]);
    assert_eq!((series.points[1].total_ns, series.points[1].unattributed_ns), (70, 70));
}
