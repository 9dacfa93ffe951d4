//! The mean of a sample with outliers, and how large it may be.

/// Resamples of a bootstrap.
const RESAMPLES: usize = 4_000;
/// What decides them.
const SEED: u64 = 1;
/// Of the values, the part that is left out at each end: where another program had the processor.
const TRIMMED: f64 = 0.1;

/// Mean of the sorted values without those at both ends.
fn trimmed_mean(sorted: &[f64]) -> f64 {
    let cut = (sorted.len() as f64 * TRIMMED) as usize;
    let kept = sorted.get(cut..sorted.len().saturating_sub(cut)).unwrap_or_default();
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

/// The mean of all values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The trimmed mean, and its upper 95 % bound: the 95th percentile of that of as many values drawn at random.
pub(crate) fn mean_and_bound(values: &[f64]) -> (f64, f64) {
    let (mean, drawn) = resampled(values, SEED);
    (mean, percentile_95(drawn))
}

/// How much larger the trimmed mean of `those` is than that of `these`, and the upper 95 % bound of that, by drawing from
/// both.
pub(crate) fn difference_and_bound(these: &[f64], those: &[f64]) -> (f64, f64) {
    let (mean, drawn) = resampled(these, SEED);
    let (other, other_drawn) = resampled(those, SEED + 1);
    (other - mean, percentile_95(drawn.iter().zip(other_drawn).map(|(mean, other)| other - mean).collect()))
}

fn percentile_95(mut drawn: Vec<f64>) -> f64 {
    drawn.sort_by(f64::total_cmp);
    drawn.get(drawn.len() * 95 / 100).copied().unwrap_or(f64::NAN)
}

/// The trimmed mean, and those of as many values drawn at random, again and again.
fn resampled(values: &[f64], seed: u64) -> (f64, Vec<f64>) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut random = examples_common::Random::new(seed);
    let means = (0..RESAMPLES)
        .map(|_| {
            // Drawn as places, which are sorted by counting: the values are sorted then, too.
            let mut hits = vec![0_u32; sorted.len()];
            for _ in 0..sorted.len() {
                if let Some(hit) = hits.get_mut(random.below(sorted.len())) {
                    *hit += 1;
                }
            }
            let drawn = sorted.iter().zip(hits).flat_map(|(&value, hits)| (0..hits).map(move |_| value));
            trimmed_mean(&drawn.collect::<Vec<_>>())
        })
        .collect();
    (trimmed_mean(&sorted), means)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_a_normal_mean_and_outliers_do_not_move_it() {
        // Sums of twelve uniform values: mean 5, standard deviation 1.
        let mut random = examples_common::Random::new(7);
        let mut uniform = || random.below(1 << 20) as f64 / f64::from(1 << 20);
        let mut values: Vec<f64> =
            (0..2_000).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 1.0).collect();
        values.extend([1e6, 1e6, -1e6]);
        let (mean, bound) = mean_and_bound(&values);
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
        assert!((super::mean(&values) - 1e6 / 2_003.0 - 5.0).abs() < 0.1, "all of them");
        // 1.645 standard errors of 1/sqrt(2000); trimming costs a few percent.
        assert!((0.02..0.06).contains(&(bound - mean)), "{mean} {bound}");
        // Two of them: by the root of two more, and the one less than the other by 3.
        let less: Vec<f64> = values.iter().map(|value| value - 3.0).collect();
        let (difference, bound) = difference_and_bound(&less, &values);
        assert!((difference - 3.0).abs() < 1e-9, "{difference}");
        assert!((0.04..0.07).contains(&(bound - difference)), "{difference} {bound}");
    }
}
