//! Fixtures of `deep_prefetch`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "deep_prefetch";

fn ahead(depth: u64, waiting_ns: u64) -> Run {
    Run::of(100, 10 * MS)
        .phase(Phase::DataWait, "data_wait", waiting_ns)
        .phase(Phase::Forward, "forward", 5 * MS)
        .untagged("load", 1, 5 * MS)
        .loader(5, 20 * MS, 0.5)
        .waits(waiting_ns, 20 * MS, depth)
}

#[test]
fn many_batches_ahead_of_steps_that_do_not_wait_are_found() {
    let summary = ahead(20, 10_000).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Loaders are 20 batches ahead of steps that do not wait.");
    assert_eq!((finding.severity, &finding.predicted_gain), (3.0, &None));
    assert!(finding.recommendation.contains("ahead, 10 for a start"), "{}", finding.recommendation);
    assert_eq!(finding.evidence.get("unused_batches"), Some(&19.into()));
}

#[test]
fn a_queue_that_is_needed_or_not_deep_is_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "3 batches are ready when one is taken (limit 16), and steps wait for 0.50 % of their time"
    );
    assert!(fine(RULE, &ahead(20, MS).build()).ends_with("steps wait for 10 % of their time"));
    // Five workers may have four each.
    assert!(fine(RULE, &ahead(19, 10_000).build()).starts_with("19 batches are ready"));
}

#[test]
fn no_more_is_advised_away_than_was_never_needed() {
    let judged = |unused: Option<u64>| {
        let mut summary = ahead(40, 10_000).build();
        summary.waits.unused = unused;
        summary
    };
    let [finding] = found(RULE, &judged(Some(10))).try_into().unwrap();
    assert_eq!(finding.evidence.get("unused_batches"), Some(&10.into()));
    assert!(finding.recommendation.contains("ahead, 30 for a start"), "{}", finding.recommendation);
    let [finding] = found(RULE, &judged(Some(25))).try_into().unwrap();
    assert!(finding.recommendation.contains("ahead, 15 for a start"), "{}", finding.recommendation);
    assert_eq!(
        fine(RULE, &judged(Some(9))),
        "40 batches are ready when one is taken (limit 20), and steps wait for 0.10 % of their time; at times 31 were needed"
    );
    assert!(fine(RULE, &judged(None)).ends_with("; nobody knows how many were needed at times"));
}

#[test]
fn loaders_that_nobody_wrapped_are_not_known() {
    let bare = Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 10_000).build();
    assert!(unknown(RULE, &bare).contains("stepscope::Loader"));
}
