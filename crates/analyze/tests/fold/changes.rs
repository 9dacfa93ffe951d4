//! Changes of the step time: from traces to the rows of the summary, in any order and in any parts.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ChangeKind, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::Trace;

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

#[test]
fn a_change_of_periodic_steps_alone_is_told() {
    // Every 4th step updates the weights: for 1 ms, and from the 250th on for 2 ms.
    let step = |number: u64| {
        let (start, noise) = (number * 10_000_000, number * 7_919 % 13 * US);
        let update = match number {
            _ if !number.is_multiple_of(4) => 0,
            0..250 => 1_000 * US,
            _ => 2_000 * US,
        };
        let mut build = Build::new(number + 1);
        build.step(number as i64, start, start + 600 * US + noise + update).thread(1);
        build.span(1, "forward", start, start + 500 * US).phase(Phase::Forward).thread(1);
        if update > 0 {
            build
                .span(1, "update", start + 500 * US, start + 500 * US + update)
                .phase(Phase::Optimizer)
                .thread(1);
        }
        build.trace()
    };
    let summary = summarise(&(0..600).map(step).collect::<Vec<_>>());
    // The first of these steps that is longer.
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 0, 252, 599)]);
    let change = &summary.changes[0];
    assert_eq!((change.in_every, change.steps_before, change.steps_after), (Some(4), 252, 348));
    let off = |ns: u64, expected: u64| ns.abs_diff(expected) < 2 * US;
    assert!(off(change.before_ns, 856 * US) && off(change.after_ns, 1_106 * US), "{change:?}");
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Optimizer)));
    assert_eq!((cause.before_ns, cause.after_ns), (250 * US, 500 * US));
    assert_eq!(cause.section.as_ref().unwrap().path, "step/update");
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
fn steps_that_grow_are_a_drift_of_their_phase() {
    let traces: Vec<Trace> = (0..300).map(|number| step(number, Mode::Train, 150 + number)).collect();
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Gradual, 0, 0, 299)]);
    let change = &summary.changes[0];
    // From 750 to 1,049 µs and the noise; the first and the last third differ by 200 µs.
    assert!(
        change.before_ns.abs_diff(756 * US) < 8 * US && change.after_ns.abs_diff(1_055 * US) < 8 * US,
        "{change:?}"
    );
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    assert!((cause.after_ns - cause.before_ns).abs_diff(200 * US) < 2 * US, "{cause:?}");
}
