//! Fixtures of `deep_prefetch`.

use stepscope_analyze::summary::SectionMemory;
use stepscope_core::{Phase, SectionKind};

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
    let mut summary = ahead(20, 10_000).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Loaders are 20 batches ahead of steps that do not wait.");
    assert_eq!((finding.severity, &finding.predicted_gain), (3.0, &None));
    assert!(finding.recommendation.contains("ahead, 10 for a start"), "{}", finding.recommendation);
    // Where allocations are counted, what lies there is known.
    let row = summary.sections.iter_mut().find(|row| row.name == "load").unwrap();
    row.kind = SectionKind::Batch;
    row.memory = Some(SectionMemory {
        spans: 100,
        alloc_bytes: 300_000_000,
        free_bytes: 100_000_000,
        ..Default::default()
    });
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.evidence.get("held_bytes"), Some(&40_000_000.into()));
    assert_eq!(finding.section.as_deref(), Some("step/load"));
}

#[test]
fn a_queue_that_is_needed_or_not_deep_is_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "3 batches are ready when one is taken, and steps wait for 0.50 % of their time"
    );
    assert!(fine(RULE, &ahead(20, MS).build()).ends_with("steps wait for 10 % of their time"));
    // Five workers may have four each.
    assert!(fine(RULE, &ahead(19, 10_000).build()).starts_with("19 batches are ready"));
}

#[test]
fn loaders_that_nobody_wrapped_are_not_known() {
    let bare = Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 10_000).build();
    assert!(unknown(RULE, &bare).contains("stepscope::Loader"));
    assert!(unknown(RULE, &Run::of(19, MS).waits(1, 1, 20).build()).starts_with("19 steps"));
}
