//! What spans, resources and metrics mean to the model: kinds, aliases, completeness, runs that did not end.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use common::*;
use stepscope_core::histogram::bucket;
use stepscope_core::{LossReason, Mode, Phase, SCOPE_NAME, SectionKind, Signal, attr, metric};
use stepscope_model::{Completeness, Figure, IssueKind, MetricPoint, PhaseTag, Reader, SectionValue, Trace};

fn one(
    scope: &str,
    resource: Vec<(String, Attr)>,
    spans: Vec<GenSpan>,
) -> (Collected, Vec<(IssueKind, u64)>) {
    let message = GenMessage { resource, scope: scope.into(), spans };
    let (collected, outcome) = read(&otlp::prefixed(std::slice::from_ref(&message)));
    let (by_lines, _) = read(&otlp::lines(&[message]));
    assert_eq!(by_lines.traces, collected.traces);
    (collected, kinds(&outcome))
}

fn with(mut span: GenSpan, attributes: Vec<(String, Attr)>) -> GenSpan {
    span.attributes = attributes;
    span
}

fn only(collected: &Collected) -> &Trace {
    assert_eq!(collected.traces.len(), 1);
    collected.last.as_ref().unwrap()
}

#[test]
fn a_span_that_left_under_another_name_is_of_the_section_that_it_began_as() {
    let spans = vec![
        with(span([1; 16], 1, 0, "GET /1", 0, 10), vec![text(attr::SECTION_NAME, "request")]),
        with(span([1; 16], 2, 1, "inner", 1, 5), vec![text(attr::SECTION_NAME, "")]),
        with(span([1; 16], 3, 1, "last", 6, 7), vec![int(attr::SECTION_NAME, 1)]),
    ];
    let (collected, _) = one(SCOPE_NAME, resource(0), spans);
    let trace = only(&collected);
    let names: Vec<&str> = trace.spans.iter().map(|span| trace.text(span.name)).collect();
    assert_eq!(names, ["request", "inner", "last"]);
}

#[test]
fn step_numbers_that_are_none_are_told_and_the_spans_stay() {
    let (most, beyond) = (i64::MAX.to_string(), "9223372036854775808");
    for (written, kept, said) in [
        // As loops write it that check the model before they train.
        (Attr::Int(-1), None, Some("step number -1 of span \"train\" is none")),
        (Attr::Int(i64::MIN), None, Some("step number -9223372036854775808 ")),
        (Attr::Str("-7".into()), None, Some("step number -7 ")),
        (Attr::Str(beyond.into()), None, Some("step number 9223372036854775808 ")),
        (Attr::Double(1e19), None, Some("step number 1e19 ")),
        (Attr::Double(-2.0), None, Some("step number -2 ")),
        (Attr::Int(0), Some(0), None),
        (Attr::Str(most), Some(i64::MAX), None),
    ] {
        for (scope, key) in [(SCOPE_NAME, attr::STEP), ("torch", "step"), ("torch", attr::STEP)] {
            let mut attributes = vec![(key.to_owned(), written.clone()), int("epoch", 2)];
            if scope == SCOPE_NAME {
                attributes.push(text(attr::SECTION_KIND, "step"));
            }
            let steps =
                [with(span([1; 16], 1, 0, "train", 0, 10), attributes), span([1; 16], 2, 1, "forward", 1, 5)];
            let message = GenMessage { resource: resource(0), scope: scope.into(), spans: steps.to_vec() };
            for bytes in [otlp::prefixed(std::slice::from_ref(&message)), otlp::lines(&[message])] {
                let (collected, outcome) = read(&bytes);
                let root = &only(&collected).spans[0];
                assert_eq!(
                    (root.figure(Figure::Step), root.figure(Figure::Epoch)),
                    (kept, Some(2)),
                    "{written:?}"
                );
                assert_eq!(root.kind, SectionKind::Step, "{written:?}");
                let issues = outcome.issues.iter().filter(|issue| issue.kind == IssueKind::BadStep);
                let issues: Vec<_> = issues.collect();
                assert_eq!(issues.len(), usize::from(said.is_some()), "{written:?}: {:?}", outcome.issues);
                if let Some((issue, said)) = issues.first().zip(said) {
                    assert!(issue.reason.contains(said), "{}", issue.reason);
                    assert!(issue.reason.ends_with("the span counts without a number"), "{}", issue.reason);
                    assert_eq!((issue.count, issue.offset), (1, Some(0)));
                }
            }
        }
    }
    // What is no number of its own key takes nothing from the name beside it; what is no number at all is another thing.
    for (attributes, kept) in [
        (vec![int(attr::STEP, 5), text("step", beyond)], Some(5)),
        (vec![text("step", "warmup")], None),
        (vec![("step".to_owned(), Attr::Double(0.5))], None),
    ] {
        let (collected, issues) =
            one("torch", resource(0), vec![with(span([1; 16], 1, 0, "train", 0, 10), attributes)]);
        assert_eq!((only(&collected).spans[0].figure(Figure::Step), issues), (kept, vec![]));
    }
}

#[test]
fn foreign_names_and_spellings_of_figures_are_understood() {
    let attributes = vec![
        int("dl.iteration", 41),
        text("epoch", "3"),
        ("batch_size".into(), Attr::Double(32.0)),
        ("tokens".into(), Attr::Double(0.5)),
        int("busy_ns", 7),
        int("stepscope.busy_ns", 8),
        text("flops", "many"),
        int("http.status_code", 200),
        ("dl.loss".into(), Attr::Double(1.5)),
        text("stepscope.value.accuracy", "0.75"),
    ];
    let foreign = with(span([1; 16], 1, 0, "train", 0, 10), attributes);
    let resource =
        vec![text("mlflow.run_id", "r1"), int("nv.dl.rank", 2), text("telemetry.sdk.name", "otel")];
    let (collected, issues) = one("torch", resource, vec![foreign]);
    assert_eq!(issues, []);
    let trace = only(&collected);
    let root = &trace.spans[0];
    assert_eq!(root.figure(Figure::Step), Some(41));
    assert_eq!(root.figure(Figure::Epoch), Some(3));
    assert_eq!(root.figure(Figure::Samples), Some(32));
    assert_eq!(root.figure(Figure::Tokens), None);
    assert_eq!(root.figure(Figure::BusyNs), Some(8));
    assert_eq!(root.figure(Figure::Flops), None);
    let values: Vec<(&str, f64)> = trace.values.iter().map(|v| (trace.text(v.name), v.value)).collect();
    assert_eq!(values, [("loss", 1.5), ("accuracy", 0.75)]);
    assert_eq!((trace.resource.run_id.as_str(), trace.resource.rank), ("r1", Some(2)));
    assert!(!trace.is_ours);
    assert_eq!(trace.completeness, Completeness::Complete);
}

#[test]
fn the_outermost_foreign_span_with_a_step_number_is_the_step() {
    let trace = [2; 16];
    let step =
        |id, parent, start| with(span(trace, id, parent, "s", start, 100 - start), vec![int("step", 5)]);
    let plain = span(trace, 2, 1, "plain", 5, 95);
    let (collected, _) =
        one("other", resource(0), vec![step(1, 0, 0), plain, step(3, 2, 10), step(4, 3, 20)]);
    let kinds: Vec<SectionKind> = only(&collected).spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [SectionKind::Step, SectionKind::Section, SectionKind::Section, SectionKind::Section]);
    // Ours says itself what is a step.
    let ours = with(span([3; 16], 1, 0, "s", 0, 9), vec![int("step", 5)]);
    let (collected, _) = one(SCOPE_NAME, resource(0), vec![ours]);
    assert_eq!(only(&collected).spans[0].kind, SectionKind::Section);
    assert!(only(&collected).is_ours);
}

#[test]
fn text_attributes_are_typed() {
    let attributes = vec![
        text(attr::SECTION_KIND, "step"),
        text(attr::MODE, "eval"),
        text(attr::PHASE, "evaluation"),
        text(attr::PARENT_PATH, "step/forward"),
        text(attr::THREAD_NAME, "worker"),
        int(attr::TRACE_SPANS, 2),
    ];
    let trace = ids(0).trace_id(0, Some(0));
    let root = with(span(trace, 1, 0, "step", 0, 10), attributes);
    let child = with(span(trace, 2, 1, "x", 1, 2), vec![text(attr::PHASE, "warp")]);
    let (collected, _) = one(SCOPE_NAME, resource(0), vec![root, child]);
    let trace = only(&collected);
    let (root, child) = (&trace.spans[0], &trace.spans[1]);
    assert_eq!(
        (root.kind, root.mode, root.phase),
        (SectionKind::Step, Mode::Eval, PhaseTag::Known(Phase::Evaluation))
    );
    assert_eq!((trace.text(root.parent_path), trace.text(root.thread_name)), ("step/forward", "worker"));
    assert!(matches!(child.phase, PhaseTag::Custom(custom) if trace.text(custom) == "warp"));
    assert_eq!(child.mode, Mode::Train);
    assert!(child.parent_path.is_empty());
}

#[test]
fn our_traces_are_delivered_as_soon_as_they_are_whole() {
    let trace = ids(0).trace_id(5, Some(5));
    let root = with(span(trace, 1, 0, "step", 0, 10), vec![int(attr::TRACE_SPANS, 3)]);
    let children = [span(trace, 2, 1, "a", 1, 2), span(trace, 3, 1, "b", 3, 4)];
    // The root in every position.
    for position in 0..3 {
        let mut spans = children.to_vec();
        spans.insert(position, root.clone());
        let mut collected = Collected::default();
        let mut reader = Reader::default();
        for (index, made) in spans.into_iter().enumerate() {
            assert!(collected.traces.is_empty());
            // Each in a message of its own, and the first one twice.
            for _ in 0..if index == 0 { 2 } else { 1 } {
                let message =
                    GenMessage { resource: resource(0), scope: SCOPE_NAME.into(), spans: vec![made.clone()] };
                let name = format!("file{index}");
                reader.read_stream(&name, otlp::prefixed(&[message]).as_slice(), &mut collected).unwrap();
            }
        }
        assert_eq!(collected.traces.len(), 1, "{position}");
        let outcome = reader.finish(&mut collected);
        assert_eq!((outcome.traces, outcome.spans, outcome.duplicate_spans), (1, 3, 1));
        // Trace-level issues name the first file that had a part of it.
        assert_eq!(
            (kinds(&outcome), outcome.issues[0].file.as_str()),
            (vec![(IssueKind::DuplicateSpan, 1)], "file0")
        );
    }
}

#[test]
fn a_run_that_never_ended_is_delivered_incomplete_without_complaint() {
    let trace = ids(0).trace_id(0, None);
    let marker = |id, name, kind, start| {
        with(span(trace, id, 77, name, start, start), vec![text(attr::SECTION_KIND, kind)])
    };
    let hours = 5 * 3_600_000_000_000;
    let spans = vec![marker(1, "run.started", "run", 0), marker(2, "epoch.started", "epoch", hours)];
    let (collected, issues) = one(SCOPE_NAME, resource(0), spans.clone());
    assert_eq!(issues, []);
    assert_eq!(only(&collected).completeness, Completeness::Incomplete);
    // Ended, it is complete, although its parts lie hours apart.
    let mut ended = spans;
    ended.push(with(
        span(trace, 77, 0, "run", 0, 2 * hours),
        vec![text(attr::SECTION_KIND, "run"), int(attr::TRACE_SPANS, 3)],
    ));
    let (collected, issues) = one(SCOPE_NAME, resource(0), ended);
    assert_eq!(issues, []);
    assert_eq!(only(&collected).completeness, Completeness::Complete);
    // Anything else without its root is a loss.
    let (_, issues) = one(SCOPE_NAME, resource(0), vec![span(trace, 9, 77, "forward", 0, 1)]);
    assert_eq!(issues, [(IssueKind::IncompleteTrace, 1)]);
}

#[test]
fn foreign_traces_are_complete_with_a_root_only() {
    let rooted = vec![span([1; 16], 1, 0, "a", 0, 9), span([1; 16], 2, 1, "b", 1, 2)];
    let (collected, issues) = one("other", resource(0), rooted);
    assert_eq!((collected.incomplete.len(), issues), (0, vec![]));
    let (collected, issues) = one("other", resource(0), vec![span([1; 16], 2, 1, "b", 1, 2)]);
    assert_eq!((collected.incomplete.len(), issues), (1, vec![(IssueKind::IncompleteTrace, 1)]));
}

#[test]
fn the_resource_of_the_root_stands_for_the_trace() {
    let trace = [4; 16];
    let of = |rank, spans| GenMessage { resource: resource(rank), scope: "other".into(), spans };
    let root = of(7, vec![span(trace, 1, 0, "root", 0, 9)]);
    let (low, high) = (of(1, vec![span(trace, 2, 1, "x", 1, 2)]), of(9, vec![span(trace, 3, 1, "y", 1, 2)]));
    for order in [[&root, &low, &high], [&low, &root, &high], [&high, &low, &root]] {
        let messages: Vec<GenMessage> = order.into_iter().cloned().collect();
        let (collected, _) = read(&otlp::prefixed(&messages));
        assert_eq!(collected.resources[&trace].rank, Some(7));
    }
}

/// A message of metrics in JSON, with a section's sum, its histogram, losses and somebody else's metric.
const METRICS: &str = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"stepscope.rank","value":{"intValue":"1"}}]},
"scopeMetrics":[{"scope":{"name":"stepscope"},"metrics":[
{"name":"stepscope.section.total","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
 {"attributes":[{"key":"stepscope.path","value":{"stringValue":"step/forward"}},{"key":"stepscope.phase","value":{"stringValue":"forward"}}],
  "startTimeUnixNano":"5","timeUnixNano":"9","asInt":"1234"},
 {"attributes":[{"key":"stepscope.path","value":{"stringValue":"step"}}],"startTimeUnixNano":"5","timeUnixNano":"9","asInt":"5678"}]}},
{"name":"stepscope.section.duration","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[
 {"attributes":[{"key":"stepscope.path","value":{"stringValue":"step"}}],"startTimeUnixNano":"5","timeUnixNano":"9",
  "count":"4","scale":6,"zeroCount":"1","positive":{"offset":637,"bucketCounts":["2","0","1"]}}]}},
{"name":"stepscope.spans.dropped","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
 {"attributes":[{"key":"stepscope.loss.reason","value":{"stringValue":"ring_full"}}],"timeUnixNano":"9","asInt":"3"}]}},
{"name":"stepscope.section.left_out","gauge":{"dataPoints":[{"timeUnixNano":"9","asInt":"7"}]}},
{"name":"http.requests","sum":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"9","asInt":"3"}]}}
]}]}]}"#;

#[test]
fn points_of_our_metrics_reach_the_sink() {
    for bytes in [METRICS.to_owned(), METRICS.replace('\n', "") + "\n"] {
        let (collected, outcome) = read(bytes.as_bytes());
        assert_eq!(kinds(&outcome), []);
        assert_eq!(outcome.metric_points, 5);
        let points: Vec<&MetricPoint> = collected.points.iter().map(|point| &point.3).collect();
        let expected = MetricPoint::Section {
            path: "step/forward".into(),
            phase: "forward".into(),
            kind: String::new(),
            value: SectionValue::Integer(metric::SECTION_TOTAL, 1234),
        };
        assert_eq!(points[0], &expected);
        let MetricPoint::Section {
            path,
            phase,
            value: SectionValue::Durations { count, zeros, buckets },
            ..
        } = points[2]
        else {
            panic!("{:?}", points[2]);
        };
        assert_eq!((path.as_str(), phase.as_str(), *count, *zeros), ("step", "", 4, 1));
        // 1,000 ns falls into bucket 637.
        assert_eq!(bucket(1_000), Some(637));
        assert_eq!(*buckets, [(637, 2), (639, 1)]);
        let dropped =
            MetricPoint::SpansDropped { sink: String::new(), reason: Some(LossReason::RingFull), count: 3 };
        assert_eq!(points[3..], [&dropped, &MetricPoint::SectionsLeftOut(7)]);
        assert_eq!(
            (collected.points[0].0.rank, collected.points[0].1, collected.points[0].2),
            (Some(1), 5, 9)
        );
    }
}

#[test]
fn traces_and_metrics_in_one_file_are_both_read() {
    let messages = run(0, 5, 4, 41);
    let mut bytes = otlp::lines(&messages[..2]);
    bytes.extend((METRICS.replace('\n', "") + "\n").into_bytes());
    bytes.extend(otlp::lines(&messages[2..]));
    let (collected, outcome) = read(&bytes);
    assert_eq!(kinds(&outcome), []);
    assert!(collected.traces == expected(&messages));
    assert_eq!(collected.points.len(), 5);
}

#[test]
fn the_span_of_a_run_names_the_signal_that_ended_it() {
    let signal = |error: Option<(String, Attr)>| {
        let mut attributes = vec![text(attr::SECTION_KIND, "run")];
        attributes.extend(error);
        let run = with(span([1; 16], 1, 0, "run", 0, 10), attributes);
        let after = with(span([1; 16], 2, 1, "after", 0, 10), vec![]);
        let (collected, _) = one(SCOPE_NAME, Vec::new(), vec![run, after]);
        let trace = only(&collected);
        let of = |id: u64| trace.spans.iter().find(|span| span.id == id).unwrap().signal;
        assert_eq!(of(2), None);
        of(1)
    };
    assert_eq!(signal(Some(text(attr::ERROR_TYPE, "SIGTERM"))), Some(Signal::Terminate));
    assert_eq!(signal(Some(text(attr::ERROR_TYPE, "SIGINT"))), Some(Signal::Interrupt));
    assert_eq!(signal(Some(text(attr::ERROR_TYPE, "panic"))), None);
    assert_eq!(signal(None), None);
}

#[test]
fn thread_samples_of_a_deep_step_are_read_in_the_order_of_time_beside_its_polls() {
    let ints = |key: &str, numbers: &[i64]| (key.to_owned(), Attr::Ints(numbers.to_vec()));
    let samples = [8, 30, 1, 4096, 7, 10, 0, 0, 7, 500, 6, 0];
    let of_root = vec![
        ints(attr::THREAD_SAMPLES, &samples),
        ints(attr::POLLS, &[7, 0, 30, 1]),
        text(attr::STEP_DEEP, "true"),
        (attr::HOST_CPU_NS.to_owned(), Attr::Int(9)),
    ];
    let spans = vec![
        with(span([1; 16], 1, 0, "step", 1_000, 1_100), of_root),
        span([1; 16], 2, 1, "in", 1_001, 1_002),
    ];
    let (collected, issues) = one("other", resource(0), spans);
    assert_eq!(issues, []);
    let trace = only(&collected);
    let after = |time_ns: u64| time_ns - trace.spans[0].start_ns;
    let numbers =
        trace.samples.iter().map(|of| (after(of.time_ns), of.thread, of.state.as_str(), of.address));
    let expected = [(10, 7, "running", 0), (30, 8, "futex", 4_096), (100, 7, "sleep", 0)];
    assert_eq!(numbers.collect::<Vec<_>>(), expected);
    assert_eq!(poll_numbers(trace, &trace.spans[0]), [7, 0, 30, 1]);
    let of = |figure| trace.spans[0].figure(figure);
    assert_eq!(
        (of(Figure::StepDeep), of(Figure::HostCpuNs), of(Figure::ProcessCpuNs)),
        (Some(1), Some(9), None)
    );
}

#[test]
fn poll_intervals_lie_within_their_span_and_damaged_ones_are_absent() {
    let polls = |numbers: &[i64]| (attr::POLLS.to_owned(), Attr::Ints(numbers.to_vec()));
    let spans = vec![
        with(span([1; 16], 1, 0, "root", 0, 100), vec![polls(&[9, 50, 70, 2, 7, 0, 30, 1, 0, 120, 5, 3])]),
        with(span([1; 16], 2, 1, "torn", 10, 20), vec![polls(&[7, 0, 5])]),
        with(span([1; 16], 3, 1, "text", 30, 40), vec![text(attr::POLLS, "[7,2,3,1]")]),
        span([1; 16], 4, 1, "none", 50, 60),
    ];
    let (collected, issues) = one("other", resource(0), spans);
    assert_eq!(issues, [(IssueKind::Corrupt, 1)]);
    let trace = only(&collected);
    let numbers: Vec<Vec<i64>> = trace.spans.iter().map(|span| poll_numbers(trace, span)).collect();
    assert_eq!(numbers[0], [7, 0, 30, 1, 9, 50, 50, 2, 0, 100, 0, 3]);
    assert_eq!(numbers[1..], [vec![], vec![7, 2, 3, 1], vec![]]);
    assert!(trace.spans[1].polls.is_empty() && trace.spans[3].polls.is_empty());
    assert_eq!(trace.polls(trace.spans[0].polls)[2].thread, None);
}
