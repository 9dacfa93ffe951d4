//! Series that go round: every other value is a multiple of those between, of five values always the same two, or batches
//! are in the order of their lengths, again and again. Such values hide a change from ranks and medians: nobody can say
//! which of them is the usual one, and what is at the same place of the round is not near. So each is divided by what its
//! place in the round takes, as a share of the round; what is left tells of changes alone.
//!
//! Of short rounds each is tried; of longer ones, which may go around short ones, those whose places differ most, see
//! `rounds`. Found is the shortest that takes most off what values scatter. What is rarer than one in four scatters little
//! by the measure that is used here, and needs none of this: medians do not see it. Rounds whose length varies, or is no
//! whole number, are not found.

use super::rounds;

/// The longest of the rounds that are all tried.
pub(super) const LONGEST_TRIED: usize = 16;

/// Rounds that are needed.
pub(super) const MIN_ROUNDS: usize = 10;

/// Of what values scatter in a series without rounds, at most this is left with them taken off.
const LEFT: f64 = 0.7;

/// A longer round has to leave less than this of what a shorter one leaves.
const CLEARER: f64 = 0.95;

/// Values around which the series is taken to have one level, or a round where that is longer.
const BLOCK: usize = 48;

/// Long rounds within each other.
const MOST_LONG: usize = 2;

/// The values without their rounds, at the level of the round's geometric mean; absent where they do not go round.
pub(super) fn evened(values: &[u64]) -> Option<Vec<u64>> {
    let logarithms: Vec<f64> = values.iter().map(|&value| (value.max(1) as f64).ln()).collect();
    let mut even = without_rounds(&logarithms, 2..=LONGEST_TRIED.min(values.len() / MIN_ROUNDS));
    for _ in 0..MOST_LONG {
        let so_far = even.as_deref().unwrap_or(&logarithms);
        let Some(evener) = without_rounds(so_far, rounds::likeliest(so_far)) else { break };
        even = Some(evener);
    }
    Some(even?.into_iter().map(|value| value.exp().round() as u64).collect())
}

/// The values without the best of rounds of these lengths, which rise; absent where none of them is one.
fn without_rounds(logarithms: &[f64], lengths: impl IntoIterator<Item = usize>) -> Option<Vec<f64>> {
    let mut best: Option<(f64, Vec<f64>, usize)> = None;
    let mut measured = (0, 0.0);
    for length in lengths {
        let block = BLOCK.max(length);
        if measured.0 != block {
            measured = (block, quantile(off(logarithms, block), 3, 4));
        }
        let even = without(logarithms, &shares(logarithms, length));
        let off = off(&even, block);
        let least = best.as_ref().map_or(LEFT, |(least, ..)| CLEARER * least) * measured.1;
        // Where fewer are below it, the quantile is not, which then need not be found.
        if off.iter().filter(|&&value| value < least).count() > place(off.len(), 3, 4) {
            best = Some((quantile(off, 3, 4) / measured.1, even, length));
        }
    }
    let (_, even, length) = best?;
    let added = without_added(logarithms, length);
    let block = BLOCK.max(length);
    let left = |even: &[f64]| quantile(off(even, block), 9, 10);
    Some(if left(&added) < CLEARER * left(&even) { added } else { even })
}

/// The same with what is the same time at each place of the round, rather than the same share.
fn without_added(logarithms: &[f64], length: usize) -> Vec<f64> {
    let values: Vec<f64> = logarithms.iter().map(|value| value.exp()).collect();
    let mut even = without(&values, &shares(&values, length));
    even.iter_mut().for_each(|value| *value = value.max(1.0).ln());
    even
}

/// What each place of a round takes beyond the mean of the round around it, which a drift leaves as it is: the median over
/// all rounds.
fn shares(values: &[f64], length: usize) -> Vec<f64> {
    let mut sum: f64 = values.iter().take(length).sum();
    // By its middle, the mean of a round from each place on.
    let first = (length - 1) / 2;
    let mut beyond: Vec<f64> = Vec::with_capacity(values.len());
    let ends = values.iter().skip(length).map(Some).chain([None]);
    for ((middle, start), end) in values.iter().skip(first).zip(values).zip(ends) {
        beyond.push(middle - sum / length as f64);
        sum += end.unwrap_or(&0.0) - start;
    }
    let place = |at: usize| {
        let from = (at + length - first) % length;
        quantile(beyond.iter().copied().skip(from).step_by(length).collect(), 1, 2)
    };
    let shares: Vec<f64> = (0..length).map(place).collect();
    let mean = shares.iter().sum::<f64>() / length as f64;
    shares.into_iter().map(|share| share - mean).collect()
}

fn without(logarithms: &[f64], shares: &[f64]) -> Vec<f64> {
    logarithms.iter().zip(shares.iter().cycle()).map(|(value, share)| value - share).collect()
}

/// By how much each value lies off the median of the block around it. Three in four of them lie off by less than the
/// series scatters.
fn off(logarithms: &[f64], block: usize) -> Vec<f64> {
    let mut off: Vec<f64> = Vec::with_capacity(logarithms.len());
    let mut sorted: Vec<f64> = Vec::with_capacity(block);
    for values in logarithms.chunks(block) {
        sorted.clear();
        sorted.extend_from_slice(values);
        let middle = place(sorted.len(), 1, 2);
        let level = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
        off.extend(values.iter().map(|value| (value - level).abs()));
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
