//! How much more the level of neighbours varies than it would if they did not depend on each other: the factor by
//! which variances of rank sums are multiplied. Step times depend on their neighbours (clock speed, other programs,
//! batches of similar length), and a test that takes them for independent finds changes everywhere.

/// Batches that a size needs: fewer say nothing of their variance.
const MIN_BATCHES: usize = 8;

/// The largest share of a value that the next one keeps.
const LARGEST_SHARE: f64 = 0.98;

/// Of residuals, which have a mean of about 0; at least 1. The largest of what batch means say (Schmeiser, "Batch size
/// effects in the analysis of simulation output", Operations Research 30 (1982), 556–568) and of what would be if each
/// value were a share of the one before it and something new: short intervals have no batches as long as slow noise
/// lasts. That share is estimated with its bias taken off (Kendall, Biometrika 41 (1954), 403–404).
pub(crate) fn of_residuals(residuals: &[f64]) -> f64 {
    let variance = mean_square(residuals.iter().copied());
    if variance <= 0.0 {
        return 1.0;
    }
    let count = residuals.len() as f64;
    let products = residuals.iter().zip(residuals.iter().skip(1)).map(|(a, b)| a * b);
    let share = products.sum::<f64>() / (count * variance);
    let share = (share + (1.0 + 3.0 * share) / count).clamp(0.0, LARGEST_SHARE);
    let sizes = std::iter::successors(Some(2usize), |size| size.checked_mul(2));
    let factors = sizes.take_while(|size| residuals.len() / size >= MIN_BATCHES).map(|size| {
        let means = residuals.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64);
        size as f64 * mean_square(means) / variance
    });
    factors.fold((1.0 + share) / (1.0 - share), f64::max)
}

fn mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value * value));
    if count == 0 { 0.0 } else { sum / count as f64 }
}
