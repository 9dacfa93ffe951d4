//! Step times in words, as texts and Markdown begin with them: quantiles, and how far steps scatter.

use stepscope_core::histogram::RELATIVE_ERROR;

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
    let mad = duration(time.mad?);
    Some(mad_below_ns(time).map_or(mad, |ns| format!("below {}", duration(ns))))
}

/// By how much two times beside the median differ, at most, that count as equal, where the median deviation is less.
pub(crate) fn mad_below_ns(time: &Stats) -> Option<u64> {
    let finest_ns = (time.p50? as f64 * 2.0 * RELATIVE_ERROR).ceil() as u64;
    (!time.is_exact && time.mad? < finest_ns).then_some(finest_ns)
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
        // Few times are exact, many within 0.55 % to both sides: 32.6 µs of 3 ms.
        assert_eq!(mad(&scattered(30, 7_700)).as_deref(), Some("7.70 µs"));
        assert!(mad(&scattered(300, 7_700)).is_some_and(|words| words.starts_with("below 32.")));
        assert!(mad(&scattered(300, 300_000)).is_some_and(|words| words.starts_with(['2', '3'])));
        assert_eq!(mad(&scattered(0, 0)), None);
    }
}
