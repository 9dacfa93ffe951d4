//! Steps kept with their spans: which, with what, and the series of phases beside them. All by hand.

use stepscope_analyze::summary::{Example, ExampleRole, PhaseName};
use stepscope_analyze::{EXAMPLE_BYTES, EXAMPLE_SPANS, Summary};
use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::{Figure, Link, Trace};

use crate::build::{Build, bare_step, fold, summarise};

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

#[test]
fn one_step_has_every_role_and_modes_are_apart() {
    let mut eval = Build::new(2);
    eval.step(0, 1_000, 1_100).mode(Mode::Eval);
    let summary = summarise(&[bare_step(1, 0, 0, 100), eval.trace()]);
    let shown: Vec<_> = summary.exemplars.iter().map(|row| (row.mode, row.roles.clone())).collect();
    let all = vec![FIRST, MEDIAN, SLOWEST];
    assert_eq!(shown, [(Mode::Train, all.clone()), (Mode::Eval, all)]);
}

#[test]
fn warm_up_is_the_slowest_only_where_nothing_else_is() {
    // Nine slow steps at the start: more than are kept for their slowness.
    let traces: Vec<Trace> = (0..100)
        .map(|n| bare_step(n, n as i64, n * 10_000, n * 10_000 + if n < 9 { 9_000 - n } else { 100 }))
        .collect();
    let summary = summarise(&traces);
    assert_eq!(summary.modes[0].warmup.steps, 9);
    let slow: Vec<_> = summary.exemplars.iter().filter(|row| row.roles.contains(&SLOWEST)).collect();
    assert_eq!(slow.iter().map(|row| row.step.step.unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(slow.iter().all(|row| row.is_warmup));
    // With three, what comes after them is kept too.
    let summary = summarise(traces.iter().skip(6));
    let slow: Vec<_> = summary.exemplars.iter().filter(|row| row.roles.contains(&SLOWEST)).collect();
    assert_eq!((slow.len(), slow.iter().any(|row| row.is_warmup)), (4, false));
    assert!(summary.exemplars[0].is_warmup);
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
fn long_names_cost_spans() {
    let name = "x".repeat(10_000);
    let summary = summarise(&[wide(400, &name)]);
    let example = &summary.exemplars[0];
    // Names are cut at 256 bytes.
    let bytes: usize = example.spans.iter().map(|span| span.name.len() + 96).sum();
    assert!(
        bytes <= EXAMPLE_BYTES && example.spans.len() > 80,
        "{} spans, {bytes} bytes",
        example.spans.len()
    );
}

#[test]
fn steps_that_are_not_whole_are_no_examples() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).figure(Figure::TraceSpans, 3);
    assert_eq!(summarise(&[build.trace()]).exemplars, []);
}

#[test]
fn kept_steps_survive_bytes_and_a_step_in_a_span_is_one_too() {
    let mut build = Build::new(3);
    build.span(0, "fit", 0, 1_000);
    build.span(1, "inner", 100, 900).kind(SectionKind::Step).figure(Figure::Step, 1);
    let traces = [threaded(), build.foreign().trace()];
    let partial = fold(&traces);
    let bytes = partial.to_bytes().unwrap();
    let back = stepscope_analyze::Partial::from_bytes(&bytes, *partial.config()).unwrap();
    assert_eq!(back.finish(None).exemplars, partial.finish(None).exemplars);
    let names: Vec<&str> =
        partial.finish(None).exemplars.iter().map(|row| row.spans[0].name.clone().leak() as &str).collect();
    assert_eq!(names, ["inner", "step"]);
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

#[test]
fn a_suspended_span_says_when_it_ran() {
    let mut build = Build::new(1);
    build.step(0, 1_000, 2_000).thread(1);
    build.span(1, "fetch", 1_100, 1_900).thread(1).figure(Figure::IdleNs, 500);
    build.polls(&[(1_100, 1_200, 1, 1), (1_500, 1_650, 2, 3)]);
    build.span(1, "forward", 1_900, 2_000).thread(1);
    let many: Vec<_> = (0..65).map(|number| (1_910 + number, 1_911 + number, 1, 1)).collect();
    build.span(1, "stream", 1_900, 2_000).thread(1);
    build.polls(&many);
    let summary = summarise(&[build.trace()]);
    let running: Vec<_> = summary.exemplars[0]
        .spans
        .iter()
        .map(|span| span.running.iter().map(|run| (run.offset_ns, run.duration_ns)).collect::<Vec<_>>())
        .collect();
    // Of more intervals than anybody writes nothing is said.
    assert_eq!(running, [vec![], vec![(100, 100), (500, 150)], vec![], vec![]]);
}
