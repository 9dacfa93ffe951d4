//! Fixtures of `sync_waits`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "sync_waits";

#[test]
fn waiting_for_a_result_is_found() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Forward, "forward", 5 * MS)
        .phase(Phase::Synchronization, "read_loss", 2 * MS)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "20 % of the step time goes into waiting for threads, locks or devices.");
    assert_eq!((finding.severity, finding.section.as_deref()), (20.0, Some("step/read_loss")));
    assert!(finding.recommendation.contains("2.00 ms a step"), "{}", finding.recommendation);
}

#[test]
fn waits_between_steps_count() {
    let summary = Run::of(100, 9 * MS)
        .phase(Phase::Forward, "forward", 5 * MS)
        .between(Phase::Synchronization, "barrier", &[MS; 100])
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "10 % of the training time goes into waiting for threads, locks or devices.");
    assert_eq!(finding.section.as_deref(), Some("barrier"));
    assert_eq!(finding.predicted_gain.unwrap().step_time_ns, 9 * MS);
}

#[test]
fn a_run_without_waits_is_fine_and_few_steps_are_not_judged() {
    let because = "no section of the training thread has the phase `synchronization`";
    assert_eq!(fine(RULE, &healthy().build()), because);
    let few = Run::of(19, 10 * MS).phase(Phase::Synchronization, "sync", 5 * MS).build();
    assert!(unknown(RULE, &few).starts_with("19 steps"));
}
