//! Loaders that become slower within a run, and such whose batches are uneven: what they did while they were waited for, and
//! what is advised.

use stepscope_analyze::report::{self, Reading};
use stepscope_analyze::rules;
use stepscope_analyze::{Partial, Summary};
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, fold};

const US: u64 = 1_000;
/// What a step takes without its wait.
const STEP: u64 = 5_100 * US;
/// Places in a queue.
const QUEUE: usize = 4;

fn named(build: &mut Build, loader: &str) {
    let name = build.0.push_text(loader);
    build.0.spans.last_mut().unwrap().loader = name;
}

/// A loader of one thread, and what it works for each of its batches.
struct Stage {
    name: &'static str,
    thread: i64,
    make_ns: Vec<u64>,
}

/// The traces of a run whose steps take what the last stage makes, each of what the one before it makes.
fn run(stages: &[Stage]) -> Vec<Trace> {
    run_through(stages, QUEUE, false)
}

/// The same through queues of so many places; the steps may say what they found there.
fn run_through(stages: &[Stage], queue: usize, says: bool) -> Vec<Trace> {
    let steps = stages[0].make_ns.len();
    // When each stage has made its last batch, and when its batches were taken.
    let mut free_ns = vec![0u64; stages.len()];
    let mut taken: Vec<Vec<u64>> = vec![Vec::new(); stages.len()];
    let (mut now_ns, mut traces) = (0, Vec::new());
    for step in 0..steps {
        let mut ready_ns = 0;
        for (at, stage) in stages.iter().enumerate() {
            // It puts its last batch where there is a place, and begins.
            let slot_ns = match step.checked_sub(queue + 1) {
                Some(before) => taken[at][before].saturating_sub(free_ns[at]),
                None => 0,
            };
            let start_ns = free_ns[at] + slot_ns;
            let begin_ns = start_ns.max(ready_ns);
            let end_ns = begin_ns + stage.make_ns[step];
            let mut build = Build::new(traces.len() as u64);
            build
                .span(0, "batch", start_ns, end_ns)
                .kind(SectionKind::Batch)
                .thread(stage.thread)
                .figure(Figure::BatchSlotWaitNs, slot_ns as i64)
                .figure(Figure::BusyNs, (end_ns - begin_ns) as i64);
            named(&mut build, stage.name);
            if at > 0 {
                build.span(1, "data_wait", start_ns, begin_ns).thread(stage.thread);
                named(&mut build, stages[at - 1].name);
                taken[at - 1].push(begin_ns);
            }
            traces.push(build.trace());
            free_ns[at] = end_ns;
            ready_ns = end_ns;
        }
        let begin_ns = now_ns.max(ready_ns);
        taken[stages.len() - 1].push(begin_ns);
        let mut build = Build::new(traces.len() as u64);
        build.step(step as i64, now_ns, begin_ns + STEP).thread(1);
        let wait = build.span(1, "data_wait", now_ns, begin_ns).thread(1).phase(Phase::DataWait);
        if says {
            // Of the batches from this one on as many lie there as steps have passed since it was finished, or more.
            let ready = queue.min(((begin_ns - ready_ns) / STEP) as usize + 1);
            wait.figure(Figure::BatchQueueNs, (begin_ns - ready_ns) as i64)
                .figure(Figure::BatchQueueDepth, ready as i64);
        }
        named(&mut build, stages[stages.len() - 1].name);
        build.span(1, "forward", begin_ns, begin_ns + STEP).thread(1).phase(Phase::Forward);
        traces.push(build.trace());
        now_ns = begin_ns + STEP;
    }
    traces
}

/// The summary of traces, whatever the order of their parts.
fn summary(traces: &[Trace]) -> Summary {
    let parts: Vec<Partial> = (0..3).map(|part| fold(traces.iter().skip(part).step_by(3))).collect();
    let merged = |order: [usize; 3]| {
        let mut merged = fold([]);
        order.iter().for_each(|&part| merged.merge(&parts[part]));
        merged
    };
    let (whole, first) = (fold(traces), merged([2, 0, 1]));
    assert_eq!(first.to_bytes(), whole.to_bytes());
    assert_eq!(merged([1, 2, 0]).to_bytes(), whole.to_bytes());
    first.finish(None)
}

fn advice(summary: &Summary) -> String {
    let report = report::build(summary, Reading::default(), &rules::Config::default());
    let finding = report.findings.iter().find(|finding| finding.rule == "input_bound").unwrap();
    finding.recommendation.clone()
}

fn even(steps: usize, make_ns: u64) -> Vec<u64> {
    vec![make_ns; steps]
}

/// 1.5 ms a batch, then 9 ms from `part` sixths of the run on.
fn slower(steps: usize, part: usize) -> Vec<u64> {
    (0..steps).map(|step| if step * 6 < steps * part { 1_500 * US } else { 9_000 * US }).collect()
}

#[test]
fn a_loader_that_becomes_too_slow_needs_more_workers_and_no_deeper_queue() {
    for (steps, part) in [(600, 2), (600, 3), (600, 4), (2_000, 3), (300, 3)] {
        let found = summary(&run(&[Stage { name: "train", thread: 2, make_ns: slower(steps, part) }]));
        let loader = &found.batches.loaders[0];
        let then = loader.under_demand.unwrap();
        assert!(then.utilisation > 0.9 && loader.utilisation.unwrap() < 0.85, "{part}: {loader:?}");
        assert!(then.produce_mean_ns.abs_diff(9_000 * US) < 700 * US, "{part}: {then:?}");
        let advice = advice(&found);
        assert!(
            advice.starts_with("The loaders cannot keep up while they are waited for (busy "),
            "{advice}"
        );
        assert!(
            advice.contains("use 2 workers instead of 1, or make a batch in less than 5.10 ms"),
            "{advice}"
        );
        assert!(!advice.contains("queue"), "{advice}");
    }
}

#[test]
fn so_does_one_that_another_loader_waits_for() {
    for part in [2, 3, 4] {
        let reader = Stage { name: "reader", thread: 2, make_ns: slower(600, part) };
        let decoder = Stage { name: "decoder", thread: 3, make_ns: even(600, 1_500 * US) };
        let advice = advice(&summary(&run(&[reader, decoder])));
        assert!(advice.contains("The loader `reader` cannot keep up"), "{advice}");
        assert!(
            advice.contains("use 2 workers instead of 1, or make a batch in less than 5.10 ms"),
            "{advice}"
        );
        assert!(!advice.contains("queue"), "{advice}");
        // The second one becomes slower.
        let reader = Stage { name: "reader", thread: 2, make_ns: even(600, 1_500 * US) };
        let decoder = Stage { name: "decoder", thread: 3, make_ns: slower(600, part) };
        let advice = self::advice(&summary(&run(&[reader, decoder])));
        assert!(advice.contains("The loader `decoder` cannot keep up"), "{advice}");
        assert!(!advice.contains("queue"), "{advice}");
    }
}

#[test]
fn a_loader_that_becomes_slower_little_by_little_needs_no_deeper_queue() {
    let make_ns = (0..600).map(|step| 1_500 * US + step * 15 * US).collect();
    let advice = advice(&summary(&run(&[Stage { name: "train", thread: 2, make_ns }])));
    assert!(advice.contains("use 2 workers instead of 1"), "{advice}");
    assert!(!advice.contains("queue"), "{advice}");
}

#[test]
fn uneven_batches_need_a_deeper_queue() {
    // Each eighth takes long, or one of eight by chance, or each 24th; they keep up on average, or do not for lack of places.
    let chance = |step: u64| step.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 8;
    let makes = |long_ms: u64, is_long: &dyn Fn(u64) -> bool| -> Vec<u64> {
        (0..600).map(|step| if is_long(step) { long_ms * 1_000 * US } else { 1_000 * US }).collect()
    };
    let (eighth, by_chance) = (|step| step % 8 == 7, |step| chance(step) == 7);
    let rare = makes(110, &|step| step % 24 == 23);
    let train = |make_ns| summary(&run(&[Stage { name: "train", thread: 2, make_ns }]));
    let runs = [makes(30, &eighth), makes(38, &eighth), makes(30, &by_chance), rare.clone()];
    for found in runs.map(train) {
        let advice = advice(&found);
        assert!(advice.contains("deepen the queue"), "{advice}");
    }
    let reader = Stage { name: "reader", thread: 2, make_ns: rare };
    let decoder = Stage { name: "decoder", thread: 3, make_ns: even(600, 500 * US) };
    let advice = advice(&summary(&run(&[reader, decoder])));
    assert!(advice.contains("the loader `reader`") && advice.contains("deepen the queue"), "{advice}");
}

#[test]
fn a_queue_is_too_deep_by_what_the_run_never_needed_of_it() {
    let judged = |make_ns: Vec<u64>, queue: usize| {
        let stage = Stage { name: "train", thread: 2, make_ns };
        let found = summary(&run_through(&[stage], queue, true));
        let report = report::build(&found, Reading::default(), &rules::Config::default());
        let deep = report.findings.iter().find(|finding| finding.rule == "deep_prefetch");
        (found.waits.unused.unwrap(), deep.map(|finding| finding.recommendation.clone()))
    };
    // One of 100 takes 30 steps, and so do ten that take four each.
    let rare = |step: u64| if step > 200 && step % 100 == 60 { 30 * STEP } else { STEP / 4 };
    let slow = |step: u64| if step % 200 < 190 { STEP / 4 } else { 4 * STEP };
    let makes = |make: &dyn Fn(u64) -> u64| (0..600).map(make).collect::<Vec<u64>>();
    for make in [&rare as &dyn Fn(u64) -> u64, &slow] {
        let (least, deep) = judged(makes(make), 40);
        assert!((8..12).contains(&least), "{least}");
        let kept = 40 - least;
        let is_as_many = |advice: String| advice.contains(&format!("ahead, {kept} for a start"));
        assert!(deep.clone().is_none_or(is_as_many), "{least}: {deep:?}");
        let (least, deep) = judged(makes(make), 100);
        assert!((67..72).contains(&least), "{least}");
        let kept = 100 - least;
        assert!(
            deep.as_ref().is_some_and(|advice| advice.contains(&format!("ahead, {kept} for a start"))),
            "{deep:?}"
        );
    }
    // It fills the queue in 13 steps or more.
    let (least, deep) = judged(makes(&|_| STEP / 4), 40);
    assert!(least >= 38 && deep.is_some_and(|advice| advice.contains("ahead, 8 for a start")), "{least}");
}

#[test]
fn what_was_slow_in_warm_up_or_once_is_no_loader_that_is_too_slow() {
    // It keeps up on average: each eighth batch takes long.
    let even = |step: u64| if step.is_multiple_of(8) { 20_000 * US } else { 2_000 * US };
    let makes = |make: &dyn Fn(u64) -> u64| (0..600).map(make).collect::<Vec<u64>>();
    let judged = |make_ns| summary(&run_through(&[Stage { name: "train", thread: 2, make_ns }], 1, true));
    for first_ms in [500, 1_000, 3_000, 20_000] {
        let found = judged(makes(&|step| if step == 0 { first_ms * 1_000 * US } else { even(step) }));
        let then = found.batches.loaders[0].after_warmup.unwrap();
        assert!(then.produce_mean_ns.abs_diff(4_250 * US) < 100 * US, "{first_ms}: {then:?}");
        let advice = advice(&found);
        assert!(advice.starts_with("The loaders could keep up (1 worker, busy "), "{first_ms}: {advice}");
        assert!(advice.contains("deepen the queue to bridge"), "{first_ms}: {advice}");
    }
    let cold = judged(makes(&|step| if step < 60 { 40_000 * US } else { even(step) }));
    assert!(cold.modes[0].warmup.steps > 40, "{:?}", cold.modes[0].warmup);
    assert!(advice(&cold).contains("deepen the queue to bridge"), "{}", advice(&cold));
    let once = advice(&judged(makes(&|step| if step == 300 { 3_000_000 * US } else { even(step) })));
    assert!(once.contains("deepen the queue"), "{once}");
}

#[test]
fn a_queue_bridges_slow_times_that_end_soon() {
    // 40 of 200 batches take twice as long as a step: 40 steps more.
    let make_ns = |slow: u64, of: u64| -> Vec<u64> {
        (0..600).map(|step| if step % of >= of - slow { 2 * STEP } else { STEP / 5 }).collect()
    };
    let judged = |make_ns| {
        let found = summary(&run_through(&[Stage { name: "train", thread: 2, make_ns }], 2, true));
        advice(&found)
    };
    // The last of these times has not begun.
    let advice = judged(make_ns(40, 200)[..560].to_vec());
    assert!(advice.contains("deepen the queue to bridge"), "{advice}");
    // 100 of 300 do.
    let advice = judged(make_ns(100, 300));
    assert!(advice.contains("use 2 workers instead of 1"), "{advice}");
}
