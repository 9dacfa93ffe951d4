//! Steps that take longer every so often: from traces to the rows of the summary, in any order and in any parts.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{PeriodCause, PhaseName};
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
    assert_eq!(rare.median_ns, median(rare_steps, 6_600 * US));
    assert_eq!(frequent.median_ns, median(frequent_steps, 1_800 * US));
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
