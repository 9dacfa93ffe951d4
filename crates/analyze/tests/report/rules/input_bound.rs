//! Fixtures of `input_bound`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::loaders::InputVerdict;
use stepscope_analyze::report::{self, TimeBase};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{
    AfterWarmup, BatchSummary, FigureSum, LoaderRow, LoaderStall, UnderDemand, WaitSummary, WaitedBy,
};
use stepscope_core::{Mode, Phase, SectionKind};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy, same, stats};

const RULE: &str = "input_bound";

#[test]
fn one_slow_worker_is_found() {
    // 20 of 22 ms are waiting; a batch takes 21 ms, the step itself 2 ms.
    let summary = Run::of(100, 22 * MS)
        .phase(Phase::DataWait, "data_wait", 20 * MS)
        .phase(Phase::Forward, "forward", 2 * MS)
        .loader(1, 21 * MS, 0.98)
        .waits(20 * MS, 21 * MS, 1)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "91 % of the step time is spent waiting for batches.");
    assert_eq!(finding.severity, 91.0);
    assert_eq!(finding.section.as_deref(), Some("step/data_wait"));
    assert_eq!(finding.phase.as_deref(), Some("data_wait"));
    let gain = finding.predicted_gain.unwrap();
    // The loader computes for longer than the step, which may have had half of a core only.
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns), (21 * MS, MS));
    assert_eq!((gain.share, gain.direct_share), (0.954545, 0.909091));
    let because = "91 % is waiting; 4.5 % is what loaders that compute beside the step may cost it";
    assert_eq!(gain.because.as_deref(), Some(because));
    assert_eq!(finding.evidence.get("cpu_contention_share"), Some(&json!(0.045455)));
    // ceil(21 / 2).
    assert_eq!(finding.evidence.get("workers_needed"), Some(&json!(11)));
    assert_eq!(finding.evidence.get("workers"), Some(&json!(1)));
    assert!(finding.recommendation.contains("use 11 workers instead of 1"), "{}", finding.recommendation);
}

/// `train` is slow and waited for, `masks` is busier, quick, and ahead of the step.
fn two_loaders() -> Summary {
    let mut summary = Run::of(100, 10 * MS)
        .phase(Phase::DataWait, "data_wait", 5 * MS)
        .loader(1, 9 * MS, 0.90)
        .waits(2 * MS, 6 * MS, 3)
        .build();
    let mut masks = summary.batches.loaders[0].clone();
    let waits = |wait_ns: u64, produce_ns: u64, queue_ns: u64, depth: u64| WaitSummary {
        wait: same(100, wait_ns),
        produce: same(100, produce_ns),
        queue: same(100, queue_ns),
        unused: Some(depth.saturating_sub(1)),
        depth: same(100, depth),
    };
    let held = |mode: Option<Mode>, ns: u64| LoaderStall { mode, waits: 100, total_ns: 100 * ns };
    let train = &mut summary.batches.loaders[0];
    train.waits = waits(4 * MS, 9 * MS, 1_000, 1);
    train.stalls = vec![held(Some(Mode::Train), 4 * MS)];
    masks.name = "masks".into();
    masks.busy_ns += 1;
    masks.produce = same(100, 2 * MS);
    masks.workers.push(masks.workers[0].clone());
    masks.waits = waits(MS, 2 * MS, 30 * MS, 5);
    // Evaluation waits for it longest, which is no matter of the training step.
    masks.stalls = vec![held(Some(Mode::Eval), 20 * MS), held(None, MS)];
    summary.batches.loaders.insert(0, masks);
    summary.waits = waits(2 * MS, 6 * MS, 15 * MS, 3);
    summary
}

#[test]
fn of_several_loaders_the_one_is_judged_that_steps_wait_for() {
    let [finding] = found(RULE, &two_loaders()).try_into().unwrap();
    let evidence = |key: &str| finding.evidence.get(key).cloned();
    assert_eq!(evidence("loader"), Some(json!("train")));
    // 4 of 4 + 1 ms.
    assert_eq!(evidence("loader_waiting_share"), Some(json!(0.8)));
    assert_eq!((evidence("workers"), evidence("produce_mean_ns")), (Some(json!(1)), Some(json!(9 * MS))));
    assert_eq!((evidence("queue_depth_p50"), evidence("wait_p50_ns")), (Some(json!(1)), Some(json!(4 * MS))));
    // ceil(9 / 5).
    assert_eq!(evidence("workers_needed"), Some(json!(2)));
    let advice = "Of the time spent waiting for loaders, 80 % is for `train`. The loader `train` cannot keep up: use 2 \
                  workers instead of 1, or make a batch in less than 5.00 ms (now 9.00 ms) with 1 worker.";
    assert_eq!(finding.recommendation, advice);
}

#[test]
fn loaders_that_find_no_place_in_the_queue_need_a_deeper_one_before_more_of_them() {
    // A batch takes 24 ms on average, the step 10 ms without its wait.
    let advice = |busy_share: f64, slot_wait_share: f64| {
        let mut summary = Run::of(100, 20 * MS)
            .phase(Phase::DataWait, "data_wait", 10 * MS)
            .loader(2, 24 * MS, busy_share)
            .build();
        summary.batches.loaders[0].slot_wait_share = Some(slot_wait_share);
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding.recommendation
    };
    assert_eq!(
        advice(0.6, 0.33),
        "Batches are uneven: the loaders are held up by a full queue at times, and the step by an empty one (2 workers, busy \
         60 % of the time, waiting for a place in the queue 33 %; a batch takes 24.0 ms). So deepen the queue first; then 3 \
         workers may be needed."
    );
    for (busy_share, slot_wait_share) in [(0.6, 0.09), (0.9, 0.1)] {
        let advice = advice(busy_share, slot_wait_share);
        assert!(advice.starts_with("The loaders cannot keep up: use 3 workers instead of 2"), "{advice}");
    }
}

#[test]
fn loaders_that_are_too_slow_while_they_are_waited_for_need_no_deeper_queue() {
    // A batch takes 24 ms on average, and 36 ms while it is waited for; the step 10 ms without its wait.
    let judged = |utilisation: f64, produce_mean_ns: u64, all_ns: u64| {
        let run = Run::of(100, 20 * MS).phase(Phase::DataWait, "data_wait", 10 * MS).loader(2, 24 * MS, 0.6);
        let mut summary = run.build();
        let loader = &mut summary.batches.loaders[0];
        loader.slot_wait_share = Some(0.33);
        loader.after_warmup = (all_ns > 0).then_some(AfterWarmup {
            produce_mean_ns: all_ns,
            utilisation: Some(0.5),
            slot_wait_share: Some(0.4),
        });
        loader.under_demand = Some(UnderDemand { utilisation, produce_mean_ns });
        let [finding] = found(RULE, &summary).try_into().unwrap();
        let said = |key: &str| finding.evidence.get(key).cloned();
        (said("workers_needed"), said("workers_busy_while_awaited_share"), finding.recommendation.clone())
    };
    let told = |utilisation: f64, produce_ns: u64| judged(utilisation, produce_ns, 0);
    let (needed, busy, advice) = told(0.99, 36 * MS);
    assert_eq!((needed, busy), (Some(json!(4)), Some(json!(0.99))));
    assert_eq!(
        advice,
        "The loaders cannot keep up while they are waited for (busy 99 % then, 60 % of all time): use 4 workers instead \
         of 2, or make a batch in less than 20.0 ms (then 36.0 ms) with 2 workers."
    );
    // Not busy then, or quick enough on average.
    for (utilisation, produce_ns) in [(0.84, 36 * MS), (0.99, 20 * MS)] {
        let (needed, busy, advice) = told(utilisation, produce_ns);
        assert_eq!((needed, busy), (Some(json!(3)), None));
        assert!(advice.contains("So deepen the queue first"), "{advice}");
    }
    let (needed, _, advice) = judged(0.99, 36 * MS, 19 * MS);
    assert_eq!(needed, Some(json!(4)));
    assert!(advice.contains("cannot keep up while they are waited for (busy 99 % then, 50 %"), "{advice}");
}

#[test]
fn waits_while_batches_lie_ready_are_not_the_loaders_fault() {
    let mut summary = Run::of(100, 10 * MS)
        .phase(Phase::DataWait, "data_wait", MS)
        .loader(2, 18 * MS, 0.99)
        .waits(MS, 18 * MS, 4)
        .build();
    summary.waits.queue = same(100, 30 * MS);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.recommendation.starts_with("Batches lay ready"), "{}", finding.recommendation);
    // Of the few for which the step waits none did, whatever the queue holds at most times.
    summary.waits.wait = stats((0..100).map(|wait| if wait % 20 == 0 { 20 * MS } else { 1_000 }));
    summary.batches.loaders[0].utilisation = Some(0.7);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.recommendation.contains("deepen the queue"), "{}", finding.recommendation);
}

#[test]
fn loading_on_the_training_thread_moves_to_threads() {
    let summary = Run::of(100, 10 * MS).phase(Phase::DataLoading, "load", 6 * MS).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.phase.as_deref(), Some("data_loading"));
    assert_eq!(finding.section.as_deref(), Some("step/load"));
    let advice = &finding.recommendation;
    assert!(advice.contains("threads of their own"), "{advice}");
    assert!(advice.ends_with("loading can go on meanwhile."), "{advice}");
}

/// A loader: its name, the time that it makes batches, whom it waits for and how long.
type Stage<'a> = (&'a str, u64, &'a [(&'a str, u64)]);

/// Loaders of which each waits for others; the step waits for the first one.
fn stages(of: &[Stage<'_>]) -> Summary {
    let run = Run::of(100, 30 * MS).phase(Phase::DataWait, "data_wait", 20 * MS).loader(1, 30 * MS, 1.0);
    let mut summary = run.waits(20 * MS, 30 * MS, 1).build();
    let template = summary.batches.loaders[0].clone();
    let row = |&(name, made_ns, waits): &Stage<'_>| {
        let mut row = template.clone();
        row.name = name.into();
        row.produce = same(100, made_ns);
        row.waiting_ns = 100 * waits.iter().map(|wait| wait.1).sum::<u64>();
        for (other, _, waits) in of {
            for (_, ns) in waits.iter().filter(|wait| wait.0 == name) {
                row.waited_by.push(WaitedBy { loader: (*other).into(), waits: 100, total_ns: 100 * ns });
            }
        }
        row
    };
    let mut loaders: Vec<LoaderRow> = of.iter().map(row).collect();
    loaders[0].waits = summary.waits;
    loaders[0].stalls = vec![LoaderStall { mode: Some(Mode::Train), waits: 100, total_ns: 2_000 * MS }];
    loaders.sort_by(|a, b| a.name.cmp(&b.name));
    summary.batches.loaders = loaders;
    summary
}

#[test]
fn of_many_stages_the_last_that_the_others_wait_for_is_told() {
    let judged = |summary: &Summary| {
        let [finding] = found(RULE, summary).try_into().unwrap();
        let said = |key: &str| finding.evidence.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        (said("waited_for_by"), said("loader"), finding.recommendation.clone())
    };
    let some = |name: &str| Some(name.to_owned());
    // The reader works all the time; the decoder waits for it, and the collator for the decoder.
    let chain = stages(&[
        ("collate", 30 * MS, &[("decode", 25 * MS)]),
        ("decode", 30 * MS, &[("read", 20 * MS)]),
        ("read", 30 * MS, &[]),
    ]);
    let (next, last, advice) = judged(&chain);
    assert_eq!((next, last), (some("collate"), some("read")));
    assert!(advice.contains("The loader `read` cannot keep up: use 3 workers instead of 1"), "{advice}");
    // The decoder works itself for most of its time: whom it waits for does not matter.
    let middle = stages(&[
        ("collate", 30 * MS, &[("decode", 25 * MS)]),
        ("decode", 30 * MS, &[("read", 14 * MS)]),
        ("read", 14 * MS, &[]),
    ]);
    assert_eq!((judged(&middle).0, judged(&middle).1), (some("collate"), some("decode")));
    // Two sources, of which neither takes half of the time, and the longer is the one to look at.
    let sources = stages(&[
        ("join", 30 * MS, &[("a", 11 * MS), ("b", 12 * MS)]),
        ("a", 30 * MS, &[]),
        ("b", 30 * MS, &[]),
    ]);
    assert_eq!((judged(&sources).0, judged(&sources).1), (some("join"), some("b")));
    // Damaged: each waits for the other.
    let circle = stages(&[("a", 30 * MS, &[("b", 20 * MS)]), ("b", 30 * MS, &[("a", 20 * MS)])]);
    assert_eq!((judged(&circle).0, judged(&circle).1), (some("a"), some("b")));
    // Nobody says whom it waits for.
    let mut unnamed = stages(&[("only", 30 * MS, &[])]);
    unnamed.batches.loaders[0].waiting_ns = 100 * 21 * MS;
    let (next, last, advice) = judged(&unnamed);
    assert_eq!((next, last), (None, None));
    assert!(advice.starts_with("The loaders wait themselves for 70 % of the time"), "{advice}");
}

#[test]
fn waits_between_steps_count() {
    let waits = vec![10 * MS; 100];
    let summary = Run::of(100, 10 * MS).between(Phase::DataWait, "data_wait", &waits).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.severity, 50.0);
    assert_eq!(finding.section.as_deref(), Some("data_wait"));
    // The iterator is read by the training thread itself: nothing says that anybody computes beside the steps.
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.saved_ns_per_step, gain.step_time_ns, gain.because), (10 * MS, 10 * MS, None));
    assert_eq!(finding.evidence.get("loaders_compute_per_step_ns"), None);
    // The wait is no part of the step.
    assert_eq!(gain.of, TimeBase::StepsAndInput);
    assert_eq!(
        finding.title,
        "50 % of the time of steps and the input between them is spent waiting for batches."
    );
}

#[test]
fn workers_are_advised_only_while_processors_are_left() {
    let advice = |cpus: i64, is_measured: bool| {
        let mut summary =
            Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 5 * MS).loader(1, 9 * MS, 0.99).build();
        summary.instances[0].resource.cpus = Some(cpus);
        // 9.9 ms of computing a step that itself takes 5 ms.
        let mut batch = summary.sections[0].clone();
        (batch.path, batch.kind, batch.stats) = ("batch".into(), SectionKind::Batch, same(100, 9 * MS));
        batch.cpu_ns = is_measured.then_some(FigureSum { spans: 100, sum: 900 * MS });
        let mut decode = batch.clone();
        (decode.path, decode.kind, decode.self_ns) =
            ("batch/decode".into(), SectionKind::Section, Some(720 * MS));
        summary.sections.extend([batch, decode]);
        summary.sections.sort_by(|a, b| a.path.cmp(&b.path));
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding.recommendation
    };
    let tight = advice(2, true);
    assert!(
        tight.contains("2 workers would be needed, but what they compute takes 2.0 processors"),
        "{tight}"
    );
    assert!(tight.contains("the training leaves 1 of 2. So make a batch in less than 5.00 ms"), "{tight}");
    assert!(tight.ends_with("Most of a batch, 80 %, is `batch/decode`: begin there."), "{tight}");
    for (cpus, is_measured) in [(3, true), (2, false)] {
        let roomy = advice(cpus, is_measured);
        assert!(roomy.contains("use 2 workers instead of 1"), "{roomy}");
    }
}

#[test]
fn busy_loaders_that_are_ahead_are_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "0.50 % of 2.00 s of steps is spent waiting for batches, 99 % has a phase; limit 5.0 %"
    );
    // The verdict calls preparation input as well.
    let run = Run::of(200, 10 * MS).phase(Phase::Preprocessing, "prepare", 6 * MS);
    let prepared = fine(RULE, &run.phase(Phase::Forward, "forward", 4 * MS).build());
    assert_eq!(
        prepared,
        "0 % of 2.00 s of steps is spent waiting for batches; preparation takes 60 %: see `slow_preprocessing`, 100 % has a phase; limit 5.0 %"
    );
}

#[test]
fn one_pair_of_thresholds_sets_the_verdict_and_the_rule() {
    let run = Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 2_500_000);
    let summary = run.phase(Phase::Forward, "forward", 7_500_000).build();
    let said = |moderate_share, high_share| {
        let mut config = Config::default();
        (config.input_bound.moderate_share, config.input_bound.high_share) = (moderate_share, high_share);
        let report = report::build(&summary, report::Reading::default(), &config);
        let state = report.detailed_metrics.rules.iter().find(|state| state.rule == RULE).unwrap().state;
        (report.summary.input.verdict, state, report.summary.verdict.split(':').next().unwrap().to_owned())
    };
    assert_eq!(said(0.05, 0.2), (InputVerdict::High, "found", "Input bound".into()));
    assert_eq!(said(0.05, 0.26), (InputVerdict::Moderate, "found", "Moderately input bound".into()));
    assert_eq!(said(0.26, 0.3), (InputVerdict::No, "fine", "Not input bound".into()));
}

#[test]
fn one_step_is_judged_and_said_to_be_one() {
    let summary = Run::of(1, 10 * MS).phase(Phase::DataWait, "data_wait", 9 * MS).build();
    assert_eq!(found(RULE, &summary)[0].title, "90 % of the step time is spent waiting for batches.");
}

#[test]
fn time_without_a_phase_may_be_waiting() {
    let half = |steps| Run::of(steps, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).build();
    assert!(unknown(RULE, &half(100)).ends_with(", and 50 % has no phase: give sections theirs"));
    let report = report::build(&half(100), report::Reading::default(), &Config::default());
    let said = "Only 50 % of the step time has a phase, and 0 % is known to be input; what the rest is, no section says.";
    assert_eq!(
        (report.summary.input.verdict, report.summary.verdict.as_str()),
        (InputVerdict::Unknown, said)
    );
}

#[test]
fn what_remains_is_the_time_of_the_quicker_steps_but_a_small_cause_is_not_granted_all_of_it() {
    let gain = |wait_ns: u64, quick_ns: u64| {
        let mut summary = Run::of(100, 10 * MS)
            .phase(Phase::DataWait, "data_wait", wait_ns)
            .loader(1, 10 * MS, 0.0)
            .build();
        summary.modes[0].quick_without_waiting_ns = Some(quick_ns);
        let [finding] = found(RULE, &summary).try_into().unwrap();
        // The evidence stays what was measured.
        assert_eq!(finding.evidence.get("waiting_per_step_ns"), Some(&json!(wait_ns)));
        finding.predicted_gain.unwrap().step_time_ns
    };
    assert_eq!(gain(5 * MS, 4 * MS), 4 * MS);
    // Half of the step: at most half of the rest may be a side effect of the wait.
    assert_eq!(gain(5 * MS, MS), 5 * MS / 2);
    assert_eq!(gain(MS, MS), 81 * MS / 10);
    // Quicker steps are not slower than all steps.
    assert_eq!(gain(5 * MS, 7 * MS), 5 * MS);
}

/// What removing the wait leaves of a step of 10 ms that waits for 4 ms.
fn left_ns(change: impl FnOnce(&mut Summary)) -> u64 {
    let mut summary =
        Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 4 * MS).loader(2, 10 * MS, 0.5).build();
    change(&mut summary);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let gain = finding.predicted_gain.unwrap();
    // However loose the bound is, the finding is as severe as the wait is long.
    assert_eq!((finding.severity, gain.direct_share), (40.0, 0.4));
    gain.step_time_ns
}

#[test]
fn loaders_cost_a_step_half_of_the_time_in_which_they_compute() {
    // Both are busy half of the time, 10 ms a step: more than the 6 ms that the step computes.
    assert_eq!(left_ns(|_| {}), 3 * MS);
    let computing = |ns: u64| move |summary: &mut Summary| summary.batches.loaders[0].computing_ns = ns;
    assert_eq!(left_ns(computing(100 * 2 * MS)), 5 * MS);
    // They slept.
    assert_eq!(left_ns(computing(0)), 6 * MS);
}

#[test]
fn more_threads_than_processors_share_them() {
    let cpus = |cpus: i64| move |summary: &mut Summary| summary.instances[0].resource.cpus = Some(cpus);
    // Three threads on two processors that may be one: a third of one is left.
    assert_eq!(left_ns(cpus(2)), 2 * MS);
    assert_eq!(left_ns(cpus(1)), MS);
    assert_eq!(left_ns(cpus(3)), 3 * MS);
    assert_eq!(left_ns(|summary| summary.instances[0].resource.cpus = None), 3 * MS);
}

#[test]
fn loaders_of_all_ranks_of_a_host_compute_beside_a_step() {
    let beside = |host: &'static str| {
        move |summary: &mut Summary| {
            summary.batches.loaders[0].computing_ns = 100 * 2 * MS;
            let mut other = summary.instances[0].clone();
            other.resource.rank = Some(1);
            other.resource.host_name = host.into();
            summary.instances.push(other);
        }
    };
    assert_eq!(left_ns(beside("host-a")), 4 * MS);
    assert_eq!(left_ns(beside("host-b")), 5 * MS);
}

#[test]
fn waits_know_what_batches_without_traces_took() {
    let sampled = |summary: &mut Summary| {
        // A tenth of the batches was read, 2 ms of computing each.
        summary.batches.count = 10;
        summary.batches.loaders[0].computing_ns = 10 * 2 * MS;
        summary.waits.produce = same(100, 3 * MS);
    };
    assert_eq!(left_ns(sampled), 5 * MS);
    let gone = |summary: &mut Summary| {
        summary.batches = BatchSummary::default();
        summary.waits.produce = same(100, 4 * MS);
    };
    assert_eq!(left_ns(gone), 4 * MS);
}

#[test]
fn a_long_wait_is_a_finding_whatever_its_share() {
    let run = |wait_ms| {
        let run = Run::of(100, 60_000 * MS).phase(Phase::DataWait, "data_wait", wait_ms * MS);
        run.phase(Phase::Forward, "forward", (60_000 - wait_ms) * MS).build()
    };
    let [finding] = found(RULE, &run(1_200)).try_into().unwrap();
    assert_eq!((finding.severity, finding.phase.as_deref()), (2.0, Some("data_wait")));
    assert_eq!(finding.evidence.get("waiting_per_step_ns"), Some(&json!(1_200 * MS)));
    assert_eq!(
        fine(RULE, &run(120)),
        "0.20 % of 1 h 40 min of steps is spent waiting for batches, 100 % has a phase; limit 5.0 %"
    );
}
