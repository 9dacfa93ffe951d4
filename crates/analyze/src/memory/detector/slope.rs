//! A robust slope and how sure it is where levels depend on those before: the median of slopes of pairs (P. K. Sen, JASA 63
//! (1968), 1379–1389), its error by residuals that follow each other.

use super::levels::quantile;
use super::student;

/// Probability outside of the interval.
const OUTSIDE: f64 = 0.05;

/// A slope, bytes a unit of time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slope {
    pub(super) rate: f64,
    pub(super) error: f64,
    /// Values that do not depend on each other, less those that were chosen.
    pub(super) freedom: usize,
}

impl Slope {
    /// Half of the width of the 95 % interval.
    pub(super) fn reach(&self) -> f64 {
        student::quantile(OUTSIDE, self.freedom) * self.error
    }

    /// Probability of such a slope, up or down, where there is none.
    pub(super) fn chance(&self) -> f64 {
        if self.rate == 0.0 {
            1.0
        } else {
            student::outside(self.rate.abs() / self.error.max(f64::MIN_POSITIVE), self.freedom)
        }
    }
}

/// How much values follow the one before, from 0 to 0.95; with what few values hide of it.
pub(super) fn dependence(rest: &[f64]) -> f64 {
    let count = rest.len() as f64;
    let square: f64 = rest.iter().map(|value| value * value).sum();
    if count < 4.0 || square <= 0.0 {
        return 0.0;
    }
    let product: f64 = rest.iter().zip(rest.iter().skip(1)).map(|(a, b)| a * b).sum();
    let plain = product / square;
    (plain + (1.0 + 3.0 * plain.max(0.0)) / count).clamp(0.0, 0.95)
}

/// So many values as do not depend on each other.
pub(super) fn apart(count: f64, dependence: f64) -> f64 {
    (count * (1.0 - dependence) / (1.0 + dependence)).max(2.0)
}

/// Blocks of which each is left out once.
const BLOCKS: usize = 8;

/// Half of the width of the 95 % interval of a slope whose values hang together over stretches: by how much slopes differ with a
/// stretch left out each (jackknife: R. G. Miller, Biometrika 61 (1974), 1–15). 0 of few values.
pub(super) fn reach_of_blocks(times: &[f64], values: &[f64]) -> f64 {
    let count = times.len();
    let size = count.div_ceil(BLOCKS);
    if count < 2 * BLOCKS {
        return 0.0;
    }
    let without = |from: usize, to: usize| {
        let kept = || times.iter().zip(values).enumerate().filter(|(at, _)| !(from..to).contains(at));
        let number = kept().count() as f64;
        let (x, y) = kept().fold((0.0, 0.0), |(x, y), (_, (time, value))| (x + time, y + value));
        let (x, y) = (x / number, y / number);
        let (xy, xx) = kept().fold((0.0, 0.0), |(xy, xx), (_, (time, value))| {
            (xy + (time - x) * (value - y), xx + (time - x) * (time - x))
        });
        xy / xx
    };
    let slopes: Vec<f64> =
        (0..count).step_by(size).map(|from| without(from, (from + size).min(count))).collect();
    let blocks = slopes.len() as f64;
    let mean = slopes.iter().sum::<f64>() / blocks;
    let square = slopes.iter().map(|slope| (slope - mean) * (slope - mean)).sum::<f64>();
    student::quantile(OUTSIDE, slopes.len() - 1) * (square * (blocks - 1.0) / blocks).sqrt()
}

/// The slope of values over times.
pub(super) fn slope(times: &[f64], values: &[f64], floor: f64) -> Slope {
    let count = times.len();
    let mut slopes = Vec::with_capacity(count * count / 2);
    for (index, (x, y)) in times.iter().zip(values).enumerate() {
        let later = times.iter().zip(values).skip(index + 1);
        slopes.extend(later.filter(|(time, _)| *time > x).map(|(time, value)| (value - y) / (time - x)));
    }
    if count < 3 || slopes.is_empty() {
        return Slope { rate: 0.0, error: f64::INFINITY, freedom: 1 };
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let rate = quantile(&slopes, 0.5);
    let mut offsets: Vec<f64> = times.iter().zip(values).map(|(time, value)| value - rate * time).collect();
    let rest_around = offsets.clone();
    offsets.sort_unstable_by(f64::total_cmp);
    let offset = quantile(&offsets, 0.5);
    let rest: Vec<f64> = rest_around.iter().map(|value| value - offset).collect();
    let square: f64 =
        rest.iter().map(|value| value * value).sum::<f64>() / (count as f64 - 2.0).max(1.0) + floor;
    let mean = times.iter().sum::<f64>() / count as f64;
    let spread = (times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / count as f64).sqrt();
    let apart = apart(count as f64, dependence(&rest)).max(3.0);
    Slope {
        rate,
        error: (square / apart).sqrt() / spread,
        freedom: (apart.round() as usize).saturating_sub(2).max(1),
    }
}
