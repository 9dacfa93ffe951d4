//! Sections whose parent was not read: their calls are in the rows of the others on their path, once.

use stepscope_analyze::{Config, Partial, Summary};

use crate::build::{Build, fold};

/// A step that was read whole: `step/forward/conv`, `step/forward/pool`, `step/loss`.
fn step(number: u64) -> Build {
    let mut build = Build::new(number);
    let start = number * 1_000;
    build.step(number as i64, start, start + 100);
    build.span(1, "forward", start, start + 60);
    build.span(2, "conv", start, start + 40);
    build.span(2, "pool", start + 40, start + 50);
    build.span(1, "loss", start + 60, start + 70);
    build
}

/// An evaluation with sections of the same names: `step/evaluate/conv`.
fn evaluation(number: u64) -> Build {
    let mut build = Build::new(number);
    build.step(number as i64, 50_000, 50_100);
    build.span(1, "evaluate", 50_000, 50_080);
    build.span(2, "conv", 50_000, 50_040);
    build
}

/// What is left of a trace without the spans of these names.
fn without(mut build: Build, gone: &[&str]) -> Build {
    let texts: Vec<String> = build.0.spans.iter().map(|span| build.0.text(span.name).to_owned()).collect();
    let mut names = texts.iter();
    build.0.spans.retain(|_| !gone.contains(&names.next().unwrap().as_str()));
    build.incomplete()
}

fn counts(summary: &Summary) -> Vec<(&str, u64)> {
    summary.sections.iter().map(|row| (row.path.as_str(), row.stats.count)).collect()
}

#[test]
fn parts_of_an_open_step_are_in_the_rows_of_their_paths() {
    let (whole, open) = (step(1).trace(), without(step(2), &["step"]).trace());
    let expected = [
        ("step", 1),
        ("step/forward", 2),
        ("step/forward/conv", 2),
        ("step/forward/pool", 2),
        ("step/loss", 2),
    ];
    assert_eq!(counts(&fold([&whole, &open]).finish(None)), expected);
    // In any order and grouping, through bytes.
    let mut partial = fold([&open]);
    partial.merge(&Partial::from_bytes(&fold([&whole]).to_bytes().unwrap(), Config::default()).unwrap());
    let summary = partial.finish(None);
    assert_eq!(counts(&summary), expected);
    assert_eq!(summary.section("step/loss").unwrap().stats.total, 20);
    assert_eq!(summary.section("step/forward").unwrap().self_ns, Some(20));
    assert_eq!(summary.losses.unplaced, 0);
}

#[test]
fn what_could_be_one_of_several_is_in_no_row_and_counted() {
    let traces = [
        step(1).trace(),
        evaluation(2).trace(),
        without(step(3), &["step", "forward", "pool", "loss"]).trace(),
    ];
    let summary = fold(&traces).finish(None);
    assert!(summary.section("conv").is_none());
    assert_eq!(summary.section("step/forward/conv").unwrap().stats.count, 1);
    assert_eq!(summary.losses.unplaced, 1);
}
