//! Fixtures of `spans_lost`.

use serde_json::json;
use stepscope_analyze::summary::LossRow;
use stepscope_core::LossReason;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run};

const RULE: &str = "spans_lost";

#[test]
fn losses_are_listed_by_reason_with_advice() {
    let mut summary = Run::of(200, MS).build();
    summary.losses.dropped = vec![
        LossRow { sink: String::new(), reason: Some(LossReason::RingFull), spans: 30 },
        LossRow { sink: "directory".into(), reason: Some(LossReason::WriteFailed), spans: 20 },
    ];
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "50 spans were lost (5.0 % of those recorded).");
    assert_eq!(finding.severity, 5.0);
    assert_eq!(finding.evidence.get("by_reason"), Some(&json!({ "ring_full": 30, "write_failed": 20 })));
    assert!(finding.recommendation.contains(LossReason::RingFull.advice()));
    assert!(finding.recommendation.contains(LossReason::WriteFailed.advice()));
}

#[test]
fn what_roots_miss_is_not_counted_twice() {
    let mut summary = Run::of(200, MS).build();
    summary.losses.dropped =
        vec![LossRow { sink: String::new(), reason: Some(LossReason::RingFull), spans: 30 }];
    summary.state.missing_spans = 28;
    summary.state.incomplete_traces = 4;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.evidence.get("lost_spans"), Some(&json!(30)));
}

#[test]
fn a_run_that_did_not_end_is_found() {
    let mut summary = Run::of(200, MS).build();
    summary.state.ended = 0;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.title.starts_with("The run did not end"), "{}", finding.title);
    assert_eq!(finding.severity, 5.0);
}

#[test]
fn complete_runs_are_fine() {
    assert_eq!(
        fine(RULE, &Run::of(200, MS).build()),
        "all traces of 1,000 spans are complete, and no process lost any"
    );
}

#[test]
fn without_the_processes_own_count_nobody_knows() {
    let mut summary = Run::of(200, MS).build();
    summary.losses.emitted = None;
    assert!(unknown(RULE, &summary).contains("did not arrive"));
    // Other programs' instrumentation has no such count.
    summary.state.is_ours = false;
    assert!(fine(RULE, &summary).contains("do not count"));
}
