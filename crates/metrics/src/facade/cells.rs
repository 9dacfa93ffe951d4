//! What handles of the facade write to: each call is an atomic operation or a few, and none waits or allocates.

use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{GaugeFn, HistogramFn};

/// What no program sets: a gauge that was registered and not set yet.
const UNSET: u64 = 0x7ff8_5e17_0000_0001;

/// A gauge.
#[derive(Debug)]
pub(crate) struct GaugeCell(AtomicU64);

impl Default for GaugeCell {
    fn default() -> Self {
        Self(AtomicU64::new(UNSET))
    }
}

impl GaugeCell {
    /// Its value, if it was set.
    pub(crate) fn value(&self) -> Option<f64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|bits| *bits != UNSET).map(f64::from_bits)
    }

    fn add(&self, value: f64) {
        update(&self.0, |bits| if bits == UNSET { value } else { f64::from_bits(bits) + value });
    }
}

impl GaugeFn for GaugeCell {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

fn update(cell: &AtomicU64, new: impl Fn(u64) -> f64) {
    let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bits| Some(new(bits).to_bits()));
}

/// Buckets of a power of two.
const PARTS: u64 = 8;
const PART_BITS: u32 = PARTS.ilog2();
/// From 2⁻³² (0.2 ns in seconds) to 2³² there are buckets; what is less or more is in the first or the last.
const LEAST_EXPONENT: u64 = 1_023 - 32;
const BUCKETS: usize = 64 * PARTS as usize;

/// A histogram of positive numbers: each bucket is an eighth of a power of two, so that a quantile is off by 6.25 % at most.
#[derive(Debug)]
pub(crate) struct HistogramCell {
    buckets: Box<[AtomicU64; BUCKETS]>,
    sum: AtomicU64,
    least: AtomicU64,
    greatest: AtomicU64,
    /// Values that are no numbers.
    refused: &'static AtomicU64,
}

impl HistogramCell {
    pub(crate) fn new(refused: &'static AtomicU64) -> Self {
        Self {
            buckets: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
            sum: AtomicU64::new(0),
            least: AtomicU64::new(f64::INFINITY.to_bits()),
            greatest: AtomicU64::new(f64::NEG_INFINITY.to_bits()),
            refused,
        }
    }

    /// Count, sum, and the values below which these shares of all lie.
    pub(crate) fn read<const N: usize>(&self, shares: [f64; N]) -> (u64, f64, [Option<f64>; N]) {
        let mut counts = [0; BUCKETS];
        counts
            .iter_mut()
            .zip(&*self.buckets)
            .for_each(|(count, bucket)| *count = bucket.load(Ordering::Relaxed));
        let count: u64 = counts.iter().sum();
        let load = |cell: &AtomicU64| f64::from_bits(cell.load(Ordering::Relaxed));
        let (least, greatest) = (load(&self.least), load(&self.greatest));
        let quantile = |share: f64| {
            let rank = ((count as f64 * share).ceil() as u64).clamp(1, count.max(1));
            let mut below = 0;
            let index = counts.iter().position(|count| {
                below += count;
                below >= rank
            })?;
            // The first bucket has whatever is not positive, too.
            let middle = if index == 0 { least } else { middle(index) };
            (count > 0 && least <= greatest).then(|| middle.clamp(least, greatest))
        };
        (count, load(&self.sum), shares.map(quantile))
    }
}

fn index(value: f64) -> usize {
    if value <= 0.0 {
        return 0;
    }
    let steps = value.to_bits() >> (52 - PART_BITS);
    let index = steps.saturating_sub(LEAST_EXPONENT * PARTS);
    usize::try_from(index).unwrap_or(BUCKETS).min(BUCKETS - 1)
}

fn middle(index: usize) -> f64 {
    let edge = |index: usize| f64::from_bits((LEAST_EXPONENT * PARTS + index as u64) << (52 - PART_BITS));
    f64::midpoint(edge(index), edge(index + 1))
}

impl HistogramFn for HistogramCell {
    fn record(&self, value: f64) {
        self.record_many(value, 1);
    }

    fn record_many(&self, value: f64, count: usize) {
        let count = count as u64;
        if !value.is_finite() {
            self.refused.fetch_add(count, Ordering::Relaxed);
            return;
        }
        if let Some(bucket) = self.buckets.get(index(value)) {
            bucket.fetch_add(count, Ordering::Relaxed);
        }
        update(&self.sum, |bits| f64::from_bits(bits) + value * count as f64);
        let load = |cell: &AtomicU64| f64::from_bits(cell.load(Ordering::Relaxed));
        if value < load(&self.least) {
            update(&self.least, |bits| f64::from_bits(bits).min(value));
        }
        if value > load(&self.greatest) {
            update(&self.greatest, |bits| f64::from_bits(bits).max(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_that_was_not_set_is_absent_and_one_that_is_no_number_is_not() {
        let gauge = GaugeCell::default();
        assert_eq!(gauge.value(), None);
        gauge.decrement(2.0);
        gauge.increment(0.5);
        assert_eq!(gauge.value(), Some(-1.5));
        gauge.set(f64::NAN);
        assert!(gauge.value().is_some_and(f64::is_nan));
    }

    #[test]
    fn quantiles_are_within_six_percent_and_what_is_no_number_is_counted() {
        static REFUSED: AtomicU64 = AtomicU64::new(0);
        let histogram = HistogramCell::new(&REFUSED);
        assert_eq!(histogram.read([0.5]), (0, 0.0, [None]));
        for number in 1..=1_000 {
            histogram.record(f64::from(number) / 1e6);
        }
        histogram.record(f64::NAN);
        histogram.record_many(f64::INFINITY, 2);
        assert_eq!(REFUSED.load(Ordering::Relaxed), 3);
        let (count, sum, [median, high, all]) = histogram.read([0.5, 0.99, 1.0]);
        assert_eq!(count, 1_000);
        assert!((sum - 0.5005).abs() < 1e-9, "{sum}");
        for (found, value) in [(median, 500e-6), (high, 990e-6), (all, 1e-3)] {
            let found = found.unwrap();
            assert!((found / value - 1.0).abs() <= 0.0625, "{found} is not {value}");
        }
        for value in [-5.0, 0.0, 1e-300, 1e300] {
            histogram.record(value);
        }
        assert_eq!(histogram.read([0.0, 1.0]).2, [Some(-5.0), Some(middle(BUCKETS - 1))]);
    }
}
