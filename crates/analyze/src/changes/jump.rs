//! Jumps: what the medians of a few neighbours on both sides of a place differ by. Ranks of values that depend on each
//! other cannot be significant while they are few, however far the levels are apart: in slow noise a change that is
//! larger than all that the noise does from neighbours to neighbours is told by its size.
//!
//! How large jumps are without a change is taken from the largest one elsewhere in the interval, where one level is on
//! both sides: it is the maximum of as many, were they normal. So a disturbance, which has two ends, is no change.

use super::noise;

/// Neighbours on either side.
const SIDE: usize = 10;

/// Places within this of a change say nothing of the jumps elsewhere: within `SIDE` they see both levels on one of their
/// sides, and a disturbance right before the change, of up to `SIDE` values, reaches as far again.
const NEAR: usize = 2 * SIDE + SIDE / 2;

/// Jumps that do not share their neighbours, of which an interval needs as many: fewer say little of the largest one.
const MIN_JUMPS: f64 = 10.0;

/// The jumps of a series, by place.
pub(super) struct Jumps(Vec<f64>);

impl Jumps {
    /// Of logarithms.
    pub(super) fn of(series: &[f64]) -> Self {
        let medians: Vec<f64> = series.windows(SIDE).map(noise::median).collect();
        let sizes =
            medians.iter().zip(medians.iter().skip(SIDE)).map(|(before, after)| (after - before).abs());
        Self(std::iter::repeat_n(0.0, SIDE).chain(sizes).collect())
    }

    /// Bound of the probability that an interval without a change shows such a jump at a place as at `at`, where the
    /// levels on both sides differ by `levels`; 1 where nothing can be said.
    pub(super) fn tail(&self, from: usize, at: usize, to: usize, levels: f64) -> f64 {
        let largest = |from: usize, to: usize| {
            let sizes = self.0.get(from..to.min(self.0.len())).unwrap_or_default();
            sizes.iter().copied().fold(0.0, f64::max)
        };
        let before = largest(from + SIDE, at.saturating_sub(NEAR));
        let after = largest(at + NEAR, (to + 1).saturating_sub(SIDE));
        let (elsewhere, count) = (before.max(after), (to - from) as f64 / SIDE as f64);
        if elsewhere <= 0.0 || count < MIN_JUMPS {
            return 1.0;
        }
        let here = largest(at.saturating_sub(SIDE / 2), at + SIDE / 2);
        let z = here.min(levels.abs()) / elsewhere * (2.0 * count.ln()).sqrt();
        // Of as many normal values, by Mills' ratio.
        (2.0 * count * (-z * z / 2.0).exp() / (z.max(1.0) * (2.0 * std::f64::consts::PI).sqrt())).min(1.0)
    }
}
