//! Runs of which few steps were read with their sections: what the processes' own sums of the same sections tell is
//! preferred, where they are complete and can tell it.

use stepscope_analyze::loaders::{InputShare, InputVerdict, Thresholds};
use stepscope_analyze::report::{Overview, Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{FigureSource, Limit};
use stepscope_analyze::{Partial, Summary};
use stepscope_core::{LossReason, SectionKind, metric};
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
fn few_steps_left_are_enough_where_the_sums_count_many() {
    let summary = run(5, 1, true);
    assert_eq!(InputShare::of(summary.input, &Thresholds::default()).verdict, InputVerdict::High);
    let report = build(&summary, Reading::default(), &Config::default());
    let found = report.findings.iter().find(|found| found.rule == "input_bound").unwrap();
    // What the five show of the wait is not typical, and the finding says what it rests on.
    let evidence = serde_json::to_value(&found.evidence).unwrap();
    assert_eq!(evidence["waiting_per_step_ns"], 15);
    assert!(
        found.recommendation.contains("sums over 1,000 steps")
            && found.recommendation.contains("only 5 of them")
    );
    // Where single steps are looked at, five are five.
    for rule in ["step_jitter", "memory_growth"] {
        let state = report.detailed_metrics.rules.iter().find(|row| row.rule == rule).unwrap();
        assert!(state.because.as_ref().unwrap().starts_with("5 steps after warm-up"), "{state:?}");
    }
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

#[test]
fn sums_that_were_not_all_sent_tell_nothing_of_steps() {
    let with_left_out = |paths| {
        let mut traces: Vec<Trace> = (0..60).map(|number| slow_step(number, 1)).collect();
        traces.push(end());
        let mut partial = fold(&traces);
        sums(&mut partial);
        partial.metric(&process(0), 0, 9, &MetricPoint::SectionsLeftOut(paths));
        partial.finish(None)
    };
    let all = with_left_out(0);
    assert_eq!((all.input.source, all.limits), (FigureSource::Aggregates, vec![]));
    let some = with_left_out(3);
    assert_eq!((some.input.source, some.limits), (FigureSource::Spans, vec![Limit::AggregatesLeftOut]));
}

/// Memory of a run of 1,000 steps that keeps 2,000 bytes a step, of which `read` were read, spread over all.
fn leaking(read: u64) -> Summary {
    let mut traces: Vec<Trace> = (0..read)
        .map(|at| {
            let number = at * (STEPS / read);
            let mut build = Build::of(number, &process(0));
            let step = build.step(number as i64, number * 1_000, number * 1_000 + 100).thread(1);
            step.figure(Figure::LiveBytes, (number * 2_000) as i64);
            build.trace()
        })
        .collect();
    traces.push(end());
    let mut partial = fold(&traces);
    sums(&mut partial);
    partial.metric(&process(0), 0, 9, &MetricPoint::SpansEmitted(STEPS + 1));
    let (sink, reason) = ("directory".into(), Some(LossReason::SizeBound));
    partial.metric(&process(0), 0, 9, &MetricPoint::SpansDropped { sink, reason, count: STEPS - read });
    partial.finish(None)
}

#[test]
fn steps_that_stand_for_many_others_show_what_memory_does() {
    let report = |read| build(&leaking(read), Reading::default(), &Config::default());
    let leaks = report(40).leaks;
    assert_eq!(leaks.iter().map(|leak| leak.bytes_per_step).collect::<Vec<_>>(), [2_000.0]);
    // Too few of them are none, and the reason is named.
    let few = report(25);
    assert_eq!(few.leaks.len(), 0);
    let state = few.detailed_metrics.rules.iter().find(|row| row.rule == "memory_growth").unwrap();
    let because = state.because.as_ref().unwrap();
    assert!(because.contains("25 of 1,000 steps were read, as the directory's bound"), "{because}");
    assert!(because.contains("STEPSCOPE_DIR_BYTES"), "{because}");
}
