//! Fixtures of `spans_lost`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::report::{Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{LossRow, Shortfall};
use stepscope_core::LossReason;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run};

const RULE: &str = "spans_lost";

#[test]
fn losses_are_listed_by_reason_with_advice() {
    let mut summary = Run::of(200, MS).build();
    summary.losses.dropped = vec![
        LossRow { sink: String::new(), reason: Some(LossReason::RingFull), spans: 30, is_missing_here: true },
        LossRow {
            sink: "directory".into(),
            reason: Some(LossReason::WriteFailed),
            spans: 20,
            is_missing_here: true,
        },
    ];
    summary.losses.absent = Some(50);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "50 spans were lost (5.0 % of those recorded).");
    assert_eq!(finding.severity, 5.0);
    assert_eq!(finding.evidence.get("by_reason"), Some(&json!({ "ring_full": 30, "write_failed": 20 })));
    assert!(finding.recommendation.contains(LossReason::RingFull.advice()));
    assert!(finding.recommendation.contains(LossReason::WriteFailed.advice()));
}

#[test]
fn a_run_that_did_not_end_is_found() {
    let mut summary = Run::of(200, MS).build();
    summary.state.ended = 0;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.title.starts_with("The run did not finish"), "{}", finding.title);
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
    assert!(unknown(RULE, &summary).contains("do not count"));
}

#[test]
fn thinning_is_no_loss() {
    let mut summary = Run::of(200, MS).build();
    summary.losses.dropped = vec![LossRow {
        sink: "directory".into(),
        reason: Some(LossReason::Thinned),
        spans: 400,
        is_missing_here: true,
    }];
    summary.losses.absent = Some(400);
    // Roots say it once more.
    summary.state.dropped_spans = 400;
    summary.coverage.whole_steps = 100;
    summary.coverage.parts_because = Some(Shortfall::Lost(LossReason::Thinned));
    assert!(fine(RULE, &summary).ends_with("no process lost any"));
    let [note] = notes(&summary).try_into().unwrap();
    assert!(note.starts_with("100 of 200 steps were read with all their sections"), "{note}");
    assert!(note.contains("STEPSCOPE_DIR_BYTES") && !note.contains("basic"), "{note}");
}

/// What the report notes about the recording.
fn notes(summary: &Summary) -> Vec<String> {
    let report = build(summary, Reading::default(), &Config::default());
    report.notes.into_iter().filter(|note| note.rule == RULE).map(|note| note.text).collect()
}
