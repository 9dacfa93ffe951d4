//! When what is live was allocated: all along, as what leaks is, or early and not since, as a state or a full cache. Told from
//! the ages of samples, which are few: stretches of age are put together until each must hold some of what comes all along.

use crate::summary::{LiveAge, LiveBirths};

/// Samples without which nothing is told.
const LEAST_SAMPLES: f64 = 3.0;
/// Samples that a stretch is to hold if they come all along: it holds none by chance once in 50 times.
const EXPECTED: f64 = 4.0;
/// The least and the largest share of the time that a stretch needs.
const SHARES: (f64, f64) = (0.15, 0.4);
/// What is younger than this part of the time is of the last steps.
const RECENT: f64 = 0.25;
/// The oldest stretch of what comes all along has this part of the others' rate at least, unless it lacks no more than so many
/// standard errors: of a cache with bounds it is cut off somewhere inside.
const OLDEST: f64 = 0.35;
const ERRORS: f64 = 2.5;
/// Above so many times the median a mean is that of something else beside.
const UNEVEN: f64 = 2.0;

/// A stretch of ages.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    from_steps: f64,
    steps: f64,
    bytes: f64,
}

impl Stretch {
    fn rate(&self) -> f64 {
        self.bytes / self.steps.max(1.0)
    }
}

/// When blocks were allocated.
#[derive(Debug, Clone)]
pub(super) struct Births {
    /// Youngest first.
    stretches: Vec<Stretch>,
    /// Samples of the window.
    samples: f64,
    bytes_per_sample: f64,
    window: f64,
}

impl Births {
    /// Of blocks with these ages, in a process that had begun so many steps, in the last `window` of them.
    pub(super) fn of(ages: &[LiveAge], period_bytes: u64, steps: u64, window: u64) -> Self {
        let window_steps = window.min(steps);
        let window = window_steps as f64;
        let classes = classes(ages, steps, window_steps);
        let bytes_per_sample = bytes_per_sample(ages, period_bytes);
        let samples = classes.iter().map(|class| class.bytes).sum::<f64>() / bytes_per_sample;
        let needed = (EXPECTED / samples.max(1.0)).clamp(SHARES.0, SHARES.1) * window;
        let mut stretches: Vec<Stretch> = Vec::new();
        for class in classes {
            match stretches.last_mut().filter(|last| last.steps < needed) {
                Some(last) => {
                    last.steps += class.steps;
                    last.bytes += class.bytes;
                }
                None => stretches.push(class),
            }
        }
        // The last one may be too short.
        if let Some(rest) = stretches.pop_if(|last| last.steps < needed) {
            match stretches.last_mut() {
                Some(last) => {
                    last.steps += rest.steps;
                    last.bytes += rest.bytes;
                }
                None => stretches.push(rest),
            }
        }
        Self { stretches, samples, bytes_per_sample, window }
    }

    fn is_held(&self, stretch: &Stretch) -> bool {
        stretch.bytes >= 0.5 * self.bytes_per_sample
    }

    /// When they were.
    pub(super) fn kind(&self) -> LiveBirths {
        let held = || self.stretches.iter().filter(|stretch| self.is_held(stretch));
        if self.samples < LEAST_SAMPLES || self.stretches.len() < 2 {
            return LiveBirths::Unknown;
        }
        let (youngest, oldest) = (held().next(), held().next_back());
        match (youngest, oldest) {
            _ if held().count() == self.stretches.len() && self.goes_back() => LiveBirths::Throughout,
            (Some(youngest), _) if youngest.from_steps >= RECENT * self.window => LiveBirths::Early,
            (_, Some(oldest)) if oldest.from_steps + oldest.steps <= (1.0 - RECENT) * self.window => {
                LiveBirths::Recent
            }
            _ => LiveBirths::Unknown,
        }
    }

    /// Whether as much is left of the oldest stretch as of the others.
    fn goes_back(&self) -> bool {
        let Some((oldest, others)) = self.stretches.split_last() else { return false };
        let usual = median(others, others.iter().map(|stretch| stretch.steps).sum());
        let samples = |bytes: f64| bytes / self.bytes_per_sample;
        let expected = samples(usual * oldest.steps);
        oldest.rate() >= OLDEST * usual || expected - samples(oldest.bytes) <= ERRORS * expected.sqrt()
    }

    /// Bytes that stay of each step, where they come all along.
    pub(super) fn bytes_per_step(&self) -> Option<f64> {
        if self.kind() != LiveBirths::Throughout {
            return None;
        }
        let median = median(&self.stretches, self.window);
        let mean = self.stretches.iter().map(|stretch| stretch.bytes).sum::<f64>() / self.window.max(1.0);
        // Beside what stays, the same line can hold what is in use, or what was there from the beginning.
        Some(if mean > UNEVEN * median { median } else { mean })
    }
}

/// The rate that half of so many steps do not reach.
fn median(stretches: &[Stretch], steps: f64) -> f64 {
    let mut rates: Vec<(f64, f64)> =
        stretches.iter().map(|stretch| (stretch.rate(), stretch.steps)).collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = 0.0;
    let median = rates.iter().find(|(_, own)| {
        until += own;
        until >= steps / 2.0
    });
    median.or(rates.last()).map_or(0.0, |&(rate, _)| rate)
}

/// For how many bytes one sample stands: the period for small blocks, themselves for large ones.
fn bytes_per_sample(ages: &[LiveAge], period_bytes: u64) -> f64 {
    let sum = |of: fn(&LiveAge) -> u64| ages.iter().map(of).fold(0u64, u64::saturating_add) as f64;
    let size = (sum(|age| age.bytes) / sum(|age| age.blocks).max(1.0)).max(1.0);
    let period = period_bytes as f64;
    if period > 0.0 { size / -(-size / period).exp_m1() } else { size }
}

/// The classes of ages within the window, also those that hold nothing; a class that begins in it counts by its part inside.
fn classes(ages: &[LiveAge], steps: u64, window: u64) -> Vec<Stretch> {
    let mut classes = Vec::new();
    let mut from = 0u64;
    while from < window {
        let next = from.saturating_mul(2).max(from.saturating_add(1));
        // What was there before the first step is as old as there are steps.
        let end = next.min(steps.saturating_add(1)).max(from.saturating_add(1));
        let inside = end.min(window).saturating_sub(from) as f64;
        let share = inside / end.saturating_sub(from) as f64;
        let bytes =
            ages.iter().filter(|age| age.age_steps == from).map(|age| age.bytes).fold(0, u64::saturating_add);
        classes.push(Stretch { from_steps: from as f64, steps: inside, bytes: bytes as f64 * share });
        from = next;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    /// Blocks of 1 KiB that were allocated at these ages, so many at each.
    fn ages(all: impl IntoIterator<Item = (u64, u64)>) -> Vec<LiveAge> {
        let mut ages: Vec<LiveAge> = Vec::new();
        for (age, blocks) in all {
            let class = if age == 0 { 0 } else { 1 << age.ilog2() };
            match ages.iter_mut().find(|one| one.age_steps == class) {
                Some(one) => {
                    one.bytes += blocks * KIB;
                    one.blocks += blocks;
                }
                None => ages.push(LiveAge { age_steps: class, bytes: blocks * KIB, blocks }),
            }
        }
        ages
    }

    fn of(ages: &[LiveAge], window: u64) -> Births {
        Births::of(ages, 64 * KIB, 1_000, window)
    }

    #[test]
    fn what_comes_all_along_has_a_rate() {
        let births = of(&ages((0..1_000).map(|age| (age, 8))), 900);
        assert_eq!(births.kind(), LiveBirths::Throughout);
        let rate = births.bytes_per_step().unwrap() / (8 * KIB) as f64;
        assert!((rate - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn as_many_bytes_that_are_all_old_or_all_young_have_none() {
        let kind = |all: Vec<LiveAge>| {
            let births = of(&all, 900);
            assert_eq!(births.bytes_per_step(), None);
            births.kind()
        };
        assert_eq!(kind(ages((980..1_000).map(|age| (age, 400)))), LiveBirths::Early);
        assert_eq!(kind(ages((0..2).map(|age| (age, 4_000)))), LiveBirths::Recent);
        // A buffer of the last 100 steps.
        assert_eq!(kind(ages((0..100).map(|age| (age, 80)))), LiveBirths::Recent);
        // And one that ends within the oldest stretch.
        assert_eq!(kind(ages((0..600).map(|age| (age, 80)))), LiveBirths::Unknown);
        // Too few samples.
        assert_eq!(kind(ages((0..1_000).step_by(10).map(|age| (age, 1)))), LiveBirths::Unknown);
    }

    #[test]
    fn what_is_in_use_at_the_same_line_is_no_part_of_the_rate() {
        let in_use = [(0, 8_000), (1, 8_000)];
        let births = of(&ages((0..1_000).map(|age| (age, 8)).chain(in_use)), 900);
        let rate = births.bytes_per_step().unwrap() / (8 * KIB) as f64;
        assert!((rate - 1.0).abs() < 0.05, "{rate}");
    }
}
