//! Fixtures of `deep_prefetch`.

use stepscope_analyze::summary::{LoaderStall, SectionMemory};
use stepscope_core::{Mode, Phase, SectionKind};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, same};

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
    assert_eq!(finding.evidence.get("unused_batches"), Some(&19.into()));
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
    assert_eq!(finding.evidence.get("queue_bytes"), Some(&40_000_000.into()));
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
        "40 batches are ready when one is taken, and steps wait for 0.10 % of their time; at times 31 were needed"
    );
    assert!(fine(RULE, &judged(None)).ends_with("; nobody knows how many were needed at times"));
}

#[test]
fn loaders_that_nobody_wrapped_are_not_known() {
    let bare = Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 10_000).build();
    assert!(unknown(RULE, &bare).contains("stepscope::Loader"));
    assert!(unknown(RULE, &Run::of(19, MS).waits(1, 1, 20).build()).starts_with("19 steps"));
}

#[test]
fn of_several_loaders_each_is_judged_by_its_own_queue() {
    let two = |images: (u64, u64), labels: (u64, u64)| {
        // The waits of both together are as deep as the usual one.
        let mut summary = ahead(2, 10_000).build();
        let first = summary.batches.loaders.remove(0);
        for (name, (depth, held_up_ns)) in [("images", images), ("labels", labels)] {
            let mut row = first.clone();
            row.name = name.into();
            row.waits = summary.waits;
            row.waits.depth = same(100, depth);
            row.waits.queue = same(100, depth * 10 * MS);
            row.waits.unused = Some(depth);
            row.stalls =
                vec![LoaderStall { mode: Some(Mode::Train), waits: 100, total_ns: 100 * held_up_ns }];
            row.slot_wait_share = Some(0.6);
            summary.batches.loaders.push(row);
        }
        summary
    };
    let [finding] = found(RULE, &two((64, 5_000), (2, 5_000))).try_into().unwrap();
    assert_eq!(finding.title, "The loader `images` is 64 batches ahead of steps that do not wait for it.");
    assert_eq!(finding.evidence.get("loader"), Some(&"images".into()));
    assert_eq!(finding.evidence.get("waiting_share"), Some(&0.0005.into()));
    assert_eq!(
        finding.recommendation,
        "Make fewer batches of `images` ahead, 10 for a start: the usual one lies in the queue for 640 ms before it is \
         taken, and 63 were never needed. Loader `images` waits 60 % of its time for a place in it."
    );
    assert_eq!(found(RULE, &two((64, 5_000), (30, 5_000))).len(), 2);
    // What both make in a section of one name is not told apart, and in sections of their names it is.
    let mut shared = two((64, 5_000), (2, 5_000));
    let row = shared.sections.iter_mut().find(|row| row.name == "load").unwrap();
    row.kind = SectionKind::Batch;
    row.memory = Some(SectionMemory { spans: 100, alloc_bytes: 300_000_000, ..Default::default() });
    let [finding] = found(RULE, &shared).try_into().unwrap();
    assert_eq!((finding.section.as_deref(), finding.evidence.get("batch_bytes")), (Some("step/load"), None));
    let row = shared.sections.iter_mut().find(|row| row.name == "load").unwrap();
    row.name = "images".into();
    let mut other = row.clone();
    (other.name, other.path) = ("labels".into(), "labels".into());
    shared.sections.push(other);
    let [finding] = found(RULE, &shared).try_into().unwrap();
    assert_eq!(finding.section.as_deref(), Some("step/load"));
    assert_eq!(finding.evidence.get("queue_bytes"), Some(&(64 * 3_000_000).into()));
    assert_eq!(
        fine(RULE, &two((15, 5_000), (2, 5_000))),
        "15 batches of the loader `images` are ready when one is taken, and steps wait for these for 0.05 % of their time"
    );
    // Steps that wait for one loader: the other one is too deep all the same.
    let mut summary = ahead(2, MS).build();
    summary.batches = two((64, 5_000), (1, MS)).batches;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.evidence.get("loader"), Some(&"images".into()));
    summary.batches = two((64, MS), (64, MS)).batches;
    assert!(fine(RULE, &summary).ends_with("steps wait for these for 10 % of their time"));
    // Waits that name no loader are those of all.
    summary = ahead(40, 10_000).build();
    summary.batches.loaders.push(summary.batches.loaders[0].clone());
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Loaders are 40 batches ahead of steps that do not wait.");
}
