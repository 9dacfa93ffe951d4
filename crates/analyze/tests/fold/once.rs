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
        assert_eq!(severities(&summary), [9.0, 9.0], "{ranks} ranks");
        let jitter = found("step_jitter", &summary);
        assert!(
            jitter.title.starts_with("Steps vary: step 130 is 151.0 times the median"),
            "{}",
            jitter.title
        );
        let slowest: Vec<_> = summary.modes[0].slowest.iter().map(|step| step.step).collect();
        assert_eq!((slowest.len(), slowest[0], slowest[1]), (10, Some(130), Some(0)), "{slowest:?}");
        let part = summary.section("step/data_wait").unwrap().in_steps[0];
        let together_ns = ranks * (1_500 * MS + MS / 5);
        assert_eq!((part.heaviest_steady_calls, part.heaviest_steady_ns), (Some(ranks), Some(together_ns)));
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
    let part = summary.section("step/data_wait").unwrap().in_steps[0];
    assert_eq!(part.heaviest_steady_calls, Some(1));
}
