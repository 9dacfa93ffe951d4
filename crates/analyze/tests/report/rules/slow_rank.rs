//! Fixtures of `slow_rank`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::summary::{PhaseName, PhaseTime, Stats};
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, same, stats};

const RULE: &str = "slow_rank";
const STEPS: u64 = 200;

/// Steps that are shorter by so much each.
fn shorter(steps: Stats, by_ns: u64) -> Stats {
    let less = |ns: Option<u64>| ns.map(|ns| ns - by_ns);
    Stats { p50: less(steps.p50), p90: less(steps.p90), total: steps.total - steps.count * by_ns, ..steps }
}

/// Ranks that do the same steps: what these take, and the mean exposed time of phases in them.
fn group(ranks: &[(Stats, &[(Phase, u64)])]) -> Summary {
    let mut summary = Run::of(STEPS, 10 * MS)
        .phase(Phase::Forward, "forward", 3 * MS)
        .phase(Phase::Backward, "backward", 5 * MS)
        .phase(Phase::Communication, "all_reduce", 2 * MS)
        .build();
    summary.modes[0].all = same(STEPS * ranks.len() as u64, 10 * MS);
    let first = summary.instances.remove(0);
    summary.instances = (0..)
        .zip(ranks)
        .map(|(rank, &(steps, phases))| {
            let mut row = first.clone();
            row.resource.rank = Some(rank);
            row.steps = steps;
            let waits = phases
                .iter()
                .filter(|(phase, _)| [Phase::Communication, Phase::Synchronization].contains(phase));
            row.work_time = shorter(steps, waits.map(|&(_, ns)| ns).sum());
            let time = |&(phase, exposed_ns)| PhaseTime { phase: PhaseName::Known(phase), exposed_ns };
            row.phases_per_step = phases.iter().map(time).collect();
            let of = row.phases_per_step.iter().find(|time| time.phase.is(Phase::Communication));
            row.communication_per_step_ns = Some(of.map_or(0, |time| time.exposed_ns));
            row
        })
        .collect();
    summary
}

const USUAL: &[(Phase, u64)] = &[(Phase::Backward, 5 * MS), (Phase::Forward, 3 * MS)];
const DRAGS: &[(Phase, u64)] = &[(Phase::Backward, 5 * MS), (Phase::Forward, 5 * MS)];

#[test]
fn the_rank_that_works_longer_is_named_with_its_section() {
    let mut ranks = vec![(same(STEPS, 8 * MS), USUAL); 8];
    ranks[5] = (same(STEPS, 10 * MS), DRAGS);
    let [finding] = found(RULE, &group(&ranks)).try_into().unwrap();
    assert_eq!(finding.title, "Rank 5 works 2.00 ms a step longer than the other 7.");
    assert_eq!((finding.rank, finding.severity), (Some(5), 20.0));
    assert_eq!(
        (finding.phase.as_deref(), finding.section.as_deref()),
        (Some("forward"), Some("step/forward"))
    );
    assert!(
        finding
            .recommendation
            .starts_with("It is in `forward` (`step/forward`), 5.00 ms a step and 3.00 ms on the others"),
        "{}",
        finding.recommendation
    );
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (2 * MS, 8 * MS));
    // Where phases are alike none is named.
    ranks[5].1 = USUAL;
    let [finding] = found(RULE, &group(&ranks)).try_into().unwrap();
    assert_eq!((finding.rank, finding.phase, finding.section), (Some(5), None, None));
}

#[test]
fn several_slow_ranks_are_named_together() {
    let mut ranks = vec![(same(STEPS, 8 * MS), USUAL); 6];
    ranks[2] = (same(STEPS, 11 * MS), DRAGS);
    ranks[3] = (same(STEPS, 10 * MS), DRAGS);
    let [finding] = found(RULE, &group(&ranks)).try_into().unwrap();
    assert_eq!(finding.title, "Ranks 2 and 3 work at least 2.00 ms a step longer than the other 4.");
    assert_eq!((finding.rank, finding.evidence.get("slow_ranks")), (None, Some(&json!(2))));
    // Most of them is no part that is slow.
    let ranks = [10, 10, 10, 8].map(|ms| (same(STEPS, ms * MS), USUAL));
    fine(RULE, &group(&ranks));
}

#[test]
fn what_waits_for_others_is_not_slow() {
    let waits: &[(Phase, u64)] = &[(Phase::Communication, 2 * MS), (Phase::Forward, 3 * MS)];
    let locks: &[(Phase, u64)] = &[(Phase::Synchronization, 2 * MS), (Phase::Forward, 3 * MS)];
    for waiting in [waits, locks] {
        let ranks =
            [(same(STEPS, 8 * MS), USUAL), (same(STEPS, 10 * MS), waiting), (same(STEPS, 8 * MS), USUAL)];
        assert_eq!(fine(RULE, &group(&ranks)), "3 ranks work 8.00 ms a step each");
    }
}

#[test]
fn steps_say_as_much_as_a_twentieth_of_them() {
    // Evenly within 1 ms of the mean: a median deviation of 0.5 ms. Of 200 steps ten are independent, which gives the median an
    // error of 0.5 ms x 1.4826 x 1.2533 / sqrt(10) = 0.294 ms; four times that of two medians is 1.66 ms.
    let scattered = |mean_ns: u64| stats((0..STEPS).map(|step| mean_ns - MS + step * 2 * MS / (STEPS - 1)));
    let ranks = |slow_ns: u64| [8 * MS, 8 * MS, slow_ns].map(|mean_ns| (scattered(mean_ns), USUAL));
    fine(RULE, &group(&ranks(9_500_000)));
    let [finding] = found(RULE, &group(&ranks(9_850_000))).try_into().unwrap();
    assert_eq!(finding.rank, Some(2));
    let error_ns = finding.evidence.get("standard_error_ns").and_then(serde_json::Value::as_f64).unwrap();
    assert!((error_ns / 415_500.0 - 1.0).abs() < 0.03, "{error_ns}");
}

#[test]
fn ranks_that_cannot_be_compared_are_not() {
    let ranks = [(same(STEPS, 8 * MS), USUAL), (same(STEPS, 10 * MS), DRAGS)];
    let mut summary = group(&ranks);
    summary.modes[0].all = same(STEPS, 9 * MS);
    assert!(unknown(RULE, &summary).starts_with("ranks do steps of other numbers"));
    let mut summary = group(&ranks);
    summary.instances[0].resource.rank = Some(1);
    assert!(unknown(RULE, &summary).starts_with("several processes are of the same rank"));
    summary.instances[0].resource.rank = None;
    assert!(unknown(RULE, &summary).starts_with("processes do not say which rank they are"));
    let few = [(same(STEPS, 8 * MS), USUAL), (same(2, 10 * MS), DRAGS)];
    assert!(unknown(RULE, &group(&few)).starts_with("rank 1 has 2 steps after warm-up: how its steps vary"));
    assert_eq!(
        fine(RULE, &Run::of(STEPS, 10 * MS).build()),
        format!("one process does the steps, all {STEPS}")
    );
}
