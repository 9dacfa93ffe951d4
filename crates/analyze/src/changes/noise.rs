//! How much more the level of neighbours varies than it would if they did not depend on each other: the factor by
//! which variances of rank sums are multiplied. Step times depend on their neighbours (clock speed, other programs,
//! batches of similar length), and a test that takes them for independent finds changes everywhere.
//!
//! The estimate is that of batch means (Schmeiser, "Batch size effects in the analysis of simulation output",
//! Operations Research 30 (1982), 556–568), over all batch sizes, of which the largest counts. Over the whole series it
//! is taken from differences of neighbouring batches, as the Allan variance is, with the median instead of the
//! mean: a few changes of level are in a few differences only. In an interval, residuals are what is left without its
//! levels.

/// Batches that a size needs: fewer say nothing of their variance.
const MIN_BATCHES: usize = 32;

/// Batches of the residuals of an interval, which is shorter.
const MIN_LOCAL_BATCHES: usize = 8;

/// The largest share of a value that the next one keeps.
const LARGEST_SHARE: f64 = 0.98;

/// Points around which the series is taken to have one level.
const LEVEL: usize = 32;

/// A deviation's median absolute value times this is its standard deviation, were it normal.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Over a whole series (of logarithms); at least 1.
pub(super) fn of_series(series: &[f64]) -> f64 {
    let mut around: Vec<f64> = Vec::with_capacity(series.len());
    for block in series.chunks(LEVEL) {
        let level = median(block);
        around.extend(block.iter().map(|value| (value - level).abs()));
    }
    let sigma = MAD_TO_SIGMA * median(&around);
    if sigma <= 0.0 {
        return 1.0;
    }
    let sizes = std::iter::successors(Some(2usize), |size| size.checked_mul(2));
    let factors = sizes.take_while(|size| series.len() / size >= MIN_BATCHES).map(|size| {
        let levels: Vec<f64> = series.chunks_exact(size).map(median).collect();
        let moves: Vec<f64> = levels.iter().zip(levels.iter().skip(1)).map(|(a, b)| (b - a).abs()).collect();
        let deviation = MAD_TO_SIGMA * median(&moves) / sigma;
        size as f64 * deviation * deviation / 2.0
    });
    factors.fold(1.0, f64::max)
}

/// Of the residuals of one interval, which have a mean of about 0; at least 1.
pub(super) fn of_residuals(residuals: &[f64]) -> f64 {
    let variance = mean_square(residuals.iter().copied());
    if variance <= 0.0 {
        return 1.0;
    }
    let sizes = std::iter::successors(Some(2usize), |size| size.checked_mul(2));
    let factors = sizes.take_while(|size| residuals.len() / size >= MIN_LOCAL_BATCHES).map(|size| {
        let means = residuals.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64);
        size as f64 * mean_square(means) / variance
    });
    factors.fold(of_neighbours(residuals, variance), f64::max)
}

/// The factor, were each value a share of the one before it and something new (an autoregression of first order): short
/// intervals have no batches as long as slow noise lasts. The share is estimated with its bias taken off (Kendall, "Note
/// on bias in the estimation of autocorrelation", Biometrika 41 (1954), 403–404).
fn of_neighbours(residuals: &[f64], variance: f64) -> f64 {
    let count = residuals.len() as f64;
    let products = residuals.iter().zip(residuals.iter().skip(1)).map(|(a, b)| a * b);
    let share = products.sum::<f64>() / (count * variance);
    let share = (share + (1.0 + 3.0 * share) / count).clamp(0.0, LARGEST_SHARE);
    (1.0 + share) / (1.0 - share)
}

fn mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value * value));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The lower median; 0 of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    let middle = sorted.len().saturating_sub(1) / 2;
    if sorted.is_empty() { 0.0 } else { *sorted.select_nth_unstable_by(middle, f64::total_cmp).1 }
}
