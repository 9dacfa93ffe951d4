//! How far steps scatter.

use stepscope_core::Distribution;

use super::*;

/// Times around 3 ms, which scatter by so much to both sides.
fn scattered(count: u64, by_ns: u64) -> Stats {
    let mut times = Distribution::default();
    for number in 0..count {
        times.record(3_000_000 - by_ns + number % 3 * by_ns);
    }
    Stats::of(&times)
}

#[test]
fn what_is_finer_than_times_are_known_is_below_that() {
    // Few times are exact, many within a bucket of 1.1 %: 65.7 µs are two of 3 ms.
    assert_eq!(mad(&scattered(30, 7_700)).as_deref(), Some("7.70 µs"));
    assert!(mad(&scattered(300, 7_700)).is_some_and(|words| words.starts_with("below 65.")));
    assert!(mad(&scattered(300, 300_000)).is_some_and(|words| words.starts_with(['2', '3'])));
    assert_eq!(mad(&scattered(0, 0)), None);
}
