//! The change of a few values: their level moves once, by far more than they deviate from it. Ranks of so few neighbours
//! say little, and how they depend on each other nothing at all; levels that are so far apart need neither.

use super::{Change, MIN_SHARE, SIGNIFICANCE, SMALLEST_P, median, noise};

/// Values on either side.
pub const MIN_FEW: usize = 8;

/// More of them are no few.
const MOST: usize = 256;

/// By how many standard deviations the levels differ, as the median deviation tells these.
const APART: f64 = 6.0;
const MAD_TO_SIGMA: f64 = 1.4826;

/// That change, if there is one.
pub(crate) fn change(values: &[u64]) -> Option<Change> {
    let count = values.len();
    if !(2 * MIN_FEW..=MOST).contains(&count) {
        return None;
    }
    let least = MIN_FEW.max(count / MIN_SHARE);
    let logarithms: Vec<f64> = values.iter().map(|&value| (value.max(1) as f64).ln()).collect();
    let places = least..=count - least;
    let split = |at: usize| Split::of(&logarithms, at);
    let best = places.clone().map(split).min_by(|a, b| a.off.total_cmp(&b.off))?;
    let p_value = best.chance(&logarithms) * places.count() as f64;
    let is_apart = (best.after - best.before).abs() >= APART * MAD_TO_SIGMA * best.usual;
    (is_apart && best.after != best.before && p_value <= SIGNIFICANCE).then(|| Change {
        from: 0,
        at: best.at,
        to: count,
        before: median(values.get(..best.at).unwrap_or_default()),
        after: median(values.get(best.at..).unwrap_or_default()),
        is_gradual: false,
        over: 1,
        p_value: p_value.max(SMALLEST_P),
    })
}

/// Values before a place and from it on, with their medians.
struct Split {
    at: usize,
    before: f64,
    after: f64,
    /// The sum of absolute deviations from those, and their median.
    off: f64,
    usual: f64,
}

impl Split {
    fn of(values: &[f64], at: usize) -> Self {
        let (left, right) = values.split_at(at.min(values.len()));
        let (before, after) = (noise::median(left), noise::median(right));
        let deviations = left.iter().map(|value| (value - before).abs());
        let deviations: Vec<f64> =
            deviations.chain(right.iter().map(|value| (value - after).abs())).collect();
        Self { at, before, after, off: deviations.iter().sum(), usual: noise::median(&deviations) }
    }

    /// Bound of the probability that values in an order by chance are as well told apart by the middle between the levels,
    /// in either direction: the share of orders with no more of them on the wrong side.
    fn chance(&self, values: &[f64]) -> f64 {
        let middle = f64::midpoint(self.before, self.after);
        let (left, right) = values.split_at(self.at.min(values.len()));
        let is_up = self.after > self.before;
        let is_high = |value: &&f64| **value > middle;
        let (high, low) =
            (left.iter().filter(is_high).count(), right.len() - right.iter().filter(is_high).count());
        let wrong = if is_up { (high, low) } else { (left.len() - high, right.len() - low) };
        if 2 * wrong.0 >= left.len() || 2 * wrong.1 >= right.len() {
            return 1.0;
        }
        let orders = chosen_ln(left.len(), wrong.0) + chosen_ln(right.len(), wrong.1);
        let with_fewer = ((wrong.0 + 1) * (wrong.1 + 1)) as f64;
        let on_left = left.len() - wrong.0 + wrong.1;
        (2.0 * with_fewer * (orders - chosen_ln(values.len(), on_left)).exp()).min(1.0)
    }
}

/// The logarithm of in how many ways so many of `all` can be chosen.
fn chosen_ln(all: usize, chosen: usize) -> f64 {
    (0..chosen.min(all)).map(|index| ((all - index) as f64 / (index + 1) as f64).ln()).sum()
}
