//! Fixtures of `slow_rank`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::report::Verdict;
use stepscope_analyze::summary::{PhaseName, PhaseTime, Stats};
use stepscope_core::Phase;

use super::{check, fine, found, unknown};
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
    // A phase of the program's own has a section, too.
    let mut summary = group(&ranks);
    let own = PhaseName::Custom("plotting".into());
    let forward = summary.sections.iter_mut().find(|row| row.name == "forward").unwrap();
    forward.phase = Some(own.clone());
    let times = summary.instances.iter_mut().flat_map(|row| &mut row.phases_per_step);
    times.filter(|time| time.phase.is(Phase::Forward)).for_each(|time| time.phase = own.clone());
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(
        (finding.phase.as_deref(), finding.section.as_deref()),
        (Some("plotting"), Some("step/forward"))
    );
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
        assert_eq!(fine(RULE, &group(&ranks)), "no rank works longer for a step than most of the others");
    }
}

#[test]
fn a_rank_that_is_late_to_communication_is_told_once() {
    // In step: of 10 ms rank 1 waits for 1 ms, the others for 3 ms.
    let waits: &[(Phase, u64)] = &[(Phase::Communication, 3 * MS)];
    let late: &[(Phase, u64)] = &[(Phase::Communication, MS)];
    let steps = same(STEPS, 10 * MS);
    let mut summary = group(&[(steps, waits), (steps, late), (steps, waits)]);
    assert_eq!(found("communication_waits", &summary)[0].rank, Some(1));
    assert_eq!(
        fine(RULE, &summary),
        "rank 1 works longer than the others, which wait for it in communication: see communication_waits"
    );
    // Where so little of the step is communication that it is no finding there, it is one here.
    let row = summary.modes[0].phases.iter_mut().find(|row| row.phase.is(Phase::Communication)).unwrap();
    row.exposed_ns /= 10;
    fine("communication_waits", &summary);
    assert_eq!(found(RULE, &summary)[0].rank, Some(1));
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// Evenly between 0 and 1.
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal, with a deviation of one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }

    /// Steps that scatter by a part of `mean_ns`, each like the one before by `alike`.
    fn steps(&mut self, mean_ns: u64, scatter: f64, alike: f64) -> Stats {
        let mut last = self.normal();
        stats((0..STEPS).map(|_| {
            last = alike * last + (1.0 - alike * alike).sqrt() * self.normal();
            (mean_ns as f64 * (scatter * last).exp()) as u64
        }))
    }
}

#[test]
fn noise_alone_is_no_slow_rank_and_a_slow_one_is_found_in_it() {
    for (scatter, alike) in [(0.05, 0.0), (0.3, 0.0), (0.05, 0.9), (0.2, 0.9)] {
        let found_of = |slow_ns: u64| {
            let is_found = |seed: &u64| {
                let mut random = Random(*seed);
                let rank = |at: u64| if at == 5 { slow_ns } else { 8 * MS };
                let ranks: Vec<_> =
                    (0..8).map(|at| (random.steps(rank(at), scatter, alike), USUAL)).collect();
                match check(RULE, &group(&ranks)) {
                    Verdict::Found(findings) => findings[0].rank == Some(5) || slow_ns == 8 * MS,
                    _ => false,
                }
            };
            (0..200).filter(is_found).count()
        };
        assert_eq!(found_of(8 * MS), 0, "{scatter} {alike}");
        // Of a rank that is half as slow again, all but the noisiest.
        let slow = found_of(12 * MS);
        assert!(scatter > 0.1 || slow == 200, "{scatter} {alike}: {slow}");
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
    assert_eq!(fine(RULE, &summary), "ranks do steps of their own, so that none waits for another");
    let mut summary = group(&ranks);
    summary.instances[0].resource.rank = Some(1);
    assert!(unknown(RULE, &summary).starts_with("several processes are of the same rank"));
    summary.instances[0].resource.rank = None;
    assert!(unknown(RULE, &summary).starts_with("processes do not say which rank they are"));
    let few = [(same(STEPS, 8 * MS), USUAL), (same(39, 10 * MS), DRAGS)];
    assert!(unknown(RULE, &group(&few)).starts_with("rank 1 has 39 steps after warm-up"));
    assert_eq!(fine(RULE, &Run::of(STEPS, 10 * MS).build()), "one process does the steps");
    assert!(unknown(RULE, &Run::of(39, 10 * MS).build()).starts_with("39 steps"));
}

#[test]
fn what_ranks_differ_by_is_no_jitter() {
    let both = |slow: &[u64]| {
        let durations: Vec<u64> = [10 * MS; 200].into_iter().chain(slow.iter().copied()).collect();
        let mut summary = group(&[(same(STEPS, 10 * MS), USUAL), (stats(slow.to_vec()), DRAGS)]);
        summary.modes[0].steady = stats(durations);
        summary
    };
    let steady = both(&[30 * MS; 200]);
    assert_eq!(found(RULE, &steady)[0].rank, Some(1));
    assert_eq!(
        fine("step_jitter", &steady),
        "p95 is 1.00 times the median of the slowest rank, p99 1.00 times; the mean step is not above the medians of \
         the ranks; a finding needs a p95 of 2 times or a p99 of 3 times, and a mean above by 5.0 % of itself"
    );
    // A rank's own tail is: 40 steps of 120 ms have the mean at 29 ms, and the medians at 20 ms.
    let mut slow = [30 * MS; 200];
    slow[160..].fill(120 * MS);
    let varies = both(&slow);
    let [finding] = found("step_jitter", &varies).try_into().unwrap();
    assert_eq!(
        finding.title,
        "Steps vary: p95 is 4.0 times the median of the slowest rank, which costs 31 % of the step time."
    );
    assert_eq!(finding.predicted_gain.unwrap().saved_ns_per_step, 9 * MS);
}

#[test]
fn what_ranks_wait_in_some_steps_only_makes_no_rank_slow() {
    // Two ranks work 8 ms in each step; in one step of ten the first waits 60 ms for what the other does between steps.
    let waits: &[(Phase, u64)] =
        &[(Phase::Backward, 5 * MS), (Phase::Forward, 3 * MS), (Phase::Communication, 6 * MS)];
    let mut summary = group(&[(same(STEPS, 8 * MS), waits), (same(STEPS, 8 * MS), USUAL)]);
    for row in &mut summary.instances {
        row.work_time = same(STEPS, 8 * MS);
    }
    assert_eq!(fine(RULE, &summary), "no rank works longer for a step than most of the others");
}

#[test]
fn of_two_kinds_of_steps_half_of_each_no_rank_is_slow() {
    // Batches of 8 and of 16 samples: 104 of 200 steps are long on one rank, 97 to 99 on the others.
    let kinds = |long: u64| stats((0..STEPS).map(|step| if step < long { 13 * MS } else { 7 * MS }));
    let ranks = [97, 104, 98, 99].map(|long| (kinds(long), USUAL));
    let said = fine(RULE, &group(&ranks));
    assert!(
        said.starts_with("the median step of rank 1 takes 5.98 ms longer than that of the next ones"),
        "{said}"
    );
    // One that takes longer for both kinds is slow, whichever its median is of.
    let slower = stats((0..STEPS).map(|step| if step < 104 { 19 * MS } else { 13 * MS }));
    let [finding] = found(RULE, &group(&[ranks[0], (slower, DRAGS), ranks[2], ranks[3]])).try_into().unwrap();
    assert_eq!(finding.rank, Some(1));
}
