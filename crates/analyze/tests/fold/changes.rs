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
