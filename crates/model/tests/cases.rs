//! Small files that went wrong: what is read of each, and what is said of the rest. The files are no part of the
//! repository (`STEPSCOPE_SHARED_DATA`).

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::kinds;
use stepscope_core::SectionKind;
use stepscope_model::{
    Converter, IssueKind, LostInConversion, ReadIssue, ReadOptions, ReadOutcome, Reader, Sink, Target, Trace,
};

#[derive(Default)]
struct Traces(Vec<Trace>);

impl Sink for Traces {
    fn trace(&mut self, trace: &Trace) {
        self.0.push(trace.clone());
    }
}

impl Traces {
    fn spans(&self) -> usize {
        self.0.iter().map(|trace| trace.spans.len()).sum()
    }

    fn steps(&self) -> usize {
        let spans = self.0.iter().flat_map(|trace| &trace.spans);
        spans.filter(|span| span.kind == SectionKind::Step).count()
    }
}

fn case(name: &str) -> Option<Vec<u8>> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("STEPSCOPE_SHARED_DATA").map_or(default, PathBuf::from);
    let file = std::fs::read(data.join("cases").join(name)).ok();
    if file.is_none() {
        eprintln!("SKIPPED: no cases at {}; set STEPSCOPE_SHARED_DATA", data.display());
    }
    file
}

fn read(files: &[(&str, &[u8])]) -> (Traces, ReadOutcome) {
    let mut traces = Traces::default();
    let mut reader = Reader::new(ReadOptions::default());
    for (name, bytes) in files {
        reader.read_stream(name, *bytes, &mut traces).unwrap();
    }
    let outcome = reader.finish(&mut traces);
    (traces, outcome)
}

fn one(outcome: &ReadOutcome) -> &ReadIssue {
    assert_eq!(outcome.issues.len(), 1, "{:?}", outcome.issues);
    &outcome.issues[0]
}

#[test]
fn a_comma_too_many_costs_nothing() {
    let Some(bytes) = case("double_comma.json") else { return };
    let (traces, outcome) = read(&[("input", &bytes)]);
    assert_eq!(traces.spans(), 300);
    let issue = one(&outcome);
    assert_eq!((issue.kind, issue.count, issue.lost_bytes), (IssueKind::Corrupt, 1, None));
    // The file says 27,566: the first of the two.
    assert_eq!(issue.offset, Some(27_567));
}

#[test]
fn a_lost_quote_costs_its_event() {
    let Some(bytes) = case("lost_quote.json") else { return };
    let (traces, outcome) = read(&[("input", &bytes)]);
    assert_eq!(traces.spans(), 299);
    let issue = one(&outcome);
    let at = issue.offset.unwrap();
    let lost = issue.lost_bytes.unwrap();
    assert_eq!((issue.kind, issue.count), (IssueKind::Corrupt, 1));
    assert!((at..at + lost).contains(&28_699) && lost < 400, "{issue:?}");
    assert!(issue.reason.contains(&format!("{lost} bytes could not be read: 1 event;")), "{}", issue.reason);
}

#[test]
fn a_hole_of_zeros_is_told_with_its_place_and_size() {
    let Some(bytes) = case("zero_filled_hole.json") else { return };
    let (traces, outcome) = read(&[("input", &bytes)]);
    assert_eq!(traces.spans(), 276);
    let issue = one(&outcome);
    let (at, lost) = (issue.offset.unwrap(), issue.lost_bytes.unwrap());
    assert!(at <= 3_591 && at + lost > 7_686 && lost < 4_096 + 600, "{issue:?}");
    assert!(issue.reason.contains("zeros among them"), "{}", issue.reason);
}

#[test]
fn an_empty_object_among_the_events_is_no_damage() {
    let Some(bytes) = case("trailing_empty_object.json") else { return };
    let (traces, outcome) = read(&[("input", &bytes)]);
    assert_eq!((traces.spans(), kinds(&outcome)), (75, vec![]));
}

#[test]
fn documents_that_are_joined_on_a_line_are_all_read() {
    let Some(bytes) = case("otlp_joined_on_one_line.json") else { return };
    let (traces, outcome) = read(&[("input", &bytes)]);
    assert_eq!((traces.spans(), kinds(&outcome)), (120, vec![]));
}

#[test]
fn what_holds_no_spans_says_what_it_is() {
    for (name, said) in [
        ("no_spans.json", "a trace of Jaeger without a span in it; fetch the trace again"),
        ("tempo_search_answer.json", "an answer of Tempo's search, which holds no spans; fetch each trace"),
    ] {
        let Some(bytes) = case(name) else { return };
        let (traces, outcome) = read(&[(name, &bytes)]);
        assert_eq!(traces.spans(), 0);
        let issue = one(&outcome);
        assert_eq!(issue.kind, IssueKind::Empty);
        assert!(issue.reason.starts_with(said), "{}", issue.reason);
    }
}

#[test]
fn files_of_two_processes_with_one_number_are_two_traces() {
    let (Some(a), Some(b)) = (case("same_pid_a.json"), case("same_pid_b.json")) else { return };
    let (traces, outcome) = read(&[("a", &a), ("b", &b)]);
    assert_eq!(kinds(&outcome), []);
    let mut roots = BTreeMap::new();
    for trace in &traces.0 {
        let root: Vec<_> = trace.spans.iter().filter(|span| span.parent.is_none()).collect();
        assert_eq!((root.len(), trace.spans.len(), trace.text(root[0].name)), (1, 2, "main"));
        let child = trace.spans.iter().find(|span| span.parent == Some(root[0].id)).unwrap();
        roots.insert(root[0].end_ns - root[0].start_ns, trace.text(child.name));
    }
    assert_eq!(roots, BTreeMap::from([(100_000, "s"), (300_000, "s")]));
    // One of them twice is one.
    let (_, outcome) = read(&[("a", &a), ("copy", &a)]);
    assert_eq!((outcome.spans, outcome.duplicate_spans), (2, 2));
}

fn converted(bytes: &[u8], target: Target) -> (Vec<u8>, LostInConversion) {
    let mut out = Vec::new();
    let mut converter = Converter::new(target, &ReadOptions::default(), &mut out);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_stream("input", bytes, &mut converter).unwrap();
    let _ = reader.finish(&mut converter);
    let lost = converter.finish().unwrap();
    (out, lost)
}

#[test]
fn ends_before_starts_are_counted_where_they_are_read_and_where_they_are_changed() {
    let Some(bytes) = case("negative_durations.json") else { return };
    let (traces, outcome) = read(&[("input", &bytes)]);
    let issue = one(&outcome);
    assert_eq!((traces.spans(), issue.kind, issue.count), (75, IssueKind::NegativeDuration, 25));
    let lengths: Vec<u64> =
        traces.0.iter().flat_map(|trace| &trace.spans).map(|span| span.end_ns - span.start_ns).collect();
    assert_eq!(lengths.iter().filter(|length| **length == 0).count(), 25);
    for &(name, target) in Target::ALL {
        let (written, lost) = converted(&bytes, target);
        let changed = lost.get("ends before starts").copied().unwrap_or(0);
        let (_, again) = read(&[("input", &written)]);
        let kept = again
            .issues
            .iter()
            .filter(|issue| issue.kind == IssueKind::NegativeDuration)
            .map(|issue| issue.count);
        // What is not named is as it was.
        assert_eq!(changed + kept.sum::<u64>(), 25, "{name}");
    }
}

#[test]
fn annotations_of_the_device_are_no_second_steps() {
    let Some(bytes) = case("gpu_annotation_steps.json") else { return };
    let (traces, _) = read(&[("input", &bytes)]);
    assert_eq!(traces.steps(), 30);
}
