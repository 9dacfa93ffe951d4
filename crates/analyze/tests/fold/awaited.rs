//! A loader that becomes slower within a run, and one whose batches are uneven: what it did while it was waited for, and what
//! is advised.

use stepscope_analyze::report::{self, Reading};
use stepscope_analyze::{Summary, rules};
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, summarise};

const US: u64 = 1_000;
/// What a step takes without its wait.
const STEP: u64 = 5_100 * US;
/// Places in the queue.
const QUEUE: usize = 4;

/// The run of a loader of one thread that works so long for each of its batches, and of steps that take them from its queue.
fn run(make_ns: &[u64]) -> Summary {
    let (mut free_ns, mut now_ns) = (0u64, 0u64);
    let (mut taken, mut traces) = (Vec::new(), Vec::<Trace>::new());
    for (step, make_ns) in make_ns.iter().enumerate() {
        // It puts its last batch where there is a place, and begins.
        let place_ns = step.checked_sub(QUEUE + 1).map_or(0, |before| taken[before]);
        let begin_ns = free_ns.max(place_ns);
        let end_ns = begin_ns + make_ns;
        let mut batch = Build::new(2 * step as u64);
        batch
            .span(0, "batch", free_ns, end_ns)
            .kind(SectionKind::Batch)
            .thread(2)
            .figure(Figure::BatchSlotWaitNs, (begin_ns - free_ns) as i64)
            .figure(Figure::BusyNs, *make_ns as i64);
        free_ns = end_ns;
        let ready_ns = now_ns.max(end_ns);
        taken.push(ready_ns);
        let mut build = Build::new(2 * step as u64 + 1);
        build.step(step as i64, now_ns, ready_ns + STEP).thread(1);
        build.span(1, "data_wait", now_ns, ready_ns).thread(1).phase(Phase::DataWait);
        build.span(1, "forward", ready_ns, ready_ns + STEP).thread(1).phase(Phase::Forward);
        now_ns = ready_ns + STEP;
        traces.extend([batch.trace(), build.trace()]);
    }
    summarise(&traces)
}

fn advice(summary: &Summary) -> String {
    let report = report::build(summary, Reading::default(), &rules::Config::default());
    let finding = report.findings.iter().find(|finding| finding.rule == "input_bound").unwrap();
    finding.recommendation.clone()
}

#[test]
fn a_loader_that_becomes_too_slow_needs_more_workers_and_no_deeper_queue() {
    // 1.5 ms a batch, then 9 ms from `part` sixths of the run on.
    for (steps, part) in [(600, 2), (600, 4), (2_000, 3), (300, 3)] {
        let slower = |step: u64| if step * 6 < steps * part { 1_500 * US } else { 9_000 * US };
        let found = run(&(0..steps).map(slower).collect::<Vec<_>>());
        let loader = &found.batches.loaders[0];
        let then = loader.under_demand.unwrap();
        assert!(then.utilisation > 0.9 && loader.utilisation.unwrap() < 0.85, "{part}: {loader:?}");
        assert!(then.produce_mean_ns.abs_diff(9_000 * US) < 700 * US, "{part}: {then:?}");
        let advice = advice(&found);
        assert!(
            advice.contains("use 2 workers instead of 1, or make a batch in less than 5.10 ms"),
            "{advice}"
        );
        assert!(!advice.contains("queue"), "{advice}");
    }
}

#[test]
fn uneven_batches_need_a_deeper_queue() {
    // Each eighth takes long, or each 24th; they keep up on average, or do not for lack of places.
    for (every, long_ms) in [(8, 30), (8, 38), (24, 110)] {
        let uneven = |step: u64| if step % every == every - 1 { long_ms * 1_000 * US } else { 1_000 * US };
        let advice = advice(&run(&(0..600).map(uneven).collect::<Vec<_>>()));
        assert!(advice.contains("deepen the queue"), "{every}: {advice}");
    }
}
