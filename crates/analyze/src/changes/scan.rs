//! Intervals of a series and their clearest place of change, by ranks: the Wilcoxon statistic of what lies before a
//! place against what lies after it, in its standard deviations, at the place where that is largest.
//!
//! The probability that the maximum over all places exceeds `z` without a change is, for a large interval of which
//! the places reach from share `h` to share `1 − l`,
//! `z·exp(−z²/2)/√(2π) · ((1 − 1/z²)·ln((1−h)(1−l)/(h·l)) + 4/z²)`
//! (Csörgő, Horváth, "Limit Theorems in Change-Point Analysis" (1997), §1.3, after Vostrikova 1981). What ranks leave
//! unclear may be clear by its size, see `jump`.

use super::jump::Jumps;
use super::{MIN_SIDE, SIGNIFICANCE, noise};

/// A series with what every interval of it needs.
pub(super) struct Scan<'a> {
    values: &'a [u64],
    logarithms: Vec<f64>,
    inflation: f64,
    jumps: Jumps,
}

/// A place in an interval.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    from: usize,
    at: usize,
    to: usize,
    p_value: f64,
    z: f64,
}

impl<'a> Scan<'a> {
    pub(super) fn new(values: &'a [u64]) -> Self {
        let logarithms: Vec<f64> = values.iter().map(|&value| (value.max(1) as f64).ln()).collect();
        let (inflation, jumps) = (noise::of_series(&logarithms), Jumps::of(&logarithms));
        Self { values, logarithms, inflation, jumps }
    }

    /// The factor of variances over the whole series.
    pub(super) const fn inflation(&self) -> f64 {
        self.inflation
    }

    /// Places where the series may change, in order.
    pub(super) fn places(&self) -> Vec<usize> {
        self.places_of(seeded(self.values.len()))
    }

    /// Places where it may change between those that are told; none without any.
    pub(super) fn places_between(&self, told: &[usize]) -> Vec<usize> {
        let starts = std::iter::once(0).chain(told.iter().copied());
        let ends = told.iter().copied().chain(std::iter::once(self.values.len()));
        let parts = starts.zip(ends).filter(|(from, to)| !told.is_empty() && from + 2 * MIN_SIDE <= *to);
        self.places_of(parts.collect())
    }

    fn places_of(&self, intervals: Vec<(usize, usize)>) -> Vec<usize> {
        let limit = SIGNIFICANCE / intervals.len().max(1) as f64;
        let mut candidates: Vec<Candidate> =
            intervals.into_iter().filter_map(|(from, to)| self.clearest(from, to, limit)).collect();
        // The clearest first; of equals the longest, then the first.
        candidates.sort_by(|a, b| {
            let by_p = a.p_value.total_cmp(&b.p_value).then_with(|| b.z.total_cmp(&a.z));
            by_p.then_with(|| (b.to - b.from).cmp(&(a.to - a.from))).then_with(|| a.from.cmp(&b.from))
        });
        let mut places: Vec<usize> = Vec::new();
        for candidate in candidates {
            let is_told = places.iter().any(|&place| candidate.from < place && place < candidate.to);
            if !is_told {
                places.push(candidate.at);
            }
        }
        places.sort_unstable();
        places
    }

    /// The place of an interval where it changes most clearly, if it does.
    fn clearest(&self, from: usize, to: usize, limit: f64) -> Option<Candidate> {
        let values = self.values.get(from..to)?;
        let ranks = centred_ranks(values);
        let deviation = deviation(&ranks);
        let (mut sum, mut best, mut place) = (0.0, 0.0, 0);
        for (index, rank) in ranks.iter().enumerate() {
            let z = standardised(sum, index, ranks.len(), deviation);
            if z > best && index >= MIN_SIDE && ranks.len() - index >= MIN_SIDE {
                (best, place) = (z, index);
            }
            sum += rank;
        }
        // What is unclear without any dependence is not clearer with it.
        if place == 0 || tail(best, ranks.len()) > limit {
            return None;
        }
        let by_size = self.by_size(from, from + place, to);
        if tail(best / self.inflation.sqrt(), ranks.len()).min(by_size) > limit {
            return None;
        }
        let z = best / self.inflation.max(residual_inflation(values, &ranks, place)).sqrt();
        let p_value = tail(z, ranks.len()).min(by_size);
        (p_value <= limit).then_some(Candidate { from, at: from + place, to, p_value, z })
    }

    /// The bound of the probability of a change as clear as that at `at` between `from` and `to`.
    pub(super) fn p_value(&self, from: usize, at: usize, to: usize) -> f64 {
        let to = to.min(self.values.len());
        let Some(values) = self.values.get(from..to).filter(|_| from < at && at < to) else { return 1.0 };
        let ranks = centred_ranks(values);
        let sum: f64 = ranks.iter().take(at - from).sum();
        let z = standardised(sum, at - from, ranks.len(), deviation(&ranks));
        let by_ranks =
            tail(z / self.inflation.max(residual_inflation(values, &ranks, at - from)).sqrt(), ranks.len());
        by_ranks.min(self.by_size(from, at, to))
    }

    /// The same by how far the levels are apart, instead of by ranks.
    fn by_size(&self, from: usize, at: usize, to: usize) -> f64 {
        let level = |from: usize, to: usize| noise::median(self.logarithms.get(from..to).unwrap_or_default());
        self.jumps.tail(from, at, to, level(at, to) - level(from, at))
    }
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

fn deviation(ranks: &[f64]) -> f64 {
    (ranks.iter().map(|rank| rank * rank).sum::<f64>() / ranks.len().max(1) as f64).sqrt()
}

/// A rank sum of the first `index` of `count` points in standard deviations of that.
fn standardised(sum: f64, index: usize, count: usize, deviation: f64) -> f64 {
    let weight = index as f64 * (count - index) as f64 / count.max(1) as f64;
    if weight <= 0.0 || deviation <= 0.0 { 0.0 } else { sum.abs() / (deviation * weight.sqrt()) }
}

/// The factor of variances in an interval whose level changes at `place`, or drifts: what of the two leaves less.
fn residual_inflation(values: &[u64], ranks: &[f64], place: usize) -> f64 {
    let (before, after) = values.split_at(place.min(values.len()));
    let residuals: Vec<f64> = [before, after].into_iter().flat_map(centred_ranks_as_shares).collect();
    noise::of_residuals(&residuals).min(noise::of_residuals(&without_trend(ranks)))
}

/// Centred ranks less their line of least squares.
fn without_trend(ranks: &[f64]) -> Vec<f64> {
    let middle = (ranks.len() as f64 - 1.0) / 2.0;
    let along = |index: usize| index as f64 - middle;
    let (products, squares) =
        ranks.iter().enumerate().fold((0.0, 0.0), |(products, squares), (index, rank)| {
            (products + along(index) * rank, squares + along(index) * along(index))
        });
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    ranks.iter().enumerate().map(|(index, rank)| rank - slope * along(index)).collect()
}

/// Ranks within one side, as shares of it, so that both sides count alike.
fn centred_ranks_as_shares(side: &[u64]) -> Vec<f64> {
    let count = side.len().max(1) as f64;
    centred_ranks(side).into_iter().map(|rank| rank / count).collect()
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
