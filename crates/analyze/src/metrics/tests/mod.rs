//! Series as pieces of time against values worked out by hand. What they say of steps is tested from outside.

use stepscope_model::MeasuredKind;

use crate::metrics::series::Series;
use crate::metrics::track::{Track, Window};

const S: u64 = 1_000_000_000;

fn series(kind: MeasuredKind, points: &[(u64, u64, i128)]) -> Track {
    let mut series = Series::default();
    for &(start, time, value) in points {
        series.add(kind, start * S, time * S, value * 1_000_000);
    }
    Track::of(&series)
}

const fn window(from: u64, to: u64) -> Window {
    Window { from_ns: from * S, to_ns: to * S }
}

#[test]
fn a_gauge_is_of_the_time_since_the_reading_before() {
    let track = series(MeasuredKind::Gauge, &[(0, 100, 1), (0, 101, 3), (0, 102, 5)]);
    assert_eq!(track.every_ns, S);
    assert_eq!(track.mean(window(100, 102)), Some(4.0));
    assert_eq!(track.mean(window(101, 102)), Some(5.0));
    // The first one is of the usual time before it.
    assert_eq!(track.mean(window(99, 100)), Some(1.0));
    assert_eq!(track.mean(window(90, 99)), None);
    assert_eq!((track.least(window(100, 102)), track.most(window(100, 102))), (Some(3.0), Some(5.0)));
}

#[test]
fn where_nobody_read_nothing_is_known() {
    let times = [100, 101, 102, 103, 120, 121, 122];
    let points: Vec<(u64, u64, i128)> = times.iter().map(|&time| (0, time, 7)).collect();
    let track = series(MeasuredKind::Gauge, &points);
    assert_eq!(track.mean(window(104, 118)), None);
    assert_eq!(track.mean(window(119, 121)), Some(7.0));
    // Of less than half of this is anything known.
    assert_eq!(track.mean(window(102, 116)), None);
}

#[test]
fn counters_are_rates_and_a_new_start_is_unknown() {
    let track = series(MeasuredKind::Total, &[(1, 100, 50), (1, 102, 70), (101, 104, 90), (101, 105, 91)]);
    assert_eq!(track.mean(window(100, 102)), Some(10.0));
    assert_eq!(track.mean(window(102, 104)), None, "it is higher, and counts since another time");
    assert_eq!(track.mean(window(104, 105)), Some(1.0));
    assert_eq!(track.risen(window(100, 102)), Some(20.0));
}

#[test]
fn more_readings_than_are_kept_give_the_same_means() {
    let counter: Vec<(u64, u64, i128)> = (0..5_000).map(|at| (1, 1_000 + at, i128::from(3 * at))).collect();
    let track = series(MeasuredKind::Total, &counter);
    assert!(track.times.len() <= 512 && track.times.len() > 200, "{}", track.times.len());
    assert_eq!(track.mean(window(2_000, 4_000)), Some(3.0));
    let gauge: Vec<(u64, u64, i128)> = (0..5_000).map(|at| (0, 1_000 + at, i128::from(at % 2))).collect();
    let track = series(MeasuredKind::Gauge, &gauge);
    let mean = track.mean(window(2_000, 4_000)).unwrap_or(-1.0);
    assert!((mean - 0.5).abs() < 0.05, "{mean}");
    assert_eq!(track.most(window(2_000, 4_000)), Some(1.0));
}
