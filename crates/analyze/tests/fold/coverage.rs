//! How much of a run was read, and why not more: recorded at `basic`, thinned, sampled on the way, lost.

use std::sync::Arc;

use stepscope_analyze::report::{Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{Coverage, Shortfall};
use stepscope_analyze::{Partial, Summary};
use stepscope_core::{LossReason, SectionKind, metric};
use stepscope_model::{Figure, MetricPoint, Resource, SectionValue, Trace};

use crate::build::{Build, fold, process};

/// Spans of a whole step: its root, a wait, a forward pass.
const SPANS: u64 = 3;

/// Step `number`, half of it a wait. `dropped` of its spans are not there, and its root says so.
fn step(number: u64, resource: &Arc<Resource>, dropped: u64) -> Trace {
    let start = number * 1_000;
    let mut build = Build::of(number, resource);
    build
        .step(number as i64, start, start + 100)
        .thread(1)
        .figure(Figure::TraceSpans, (SPANS - dropped) as i64)
        .figure(Figure::TraceDropped, dropped as i64);
    if dropped < 2 {
        build.span(1, "forward", start + 50, start + 100).thread(1);
    }
    if dropped < 1 {
        build.span(1, "data_wait", start, start + 50).thread(1);
    }
    build.trace()
}

/// The run span, without which a run has not ended.
fn end(resource: &Arc<Resource>) -> Trace {
    let mut build = Build::of(1 << 40, resource);
    build.span(0, "run", 0, 1 << 40).kind(SectionKind::Run);
    build.trace()
}

/// The process's own counts of a run of `steps` steps and its run span.
fn counts(partial: &mut Partial, resource: &Arc<Resource>, steps: u64) {
    let mut section = |name: &'static str, value: u64| {
        let value = SectionValue::Integer(name, value as i64);
        let (path, phase, kind) = ("step".into(), String::new(), "step".into());
        partial.metric(resource, 0, 9, &MetricPoint::Section { path, phase, kind, value });
    };
    section(metric::SECTION_COUNT, steps);
    section(metric::SECTION_TOTAL, steps * 100);
    section(metric::SECTION_MIN, 100);
    section(metric::SECTION_MAX, 100);
    partial.metric(resource, 0, 9, &MetricPoint::SpansEmitted(steps * SPANS + 1));
}

fn exported(partial: &mut Partial, resource: &Arc<Resource>, sink: &str, count: u64) {
    partial.metric(resource, 0, 9, &MetricPoint::SpansExported { sink: sink.into(), count });
}

fn dropped(partial: &mut Partial, resource: &Arc<Resource>, sink: &str, reason: LossReason, count: u64) {
    let point = MetricPoint::SpansDropped { sink: sink.into(), reason: Some(reason), count };
    partial.metric(resource, 0, 9, &point);
}

/// A run of 100 steps of which these were read, with what its process counted beside.
fn run(read: impl Iterator<Item = (u64, u64)>, beside: impl FnOnce(&mut Partial, &Arc<Resource>)) -> Summary {
    let resource = process(0);
    let mut traces: Vec<Trace> = read.map(|(number, dropped)| step(number, &resource, dropped)).collect();
    traces.push(end(&resource));
    let mut partial = fold(&traces);
    counts(&mut partial, &resource, 100);
    beside(&mut partial, &resource);
    partial.finish(None)
}

fn all() -> impl Iterator<Item = (u64, u64)> {
    (0..100).map(|number| (number, 0))
}

fn notes(summary: &Summary) -> Vec<String> {
    let report = build(summary, Reading::default(), &Config::default());
    report.notes.into_iter().map(|note| note.text).collect()
}

/// Title and severity of what is said to be lost.
fn lost(summary: &Summary) -> Option<(String, f64)> {
    let report = build(summary, Reading::default(), &Config::default());
    let found = report.findings.into_iter().find(|found| found.rule == "spans_lost");
    found.map(|found| (found.title, found.severity))
}

fn verdict(summary: &Summary) -> String {
    build(summary, Reading::default(), &Config::default()).summary.verdict
}

#[test]
fn a_whole_run_has_nothing_to_note() {
    let summary = run(all(), |_, _| {});
    let whole = Coverage {
        recorded_steps: Some(100),
        read_steps: 100,
        whole_steps: 100,
        unread_because: None,
        parts_because: None,
    };
    assert_eq!((summary.coverage, summary.losses.absent), (whole, Some(0)));
    assert_eq!((notes(&summary), lost(&summary)), (vec![], None));
}

#[test]
fn thinned_steps_are_told_with_the_bound_to_raise() {
    let thin = |number: u64| if number < 30 || number.is_multiple_of(20) { 0 } else { 2 };
    let thinned = (0..100).map(thin).sum::<u64>();
    let summary = run((0..100).map(|number| (number, thin(number))), |partial, resource| {
        dropped(partial, resource, "directory", LossReason::Thinned, thinned);
        exported(partial, resource, "directory", 301 - thinned);
    });
    assert_eq!(summary.coverage.partly_read(), None);
    // 30 first ones, then 40, 60 and 80.
    assert_eq!(summary.coverage.partly_whole(), Some((33, 100)));
    assert_eq!(summary.coverage.parts_because, Some(Shortfall::Lost(LossReason::Thinned)));
    assert_eq!((summary.losses.absent, summary.lost_spans()), (Some(thinned), 0));
    assert_eq!(lost(&summary), None);
    let [note] = notes(&summary).try_into().unwrap();
    assert!(note.starts_with("33 of 100 steps were read with all their sections"), "{note}");
    assert!(note.contains("raise the directory's bound (STEPSCOPE_DIR_BYTES)"), "{note}");
    // Nothing but roots: not a matter of the level.
    let roots = run((0..100).map(|number| (number, 2)), |partial, resource| {
        dropped(partial, resource, "directory", LossReason::Thinned, 200);
    });
    assert!(
        verdict(&roots).ends_with("raise the directory's bound (STEPSCOPE_DIR_BYTES)."),
        "{}",
        verdict(&roots)
    );
    assert!(!verdict(&roots).contains("detailed"));
}

#[test]
fn what_came_through_the_collector_lacks_what_it_lost() {
    let summary = run(all().take(50), |partial, resource| {
        exported(partial, resource, "directory", 301);
        exported(partial, resource, "otlp", 151);
        dropped(partial, resource, "otlp", LossReason::ExportFailed, 150);
    });
    assert_eq!((summary.losses.absent, summary.lost_spans()), (Some(150), 150));
    assert_eq!(summary.coverage.unread_because, Some(Shortfall::Lost(LossReason::ExportFailed)));
    assert_eq!(lost(&summary), Some(("150 spans were lost (50 % of those recorded).".into(), 50.0)));
}

#[test]
fn what_a_killed_process_counted_as_lost_is_lost() {
    let resource = process(0);
    let mut partial = fold(&(0..100).map(|number| step(number, &resource, 0)).collect::<Vec<_>>());
    // Its last sums are behind its spans.
    counts(&mut partial, &resource, 50);
    exported(&mut partial, &resource, "directory", 140);
    dropped(&mut partial, &resource, "", LossReason::RingFull, 7);
    dropped(&mut partial, &resource, "directory", LossReason::WriteFailed, 4);
    let alone = partial.finish(None);
    assert_eq!((alone.losses.absent, alone.lost_spans()), (Some(11), 11));
    assert_eq!(alone.coverage.partly_read(), None);
    exported(&mut partial, &resource, "otlp", 151);
    let beside = partial.finish(None);
    assert_eq!((beside.losses.absent, beside.lost_spans()), (Some(7), 7));
}

#[test]
fn a_step_that_goes_on_in_traces_that_are_not_there_is_not_whole() {
    let resource = process(0);
    let goes_on = |number: u64, parts: i64| {
        let mut trace = step(number, &resource, 0);
        trace.spans.iter_mut().take(1).for_each(|root| root.set_figure(Figure::TraceParts, parts));
        trace
    };
    let whole = |parts: i64| fold(&[goes_on(0, 0), goes_on(1, parts)]).finish(None).coverage.whole_steps;
    assert_eq!((whole(0), whole(2)), (2, 1));
}
