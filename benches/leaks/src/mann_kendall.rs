//! The peer: Mann–Kendall's test with the correction of Hamed and Rao (Journal of Hydrology 204 (1998), 182–196), the first
//! 30 % cut, at 1 %.

/// Values that are looked at: a longer series is thinned evenly.
const MOST: usize = 400;

/// Whether values rise.
pub(crate) fn rises(points: &[(u64, f64)]) -> bool {
    let cut: Vec<f64> = points
        .iter()
        .skip(points.len() * 3 / 10)
        .map(|point| point.1)
        .filter(|value| value.is_finite())
        .collect();
    let every = cut.len().div_ceil(MOST).max(1);
    let values: Vec<f64> = cut.into_iter().step_by(every).collect();
    let count = values.len() as f64;
    if count < 4.0 {
        return false;
    }
    let mut score = 0.0;
    let mut slopes = Vec::new();
    for (index, a) in values.iter().enumerate() {
        for (wait, b) in values.iter().skip(index + 1).enumerate() {
            score += (b - a).total_cmp(&0.0) as i8 as f64 * f64::from(u8::from(a != b));
            slopes.push((b - a) / (wait + 1) as f64);
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let slope = slopes[slopes.len() / 2];
    let mut order: Vec<(f64, usize)> =
        values.iter().enumerate().map(|(index, value)| (value - slope * index as f64, index)).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![0.0; values.len()];
    for (rank, (_, index)) in order.into_iter().enumerate() {
        ranks[index] = rank as f64 - (count - 1.0) / 2.0;
    }
    let square: f64 = ranks.iter().map(|rank| rank * rank).sum();
    let mut sum = 0.0;
    for lag in 1..values.len() - 1 {
        let product: f64 = ranks.iter().zip(ranks.iter().skip(lag)).map(|(a, b)| a * b).sum();
        let correlation = product / square;
        if correlation.abs() > 1.96 / count.sqrt() {
            let left = count - lag as f64;
            sum += left * (left - 1.0) * (left - 2.0) * correlation;
        }
    }
    let inflation = (1.0 + 2.0 / (count * (count - 1.0) * (count - 2.0)) * sum).max(0.05);
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0 * inflation;
    // One-sided 0.5 %, so two-sided 1 %.
    (score - score.signum()) / variance.sqrt() > 2.576
}
