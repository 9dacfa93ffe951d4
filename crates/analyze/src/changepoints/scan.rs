//! Intervals of a series and their clearest place of change, by ranks: the Wilcoxon statistic of what lies before a
//! place against what lies after it, in its standard deviations, at the place where that is largest.
//!
//! The probability that the maximum over all places exceeds `z` without a change is, for a large interval of which
//! the places reach from share `h` to share `1 − h`, `z·exp(−z²/2)/√(2π) · ((1 − 1/z²)·2·ln((1−h)/h) + 4/z²)`
//! (Csörgő, Horváth, "Limit Theorems in Change-Point Analysis" (1997), §1.3, after Vostrikova 1981).

use crate::changepoints::{SIGNIFICANCE, noise};

/// Points on either side of a place that can be a change.
const MIN_SIDE: usize = 10;

/// Places where the series may change, in order.
pub(crate) fn places(values: &[u64]) -> Vec<usize> {
    let intervals = seeded(values.len());
    let limit = SIGNIFICANCE / intervals.len() as f64;
    let clearest = |(from, to): (usize, usize)| {
        let (place, p_value) = clearest(values.get(from..to)?, limit)?;
        Some((p_value, from, from + place, to))
    };
    let mut candidates: Vec<(f64, usize, usize, usize)> =
        intervals.into_iter().filter_map(clearest).collect();
    // The clearest first; of equals the longest, then the first.
    candidates
        .sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (b.3 - b.1).cmp(&(a.3 - a.1))).then(a.1.cmp(&b.1)));
    let mut places: Vec<usize> = Vec::new();
    for (_, from, at, to) in candidates {
        if !places.iter().any(|&place| from < place && place < to) {
            places.push(at);
        }
    }
    places.sort_unstable();
    places
}

/// The bound of the probability of a change as clear as that at `at`.
pub(crate) fn p_value(values: &[u64], at: usize) -> f64 {
    let z = statistics(&centred_ranks(values)).get(at).copied().unwrap_or(0.0);
    tail(z / inflation(values, at).sqrt(), values.len())
}

/// The factor of variances of values whose level changes at `at`, or drifts: what of the two leaves less.
pub(crate) fn inflation(values: &[u64], at: usize) -> f64 {
    let (before, after) = values.split_at(at.min(values.len()));
    // As shares of their side, so that both count alike.
    let of_side = |side: &[u64]| -> Vec<f64> {
        centred_ranks(side).into_iter().map(|rank| rank / side.len() as f64).collect()
    };
    let residuals = [of_side(before), of_side(after)].concat();
    noise::of_residuals(&residuals).min(noise::of_residuals(&without_trend(&centred_ranks(values))))
}

/// The place of an interval where it changes most clearly, if it does.
fn clearest(values: &[u64], limit: f64) -> Option<(usize, f64)> {
    let statistics = statistics(&centred_ranks(values));
    let inner =
        (MIN_SIDE..=values.len().saturating_sub(MIN_SIDE)).filter_map(|at| Some((at, *statistics.get(at)?)));
    let (at, z) = inner.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    // What is unclear without any dependence is not clearer with it.
    if tail(z, values.len()) > limit {
        return None;
    }
    let p_value = tail(z / inflation(values, at).sqrt(), values.len());
    (p_value <= limit).then_some((at, p_value))
}

/// Intervals of seeded binary segmentation: each layer's are shorter by √2 and overlap by half.
fn seeded(count: usize) -> Vec<(usize, usize)> {
    let mut intervals = vec![(0, count)];
    let mut length = count as f64 / std::f64::consts::SQRT_2;
    while length >= (2 * MIN_SIDE) as f64 {
        let places = 2 * (count as f64 / length).ceil() as usize - 1;
        let stride = (count as f64 - length) / (places.max(2) - 1) as f64;
        for index in 0..places {
            let start = index as f64 * stride;
            intervals.push((start as usize, ((start + length).ceil() as usize).min(count)));
        }
        length /= std::f64::consts::SQRT_2;
    }
    intervals
}

/// Ranks less their mean; equal values share theirs.
fn centred_ranks(values: &[u64]) -> Vec<f64> {
    let mut order: Vec<(u64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0usize;
    let centre = (values.len() as f64 - 1.0) / 2.0;
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = before as f64 + (group.len() as f64 - 1.0) / 2.0 - centre;
        for &(_, index) in group {
            if let Some(slot) = ranks.get_mut(index) {
                *slot = rank;
            }
        }
        before += group.len();
    }
    ranks
}

/// By place, the rank sum of the points before it in standard deviations of that.
fn statistics(ranks: &[f64]) -> Vec<f64> {
    let count = ranks.len() as f64;
    let deviation = (ranks.iter().map(|rank| rank * rank).sum::<f64>() / count.max(1.0)).sqrt();
    let mut sum = 0.0;
    let of = |(index, rank): (usize, &f64)| {
        let weight = index as f64 * (count - index as f64) / count;
        let z =
            if weight > 0.0 && deviation > 0.0 { f64::abs(sum) / (deviation * weight.sqrt()) } else { 0.0 };
        sum += rank;
        z
    };
    ranks.iter().enumerate().map(of).collect()
}

/// Centred ranks less their line of least squares.
fn without_trend(ranks: &[f64]) -> Vec<f64> {
    let middle = (ranks.len() as f64 - 1.0) / 2.0;
    let along = |index: usize| index as f64 - middle;
    let products: f64 = ranks.iter().enumerate().map(|(index, rank)| along(index) * rank).sum();
    let squares: f64 = (0..ranks.len()).map(|index| along(index) * along(index)).sum();
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    ranks.iter().enumerate().map(|(index, rank)| rank - slope * along(index)).collect()
}

/// Probability of a maximum beyond `z` over the places of an interval of `count` points.
fn tail(z: f64, count: usize) -> f64 {
    if z < 2.0 || count < 2 * MIN_SIDE {
        return 1.0;
    }
    let edge = MIN_SIDE as f64 / count as f64;
    let odds = 2.0 * ((1.0 - edge) / edge).ln();
    let square = z * z;
    let density = (-square / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (z * density * ((1.0 - 1.0 / square) * odds + 4.0 / square)).min(1.0)
}
