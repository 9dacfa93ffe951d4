//! Fixtures of `loader_bound`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, same};

const RULE: &str = "loader_bound";
const STEPS: u64 = 200;

/// Sixteen ranks with steps of 50 ms, of which each waits for a batch for 1 ms and 16 ms in an exchange that takes 2 ms where
/// all are there; two loader threads on each take 99 ms for a batch.
fn group(busy_share: f64) -> Summary {
    let mut summary = Run::of(STEPS, 50 * MS)
        .phase(Phase::DataWait, "data_wait", MS)
        .phase(Phase::Forward, "forward", 33 * MS)
        .phase(Phase::Communication, "all_reduce", 16 * MS)
        .loader(2, 99 * MS, busy_share)
        .waits(MS, 99 * MS, 1)
        .build();
    summary.waits.unused = Some(0);
    let exchange = summary.sections.iter_mut().find(|row| row.path == "step/all_reduce").unwrap();
    exchange.stats.min = Some(2 * MS);
    summary.modes[0].all = same(16 * STEPS, 50 * MS);
    let first = summary.instances.remove(0);
    summary.instances = (0..16)
        .map(|rank| {
            let mut row = first.clone();
            row.resource.rank = Some(rank);
            row.steps = same(STEPS, 50 * MS);
            row.communication_per_step_ns = Some(16 * MS);
            row
        })
        .collect();
    summary
}

#[test]
fn loaders_for_which_ranks_wait_in_communication_are_found() {
    let [finding] = found(RULE, &group(0.98)).try_into().unwrap();
    assert_eq!(finding.title, "Ranks wait for each other's batches: 30 % of the step time at most.");
    // 1 ms, and the less of 15 times that and of 14 ms.
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns, finding.severity), (15 * MS, 35 * MS, 30.0));
    let said = |key: &str| finding.evidence.get(key).cloned();
    assert_eq!((said("waiting_share"), said("others_waiting_share")), (Some(json!(0.02)), Some(json!(0.28))));
    assert_eq!((said("ranks"), said("workers_busy_share")), (Some(json!(16)), Some(json!(0.98))));
    // A step has 50 - 1 - 14 ms for a batch.
    assert!(
        finding
            .recommendation
            .contains("use 3 workers instead of 2, or make a batch in less than 70.0 ms (now 99.0 ms)"),
        "{}",
        finding.recommendation
    );
}

#[test]
fn loaders_with_time_to_spare_are_fine() {
    let with = |change: &dyn Fn(&mut Summary)| {
        let mut summary = group(0.98);
        change(&mut summary);
        fine(RULE, &summary)
    };
    assert_eq!(
        fine(RULE, &group(0.94)),
        "loaders have time to spare: they are busy for 94 % of it; limit 95 %"
    );
    let waiting = with(&|summary| summary.batches.loaders[0].slot_wait_share = Some(0.06));
    assert!(
        waiting.ends_with("they wait for a place in the queue for 6.0 % of it; limit 5.0 %"),
        "{waiting}"
    );
    let ahead = with(&|summary| summary.waits.unused = Some(1));
    assert!(ahead.ends_with("they are 1 batch ahead at all times"), "{ahead}");
    // What threads of the steps make themselves, no rank waits for elsewhere.
    let mut summary = group(0.98);
    summary.batches.loaders[0].workers.iter_mut().for_each(|worker| worker.drives_steps = true);
    assert_eq!(unknown(RULE, &summary), "no batches of loader threads were read");
}

#[test]
fn ranks_that_wait_for_the_exchange_alone_are_fine() {
    // Each exchange takes as long as any.
    let mut summary = group(0.98);
    summary.sections.iter_mut().find(|row| row.path == "step/all_reduce").unwrap().stats.min = Some(16 * MS);
    let said = fine(RULE, &summary);
    assert!(said.contains("ranks wait for others' batches for 0 % of "), "{said}");
}

#[test]
fn one_process_has_no_others() {
    let mut summary = group(0.98);
    summary.instances.truncate(1);
    assert_eq!(fine(RULE, &summary), "one process does the steps, all 200");
    assert_eq!(fine(RULE, &healthy().build()), "one process does the steps, all 200");
}
