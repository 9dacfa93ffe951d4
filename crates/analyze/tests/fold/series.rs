//! Figures over steps, the user's values, memory.

use stepscope_analyze::summary::{Gauge, StepNumbers, Warmup};
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
fn large_numbers_stay_as_they_are() {
    // A time stamp as the number of a step.
    let first = 1_700_000_000_000_000_000u64;
    let of = |number: u64| {
        let mut build = Build::new(number);
        build.step((first + number) as i64, number * 1_000, number * 1_000 + 100);
        build.trace()
    };
    let summary = summarise(&(0..9).map(of).collect::<Vec<_>>());
    assert_eq!(summary.modes[0].numbers, StepNumbers::Unique);
    let numbers: Vec<u64> = summary.series[0].points.iter().map(|point| point.step - first).collect();
    assert_eq!(numbers, (0..9).collect::<Vec<_>>());
}

#[test]
fn warm_up_is_what_came_first_whatever_its_number() {
    // Every first step of an epoch is slow: only the run's first one is warm-up.
    let warmup = {
        let of = |number: u64| {
            let mut build = Build::new(number);
            let later_ns = if number.is_multiple_of(20) { 900 } else { 100 };
            let duration_ns = if number == 0 { 1_900 } else { later_ns };
            build.step((number % 20) as i64, number * 2_000, number * 2_000 + duration_ns);
            build.trace()
        };
        summarise(&(0..400).map(of).collect::<Vec<_>>()).modes[0].warmup
    };
    // Numbers that repeat do not say where it ended.
    let expected =
        Warmup { steps: 1, max_per_instance: 1, total_ns: 1_900, usual_ns: 100, steady_step: None };
    assert_eq!(warmup, expected);
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
    assert_eq!((whole.n, whole.slope_per_step, whole.confidence_interval), (95, 4_096.0, (4_096.0, 4_096.0)));
    assert!(whole.p_value < 1e-8);
    assert_eq!((whole.from_step, whole.to_step), (5, 99));
    assert_eq!((whole.first_bytes, whole.last_bytes, live.late), (1_020_480, 1_405_504, None));
    // Steps 67.67 to 99.
    assert_eq!(live.tail.unwrap().n, 32);
    assert_eq!(summary.memory.rss, None);
}

#[test]
fn growth_that_begins_late_is_told_with_its_step() {
    let live = |i: u64| 5_000_000 + 20_000 * i.saturating_sub(300) as i64;
    let traces: Vec<Trace> = (0..400).map(|i| step(i, 100, live(i))).collect();
    let pair = summarise(&traces).memory.live.unwrap();
    let late = pair.late.unwrap();
    // Groups of seven steps: 301 is the first after 300 that begins one.
    assert_eq!(
        (late.growth.from_step, late.growth.to_step, late.growth.slope_per_step),
        (301, 399, 20_000.0)
    );
    assert_eq!((late.growth.first_bytes, late.growth.last_bytes), (5_020_000, 6_980_000));
    assert_eq!((late.tail.slope_per_step, late.freed_bytes), (20_000.0, 0));
    assert!(late.growth.p_value < 1e-6);
}

#[test]
fn constant_memory_has_no_trend() {
    let traces: Vec<Trace> = (0..50).map(|i| step(i, 100, 1_000)).collect();
    let whole = summarise(&traces).memory.live.unwrap().whole.unwrap();
    assert_eq!((whole.slope_per_step, whole.p_value), (0.0, 1.0));
}
