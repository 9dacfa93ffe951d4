//! Series that go round: every other value is a multiple of those between, or of five values always the same two. Such
//! values hide a change from ranks and medians, and nobody can say which of them is the usual one. So each is divided by
//! what its place in the round takes, as a share of the round; what is left tells of changes alone.
//!
//! Found is the shortest round that takes most off what values scatter. What is rarer than one in four scatters little by
//! the measure that is used here, and needs none of this: medians do not see it.

/// The longest round.
const LONGEST: usize = 16;

/// Rounds that are needed.
const MIN_ROUNDS: usize = 10;

/// Of what values scatter in a series without rounds, at most this is left with them taken off.
const LEFT: f64 = 0.7;

/// A longer round has to leave less than this of what a shorter one leaves.
const CLEARER: f64 = 0.95;

/// Values around which the series is taken to have one level.
const BLOCK: usize = 48;

/// The values without their rounds, at the level of the round's geometric mean; absent where they do not go round.
pub(super) fn evened(values: &[u64]) -> Option<Vec<u64>> {
    let logarithms: Vec<f64> = values.iter().map(|&value| (value.max(1) as f64).ln()).collect();
    let all = quantile(off(&logarithms), 3, 4);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for length in 2..=LONGEST.min(values.len() / MIN_ROUNDS) {
        let even = without(&logarithms, &shares(&logarithms, length));
        let off = off(&even);
        let least = best.as_ref().map_or(LEFT * all, |(least, _)| CLEARER * least);
        // Where fewer are below it, the quantile is not, which then need not be found.
        if off.iter().filter(|&&value| value < least).count() > place(off.len(), 3, 4) {
            best = Some((quantile(off, 3, 4), even));
        }
    }
    let (_, even) = best?;
    Some(even.into_iter().map(|value| value.exp().round() as u64).collect())
}

/// What each place of a round takes beyond its mean (of logarithms): the median over all rounds.
fn shares(logarithms: &[f64], length: usize) -> Vec<f64> {
    let rounds = logarithms.chunks_exact(length);
    let means: Vec<f64> = rounds.clone().map(|round| round.iter().sum::<f64>() / length as f64).collect();
    let place = |at: usize| {
        let beyond = rounds.clone().zip(&means).filter_map(|(round, mean)| Some(round.get(at)? - mean));
        quantile(beyond.collect(), 1, 2)
    };
    (0..length).map(place).collect()
}

fn without(logarithms: &[f64], shares: &[f64]) -> Vec<f64> {
    logarithms.iter().zip(shares.iter().cycle()).map(|(value, share)| value - share).collect()
}

/// By how much each value lies off the median around it. Three in four of them lie off by less than the series scatters.
fn off(logarithms: &[f64]) -> Vec<f64> {
    let mut off: Vec<f64> = Vec::with_capacity(logarithms.len());
    let mut sorted: Vec<f64> = Vec::with_capacity(BLOCK);
    for block in logarithms.chunks(BLOCK) {
        sorted.clear();
        sorted.extend_from_slice(block);
        let middle = place(sorted.len(), 1, 2);
        let level = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
        off.extend(block.iter().map(|value| (value - level).abs()));
    }
    off
}

/// The value below which a share of the others lies; 0 of nothing.
fn quantile(mut values: Vec<f64>, of: usize, parts: usize) -> f64 {
    let at = place(values.len(), of, parts);
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(at, f64::total_cmp).1 }
}

/// Where that stands among as many values.
fn place(count: usize, of: usize, parts: usize) -> usize {
    count.saturating_sub(1) * of / parts
}
