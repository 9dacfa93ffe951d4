//! How long the rounds are in which a series goes, where they are long: the lengths at which places of the round differ
//! most from each other, in their means over all rounds, by how many places there are. A multiple of a round has as much
//! of it, and more places. All that is needed is a sum for each place, for each length: half a thousand additions for
//! each value, of which not all are looked at where they are many.
//!
//! Before that the series' level is taken off, and values far off it count as less far ones: one change or disturbance
//! would differ from place to place more than a small round does.

use super::cycle::{LONGEST_TRIED, MIN_ROUNDS};
use super::{USUAL, noise};

/// The longest round that is found.
const LONGEST: usize = 512;

/// Values that are looked at, those in the middle: enough for many of the longest rounds.
const MOST_VALUES: usize = 16_384;

/// Of a round that comes so often, a part is told from it, though it may be too long to be told itself.
const MIN_WHOLE: usize = 3;

/// Parts of a round that are told from a round.
const MOST_PARTS: usize = 8;

/// Of all squares of what values are off their level, a round accounts for this share at least.
const LEAST_SHARE: f64 = 0.2;

/// Lengths that are told.
const MOST: usize = 6;

/// The likeliest lengths of rounds, at least longer than those that are all tried; in order, and none in short series.
pub(super) fn likeliest(logarithms: &[f64]) -> Vec<usize> {
    let outside = logarithms.len().saturating_sub(MOST_VALUES) / 2;
    let logarithms = logarithms.get(outside..logarithms.len() - outside).unwrap_or_default();
    let longest = LONGEST.min(logarithms.len() / MIN_ROUNDS);
    if longest <= LONGEST_TRIED {
        return Vec::new();
    }
    let off = off_level(logarithms, longest);
    let mut sums: Vec<f64> = Vec::with_capacity(longest);
    let differing: Vec<(f64, usize)> =
        (LONGEST_TRIED + 1..=longest).map(|length| (differ(&off, length, &mut sums), length)).collect();
    let least = LEAST_SHARE * off.iter().map(|off| off * off).sum::<f64>();
    // Of neighbours, which share what they find, the best.
    let around = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| differing.get(at));
        before.into_iter().chain(differing.get(at + 1))
    };
    let is_best = |at: usize, &(most, length): &(f64, usize)| {
        most > 0.0 && most * (length as f64 - 1.0) >= least && around(at).all(|other| other.0 <= most)
    };
    let best = differing.iter().enumerate().filter(|&(at, one)| is_best(at, one));
    let mut best: Vec<(f64, usize)> = best.map(|(_, &one)| one).collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.truncate(MOST);
    // What differs more where several are taken for one is a part of it.
    let mut is_whole = |&(most, length): &(f64, usize)| {
        let several = (2 * length..=off.len() / MIN_WHOLE).step_by(length).take(MOST_PARTS);
        several.into_iter().all(|several| differ(&off, several, &mut sums) < most)
    };
    best.retain(&mut is_whole);
    let mut lengths: Vec<usize> = best.into_iter().map(|(_, length)| length).collect();
    lengths.sort_unstable();
    lengths
}

/// The mean square of what places of a round of this length are off, in standard deviations of means of as many values
/// as a place has, were these without rounds; but for a factor that is the same for all lengths.
fn differ(off: &[f64], length: usize, sums: &mut Vec<f64>) -> f64 {
    sums.clear();
    sums.resize(length, 0.0);
    let rounds = off.chunks_exact(length);
    let count = rounds.len().max(1) as f64;
    for round in rounds {
        for (sum, value) in sums.iter_mut().zip(round) {
            *sum += value;
        }
    }
    let mean = sums.iter().sum::<f64>() / length as f64;
    sums.iter().map(|sum| (sum - mean) * (sum - mean)).sum::<f64>() / (count * (length as f64 - 1.0))
}

/// What values are off the level around them, which goes from one block's median to the next one's; at most as much as
/// is usual.
fn off_level(logarithms: &[f64], block: usize) -> Vec<f64> {
    // A last block that is short is left to the one before it.
    let levels: Vec<f64> = logarithms.chunks_exact(block).map(noise::median).collect();
    let (mut first, last) = (levels.first().copied().unwrap_or(0.0), levels.last().copied().unwrap_or(0.0));
    let mut off: Vec<f64> = Vec::with_capacity(logarithms.len());
    // From the middle of a block to that of the next one; before the first one and after the last one it stays.
    let half = block / 2;
    let (start, rest) = logarithms.split_at(half.min(logarithms.len()));
    off.extend(start.iter().map(|value| value - first));
    for (values, next) in rest.chunks(block).zip(levels.iter().skip(1).chain(std::iter::repeat(&last))) {
        let slope = (next - first) / block as f64;
        off.extend(values.iter().zip(0u32..).map(|(value, at)| value - first - slope * f64::from(at)));
        first = *next;
    }
    let usual = USUAL * noise::median(&off.iter().map(|value| value.abs()).collect::<Vec<_>>());
    off.iter_mut().for_each(|value| *value = value.clamp(-usual, usual));
    off
}
