//! Figures over steps, the user's values, memory.

use stepscope_analyze::summary::{CourseVerdict, Gauge, StepNumbers};
use stepscope_core::Mode;
use stepscope_model::{Figure, Trace};

use crate::build::{Build, summarise};

fn step(step: u64, duration_ns: u64, live: i64) -> Trace {
    let mut build = Build::new(step);
    let start = step * 1_000;
    build
        .step(step as i64, start, start + duration_ns)
        .figure(Figure::LiveBytes, live)
        .figure(Figure::Samples, 4);
    build.value(1, "loss", 1.0 / (step + 1) as f64);
    build.trace()
}

#[test]
fn every_step_is_a_point() {
    let summary = summarise(&[step(3, 100, 7), step(5, 200, 9), step(3, 300, 8)]);
    let series = summary.series_of(Mode::Train).unwrap();
    assert_eq!(series.shift, 0);
    let point = series.points[0];
    assert_eq!((point.step, point.count, point.duration_sum_ns), (3, 2, 400));
    assert_eq!((point.duration_min_ns, point.duration_max_ns, point.samples), (100, 300, Some(8)));
    assert_eq!(point.live_bytes, Some(Gauge { count: 2, min: 7, max: 8, mean: 7 }));
    assert_eq!(point.rss_bytes, None);
    assert_eq!(series.points[1].step, 5);
}

/// Three epochs of four steps, whose numbers begin anew or go on; live memory grows by 10 a step.
fn epochs(begins_anew: bool, says_epoch: bool) -> Vec<Trace> {
    let of = |number: u64| {
        let (epoch, within) = (number / 4, number % 4);
        let said = if begins_anew { within } else { number };
        let mut build = Build::new(number);
        let step = build.step(said as i64, number * 1_000, number * 1_000 + 100);
        let step = step.figure(Figure::LiveBytes, number as i64 * 10);
        if says_epoch {
            step.figure(Figure::Epoch, epoch as i64);
        }
        build.value(1, "loss", number as f64);
        build.trace()
    };
    (0..12).map(of).collect()
}

#[test]
fn numbers_that_begin_anew_in_each_epoch_are_counted_on() {
    let plain = summarise(&epochs(false, true));
    let anew = summarise(&epochs(true, true));
    assert_eq!(plain.modes[0].numbers, StepNumbers::Unique);
    assert_eq!(anew.modes[0].numbers, StepNumbers::ByEpoch);
    assert_eq!(anew.modes[0].step_range, Some((0, 3)));
    // The same run in all else.
    assert_eq!(anew.series, plain.series);
    assert_eq!(anew.phase_series, plain.phase_series);
    assert_eq!(anew.values, plain.values);
    assert_eq!(anew.memory, plain.memory);
    let numbers: Vec<u64> = anew.series[0].points.iter().map(|point| point.step).collect();
    assert_eq!(numbers, (0..12).collect::<Vec<_>>());
}

#[test]
fn numbers_that_nothing_tells_apart_are_said_to_be_repeated() {
    let unknown = summarise(&epochs(true, false));
    assert_eq!(unknown.modes[0].numbers, StepNumbers::Repeated);
    let points: Vec<_> = unknown.series[0].points.iter().map(|point| (point.step, point.count)).collect();
    assert_eq!(points, [(0, 3), (1, 3), (2, 3), (3, 3)]);
    assert_eq!(summarise(&epochs(false, false)).modes[0].numbers, StepNumbers::Unique);
}

#[test]
fn values_are_series_of_their_own() {
    let mut last = Build::new(9);
    last.step(3, 9_000, 9_100);
    last.value(1, "loss", 0.75);
    last.value(1, "accuracy", f64::NAN);
    let mut evaluation = Build::new(10);
    evaluation.span(0, "evaluate", 10_000, 10_100);
    evaluation.value(1, "accuracy", 0.9);
    let summary = summarise(&[last.trace(), step(3, 100, 0), evaluation.trace()]);
    let names: Vec<&str> = summary.values.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["accuracy", "loss"]);
    let loss = summary.values[1].points[0];
    assert_eq!((loss.step, loss.count, loss.min, loss.max, loss.last), (3, 2, 0.25, 0.75, 0.75));
    assert_eq!(loss.mean, 0.5);
    let accuracy = &summary.values[0];
    assert_eq!((accuracy.not_finite, accuracy.points.len()), (1, 0));
    assert_eq!(accuracy.unnumbered.unwrap().last, 0.9);
}

#[test]
fn growth_by_step_is_a_trend_and_warm_up_is_not() {
    let mut traces: Vec<Trace> = (0..100).map(|i| step(i, 100, 1_000_000 + 4_096 * i as i64)).collect();
    // Warm-up that fills caches.
    for i in 0..5 {
        traces[i as usize] = step(i, 10_000, 10 * i as i64);
    }
    let summary = summarise(&traces);
    let live = summary.memory.live.as_ref().unwrap();
    assert_eq!((live.first_bytes, live.last_bytes, live.max_bytes), (0, 1_405_504, 1_405_504));
    let whole = live.whole.unwrap();
    assert_eq!((whole.n, whole.to_step, whole.slope_per_step.round()), (100, 99, 4_096.0));
    // Blocks of two steps: what was there first is gone by the fourth.
    assert!((4..=8).contains(&whole.from_step), "{whole:?}");
    assert_eq!(summary.memory.course.unwrap().verdict, CourseVerdict::Leak);
    assert_eq!(summary.memory.rss, None);
}
