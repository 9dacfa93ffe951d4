//! Which run, how far it came, what was lost.

use std::sync::Arc;

use stepscope_analyze::summary::LossRow;
use stepscope_core::{LossReason, SectionKind};
use stepscope_model::{Figure, MetricPoint, Resource};

use crate::build::{Build, bare_step, fold, process, summarise};

fn run(id: &str, attempt: i64) -> Arc<Resource> {
    Arc::new(Resource { run_id: id.into(), attempt: Some(attempt), ..Resource::default() })
}

fn step_of(resource: &Arc<Resource>, start_ns: u64) -> stepscope_model::Trace {
    let mut build = Build::of(start_ns, resource);
    build.step(1, start_ns, start_ns + 10);
    build.trace()
}

#[test]
fn the_run_that_started_last_is_chosen_and_the_others_are_listed() {
    let traces = [step_of(&run("b", 0), 500), step_of(&run("a", 0), 900), step_of(&run("a", 1), 1_000)];
    let partial = fold(&traces);
    let summary = partial.finish(None);
    assert_eq!((summary.run.id.as_str(), summary.run.attempt), ("a", 1));
    let others: Vec<_> = summary
        .other_runs
        .iter()
        .map(|other| (other.run.id.as_str(), other.run.attempt, other.steps))
        .collect();
    assert_eq!(others, [("a", 0, 1), ("b", 0, 1)]);
    assert_eq!(partial.finish(Some("b")).run.id, "b");
    for (name, chosen) in [("a", ("a", 1)), ("a/0", ("a", 0)), ("a/1", ("a", 1)), ("b/0", ("b", 0))] {
        let run = partial.finish(Some(name)).run;
        assert_eq!((run.id.as_str(), run.attempt), chosen, "{name}");
        assert_eq!(partial.finish(Some(name)).other_runs.len(), 2);
    }
    for name in ["a/2", "a/", "/0", "a/x", "a/0/0"] {
        assert!(!partial.finish(Some(name)).found, "{name}");
    }
    let whole = fold(&[step_of(&run("a", 0), 1), step_of(&run("a/0", 7), 2)]);
    assert_eq!(whole.finish(Some("a/0")).run.attempt, 7, "an id may hold a slash");
    let missing = partial.finish(Some("c"));
    assert!(!missing.found);
    assert_eq!(missing.other_runs.len(), 3);
    assert!(!fold([]).finish(None).found);
}

#[test]
fn a_program_without_steps_or_name_is_not_chosen_before_one_that_does_them() {
    let service = |name: &str| Arc::new(Resource { service_name: name.into(), ..Resource::default() });
    let (trainer, query, unnamed) = (service("trainer"), service("query"), service(""));
    let of = |resource: &Arc<Resource>, steps: u64, start_ns: u64| -> Vec<_> {
        let step = |number: u64| step_of(resource, start_ns + 100 * number);
        (0..steps).map(step).collect()
    };
    let without = |start_ns| {
        let mut build = Build::of(start_ns, &query);
        build.span(0, "request", start_ns, start_ns + 10);
        build.trace()
    };
    // Long after the last step.
    let traces = [of(&trainer, 3, 1_000), vec![without(9_000)]].concat();
    assert_eq!(fold(&traces).finish(None).run.id, "trainer");
    // What lost its name is chosen only where it holds most of what was done.
    let traces = [of(&trainer, 3, 1_000), of(&unnamed, 1, 9_000)].concat();
    assert_eq!(fold(&traces).finish(None).run.id, "trainer");
    let traces = [of(&trainer, 3, 1_000), of(&unnamed, 4, 9_000)].concat();
    assert_eq!(fold(&traces).finish(None).run.id, "");
    // A later experiment is chosen though it is shorter.
    let traces = [of(&trainer, 3, 1_000), of(&query, 1, 9_000)].concat();
    assert_eq!(fold(&traces).finish(None).run.id, "query");
}

#[test]
fn markers_say_how_far_the_run_came() {
    let mut start = Build::new(1);
    start.span(0, "run.started", 100, 100).kind(SectionKind::Run);
    let mut epoch = Build::new(2);
    epoch.span(0, "epoch.started", 110, 110).kind(SectionKind::Epoch);
    let mut second = Build::new(3);
    second.span(0, "epoch", 110, 400).kind(SectionKind::Epoch);
    let mut traces = vec![start.trace(), epoch.trace(), second.trace(), bare_step(4, 0, 120, 200)];
    let summary = summarise(&traces);
    let state = &summary.state;
    assert_eq!((state.started, state.ended, state.is_ended()), (1, 0, Some(false)));
    assert_eq!((state.epochs_started, state.epochs_ended), (1, 1));
    assert_eq!((state.first_ns, state.last_ns, state.traces, state.spans), (Some(100), Some(400), 4, 4));
    assert!(summary.section("run.started").is_none());
    assert_eq!(summary.section("epoch").unwrap().stats.total, 290);
    let mut end = Build::new(5);
    end.span(0, "run", 100, 500).kind(SectionKind::Run);
    traces.push(end.trace());
    assert_eq!(summarise(&traces).state.is_ended(), Some(true));
}

#[test]
fn missing_spans_are_counted() {
    let mut build = Build::new(1);
    build.step(0, 0, 10).figure(Figure::TraceSpans, 5).figure(Figure::TraceDropped, 2);
    build.span(1, "a", 0, 5);
    let state = summarise(&[build.incomplete().trace()]).state;
    assert_eq!((state.missing_spans, state.dropped_spans, state.incomplete_traces), (3, 2, 1));
}

#[test]
fn of_losses_the_latest_count_of_each_process_is_summed() {
    let dropped = |count, reason| MetricPoint::SpansDropped { sink: "otlp".into(), reason, count };
    let exported = |count| MetricPoint::SpansExported { sink: "directory".into(), count };
    let mut partial = fold([&bare_step(1, 0, 0, 10)]);
    for (rank, time, point) in [
        (0, 20, dropped(7, Some(LossReason::RingFull))),
        (0, 10, dropped(5, Some(LossReason::RingFull))),
        (1, 5, dropped(1, Some(LossReason::RingFull))),
        (1, 5, dropped(0, Some(LossReason::Forked))),
        (1, 5, dropped(4, None)),
        (0, 20, exported(100)),
        (0, 20, MetricPoint::SpansEmitted(107)),
        (0, 20, MetricPoint::RssBytes(50)),
        (0, 10, MetricPoint::RssBytes(90)),
    ] {
        partial.metric(&process(rank), 0, time, &point);
    }
    let summary = partial.finish(None);
    assert_eq!((summary.losses.emitted, summary.losses.dropped_total()), (Some(107), 12));
    assert_eq!(summary.losses.exported, [("directory".to_owned(), 100)]);
    let row = |reason, spans| LossRow { sink: "otlp".into(), reason, spans, is_missing_here: true };
    assert_eq!(summary.losses.dropped, [row(None, 4), row(Some(LossReason::RingFull), 8)]);
    let memory = &summary.memory.processes[0];
    assert_eq!(
        (memory.rss_last_bytes, memory.rss_max_bytes, memory.live_last_bytes),
        (Some(50), Some(90), None)
    );
}
