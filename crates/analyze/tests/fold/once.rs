//! Stalls that hold up all ranks in the same step, or one rank each, from traces to findings: how many stalls they are does
//! not depend on the number of ranks.

use stepscope_analyze::Summary;
use stepscope_analyze::report::{Finding, Verdict};
use stepscope_analyze::rules::{self, Config};
use stepscope_core::Phase;

use crate::build::{Build, fold, process, summarise};

const MS: u64 = 1_000_000;

/// Steps of each rank.
const STEPS: u64 = 200;

/// Steps of 10 ms on so many ranks, one of which waits for its batch. A wait takes 1.5 s more where `is_stalled`, by rank and
/// step.
fn run(ranks: u64, is_stalled: impl Fn(u64, u64) -> bool) -> Summary {
    let mut traces = Vec::new();
    for rank in 0..ranks {
        let resource = process(rank as i64);
        let mut start_ns = 0;
        for step in 0..STEPS {
            let mut build = Build::of(rank * STEPS + step + 1, &resource);
            let wait_end_ns = start_ns + MS / 5 + if is_stalled(rank, step) { 1_500 * MS } else { 0 };
            let end_ns = wait_end_ns + 10 * MS - MS / 5;
            build.step(step as i64, start_ns, end_ns).thread(1);
            build.span(1, "data_wait", start_ns, wait_end_ns).thread(1).phase(Phase::DataWait);
            build.span(1, "forward", wait_end_ns, end_ns).thread(1).phase(Phase::Forward);
            start_ns = end_ns;
            traces.push(build.trace());
        }
    }
    // Whatever the order, and in parts.
    let (first, second): (Vec<_>, Vec<_>) = traces.iter().rev().partition(|trace| trace.id[15] % 3 == 1);
    let mut parts = fold(first);
    parts.merge(&fold(second));
    let summary = summarise(&traces);
    assert_eq!(parts.finish(None), summary);
    summary
}

fn found(rule: &str, summary: &Summary) -> Finding {
    match (rules::find(rule).unwrap().check)(summary, &Config::default()) {
        Verdict::Found(findings) => findings.into_iter().next().unwrap(),
        other => panic!("{rule}: {other:?}"),
    }
}

fn severities(summary: &Summary) -> [f64; 2] {
    ["input_bound", "step_jitter"].map(|rule| found(rule, summary).severity)
}

#[test]
fn a_stall_of_all_ranks_is_one_stall() {
    for ranks in [1, 2, 8, 32] {
        let summary = run(ranks, |_, step| step == 130);
        let jitter = found("step_jitter", &summary);
        assert_eq!(jitter.severity, 9.0, "{ranks} ranks");
        assert!(
            jitter.title.starts_with("Steps vary: step 130 is 151.0 times the median"),
            "{}",
            jitter.title
        );
        let slowest: Vec<_> = summary.modes[0].slowest.iter().map(|step| step.step).collect();
        assert_eq!((slowest.len(), slowest[0], slowest[1]), (10, Some(130), Some(0)), "{slowest:?}");
        let part = summary.section("step/data_wait").unwrap().in_steps[0];
        assert_eq!(part.longest_steady_ns, Some(1_500 * MS + MS / 5));
    }
}

#[test]
fn as_many_stalls_as_a_run_may_have_again_are_findings_on_any_number_of_ranks() {
    for ranks in [1, 8] {
        // 300 ms of 7,960 ms in a step: 3.75 times the 2,000 ms that all steps take without.
        let summary = run(ranks, |_, step| [60, 97, 131, 170, 188].contains(&step));
        let [waits, jitter] = severities(&summary);
        assert!(waits > 70.0 && jitter > 70.0, "{ranks} ranks: {waits} {jitter}");
    }
}

#[test]
fn stalls_of_one_rank_each_are_as_many_as_they_are() {
    // At no equal distances.
    const STALLED: [u64; 8] = [40, 57, 71, 98, 113, 139, 150, 187];
    let summary = run(8, |rank, step| STALLED[rank as usize] == step);
    let [waits, jitter] = severities(&summary);
    assert!(waits > 40.0 && jitter > 40.0, "{waits} {jitter}");
}

/// Ranks that do not wait for each other: a step takes what `of` says, by rank and step.
fn apart(ranks: u64, steps: u64, number: impl Fn(u64) -> u64, of: impl Fn(u64, u64) -> u64) -> Summary {
    let mut traces = Vec::new();
    for rank in 0..ranks {
        let resource = process(rank as i64);
        let mut start_ns = 0;
        for step in 0..steps {
            let mut build = Build::of(rank * steps + step + 1, &resource);
            let end_ns = start_ns + of(rank, step);
            build.step(number(step) as i64, start_ns, end_ns).thread(1);
            build.span(1, "forward", start_ns, end_ns).thread(1).phase(Phase::Forward);
            start_ns = end_ns;
            traces.push(build.trace());
        }
    }
    summarise(&traces)
}

#[test]
fn what_one_rank_alone_was_slow_at_is_no_time_of_the_others() {
    // One step in five takes 16 ms instead of 10; four of 8,000 steps take 100 ms, on a rank each.
    let mut random = 1u64;
    let usual: Vec<u64> = (0..16 * 500)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (random >> 33).is_multiple_of(5) { 16 * MS } else { 10 * MS }
        })
        .collect();
    let is_rare = |rank: u64, step: u64| [(2, 97), (5, 211), (9, 333), (14, 402)].contains(&(rank, step));
    let of = |rank: u64, step: u64| {
        if is_rare(rank, step) { 100 * MS } else { usual[(rank * 500 + step) as usize] }
    };
    let summary = apart(16, 500, |step| step, of);
    let verdict = (rules::find("step_jitter").unwrap().check)(&summary, &Config::default());
    assert!(matches!(verdict, Verdict::Fine { .. }), "{verdict:?}");
}

#[test]
fn steps_of_one_number_that_follow_each_other_are_not_one() {
    // Numbers 0 to 3 again and again.
    let summary = apart(1, 4_000, |step| step % 4, |_, step| if step % 50 == 7 { 50 * MS } else { MS });
    let part = summary.section("step/forward").unwrap().in_steps[0];
    assert_eq!(part.longest_steady_ns, Some(50 * MS));
}
