//! Steps: warm-up, modes, throughput, the slowest.

use stepscope_analyze::summary::Warmup;
use stepscope_analyze::{Config, Partial, Summary};
use stepscope_core::identity::mix;
use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, bare_step, fold, process, summarise};

fn steps(durations: &[u64]) -> Vec<Trace> {
    let numbered = durations.iter().enumerate();
    numbered
        .map(|(i, &ns)| bare_step(i as u64, i as i64, i as u64 * 10_000, i as u64 * 10_000 + ns))
        .collect()
}

#[test]
fn slow_steps_at_the_start_are_warm_up() {
    let mut durations = vec![1_000, 400, 160, 100];
    durations.extend([100; 16]);
    durations[10] = 500;
    let summary = summarise(&steps(&durations));
    let mode = summary.mode(Mode::Train).unwrap();
    assert_eq!(
        mode.warmup,
        Warmup { steps: 3, max_per_instance: 3, total_ns: 1_560, usual_ns: 300, steady_step: Some(3) }
    );
    assert_eq!((mode.all.count, mode.steady.count), (20, 17));
    assert_eq!((mode.steady.p50, mode.steady.max, mode.steady.total), (Some(100), Some(500), 2_100));
    assert_eq!(mode.step_range, Some((0, 19)));
    assert_eq!(mode.slowest[0].step, Some(10));
    assert_eq!(summary.instances[0].steps.count, 17);
    assert_eq!(summary.instances[0].warmup_steps, 3);
}

/// Of so many steps of a process, which take 7 ms and up to 70 µs more, which is less than a bucket is wide.
fn saturate(rank: i64, count: u64) -> (Vec<Trace>, Vec<u64>) {
    let times: Vec<u64> = (0..count).map(|number| 7_000_000 + mix(number) % 70_001).collect();
    let resource = process(rank);
    let step = |(number, ns): (u64, &u64)| {
        let start_ns = number * 10_000_000;
        let mut build = Build::of(((rank as u64) << 32) | number, &resource);
        build.step(number as i64, start_ns, start_ns + ns);
        build.trace()
    };
    ((0..).zip(&times).map(step).collect(), times)
}

/// Median and median deviation, by the nearest rank.
fn middles(times: &[u64]) -> (Option<u64>, Option<u64>) {
    let middle = |mut values: Vec<u64>| {
        values.sort_unstable();
        values[values.len().div_ceil(2) - 1]
    };
    let median = middle(times.to_vec());
    (Some(median), Some(middle(times.iter().map(|ns| ns.abs_diff(median)).collect())))
}

#[test]
fn steady_steps_have_the_deviation_that_they_have() {
    let (traces, times) = saturate(0, 10_000);
    let summary = summarise(&traces);
    let mode = summary.mode(Mode::Train).unwrap();
    assert_eq!((mode.warmup.steps, mode.steady.is_exact), (0, true));
    assert_eq!((mode.steady.p50, mode.steady.mad), middles(&times));
    // A quarter of what they are spread over.
    assert!(mode.steady.mad.unwrap().abs_diff(17_500) < 1_500, "{:?}", mode.steady.mad);
    let of_rank = summary.instances[0].steps;
    assert_eq!((of_rank.p50, of_rank.mad, of_rank.is_exact), (mode.steady.p50, mode.steady.mad, true));
    // Two ranks, in parts that were written and merged in another order.
    let (others, more) = saturate(1, 10_000);
    let parts = [&others[5_000..], &traces[..7_000], &others[..5_000], &traces[7_000..]];
    let mut merged = Partial::new(Config::default());
    for part in parts {
        let bytes = fold(part).to_bytes().unwrap();
        merged.merge(&Partial::from_bytes(&bytes, Config::default()).unwrap());
    }
    let summary = merged.finish(None);
    let mode = summary.mode(Mode::Train).unwrap();
    assert_eq!((mode.steady.count, mode.steady.is_exact), (20_000, true));
    assert_eq!((mode.steady.p50, mode.steady.mad), middles(&[times, more].concat()));
}

#[test]
fn a_deviation_that_times_are_too_coarse_for_is_not_known() {
    let (traces, times) = saturate(0, 17_000);
    let steady = summarise(&traces).mode(Mode::Train).unwrap().steady;
    assert_eq!((steady.mad, steady.robust_cv, steady.is_exact), (None, None, false));
    assert!(steady.p50.unwrap().abs_diff(middles(&times).0.unwrap()) < 7_000_000 * 55 / 10_000);
    // The standard deviation is that of all: of what is spread evenly over 70 µs.
    assert!((steady.std.unwrap() - 70_001.0 / 12f64.sqrt()).abs() < 500.0, "{:?}", steady.std);
}

#[test]
fn warm_up_is_at_most_a_quarter_and_begins_with_the_first_step() {
    let summary = summarise(&steps(&[900, 900, 100, 100, 100, 100, 100, 100]));
    assert_eq!(summary.mode(Mode::Train).unwrap().warmup.steps, 2);
    // Half of the steps are no warm-up, and neither is their first quarter, since others are as slow.
    let summary = summarise(&steps(&[900, 900, 900, 900, 100, 100, 100, 100]));
    assert_eq!(summary.mode(Mode::Train).unwrap().warmup.steps, 0);
    let summary = summarise(&steps(&[100, 900, 100, 100, 100, 100, 100, 100]));
    assert_eq!(summary.mode(Mode::Train).unwrap().warmup.steps, 2);
    // 150 is not slower than one and a half times 100, which of few steps it has to be.
    let summary = summarise(&steps(&[150, 100, 100, 100]));
    assert_eq!(summary.mode(Mode::Train).unwrap().warmup.steps, 0);
}

#[test]
fn warm_up_is_told_by_step_numbers_not_by_arrival() {
    let mut durations = vec![100; 1_000];
    durations[..5].fill(10_000);
    let mut traces = steps(&durations);
    let forward = summarise(&traces);
    traces.reverse();
    assert_eq!(summarise(&traces), forward);
    assert_eq!(forward.mode(Mode::Train).unwrap().warmup.steps, 5);
}

#[test]
fn steps_of_two_processes_are_counted_by_their_own_times() {
    let mut traces = Vec::new();
    for (rank, duration_ns) in [(0, 10_000_000), (1, 30_000_000)] {
        let resource = process(rank);
        for step in 0..200u64 {
            let mut trace = Build::of(1_000 * rank as u64 + step, &resource);
            // The first two of each are warm-up.
            let ns = if step < 2 { 20 * duration_ns } else { duration_ns };
            trace.step(step as i64, step * 1_000_000_000, step * 1_000_000_000 + ns);
            traces.push(trace.trace());
        }
    }
    let summary = summarise(&traces);
    let mode = summary.mode(Mode::Train).unwrap();
    assert_eq!(mode.warmup.steps, 4);
    let buckets: Vec<(u64, u64, u64)> =
        mode.distribution.iter().map(|bucket| (bucket.from_ns, bucket.to_ns, bucket.count)).collect();
    // By hand: 2^(1488/64) = 9,975,792.3 and 2^(1489/64) = 10,084,421.6; 2^(1589/64) = 29,785,874.9 and 2^(1590/64) =
    // 30,110,221.8.
    assert_eq!(buckets, [(9_975_793, 10_084_421, 198), (29_785_875, 30_110_221, 198)]);
}

#[test]
fn modes_are_apart() {
    let mut traces = steps(&[100; 4]);
    let mut build = Build::new(100);
    build.step(0, 0, 7_000).mode(Mode::Eval);
    traces.push(build.trace());
    let summary = summarise(&traces);
    assert_eq!(
        summary.modes.iter().map(|mode| (mode.mode, mode.all.total)).collect::<Vec<_>>(),
        [(Mode::Train, 400), (Mode::Eval, 7_000)]
    );
    assert_eq!(summary.primary().unwrap().mode, Mode::Train);
}

#[test]
fn steps_that_only_evaluate_are_told_by_their_sections() {
    // Sections with start, length and phase, of a step of 100 ns; and the mode it is of.
    type Section = (u64, u64, Option<Phase>);
    let wait = (0, 10, Some(Phase::DataWait));
    let evaluate = (10, 50, Some(Phase::Evaluation));
    let cases: [(&[Section], Mode); 9] = [
        (&[wait, evaluate], Mode::Eval),
        (&[(10, 50, Some(Phase::Inference))], Mode::Inference),
        (&[wait], Mode::Train),
        // Less than half.
        (&[wait, (10, 49, Some(Phase::Evaluation))], Mode::Train),
        (&[wait, (10, 49, Some(Phase::Evaluation)), (60, 1, Some(Phase::Evaluation))], Mode::Eval),
        (&[evaluate, (60, 20, Some(Phase::Forward))], Mode::Train),
        (&[evaluate, (60, 20, None)], Mode::Train),
        (&[evaluate, (60, 20, Some(Phase::Inference))], Mode::Train),
        (&[], Mode::Train),
    ];
    for (sections, mode) in cases {
        let mut build = Build::new(1);
        build.step(7, 0, 100);
        for (name, &(start, length, phase)) in sections.iter().enumerate() {
            let mut span = build.span(1, &format!("part{name}"), start, start + length);
            if let Some(phase) = phase {
                span = span.phase(phase);
            }
            let _ = span;
        }
        let modes: Vec<Mode> = summarise(&[build.trace()]).modes.iter().map(|row| row.mode).collect();
        assert_eq!(modes, [mode], "{sections:?}");
    }
    // What it names counts, and so do only its own sections.
    let mut named = Build::new(1);
    named.step(7, 0, 100).mode(Mode::Inference);
    named.span(1, "evaluate", 0, 90).phase(Phase::Evaluation);
    let mut inner = Build::new(2);
    inner.step(8, 200, 300);
    inner.span(1, "train", 200, 300);
    inner.span(2, "evaluate", 200, 290).phase(Phase::Evaluation);
    let summary = summarise(&[named.trace(), inner.trace()]);
    let modes: Vec<Mode> = summary.modes.iter().map(|row| row.mode).collect();
    assert_eq!(modes, [Mode::Train, Mode::Inference]);
}

#[test]
fn without_training_the_mode_with_most_steps_is_primary() {
    let mut traces = Vec::new();
    for i in 0..5u64 {
        let mut build = Build::new(i);
        build.step(0, 0, 100).mode(if i < 2 { Mode::Eval } else { Mode::Inference });
        traces.push(build.trace());
    }
    assert_eq!(summarise(&traces).primary().unwrap().mode, Mode::Inference);
}

#[test]
fn a_step_number_twice_is_two_steps() {
    let summary = summarise(&[bare_step(1, 5, 0, 100), bare_step(2, 5, 200, 310)]);
    let mode = summary.mode(Mode::Train).unwrap();
    assert_eq!((mode.all.count, mode.all.total, mode.step_range), (2, 210, Some((5, 5))));
    assert_eq!(summary.series[0].points[0].count, 2);
}

#[test]
fn throughput_counts_what_the_steps_themselves_say() {
    let mut traces = Vec::new();
    for rank in 0..2 {
        for i in 0..4u64 {
            let mut build = Build::of(i, &process(rank));
            let start = i * 1_000_000_000;
            build.step(i as i64, start, start + 500_000_000).figure(Figure::Samples, 100);
            build.span(1, "forward", start, start + 1).figure(Figure::Samples, 100);
            traces.push(build.trace());
        }
    }
    let summary = summarise(&traces);
    let throughput = summary.mode(Mode::Train).unwrap().throughput;
    assert_eq!((throughput.samples, throughput.tokens), (Some(800), None));
    assert_eq!(throughput.elapsed_ns, 3_500_000_000);
    // 800 samples in 8 · 0.5 s of steps, and in 3.5 s of the clock.
    assert_eq!(throughput.samples_per_step_second, Some(200.0));
    assert_eq!(throughput.samples_per_second, Some(800.0 / 3.5));
    // Both do the same four steps.
    assert_eq!(throughput.steps_per_second, Some(4.0 / 3.5));
    assert_eq!(summary.instances.len(), 2);
    assert_eq!(summary.instances[1].resource.rank, Some(1));
    assert_eq!(summary.instances[1].throughput.samples, Some(400));
}

#[test]
fn what_each_rank_communicates_is_told_and_steps_of_its_own_count() {
    let mut traces = Vec::new();
    for rank in 0..2u64 {
        for i in 0..4u64 {
            let mut build = Build::of(i, &process(rank as i64));
            let start = i * 1_000_000_000;
            // Of the second rank steps 4 to 7.
            build.step((rank * 4 + i) as i64, start, start + 500_000_000);
            build.span(1, "all_reduce", start, start + (rank + i) * 100_000_000);
            traces.push(build.trace());
        }
    }
    let summary = summarise(&traces);
    let told = summary.instances.iter().map(|row| row.communication_per_step_ns);
    // Means of 0, 100, 200, 300 ms, and of 100 ms more.
    assert_eq!(told.collect::<Vec<_>>(), [Some(150_000_000), Some(250_000_000)]);
    let rate = summary.mode(Mode::Train).unwrap().throughput.steps_per_second;
    assert_eq!(rate, Some(8.0 / 3.5));
}

#[test]
fn what_passes_between_the_first_steps_is_told_unless_they_overlap() {
    let told = |ends: &[u64]| {
        let steps = ends.iter().zip(0..).map(|(&end, at)| bare_step(at + 1, at as i64, at * 100, end));
        let summary = summarise(&steps.collect::<Vec<_>>());
        (summary.instances[0].usual_gap_ns, summary.instances[0].steps_overlap)
    };
    // Gaps of 70, 0 and 10.
    assert_eq!(told(&[30, 200, 290, 400]), (Some(10), false));
    assert_eq!(told(&[30, 201, 290, 400]), (None, true));
    assert_eq!(told(&[30]), (None, false));
}

#[test]
fn the_longest_pauses_are_told_with_their_steps() {
    let mut traces: Vec<Trace> = Vec::new();
    let mut now = 1_000;
    for at in 0..400u64 {
        traces.push(bare_step(at + 1, at as i64, now, now + 100));
        // Usually 5, after step 100 an evaluation of 30 and 7 beside it, after steps 200 and 300 nothing recorded.
        if at == 100 {
            let mut eval = Build::new(900);
            eval.step(0, now + 102, now + 132).mode(Mode::Eval);
            traces.push(eval.trace());
        }
        now += 100
            + match at {
                100 => 37,
                200 => 70,
                300 => 60,
                _ => 5,
            };
    }
    let told = |summary: &Summary| {
        let pauses = &summary.mode(Mode::Train).unwrap().step_gaps;
        pauses.iter().map(|pause| (pause.step, pause.start_ns, pause.gap_ns)).collect::<Vec<_>>()
    };
    // 32 more after step 100, 65 more after step 200.
    let expected = [(200, 1_000 + 200 * 105 + 32, 70), (300, 1_000 + 300 * 105 + 97, 60), (100, 11_500, 7)];
    assert_eq!(told(&summarise(&traces)), expected);
    traces.reverse();
    assert_eq!(told(&summarise(&traces)), expected);
}

#[test]
fn the_ten_slowest_are_listed_with_their_phases() {
    let mut traces = steps(&(0..30).map(|i| 100 + i).collect::<Vec<_>>());
    let mut build = Build::new(77);
    build.step(30, 1_000_000, 1_001_000);
    build.span(1, "forward", 1_000_100, 1_000_900);
    build.span(1, "io", 1_000_900, 1_000_950).phase(Phase::Io);
    traces.push(build.trace());
    let summary = summarise(&traces);
    let slowest = &summary.mode(Mode::Train).unwrap().slowest;
    assert_eq!(slowest.len(), 10);
    assert_eq!(slowest[0].duration_ns, 1_000);
    assert_eq!(slowest[0].trace_id, format!("{:032x}", 77));
    assert_eq!(slowest[0].rank, Some(0));
    let phases: Vec<(&str, u64)> =
        slowest[0].phases.iter().map(|row| (row.phase.as_str(), row.exposed_ns)).collect();
    assert_eq!(phases, [("forward", 800), ("io", 50)]);
    assert_eq!(slowest[0].unattributed_ns, 150);
    let numbers: Vec<Option<u64>> = slowest[1..4].iter().map(|step| step.step).collect();
    assert_eq!(numbers, [Some(29), Some(28), Some(27)]);
}

#[test]
fn foreign_roots_with_a_step_number_are_steps() {
    let mut build = Build::new(1);
    build.span(0, "train_batch", 0, 100).figure(Figure::Step, 4);
    let mut wait = Build::new(2);
    wait.span(0, "data_wait", 100, 150).figure(Figure::Step, 5);
    let mut next = Build::new(3);
    next.span(0, "train_batch", 150, 240).figure(Figure::Step, 5);
    let summary = summarise(&[build.foreign().trace(), wait.foreign().trace(), next.foreign().trace()]);
    assert_eq!(summary.mode(Mode::Train).unwrap().all.total, 190);
    assert_eq!(summary.between_steps[0].stats.total, 50);
}

#[test]
fn steps_inside_one_foreign_trace_are_all_found() {
    let mut build = Build::new(1);
    build.span(0, "main", 0, 1_000);
    for i in 0..5u64 {
        build.span(1, "data_wait", i * 100, i * 100 + 20);
        build
            .span(1, "step", i * 100 + 20, i * 100 + 100)
            .kind(SectionKind::Step)
            .figure(Figure::Step, i as i64);
    }
    let summary = summarise(&[build.foreign().trace()]);
    assert_eq!(summary.mode(Mode::Train).unwrap().all.total, 400);
    let [wait] = &summary.between_steps[..] else { panic!("{:?}", summary.between_steps) };
    // The first is before them.
    assert_eq!((wait.phase.is_some(), wait.stats.count, wait.exposed_ns), (true, 4, 80));
}

#[test]
fn the_work_of_a_step_is_that_of_its_outermost_sections_that_say_it() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).figure(Figure::Tokens, 7);
    build.span(1, "micro", 0, 50).figure(Figure::Samples, 32).figure(Figure::Tokens, 100);
    build.span(2, "forward", 10, 30).figure(Figure::Samples, 32).figure(Figure::Bytes, 1);
    build.span(1, "micro", 50, 90).figure(Figure::Samples, 16);
    let summary = summarise([&build.trace()]);
    let work = summary.mode(Mode::Train).unwrap().throughput;
    assert_eq!((work.samples, work.tokens, work.bytes), (Some(48), Some(7), Some(1)));
}

#[test]
fn warm_up_is_told_by_how_steps_scatter_whatever_comes_later() {
    // Seven steps that take a fifth longer, and from the 300th on all take half as long again.
    let scattered = |i: u64| 100 + [0, 2, 4, 2][(i % 4) as usize];
    let durations = (0..1_000).map(|i| match i {
        0..7 => scattered(i) + 20,
        7..300 => scattered(i),
        _ => scattered(i) + 50,
    });
    let summary = summarise(&steps(&durations.collect::<Vec<u64>>()));
    assert_eq!(summary.mode(Mode::Train).unwrap().warmup.steps, 7);
    // A run that becomes quicker has not been warming up before.
    let durations = (0..1_000).map(|i| if i < 600 { 160 } else { scattered(i) });
    let summary = summarise(&steps(&durations.collect::<Vec<u64>>()));
    assert_eq!(summary.mode(Mode::Train).unwrap().warmup.steps, 0);
}

#[test]
fn what_another_program_has_around_its_steps_is_not_between_them() {
    let mut build = Build::new(1);
    build.span(0, "main", 0, 1_300).thread(1);
    build.span(1, "train", 0, 1_200).thread(1);
    for step in 0..10 {
        let (at, id) = (120 * step, 3 + 3 * step);
        build
            .span(2, "train_step", at, at + 90)
            .kind(SectionKind::Step)
            .figure(Figure::Step, step as i64)
            .thread(1);
        build.span(id, "forward", at, at + 80).thread(1);
        build.span(2, "load_batch", at + 90, at + 110).thread(1);
    }
    let summary = summarise([&build.foreign().trace()]);
    let mode = summary.mode(Mode::Train).unwrap();
    assert_eq!((mode.all.count, mode.all.total), (10, 900));
    let [outside] = &summary.between_steps[..] else { panic!("{:?}", summary.between_steps) };
    // The last one is after them.
    assert_eq!((outside.stats.count, outside.stats.total, outside.exposed_ns), (9, 180, 180));
    // Each is a section all the same, with what is in none of the others.
    let own = |path: &str| summary.section(path).map(|row| (row.stats.count, row.stats.total, row.self_ns));
    assert_eq!(own("main"), Some((1, 1_300, Some(100))));
    assert_eq!(own("main/train"), Some((1, 1_200, Some(100))));
    let paths = summary.critical_path.as_ref().unwrap();
    assert_eq!((paths.mode, paths.windows, paths.total_ns), (Some(Mode::Train), 10, 900));
}
