//! Runs of which few steps were read with their sections: what the processes' own sums of the same sections tell is
//! preferred, where they are complete and can tell it.

use stepscope_analyze::loaders::{InputShare, InputVerdict, Thresholds};
use stepscope_analyze::report::{Overview, Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::FigureSource;
use stepscope_analyze::{Partial, Summary};
use stepscope_core::{SectionKind, metric};
use stepscope_model::{Figure, MetricPoint, SectionValue, Trace};

use crate::build::{Build, fold, process};

/// Steps of the run.
const STEPS: u64 = 1_000;

/// A step of 100 ns, most of it a wait: of that kind are the steps that are left. `thread` is the one of the wait.
fn slow_step(number: u64, thread: i64) -> Trace {
    let start = number * 1_000;
    let mut build = Build::of(number, &process(0));
    build.step(number as i64, start, start + 100).thread(1).figure(Figure::TraceSpans, 3);
    build.span(1, "data_wait", start, start + 80).thread(thread);
    build.span(1, "forward", start + 80, start + 100).thread(1);
    build.trace()
}

fn end() -> Trace {
    let mut build = Build::of(1 << 40, &process(0));
    build.span(0, "run", 0, 1 << 40).kind(SectionKind::Run);
    build.trace()
}

fn send(partial: &mut Partial, (path, phase, kind): (&str, &str, &str), count: u64, total_ns: u64) {
    let mut point = |name: &'static str, value: u64| {
        let value = SectionValue::Integer(name, value as i64);
        let (path, phase, kind) = (path.into(), phase.into(), kind.into());
        partial.metric(&process(0), 0, 9, &MetricPoint::Section { path, phase, kind, value });
    };
    point(metric::SECTION_COUNT, count);
    point(metric::SECTION_TOTAL, total_ns);
    point(metric::SECTION_MIN, 1);
    point(metric::SECTION_MAX, 100);
    point(metric::SECTION_SELF_BUSY, total_ns);
}

/// By the sums a step takes 50 ns: a wait of 5 ns, a read of 10 ns with a wait of 4 ns inside, 25 ns forward.
fn sums(partial: &mut Partial) {
    send(partial, ("step", "", "step"), STEPS, STEPS * 50);
    send(partial, ("step/data_wait", "data_wait", ""), STEPS, STEPS * 5);
    send(partial, ("step/forward", "forward", ""), STEPS, STEPS * 25);
    send(partial, ("step/forward/linear", "", ""), STEPS, STEPS * 20);
    send(partial, ("step/read", "data_loading", ""), STEPS, STEPS * 10);
    send(partial, ("step/read/data_wait", "data_wait", ""), STEPS, STEPS * 4);
    send(partial, ("save", "checkpoint", ""), 40, 4_000);
    // Of another mode: nothing that training waits for.
    send(partial, ("validate", "evaluation", ""), 10, 90_000);
    send(partial, ("validate/data_wait", "data_wait", ""), 10, 70_000);
}

fn run(read: u64, thread: i64, has_ended: bool) -> Summary {
    let mut traces: Vec<Trace> = (0..read).map(|number| slow_step(number, thread)).collect();
    traces.extend(has_ended.then(end));
    let mut partial = fold(&traces);
    sums(&mut partial);
    partial.finish(None)
}

fn overview(summary: &Summary) -> Overview {
    build(summary, Reading::default(), &Config::default()).summary
}

#[test]
fn a_run_of_which_few_steps_are_left_is_judged_by_its_sums() {
    let summary = run(60, 1, true);
    let input = InputShare::of(summary.input, &Thresholds::default());
    assert_eq!((input.source, input.verdict), (FigureSource::Aggregates, InputVerdict::High));
    // 5 ns, and 10 ns of which 4 are not counted twice.
    assert_eq!((input.in_steps_ns, input.steps_ns, input.steps), (15_000, 50_000, STEPS));
    assert_eq!(input.between_ns, 0);
    let found = overview(&summary);
    let expected = [
        (Some("forward"), 25_000),
        (Some("data_wait"), 9_000),
        (Some("data_loading"), 6_000),
        (None, 10_000),
    ];
    let rows: Vec<(Option<&str>, u64)> = found
        .phase_sums
        .iter()
        .map(|row| (row.phase.as_ref().map(|phase| phase.as_str()), row.total_ns))
        .collect();
    assert_eq!(rows, expected);
    assert!(
        found.verdict.contains("30 % of the step time is input, 18 % waiting for batches, by the sums"),
        "{}",
        found.verdict
    );
}

#[test]
fn spans_tell_where_sums_cannot() {
    let by_spans = |summary: Summary| {
        assert_eq!(summary.input.source, FigureSource::Spans);
        assert!(overview(&summary).phase_sums.is_empty());
    };
    // Nearly all steps were read.
    by_spans(run(900, 1, true));
    // The last sums were not sent.
    by_spans(run(60, 1, false));
    // The waits ran on a thread that the step did not wait for.
    by_spans(run(60, 2, true));
    // The sums do not know a section that was read.
    let mut odd = Build::of(70, &process(0));
    odd.step(70, 70_000, 70_100).thread(1).figure(Figure::TraceSpans, 2);
    odd.span(1, "odd", 70_000, 70_010).thread(1);
    let mut traces: Vec<Trace> = (0..60).map(|number| slow_step(number, 1)).collect();
    traces.extend([odd.trace(), end()]);
    let mut partial = fold(&traces);
    sums(&mut partial);
    by_spans(partial.finish(None));
}
