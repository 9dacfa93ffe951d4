//! Robust trend of a series: Theil–Sen slope, its confidence interval, and the Mann–Kendall test.
//!
//! Sources: P. K. Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau", JASA 63 (1968),
//! 1379–1389 (slope and interval); H. B. Mann, "Nonparametric Tests Against Trend", Econometrica 13 (1945),
//! 245–259, and M. G. Kendall, "Rank Correlation Methods" (1975) (test, variance with ties); the complementary
//! error function is `erfcc` of Press et al., "Numerical Recipes", 2nd ed., §6.2 (relative error < 1.2e-7).

use crate::summary::Trend;

/// Points beyond this are averaged in groups of neighbours, which bounds the pairs at 131,000.
const MAX_POINTS: usize = 512;

/// Fewer points have no trend.
pub const MIN_POINTS: usize = 4;

/// Two-sided 95 % quantile of the normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;

/// The trend of `points` (x ascending, y); absent below [`MIN_POINTS`], or where all x are equal.
#[must_use]
pub fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    if points.len() < MIN_POINTS {
        return None;
    }
    let points = thinned(points);
    let n = points.len();
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut score = 0i64;
    for (i, &(x1, y1)) in points.iter().enumerate() {
        for &(x2, y2) in points.iter().skip(i + 1) {
            if x2 > x1 {
                slopes.push((y2 - y1) / (x2 - x1));
            }
            score += i64::from(y2 > y1) - i64::from(y2 < y1);
        }
    }
    let variance = variance(&points);
    let deviation = variance.sqrt();
    // One off towards zero: the score is an integer, the normal distribution is not.
    let z = if deviation > 0.0 { (score - score.signum()) as f64 / deviation } else { 0.0 };
    let p_value = erfc(z.abs() / std::f64::consts::SQRT_2).min(1.0);
    // Sen: the interval's ends are the slopes of rank (N ∓ z·σ)/2, the upper one plus 1.
    let spread = Z_95 * deviation;
    let last = slopes.len().checked_sub(1)?;
    let pairs = slopes.len() as f64;
    // Four of them are needed, not the order of all.
    let mut ranked = |rank: usize| *slopes.select_nth_unstable_by(rank.min(last), f64::total_cmp).1;
    let slope = match (last / 2, last.div_ceil(2)) {
        (middle, upper) if middle == upper => ranked(middle),
        (lower, upper) => f64::midpoint(ranked(lower), ranked(upper)),
    };
    let low = ranked((((pairs - spread) / 2.0).floor() - 1.0).max(0.0) as usize);
    let high = ranked(((pairs + spread) / 2.0).ceil().max(0.0) as usize);
    Some(Trend { n: n as u64, slope_per_step: slope, confidence_interval: (low, high), p_value })
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let size = points.len().div_ceil(MAX_POINTS).max(1);
    points
        .chunks(size)
        .map(|group| {
            let n = group.len() as f64;
            let sum = group.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
            (sum.0 / n, sum.1 / n)
        })
        .collect()
}

/// Variance of the Mann–Kendall score: `[n(n−1)(2n+5) − Σ t(t−1)(2t+5)] / 18` over groups of `t` ties.
fn variance(points: &[(f64, f64)]) -> f64 {
    let term = |t: usize| {
        let t = t as f64;
        t * (t - 1.0) * (2.0 * t + 5.0)
    };
    let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|a, b| a == b).map(|group| term(group.len())).sum();
    (term(points.len()) - ties) / 18.0
}

/// Complementary error function for x ≥ 0.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let series = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let polynomial = series.iter().rev().fold(0.0, |sum, &coefficient| sum * t + coefficient);
    t * (-x * x + polynomial).exp()
}

#[cfg(test)]
mod tests;
