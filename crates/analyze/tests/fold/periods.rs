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

/// 400 steps, of which every 20th writes for 1,200 µs; step 33 takes long by itself.
fn saving() -> Vec<Trace> {
    let writing = |number: u64| match (number % 20, number) {
        (0, _) => 1_200,
        (_, 33) => 4_000,
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
fn a_period_is_told_with_its_times_and_its_phase() {
    let summary = summarise(&saving());
    assert_eq!(told(&summary), [(Mode::Train, 20, 20, 20)]);
    let row = &summary.periodic[0];
    assert_eq!((row.usual.count, row.usual.max), (380, Some((4_600 + 33 * 7_919 % 13) * US)));
    let [period] = &row.periods[..] else { panic!("{row:?}") };
    let mut times: Vec<u64> = (1..=20u64).map(|n| 1_800 * US + n * 20 * 7_919 % 13 * US).collect();
    times.sort_unstable();
    let usual_ns = row.usual.p50.unwrap();
    assert_eq!(period.above_ns, times.iter().map(|ns| ns - usual_ns).sum::<u64>());
    assert_eq!(period.median_ns, times[9]);
    // Step 33 is among the first 256, of which 244 are usual.
    let (usual_ns, periodic_ns) = (4_000 * US / 244, 1_200 * US);
    let phase = Some(PhaseName::Known(Phase::Checkpoint));
    assert_eq!(period.cause, Some(PeriodCause { phase, usual_ns, periodic_ns }));
    assert_eq!((row.every(200), row.every(40), row.every(33)), (Some(20), Some(20), None));
    assert!(summary.changes.is_empty(), "{:?}", summary.changes);
}

#[test]
fn modes_are_apart_and_equal_steps_have_no_period() {
    let mut traces = saving();
    traces
        .extend((401..=600).map(|number| step(number, Mode::Eval, if number % 25 == 0 { 3_000 } else { 0 })));
    assert_eq!(told(&summarise(&traces)), [(Mode::Train, 20, 20, 20), (Mode::Eval, 25, 425, 8)]);
    let steady: Vec<Trace> = (1..=400).map(|number| step(number, Mode::Train, 0)).collect();
    assert_eq!(told(&summarise(&steady)), []);
}

#[test]
fn a_period_begins_with_its_first_long_step_and_is_neither_jitter_nor_a_change() {
    // Every 50th step from 400 on, and all that warm up before.
    let writing = |number: u64| match number {
        0..12 => 4_000,
        400.. if number.is_multiple_of(50) => 5_000,
        _ => 0,
    };
    let traces: Vec<Trace> = (0..1_000).map(|number| step(number, Mode::Train, writing(number))).collect();
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, 50, 400, 12)]);
    assert_eq!((summary.modes[0].warmup.steps, summary.periodic[0].every(350)), (12, None));
    assert!(summary.changes.is_empty(), "{:?}", summary.changes);
    let report = stepscope_analyze::report::build(&summary, Default::default(), &Default::default());
    assert!(report.findings.iter().all(|found| !["step_jitter", "slower_since"].contains(&found.rule)));
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
            .exemplars
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
    assert_eq!((&merged.modes, &merged.exemplars), (&summary.modes, &summary.exemplars));
}
