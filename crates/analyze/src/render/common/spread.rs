//! Step times in words, as texts and Markdown begin with them: quantiles, and how far steps scatter.

use crate::report::units::{duration, percent};
use crate::summary::Stats;

/// Quantiles, the median deviation and the coefficient of variation.
pub(crate) fn parts(time: &Stats) -> Vec<String> {
    let shown = [("p50", time.p50), ("p95", time.p95), ("p99", time.p99)];
    let mut parts: Vec<String> =
        shown.iter().filter_map(|(name, ns)| ns.map(|ns| format!("{name} {}", duration(ns)))).collect();
    parts.extend(mad(time).map(|words| format!("MAD {words}")));
    parts.extend(time.cv.map(|cv| format!("CV {}", percent(cv))));
    parts
}

/// The median deviation; where times are known to no finer than that, what it is below.
pub(crate) fn mad(time: &Stats) -> Option<String> {
    let below = || time.mad_is_below().map(|ns| format!("below {}", duration(ns)));
    time.mad.map(duration).or_else(below)
}

#[cfg(test)]
mod tests {
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
}
