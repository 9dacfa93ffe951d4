//! Axes of plots: round values of equal distance, and what is written beside them. `front/axis.js` does the same.

use crate::report::units::count;

/// Height of a plot in pixels, and its margins; what is left and right of it is in the style.
pub(super) const HEIGHT: f64 = 220.0;
pub(super) const BOTTOM: f64 = 28.0;

/// Values of equal distance, the first at or below what is shown, the last at or above it.
#[derive(Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) ticks: Vec<f64>,
    /// From one to the next.
    step: f64,
}

/// Intervals between ticks, at most.
const INTERVALS: f64 = 4.0;

impl Axis {
    /// From zero to at least `max`, in steps of 1, 2 or 5 of a power of ten (of `base`). What is counted in whole numbers
    /// has no ticks between two of them.
    pub(super) fn to(max: f64, base: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
        let rough = max / INTERVALS;
        let unit = base.powf((rough.ln() / base.ln() + 1e-9).floor());
        Self::between(0.0, max, (round(rough / unit) * unit).max(1.0))
    }

    /// From zero to at least `max` nanoseconds, in steps as clocks are read.
    pub(super) fn to_time(max: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
        Self::between(0.0, max, round_time(max / INTERVALS).max(1.0))
    }

    /// Around zero and all values between two, in whole steps of 1, 2 or 5 of a power of ten (of `base`).
    pub(super) fn signed(low: f64, high: f64, base: f64) -> Self {
        let (low, high) = (low.min(0.0), high.max(0.0));
        let rough = ((high - low) / INTERVALS).max(1.0);
        let unit = base.powf((rough.ln() / base.ln() + 1e-9).floor());
        Self::between(low, high, round(rough / unit) * unit)
    }

    /// Around values of any range.
    pub(super) fn around(low: f64, high: f64) -> Self {
        // Halves, so that the difference of the extremes of the type is finite.
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let rough = (high / 2.0 - low / 2.0) / (INTERVALS / 2.0);
        let most = low.abs().max(high.abs());
        // One value lies in the middle.
        let least = if low == high { most / INTERVALS } else { most * 1e-6 };
        let size = round(rough.max(least));
        let axis = Self::between(low, high, if size > 0.0 { size } else { 1.0 });
        if axis.ticks.len() > 1 && axis.ticks.iter().all(|tick| tick.is_finite()) {
            axis
        } else {
            Self { ticks: vec![low, high], step: high - low }
        }
    }

    fn between(low: f64, high: f64, step: f64) -> Self {
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil().max(first + 1.0);
        let intervals = (last - first).min(2.0 * INTERVALS) as u32;
        Self { ticks: (0..=intervals).map(|n| (first + f64::from(n)) * step).collect(), step }
    }

    /// Where a value lies between the first tick (0) and the last (1).
    pub(super) fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.low(), self.high());
        let height = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
        ((value / 2.0 - low / 2.0) / height).clamp(0.0, 1.0)
    }

    fn low(&self) -> f64 {
        self.ticks.first().copied().unwrap_or(0.0)
    }

    pub(super) fn high(&self) -> f64 {
        self.ticks.last().copied().unwrap_or(1.0)
    }

    /// A tick as a plain number: as many digits as tell it from its neighbours.
    pub(super) fn plain(&self, tick: f64) -> String {
        let most = self.low().abs().max(self.high().abs());
        if tick == 0.0 {
            return "0".into();
        }
        if most >= 1e6 || self.step.abs() < 1e-4 || !self.step.is_finite() {
            let told = format!("{tick:.*e}", self.digits_of(tick));
            let (digits, power) = told.split_once('e').unwrap_or((&told, "0"));
            return format!("{}e{power}", without_zeros(digits));
        }
        let digits = (-(self.step.abs().log10() + 1e-9).floor()).clamp(0.0, 6.0) as usize;
        format!("{tick:.digits$}")
    }

    /// Digits behind the first one that tell a tick from its neighbours.
    fn digits_of(&self, tick: f64) -> usize {
        let powers = tick.abs().log10().floor() - (self.step.abs().log10() + 1e-9).floor();
        if powers.is_finite() { powers.clamp(1.0, 15.0) as usize } else { 1 }
    }
}

/// A number without the zeros behind its point.
fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// The next of 1, 2 and 5 of a power of ten that is not smaller.
fn round(rough: f64) -> f64 {
    if !(rough.is_finite() && rough > 0.0) {
        return 0.0;
    }
    let magnitude = 10_f64.powf((rough.log10() + 1e-9).floor());
    let sizes = [1.0, 2.0, 5.0, 10.0].map(|step| step * magnitude);
    sizes.into_iter().find(|size| *size >= rough * 0.9999).unwrap_or(10.0 * magnitude)
}

const SECOND: f64 = 1e9;
const MINUTE: f64 = 60.0 * SECOND;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;

/// Round times of which a minute, an hour or a day has a whole number.
const OF_CLOCKS: [f64; 14] = [
    20.0 * SECOND,
    30.0 * SECOND,
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    20.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
];

/// The next round time that is not shorter: of seconds as [`round`] does, of more as clocks are read, of days again so.
fn round_time(rough: f64) -> f64 {
    if rough <= 10.0 * SECOND {
        return round(rough);
    }
    let of_clocks = OF_CLOCKS.into_iter().find(|size| *size >= rough * 0.9999);
    of_clocks.unwrap_or_else(|| DAY * round(rough / DAY))
}

/// A value in words without the zeros behind its point, or behind its larger unit: `5 ms`, `2.5 MiB`, `2 h`.
pub(super) fn short(words: &str) -> String {
    let words = [" 00 s", " 00 min", " 00 h"].iter().find_map(|end| words.strip_suffix(end)).unwrap_or(words);
    let (number, unit) = words.split_once(' ').unwrap_or((words, ""));
    let number = without_zeros(number);
    if number == "0" || unit.is_empty() { number.into() } else { format!("{number} {unit}") }
}

/// Round step numbers from `first` to `last`.
pub(super) fn steps(first: u64, last: u64) -> Vec<u64> {
    let size = round((last.saturating_sub(first) as f64 / 6.0).max(1.0)).max(1.0) as u64;
    let begin = first.div_ceil(size);
    let ticks = (0..=10).map(|n| begin.saturating_add(n).saturating_mul(size));
    let mut ticks: Vec<u64> = ticks.take_while(|&tick| tick <= last).collect();
    ticks.dedup();
    ticks
}

/// The name of a tick over step numbers: the first says what is counted.
pub(super) fn step_name(at: usize, step: u64) -> String {
    if at == 0 { format!("step {}", count(step)) } else { count(step) }
}

/// Times that are ticks of a logarithmic axis beyond seconds.
const LADDER: [f64; 15] = [
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    20.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    5.0 * HOUR,
    10.0 * HOUR,
    DAY,
    2.0 * DAY,
    5.0 * DAY,
    10.0 * DAY,
    100.0 * DAY,
    1_000.0 * DAY,
];

/// Round times between two on a logarithmic axis.
pub(super) fn logarithmic(low: f64, high: f64) -> Vec<f64> {
    let (low, high) = (low.max(1.0), high.max(1.0));
    let below_a_minute = (0..=10).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
    let within = |value: &f64| (low..=high).contains(value);
    let mut ticks: Vec<f64> = below_a_minute.chain(LADDER).filter(within).collect();
    if ticks.len() < 3 {
        let size = round_time((high - low) / INTERVALS).max(1.0);
        ticks = Axis::between(low, high, size).ticks.into_iter().filter(within).collect();
    }
    // Of a long axis only whole powers of a unit.
    if ticks.len() > 8 {
        let is_power = |count: f64| (count.log10() - count.log10().round()).abs() < 1e-9;
        ticks.retain(|tick| [1.0, MINUTE, HOUR, DAY].iter().any(|unit| is_power(tick / unit)));
    }
    if ticks.is_empty() { vec![low] } else { ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_over_what_is_shown() {
        assert_eq!(Axis::to(10.0, 10.0).ticks, [0.0, 5.0, 10.0]);
        assert_eq!(Axis::to(0.0, 10.0).ticks, [0.0, 1.0]);
        let mib = 1024.0 * 1024.0;
        assert_eq!(Axis::to(9.4 * mib, 1024.0).ticks, [0.0, 5.0 * mib, 10.0 * mib]);
        assert_eq!(Axis::around(0.82222, 0.99167).ticks.len(), 5);
        assert_eq!(Axis::around(0.82222, 0.99167).plain(0.95), "0.95");
        let loss = Axis::around(0.003_975, 7.6457);
        let told: Vec<String> = loss.ticks.iter().map(|tick| loss.plain(*tick)).collect();
        assert_eq!(told, ["0", "2", "4", "6", "8"]);
    }

    #[test]
    fn ticks_of_times_are_those_of_clocks() {
        let told = |ticks: Vec<f64>| -> Vec<String> {
            ticks.into_iter().map(|tick| short(&crate::report::units::duration(tick as u64))).collect()
        };
        let to = |max: f64| told(Axis::to_time(max).ticks);
        assert_eq!(to(0.0), ["0", "1 ns"]);
        assert_eq!(to(2.0), ["0", "1 ns", "2 ns"]);
        assert_eq!(to(80e6), ["0", "20 ms", "40 ms", "60 ms", "80 ms"]);
        assert_eq!(to(58e9), ["0", "20 s", "40 s", "1 min"]);
        assert_eq!(to(100e9), ["0", "30 s", "1 min", "1 min 30 s", "2 min"]);
        assert_eq!(to(2.05 * HOUR), ["0", "1 h", "2 h", "3 h"]);
        assert_eq!(to(30.0 * HOUR), ["0", "12 h", "1 d", "1 d 12 h"]);
        assert_eq!(to(9.0 * DAY), ["0", "5 d", "10 d"]);
        assert_eq!(to(u64::MAX as f64).len(), 4);
        assert_eq!(told(logarithmic(1.64 * HOUR, 2.46 * HOUR)), ["1 h 40 min", "2 h", "2 h 20 min"]);
        assert_eq!(
            told(logarithmic(40.0 * SECOND, 21.0 * MINUTE)).join(", "),
            "50 s, 1 min, 2 min, 5 min, 10 min, 20 min"
        );
        assert_eq!(told(logarithmic(20.0 * SECOND, 3.0 * HOUR)), ["1 min", "10 min", "1 h"]);
    }

    #[test]
    fn any_values_have_an_axis() {
        let ends =
            [0.0, 1.0, -1.0, 1e-300, f64::MAX, f64::MIN, 1e16, 1e16 + 2.0, f64::INFINITY, f64::NEG_INFINITY];
        for low in ends {
            for high in ends {
                let axis = Axis::around(low, high);
                assert!((1..=9).contains(&axis.ticks.len()), "{low} {high}: {axis:?}");
                assert!(axis.ticks.iter().all(|tick| !axis.plain(*tick).is_empty()));
                if low.is_finite() && high.is_finite() {
                    assert!((0.0..=1.0).contains(&axis.share(low)), "{low} {high}");
                }
            }
        }
    }

    #[test]
    fn no_two_ticks_read_the_same() {
        let told = |low, high| {
            let axis = Axis::around(low, high);
            axis.ticks.iter().map(|tick| axis.plain(*tick)).collect::<Vec<_>>()
        };
        assert_eq!(told(1.2e6, 1.24e6), ["1.2e6", "1.21e6", "1.22e6", "1.23e6", "1.24e6"]);
        assert_eq!(told(5.0, 5.0), ["4", "6"]);
        assert_eq!(told(2e-5, 6e-5), ["2e-5", "3e-5", "4e-5", "5e-5", "6e-5"]);
        for (low, high) in [(1e6, 1e6 + 1.0), (-3e-7, 9e-7), (0.1, 0.100_001), (1e300, 1.01e300)] {
            let mut words = told(low, high);
            let all = words.len();
            words.dedup();
            assert_eq!(words.len(), all, "{words:?}");
        }
    }

    #[test]
    fn words_are_short() {
        assert_eq!(
            ["5.00 ms", "15.0 ms", "0 ns", "100 ns", "2.50 MiB", "2 h 00 min", "1 h 20 min"].map(short),
            ["5 ms", "15 ms", "0", "100 ns", "2.5 MiB", "2 h", "1 h 20 min"]
        );
    }

    #[test]
    fn steps_have_round_numbers() {
        assert_eq!(steps(0, 239), [0, 50, 100, 150, 200]);
        assert_eq!(steps(0, 299), [0, 50, 100, 150, 200, 250]);
        assert_eq!(steps(7, 9), [7, 8, 9]);
        assert_eq!(steps(5, 5), [5]);
        assert_eq!(steps(0, 99_999), [0, 20_000, 40_000, 60_000, 80_000]);
        assert!(steps(0, u64::MAX).len() <= 7);
        assert!(steps(u64::MAX - 3, u64::MAX).len() <= 7);
    }

    #[test]
    fn logarithmic_axes_have_round_values() {
        assert_eq!(logarithmic(2.36e6, 16.1e6), [5e6, 10e6, 15e6]);
        assert_eq!(logarithmic(1e3, 60e3), [1e3, 2e3, 5e3, 10e3, 20e3, 50e3]);
        assert_eq!(logarithmic(1.0, 1e9).len(), 10);
    }
}
