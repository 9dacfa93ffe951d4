//! Changes of the step time: from traces to the rows of the summary, in any order and in any parts.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ChangeKind, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, fold, summarise};

const US: u64 = 1_000;

/// Step `number` with `preparing_us` of preprocessing, 500 µs of forward and 100 µs without a phase; a little noise.
fn step(number: u64, mode: Mode, preparing_us: u64) -> Trace {
    let noise = number * 7_919 % 13 * US;
    let (start, preparing) = (number * 10_000_000, preparing_us * US);
    let mut build = Build::new(number + 1);
    let end = start + preparing + 600 * US + noise;
    build.step(number as i64, start, end).mode(mode).thread(1);
    build.span(1, "prepare", start, start + preparing).phase(Phase::Preprocessing).thread(1);
    build.span(1, "forward", start + preparing, end - 100 * US).phase(Phase::Forward).thread(1);
    build.trace()
}

/// 300 steps of which those from 181 on prepare for 150 µs longer: 20 % of a step.
fn slower() -> Vec<Trace> {
    (1..=300).map(|number| step(number, Mode::Train, if number < 181 { 150 } else { 300 })).collect()
}

fn told(summary: &Summary) -> Vec<(Mode, ChangeKind, u64, u64, u64)> {
    let changes = summary.changes.iter();
    changes.map(|row| (row.mode, row.kind, row.from_step, row.step, row.to_step)).collect()
}

#[test]
fn a_change_is_told_with_its_levels_and_its_phase() {
    let summary = summarise(&slower());
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 1, 181, 300)]);
    let change = &summary.changes[0];
    assert_eq!((change.steps_before, change.steps_after, change.step_numbers), (180, 120, 1));
    // The noise takes 13 values, of which the middle one is 6 µs.
    let off = |ns: u64, expected: u64| ns.abs_diff(expected) < US;
    assert!(off(change.before_ns, 756 * US) && off(change.after_ns, 906 * US), "{change:?}");
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    assert_eq!((cause.before_ns, cause.after_ns), (150 * US, 300 * US));
    assert!((cause.share() - 1.0).abs() < 0.02, "{cause:?}");
    let section = cause.section.as_ref().unwrap();
    assert_eq!(
        (section.path.as_str(), section.before_ns, section.after_ns),
        ("step/prepare", 150 * US, 300 * US)
    );
}

/// As [`slower`]; half of what prepares is in sections inside that, and one of them takes what is more. `others` more
/// sections are in each step.
fn slower_inside(others: usize) -> Vec<Trace> {
    let step = |number: u64| {
        let start = number * 10_000_000;
        let (decode, end) = (if number < 181 { 50 * US } else { 200 * US }, start + 2_000 * US);
        let mut build = Build::new(number + 1);
        build.step(number as i64, start, start + 1_000 * US + decode + number % 7 * US).thread(1);
        build.span(1, "prepare", start, start + 100 * US + decode).phase(Phase::Preprocessing).thread(1);
        build.span(2, "crop", start, start + 50 * US).thread(1);
        build.span(2, "decode", start + 50 * US, start + 50 * US + decode).thread(1);
        for other in 0..others {
            let at = (start + 300 * US + other as u64).min(end);
            build.span(1, &format!("other{other}"), at, at + 1).thread(1);
        }
        build.trace()
    };
    (1..=300).map(step).collect()
}

#[test]
fn the_section_of_the_phase_that_moved_most_is_named() {
    let summary = summarise(&slower_inside(0));
    let cause = summary.changes[0].cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    let section = cause.section.as_ref().unwrap();
    let expected = ("step/prepare/decode", 50 * US, 200 * US);
    assert_eq!((section.path.as_str(), section.before_ns, section.after_ns), expected);
    assert_eq!(cause.section_that_explains(), Some(section));
    // Of more sections than a point tells apart those are known whose hashes are the smallest, in any order.
    let many = slower_inside(100);
    let expected = summarise(&many).changes;
    assert_eq!(summarise(many.iter().rev()).changes, expected);
    let (one, other) = many.split_at(150);
    let mut merged = fold(other);
    merged.merge(&fold(one));
    assert_eq!(merged.finish(None).changes, expected);
}

#[test]
fn order_and_parts_change_nothing() {
    let traces = slower();
    let expected = summarise(&traces).changes;
    assert_eq!(summarise(traces.iter().rev()).changes, expected);
    let (even, odd): (Vec<&Trace>, Vec<&Trace>) = traces.iter().partition(|trace| trace.id[15] % 2 == 0);
    let (mut one, mut other) = (fold(even.iter().copied()), fold(odd.iter().copied()));
    one.merge(&fold(odd.iter().copied()));
    other.merge(&fold(even.iter().copied()));
    assert_eq!((one.finish(None).changes, other.finish(None).changes), (expected.clone(), expected));
}

#[test]
fn modes_are_apart_and_equal_steps_change_nowhere() {
    let mut traces = slower();
    traces.extend((301..=500).map(|number| step(number, Mode::Eval, 2_000)));
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 1, 181, 300)]);
    let steady: Vec<Trace> = (1..=300).map(|number| step(number, Mode::Train, 150)).collect();
    assert_eq!(told(&summarise(&steady)), []);
}

#[test]
fn steps_that_grow_are_a_gradual_change_of_their_phase() {
    // From 750 to 1,349 µs and the noise.
    let traces: Vec<Trace> = (0..300).map(|number| step(number, Mode::Train, 150 + 2 * number)).collect();
    let summary = summarise(&traces);
    let [change] = &summary.changes[..] else { panic!("{:?}", summary.changes) };
    assert_eq!((change.kind, change.from_step, change.to_step), (ChangeKind::Gradual, 0, 299));
    assert_eq!((change.steps_before, change.steps_before + change.steps_after), (change.step, 300));
    assert!(change.before_ns < 900 * US && change.after_ns > 1_200 * US, "{change:?}");
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    // Of the first level and the last one.
    let by = change.after_ns - change.before_ns;
    assert!((cause.after_ns - cause.before_ns).abs_diff(by) < 20 * US, "{change:?}");
}

/// Evenly spread from 0 to `below`, at random.
fn random(seed: u64, number: u64, below: u64) -> u64 {
    let mut hash = (number ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 32;
    (hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) % below
}

/// As [`step`]; before it its thread waits for input.
fn fed(number: u64, preparing_us: u64, input_before_ns: u64) -> Trace {
    let mut trace = step(number, Mode::Train, preparing_us);
    let input_before_ns = i64::try_from(input_before_ns).unwrap();
    for span in trace.spans.iter_mut().filter(|span| span.parent.is_none()) {
        span.set_figure(Figure::InputBeforeNs, input_before_ns);
    }
    trace
}

/// 300 steps that wait for 20 µs before they begin, from 181 on for 6 ms.
fn starved() -> Vec<Trace> {
    let input = |number| if number < 181 { 20 * US } else { 6_000 * US } + random(0, number, US);
    (1..=300).map(|number| fed(number, 150, input(number))).collect()
}

#[test]
fn input_that_takes_longer_before_the_steps_is_a_change() {
    let summary = summarise(&starved());
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 1, 181, 300)]);
    let change = &summary.changes[0];
    let off = |ns: u64, expected: u64| ns.abs_diff(expected) < US;
    assert!(off(change.before_ns, 776 * US) && off(change.after_ns, 6_756 * US), "{change:?}");
    assert!(change.has_input());
    let alone = change.duration_before_ns.zip(change.duration_after_ns).unwrap();
    assert!(off(alone.0, 756 * US) && off(alone.1, 756 * US), "{change:?}");
    assert_eq!(change.of_steps_alone(), None);
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(
        (&cause.phase, cause.is_between, &cause.section),
        (&Some(PhaseName::Known(Phase::DataWait)), true, &None)
    );
    assert!(off(cause.before_ns, 20 * US) && off(cause.after_ns, 6_000 * US), "{cause:?}");
    assert!(off(cause.step_before_ns, 776 * US) && off(cause.step_after_ns, 6_756 * US), "{cause:?}");
    assert!(cause.explains(0.5) && (cause.share() - 1.0).abs() < 0.01, "{cause:?}");
    // In any order and in parts.
    let traces = starved();
    assert_eq!(summarise(traces.iter().rev()).changes, summary.changes);
    let (one, other) = traces.split_at(100);
    let mut merged = fold(other);
    merged.merge(&fold(one));
    let merged = merged.finish(None);
    assert_eq!((&merged.changes, &merged.series), (&summary.changes, &summary.series));
}

#[test]
fn points_say_the_input_before_their_steps_where_a_step_says_it() {
    let mut traces = starved();
    traces.push(step(301, Mode::Train, 150));
    let summary = summarise(&traces);
    let points = &summary.series[0].points;
    assert_eq!(points[0].input_before_ns, Some(20 * US + random(0, 1, US)));
    assert_eq!(points[0].taken_ns(), points[0].duration_sum_ns + 20 * US + random(0, 1, US));
    assert_eq!((points[300].step, points[300].input_before_ns), (301, None));
    assert_eq!(points[300].taken_ns(), points[300].duration_sum_ns);
    let phases = &summary.phase_series[0].points;
    assert_eq!(phases.iter().map(|point| point.steps).sum::<u64>(), 301);
    let of = |inputs: Vec<Option<u64>>| inputs.into_iter().flatten().sum::<u64>();
    assert_eq!(
        of(phases.iter().map(|point| point.input_before_ns).collect()),
        of(points.iter().map(|point| point.input_before_ns).collect())
    );
    let plain = summarise(&slower());
    assert!(!plain.series[0].says_input() && plain.series[0].mean_input_ns(0).is_none());
    assert_eq!((plain.changes[0].duration_before_ns, plain.changes[0].has_input()), (None, false));
}

#[test]
fn waits_in_the_steps_and_before_them_are_two_causes() {
    // Longer in the step by 4 ms, and before it by 3 ms.
    let step = |number: u64| {
        let (start, is_slow) = (number * 20_000_000, number >= 181);
        let waiting = if is_slow { 5_000 * US } else { 1_000 * US };
        let mut build = Build::new(number + 1);
        let before_ns = if is_slow { 3_100_000 } else { 100_000 };
        let end = start + waiting + 600 * US + random(1, number, 13 * US);
        build.step(number as i64, start, end).thread(1).figure(Figure::InputBeforeNs, before_ns);
        build.span(1, "data_wait", start, start + waiting).phase(Phase::DataWait).thread(1);
        build.trace()
    };
    let summary = summarise(&(1..=300).map(step).collect::<Vec<_>>());
    let cause = summary.changes[0].cause.as_ref().unwrap();
    assert_eq!((&cause.phase, cause.is_between), (&Some(PhaseName::Known(Phase::DataWait)), false));
    assert_eq!((cause.before_ns, cause.after_ns), (1_000 * US, 5_000 * US));
    assert!((cause.share() - 4.0 / 7.0).abs() < 0.01, "{cause:?}");
    let alone = summary.changes[0].of_steps_alone().unwrap();
    assert!(alone.after_ns.abs_diff(5_606 * US) < 2 * US, "{alone:?}");
}

#[test]
fn input_that_keeps_its_level_or_makes_good_what_steps_take_is_no_change() {
    for seed in 0..20 {
        // Little, as much as the steps, ten times as much.
        let below = [20, 700, 7_000][seed as usize % 3] * US;
        let varying = |number: u64| fed(number, 150, random(seed, number, below));
        assert_eq!(told(&summarise(&(0..400).map(varying).collect::<Vec<_>>())), [], "{seed}");
        // A loader that makes a batch in 2 ms: the longer a step takes, the less the next one waits.
        let behind = |number: u64| {
            let preparing_us = if number < 181 { 150 } else { 300 };
            fed(number, preparing_us, 1_100 * US - preparing_us * US + random(seed, number, 200 * US))
        };
        assert_eq!(told(&summarise(&(1..=300).map(behind).collect::<Vec<_>>())), [], "{seed}");
    }
}
