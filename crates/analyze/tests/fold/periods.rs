//! Steps that take longer every so often: from traces to the rows of the summary, in any order and in any parts.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ExampleRole, PeriodCause, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::Trace;

use crate::build::{Build, fold, summarise};

const US: u64 = 1_000;

/// Step `number` of 600 µs and a little noise, and a checkpoint of `writing_us` in it.
fn step(number: u64, mode: Mode, writing_us: u64) -> Trace {
    let noise = number * 7_919 % 13 * US;
    let (start, writing) = (number * 10_000_000, writing_us * US);
    let mut build = Build::new(number + 1);
    let end = start + writing + 600 * US + noise;
    build.step(number as i64, start, end).mode(mode).thread(1);
    build.span(1, "forward", start, start + 500 * US).phase(Phase::Forward).thread(1);
    if writing > 0 {
        build
            .span(1, "save", start + 500 * US, start + 500 * US + writing)
            .phase(Phase::Checkpoint)
            .thread(1);
    }
    build.trace()
}

/// 400 steps, of which every 20th writes for 1,200 µs and every 100th for 6,000 µs; step 33 takes long by itself.
fn saving() -> Vec<Trace> {
    let writing = |number: u64| match (number % 20, number % 100, number) {
        (_, 0, _) => 6_000,
        (0, ..) => 1_200,
        (.., 33) => 4_000,
        _ => 0,
    };
    (1..=400).map(|number| step(number, Mode::Train, writing(number))).collect()
}

fn told(summary: &Summary) -> Vec<(Mode, u64, u64, u64)> {
    let rows = summary.periodic.iter();
    rows.flat_map(|row| {
        row.periods.iter().map(|period| (row.mode, period.every, period.first_step, period.steps))
    })
    .collect()
}

#[test]
fn periods_are_told_with_their_times_and_their_phase() {
    let summary = summarise(&saving());
    assert_eq!(told(&summary), [(Mode::Train, 100, 100, 4), (Mode::Train, 20, 20, 16)]);
    let row = &summary.periodic[0];
    assert_eq!((row.usual.count, row.usual.max), (380, Some((4_600 + 33 * 7_919 % 13) * US)));
    let [rare, frequent] = &row.periods[..] else { panic!("{row:?}") };
    let noise = |number: u64| number * 7_919 % 13 * US;
    let median = |mut numbers: Vec<u64>, rest: u64| {
        numbers.sort_unstable();
        rest + numbers[(numbers.len() - 1) / 2]
    };
    let rare_steps: Vec<u64> = [100, 200, 300, 400].map(noise).into();
    let frequent_steps: Vec<u64> = (1..20).filter(|n| n % 5 != 0).map(|n| noise(n * 20)).collect();
    let usual_ns = row.usual.p50.unwrap();
    let above = |numbers: &[u64], rest: u64| numbers.iter().map(|ns| ns + rest - usual_ns).sum::<u64>();
    assert_eq!(rare.above_ns, above(&rare_steps, 6_600 * US));
    assert_eq!(frequent.above_ns, above(&frequent_steps, 1_800 * US));
    assert_eq!(rare.median_ns, Some(median(rare_steps, 6_600 * US)));
    assert_eq!(frequent.median_ns, Some(median(frequent_steps, 1_800 * US)));
    let checkpoint = |usual_ns, periodic_ns| {
        Some(PeriodCause { phase: Some(PhaseName::Known(Phase::Checkpoint)), usual_ns, periodic_ns })
    };
    // Step 33 is among the first 256, of which 244 are usual.
    assert_eq!(rare.cause, checkpoint(4_000 * US / 244, 6_000 * US));
    assert_eq!(frequent.cause, checkpoint(4_000 * US / 244, 1_200 * US));
    assert_eq!((row.every(200), row.every(40), row.every(33)), (Some(100), Some(20), None));
    assert!(summary.changes.is_empty(), "{:?}", summary.changes);
}

#[test]
fn order_and_parts_change_nothing() {
    let traces = saving();
    let expected = summarise(&traces).periodic;
    assert_eq!(summarise(traces.iter().rev()).periodic, expected);
    let (even, odd): (Vec<&Trace>, Vec<&Trace>) = traces.iter().partition(|trace| trace.id[15] % 2 == 0);
    let (mut one, mut other) = (fold(even.iter().copied()), fold(odd.iter().copied()));
    one.merge(&fold(odd.iter().copied()));
    other.merge(&fold(even.iter().copied()));
    assert_eq!((one.finish(None).periodic, other.finish(None).periodic), (expected.clone(), expected));
}

#[test]
fn modes_are_apart_and_equal_steps_have_no_period() {
    let mut traces = saving();
    traces
        .extend((401..=600).map(|number| step(number, Mode::Eval, if number % 25 == 0 { 3_000 } else { 0 })));
    let rows = [(Mode::Train, 100, 100, 4), (Mode::Train, 20, 20, 16), (Mode::Eval, 25, 425, 8)];
    assert_eq!(told(&summarise(&traces)), rows);
    let steady: Vec<Trace> = (1..=400).map(|number| step(number, Mode::Train, 0)).collect();
    assert_eq!(told(&summarise(&steady)), []);
}

#[test]
fn periodic_steps_leave_the_lists_of_the_slowest_to_the_others() {
    // 100 of 5,000 steps save; slower than the rest, but quicker than those, are twelve others, some of even numbers.
    let others: Vec<u64> = (1..=12).map(|n| n * n * 31 + 301).collect();
    let traces: Vec<Trace> = (1..=5_000)
        .map(|number| match others.binary_search(&number) {
            Ok(at) => step(number, Mode::Train, 1_000 + 40 * at as u64),
            Err(_) if number % 50 == 0 => step(number, Mode::Train, 6_000 + number / 50 * 20),
            Err(_) => step(number, Mode::Train, 0),
        })
        .collect();
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, 50, 50, 100)]);
    let listed: Vec<u64> = summary.modes[0].slowest.iter().map(|step| step.step.unwrap()).collect();
    let slowest: Vec<u64> = others.iter().rev().copied().take(9).collect();
    assert_eq!((listed[0], &listed[1..]), (5_000, &slowest[..]));
    let of_role = |role: ExampleRole| -> Vec<u64> {
        summary
            .examples
            .iter()
            .filter(|row| row.roles.contains(&role))
            .map(|row| row.step.step.unwrap())
            .collect()
    };
    assert_eq!(of_role(ExampleRole::Periodic), [5_000]);
    let waterfalls = of_role(ExampleRole::Slowest);
    assert_eq!((waterfalls.len(), waterfalls[0]), (4, slowest[0]));
    assert!(waterfalls.iter().all(|number| slowest.contains(number)), "{waterfalls:?}");
    // In parts that overlap in time, and backwards, the same.
    let (even, odd): (Vec<&Trace>, Vec<&Trace>) =
        traces.iter().rev().partition(|trace| trace.id[15] % 2 == 0);
    let mut merged = fold(even);
    merged.merge(&fold(odd));
    let merged = merged.finish(None);
    assert_eq!((&merged.modes, &merged.examples), (&summary.modes, &summary.examples));
}

#[test]
fn a_periodic_step_that_is_far_longer_than_the_others_of_its_period_is_slow_by_itself() {
    let traces: Vec<Trace> = (1..=600)
        .map(|number| {
            step(
                number,
                Mode::Train,
                if number == 400 { 30_000 } else { 3_000 * u64::from(number % 20 == 0) },
            )
        })
        .collect();
    let summary = summarise(&traces);
    let roles = |number| -> Vec<ExampleRole> {
        let rows = summary.examples.iter().filter(|row| row.step.step == Some(number));
        rows.flat_map(|row| row.roles.clone()).collect()
    };
    assert_eq!(roles(400), [ExampleRole::Slowest]);
    assert_eq!(summary.modes[0].slowest.iter().filter(|step| step.step.unwrap() % 20 == 0).count(), 2);
}

#[test]
fn a_period_that_begins_late_is_neither_jitter_nor_a_change() {
    for (every, from, count, writing) in
        [(50, 400, 1_000, 5_000), (4, 700, 1_000, 900), (10, 800, 1_200, 700)]
    {
        let is_long = |number: u64| number >= from && number.is_multiple_of(every);
        let traces: Vec<Trace> = (1..=count)
            .map(|number| step(number, Mode::Train, writing * u64::from(is_long(number))))
            .collect();
        let summary = summarise(&traces);
        let steps = (count - from) / every + 1;
        assert_eq!(told(&summary), [(Mode::Train, every, from, steps)]);
        let row = &summary.periodic[0];
        assert_eq!((row.periods[0].since_step, row.usual.count), (Some(from), count - steps));
        assert_eq!((row.every(from - every), row.every(from)), (None, Some(every)));
        assert_eq!((&summary.changes[..], summary.modes[0].warmup.steps), (&[][..], 0));
        let report = stepscope_analyze::report::build(&summary, Default::default(), &Default::default());
        assert!(report.findings.iter().all(|found| !["step_jitter", "slower_since"].contains(&found.rule)));
    }
}

/// Of steps from `first` on those that save for 3,000 µs are told so; step 33 takes long by itself.
fn told_of(first: u64, count: u64, saving: &[u64]) -> Vec<(u64, u64, Option<u64>, u64)> {
    let writing = |number: u64| if saving.contains(&number) { 3_000 } else { 0 };
    let traces: Vec<Trace> = (first..first + count).map(|n| step(n, Mode::Train, writing(n))).collect();
    let summary = summarise(&traces);
    assert_eq!(summarise(traces.iter().rev()).periodic, summary.periodic);
    let periods = summary.periodic.iter().flat_map(|row| &row.periods);
    periods.map(|row| (row.every, row.first_step, row.since_step, row.steps)).collect()
}

#[test]
fn three_steps_equally_far_apart_in_which_alone_a_section_runs_are_a_period() {
    assert_eq!(told_of(0, 150, &[49, 99, 149]), [(50, 49, None, 3)]);
    assert_eq!(told_of(1, 150, &[50, 100, 150]), [(50, 50, None, 3)]);
    // From 0 on, where the first was left out; and a beginning.
    assert_eq!(told_of(0, 160, &[50, 100, 150]), [(50, 0, None, 4)]);
    assert_eq!(told_of(0, 300, &[150, 200, 250]), [(50, 150, Some(150), 3)]);
    // Two; unequal distances; counted from nowhere; one left out; most of the time elsewhere.
    for saving in [&[50, 100][..], &[50, 100, 149], &[40, 80 + 4, 80 + 48], &[25, 50, 75]] {
        assert_eq!(told_of(0, 130, saving), [], "{saving:?}");
    }
}

/// Of steps 0 to `count` of two times, three in ten of which are a quarter longer, those that save, for 1,800 µs.
fn told_among_two_times(seed: u64, count: u64, saves: impl Fn(u64) -> bool) -> Summary {
    let mut state = seed;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let trace = |number: u64| {
        let usual = if random() % 10 < 3 { 750 } else { 600 } * US + random() % 40 * US;
        let (start, saving) = (number * 10_000_000, if saves(number) { 1_800 * US } else { 0 });
        let mut build = Build::new(number + 1);
        build.step(number as i64, start, start + usual + saving).thread(1);
        build.span(1, "forward", start, start + usual).phase(Phase::Forward).thread(1);
        if saving > 0 {
            build.span(1, "save", start + usual, start + usual + saving).phase(Phase::Checkpoint).thread(1);
        }
        build.trace()
    };
    let traces: Vec<Trace> = (0..count).map(trace).collect();
    let summary = summarise(&traces);
    assert_eq!(summarise(traces.iter().rev()).periodic, summary.periodic);
    summary
}

#[test]
fn steps_of_a_section_are_periodic_whatever_the_others_take_and_however_many_they_are() {
    for (count, every) in
        [(800, 50), (850, 50), (1_500, 50), (800, 40), (800, 37), (2_400, 100), (4_000, 200)]
    {
        for seed in 0..3 {
            let summary = told_among_two_times(seed, count, |number| number % every == every - 1);
            let (first, steps) = (every - 1, count / every);
            assert_eq!(told(&summary), [(Mode::Train, every, first, steps)], "{count}, seed {seed}");
            let report = stepscope_analyze::report::build(&summary, Default::default(), &Default::default());
            let found: Vec<&str> = report.findings.iter().map(|found| found.rule).collect();
            assert!(!found.contains(&"step_jitter"), "{count} every {every}, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn of_ten_steps_of_a_section_one_may_be_missing_and_one_elsewhere() {
    let of = |saves: &dyn Fn(u64) -> bool| {
        let summary = told_among_two_times(3, 1_000, saves);
        summary
            .periodic
            .iter()
            .flat_map(|row| &row.periods)
            .map(|row| (row.every, row.since_step))
            .collect::<Vec<_>>()
    };
    // From whatever step on; one left out, and one more; one more as the run ends.
    assert_eq!(of(&|number| number >= 130 && number % 50 == 30), [(50, Some(130))]);
    assert_eq!(of(&|number| number % 50 == 49 && number != 499 || number == 611), [(50, None)]);
    assert_eq!(of(&|number| number % 150 == 149 || number == 999), [(150, None)]);
    // Three left out; no distance at all.
    assert_eq!(of(&|number| number % 50 == 49 && ![299, 499, 549].contains(&number)), []);
    assert_eq!(of(&|number| number * number % 997 < 18), []);
}

#[test]
fn three_steps_of_a_long_run_are_a_period_too() {
    // Of which points of several steps tell in which sections run.
    for of in [999, 1_000] {
        let every = [of, of + 1_000, of + 2_000];
        assert_eq!(told_of(0, 3_001, &every), [(1_000, of % 1_000, None, 4 - u64::from(of == 999))]);
        assert_eq!(told_of(0, 3_001, &[of, of + 1_001, of + 2_000]), []);
    }
}

#[test]
fn a_warm_up_hides_no_period() {
    // 400 steps of 600 µs, of which the first 36 take up to 1,800 µs more, and every 100th 20 times as long: in no section
    // of its own.
    let told = |warm: u64| {
        let traces: Vec<Trace> = (0..400)
            .map(|number: u64| {
                let start = number * 100_000_000;
                let every = if number % 100 == 99 { 20 } else { 1 };
                let more = 50 * warm.saturating_sub(number);
                let end = start + (600 + more) * every * US + number * 7_919 % 13 * US;
                let mut build = Build::new(number + 1);
                build.step(number as i64, start, end).thread(1);
                build.span(1, "forward", start, end).phase(Phase::Forward).thread(1);
                build.trace()
            })
            .collect();
        let summary = summarise(&traces);
        assert_eq!(summarise(traces.iter().rev()).periodic, summary.periodic);
        (summary.modes[0].warmup.steps, told(&summary))
    };
    let period = vec![(Mode::Train, 100, 99, 4)];
    assert_eq!(told(0), (0, period.clone()));
    // What is within a tenth is none.
    assert_eq!(told(36), (35, period));
}

#[test]
fn calls_that_are_long_in_periodic_steps_are_periodic_in_each_phase() {
    // Every 50th step takes 20 times as long, and of what it takes more 60 % are in forward; backward takes long once more,
    // in a step of no period, where `alone`.
    let told = |alone: bool| {
        let trace = |number: u64| {
            let start = number * 100_000_000;
            let times = if number % 50 == 49 { 20 } else { 1 };
            let forward_end = start + (600 * US + number * 7_919 % 13 * US) * times;
            let end = forward_end + if alone && number == 123 { 20_000 * US } else { 400 * US * times };
            let mut build = Build::new(number + 1);
            build.step(number as i64, start, end).thread(1);
            build.span(1, "forward", start, forward_end).phase(Phase::Forward).thread(1);
            build.span(1, "backward", forward_end, end).phase(Phase::Backward).thread(1);
            build.trace()
        };
        let summary = summarise(&(0..400).map(trace).collect::<Vec<_>>());
        assert_eq!(told(&summary), [(Mode::Train, 50, 49, 8)]);
        ["step/forward", "step/backward"].map(|path| {
            let row = summary.sections.iter().find(|row| row.path == path).unwrap();
            let part = row.in_steps[0];
            (part.longest_slow_ns.unwrap(), part.longest_periodic_ns.unwrap(), row.stats.p50.unwrap())
        })
    };
    let [forward, backward] = told(false);
    let periodic_ns = |usual_ns: u64| 8 * (20 * 400 * US - usual_ns);
    assert_eq!((forward.0, backward.0, backward.1), (forward.1, backward.1, periodic_ns(backward.2)));
    let (slow_ns, own_ns, usual_ns) = told(true)[1];
    assert_eq!((slow_ns - own_ns, own_ns), (20_000 * US - usual_ns, periodic_ns(usual_ns)));
}

#[test]
fn slow_steps_in_which_nothing_else_runs_are_no_period_of_three() {
    // As far apart, but by a section that all steps have.
    let traces: Vec<Trace> = (0..150)
        .map(|number| step(number, Mode::Train, if number % 50 == 49 { 3_000 } else { 1 + number % 3 }))
        .collect();
    assert_eq!(told(&summarise(&traces)), []);
    // Three of 150 at random, by a section of their own.
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for seed in 0..50 {
        let saving = [random() % 150, random() % 150, random() % 150];
        assert_eq!(told_of(0, 150, &saving), [], "seed {seed}, {saving:?}");
    }
}
