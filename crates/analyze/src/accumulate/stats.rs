//! The figures of one distribution, as every table shows them.

use serde::Serialize;
use stepscope_core::Distribution;

/// Figures of a set of durations (or sizes; the unit is that of the values).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    /// Number of values.
    pub count: u64,
    /// Their sum, saturating.
    pub total: u64,
    /// Arithmetic mean; absent without values, as everything below.
    pub mean: Option<f64>,
    /// Sample standard deviation (divisor n − 1); absent below two values.
    pub std: Option<f64>,
    /// Smallest.
    pub min: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
    /// Median by nearest rank.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Median absolute deviation from the median; absent, too, where it is not known since it is about that of the
    /// quantiles' own error.
    pub mad: Option<u64>,
    /// Coefficient of variation: standard deviation / mean; absent where the mean is 0.
    pub cv: Option<f64>,
    /// Robust coefficient of variation: MAD / median (not scaled by 1.4826); absent where the median is 0, or the MAD is.
    pub robust_cv: Option<f64>,
    /// Whether quantiles are exact, or within `stepscope_core::histogram::RELATIVE_ERROR`.
    pub is_exact: bool,
}

impl Default for Stats {
    /// Of no values: nothing is known, and that exactly.
    fn default() -> Self {
        Self::of(&Distribution::default())
    }
}

impl Stats {
    /// The figures of a distribution.
    #[must_use]
    pub fn of(distribution: &Distribution) -> Self {
        let distribution = distribution.settled();
        let moments = distribution.moments();
        let (mean, std) = (moments.mean(), moments.std());
        let (p50, mad) = (distribution.p50(), distribution.mad());
        let some = moments.count > 0;
        Self {
            count: moments.count,
            total: u64::try_from(moments.sum).unwrap_or(u64::MAX),
            mean,
            std,
            min: some.then_some(moments.min),
            max: some.then_some(moments.max),
            p50,
            p90: distribution.quantile(90, 100),
            p95: distribution.p95(),
            p99: distribution.p99(),
            mad,
            cv: mean.zip(std).and_then(|(mean, std)| (mean > 0.0).then(|| std / mean)),
            robust_cv: p50.zip(mad).and_then(|(p50, mad)| (p50 > 0).then(|| mad as f64 / p50 as f64)),
            is_exact: distribution.is_exact(),
        }
    }

    /// What the median absolute deviation is below, where it is not known although there are values.
    #[must_use]
    pub fn mad_is_below(&self) -> Option<u64> {
        self.p50.filter(|_| self.mad.is_none()).map(Distribution::mad_is_below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_of_the_mean_and_of_the_median() {
        let mut distribution = Distribution::default();
        [10, 20, 60].into_iter().for_each(|value| distribution.record(value));
        let stats = Stats::of(&distribution);
        // Mean 30, deviations -20, -10, 30: variance 1,400 / 2; median 20, deviations from it 10, 0, 40.
        assert!((stats.cv.unwrap() - 700f64.sqrt() / 30.0).abs() < 1e-12, "{stats:?}");
        assert_eq!(stats.robust_cv, Some(0.5));
    }
}
