//! Fixtures of `communication_waits`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run};

const RULE: &str = "communication_waits";

#[test]
fn an_exchange_that_nothing_hides_is_found() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Backward, "backward", 5 * MS)
        .phase(Phase::Communication, "barrier", MS)
        .phase(Phase::Communication, "all_reduce", 3 * MS)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "40 % of the step time goes into communication that nothing hides.");
    assert_eq!((finding.severity, finding.section.as_deref()), (40.0, Some("step/all_reduce")));
    assert_eq!(finding.phase.as_deref(), Some("communication"));
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (4 * MS, 6 * MS));
}

#[test]
fn what_other_threads_exchange_meanwhile_is_hidden() {
    let mut summary = Run::of(100, 10 * MS)
        .phase(Phase::Backward, "backward", 8 * MS)
        .phase(Phase::Communication, "all_reduce", 2 * MS)
        .build();
    // Of 8 ms on some thread 2 ms are waited for.
    let row = summary.modes[0].phases.iter_mut().find(|row| row.phase.is(Phase::Communication)).unwrap();
    row.total_ns = 800 * MS;
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.evidence.get("hidden_share"), Some(&0.75.into()));
    assert!(finding.recommendation.contains("75 % of it is hidden today"), "{}", finding.recommendation);
}

#[test]
fn the_rank_that_the_others_wait_for_is_named() {
    let with = |ranks: &[(u64, u64)]| {
        let run = Run::of(100, 10 * MS).phase(Phase::Communication, "all_reduce", 4 * MS).ranks(ranks);
        let [finding] = found(RULE, &run.build()).try_into().unwrap();
        finding
    };
    let late = with(&[(10 * MS, 5 * MS), (10 * MS, MS), (10 * MS, 4 * MS), (10 * MS, 6 * MS)]);
    assert_eq!(late.rank, Some(1));
    // 16 ms in all; 4 ms if it took each 1 ms.
    assert_eq!(late.evidence.get("lateness_share"), Some(&0.75.into()));
    assert_eq!(late.evidence.get("late_rank_per_step_ns"), Some(&MS.into()));
    assert_eq!(late.evidence.get("other_ranks_per_step_ns"), Some(&(5 * MS).into()));
    assert!(late.recommendation.starts_with("Rank 1 comes late"), "{}", late.recommendation);
    // A step of all ranks is shorter by what the others wait, not only by what all communicate on average.
    let gain = late.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns, gain.direct_share), (5 * MS, 5 * MS, 0.4));
    assert!(gain.because.unwrap().ends_with("; 10 % is what the late rank may do without as well"));
    // Two that are late, nearly the same of all, and one that communicates less and works no longer.
    for ranks in [
        [(10 * MS, 5 * MS), (10 * MS, MS), (10 * MS, MS), (10 * MS, 6 * MS)],
        [(10 * MS, 5 * MS), (10 * MS, 4 * MS), (10 * MS, 5 * MS), (10 * MS, 6 * MS)],
        [(10 * MS, 5 * MS), (5 * MS, MS), (10 * MS, 5 * MS), (10 * MS, 6 * MS)],
    ] {
        let finding = with(&ranks);
        assert_eq!(finding.rank, None);
        assert!(finding.recommendation.starts_with("Let the exchange run"), "{}", finding.recommendation);
    }
    assert_eq!(with(&[(10 * MS, 4 * MS)]).rank, None);
}

#[test]
fn many_small_messages_are_to_be_joined() {
    let mut summary = Run::of(100, 10 * MS).phase(Phase::Communication, "all_reduce", 4 * MS).build();
    for row in summary.sections.iter_mut().filter(|row| row.name == "all_reduce") {
        row.in_steps.iter_mut().for_each(|part| part.calls *= 40);
    }
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let advice = &finding.recommendation;
    assert!(advice.contains("`step/all_reduce` runs 40 times a step: join the messages"), "{advice}");
}

#[test]
fn a_little_is_fine() {
    let of = |steps, ns| Run::of(steps, 10 * MS).phase(Phase::Communication, "all_reduce", ns);
    let run = |steps, ns| of(steps, ns).phase(Phase::Forward, "forward", 10 * MS - ns).build();
    assert_eq!(
        fine(RULE, &run(100, MS - 1_000)),
        "10 % of 1.00 s of steps goes into communication that nothing hides, 100 % has a phase; limit 10 %"
    );
    assert_eq!(found(RULE, &run(100, MS)).len(), 1);
    // What has no phase may be more of it.
    let said = unknown(RULE, &of(100, 500_000).phase(Phase::Forward, "forward", 9 * MS - 1_000).build());
    assert!(said.ends_with(", and 5.0 % has no phase: give sections theirs"), "{said}");
    let said = fine(RULE, &of(100, 500_000).phase(Phase::Forward, "forward", 9 * MS + 1_000).build());
    assert!(said.starts_with("5.0 % of 1.00 s of steps"), "{said}");
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("no section names a phase"));
}
