//! What is called growth, of many random courses of memory: how often where there is none, and how exactly where there
//! is. Bounds are those of the rule's promise, not of what it happened to do.

use super::*;
use crate::memory::trend::late::{last_third, late};
use crate::memory::trend::trend;

/// Courses of a kind.
const SEEDS: u64 = 200;

/// Of these, called growth where there is none: 2 %.
const FALSE: usize = 4;

const MB: f64 = 1e6;

/// Numbers by SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    /// In [0, 1).
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of a normal distribution, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let length = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        length * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// A course: bytes at a step, of which the first is 0.
type Course = Box<dyn FnMut(f64) -> f64>;

fn course(steps: usize, mut at: Course) -> Option<Line> {
    let points: Vec<(u64, u64)> =
        (0..steps).map(|step| (step as u64, (100.0 * MB + at(step as f64)).max(0.0) as u64)).collect();
    let whole = trend(&points);
    let pair = TrendPair {
        first_bytes: 0,
        last_bytes: 0,
        max_bytes: 0,
        whole,
        tail: trend(last_third(&points)),
        late: whole.and_then(|whole| late(&points, &whole)),
    };
    line(&pair, 1_000_000, &Thresholds::default())
}

/// Of [`SEEDS`] courses, the lines of those that are called growth.
fn lines(steps: usize, of: impl Fn(Random) -> Course) -> Vec<Line> {
    (0..SEEDS)
        .filter_map(|seed| course(steps, of(Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)))))
        .collect()
}

/// Steps of the courses without growth.
const LENGTHS: [usize; 2] = [150, 600];

#[track_caller]
fn is_none(what: &str, of: impl Fn(usize, Random) -> Course) {
    for steps in LENGTHS {
        let found = lines(steps, |random| of(steps, random)).len();
        assert!(found <= FALSE, "{what}, {steps} steps: {found} of {SEEDS}");
    }
}

#[test]
fn what_wanders_does_not_grow() {
    is_none("walk", |_, mut random| {
        let mut level = 0.0;
        Box::new(move |_| {
            level += 0.5 * MB * random.normal();
            level
        })
    });
    for kept in [0.0, 0.9, 0.99] {
        is_none("autoregression", |_, mut random| {
            let mut level = 0.0;
            Box::new(move |_| {
                level = kept * level + 2.0 * MB * random.normal();
                level
            })
        });
    }
}

#[test]
fn what_is_cleared_does_not_grow() {
    // Twice in a course at least.
    for (periods, noise) in [(2.0, 0.0), (3.3, MB), (4.4, 0.0), (8.1, MB), (10.0, 0.0), (37.5, MB)] {
        is_none("sawtooth", |steps, mut random| {
            let period = (steps as f64 / periods).floor();
            let phase = (period * random.share()).floor();
            Box::new(move |step| (step + phase) % period * MB + noise * random.normal())
        });
    }
}

#[test]
fn what_fills_up_does_not_grow() {
    is_none("filled evenly", |steps, mut random| {
        let filled = steps as f64 * (0.05 + 0.75 * random.share());
        Box::new(move |step| 50.0 * MB * (step / filled).min(1.0) + 0.5 * MB * random.normal())
    });
    is_none("hits more and more", |steps, mut random| {
        let scale = steps as f64 * (0.02 + 0.23 * random.share());
        Box::new(move |step| 50.0 * MB * (1.0 - (-step / scale).exp()) + 0.5 * MB * random.normal())
    });
    is_none("arenas", |steps, mut random| {
        let (mut kept, scale) = (0.0, steps as f64 * 0.05);
        Box::new(move |step| {
            if random.share() < 0.3 * (-step / scale).exp() {
                kept += 4.0 * MB * random.share();
            }
            kept + 0.2 * MB * random.normal()
        })
    });
    is_none("allocated once", |steps, mut random| {
        let at = steps as f64 * random.share();
        Box::new(move |step| if step < at { 0.0 } else { 50.0 * MB } + 0.5 * MB * random.normal())
    });
}

/// Asserts that nearly all courses grow, with a median rate that is `rate` and a first step that is `from`, but for the
/// shares given.
#[track_caller]
fn grows(what: &str, steps: usize, rate: f64, from: u64, of: impl Fn(Random) -> Course) {
    let found = lines(steps, of);
    assert!(found.len() as u64 * 100 >= SEEDS * 95, "{what}: {} of {SEEDS}", found.len());
    let mut rates: Vec<f64> = found.iter().map(|line| line.trend.slope_per_step).collect();
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    assert!((median / rate - 1.0).abs() < 0.05, "{what}: {median} a step instead of {rate}");
    let off = |line: &&Line| line.trend.from_step.abs_diff(from) > steps as u64 / 20;
    let missed = found.iter().filter(off).count();
    assert!(missed * 20 <= found.len(), "{what}: {missed} of {} begin elsewhere", found.len());
}

#[test]
fn leaks_under_noise_are_found_with_their_rates() {
    for (steps, rate, noise) in [
        (12_000, 100.0, 0.05 * MB),
        (2_000, 1_000.0, 0.1 * MB),
        (600, 20_000.0, MB),
        (150, 200_000.0, 2.0 * MB),
    ] {
        grows("constant", steps, rate, 0, |mut random| {
            Box::new(move |step| rate * step + noise * random.normal())
        });
    }
    grows("one way", 600, 20_000.0, 0, |mut random| {
        Box::new(move |step| 20_000.0 * step - MB * (1.0 - random.share()).ln())
    });
}

#[test]
fn leaks_that_begin_late_are_found_with_their_steps() {
    for (from, noise) in [(150.0, 0.2 * MB), (300.0, 0.2 * MB), (450.0, 0.5 * MB), (540.0, 0.2 * MB)] {
        grows("late", 600, 100_000.0, from as u64, |mut random| {
            Box::new(move |step| 100_000.0 * (step - from).max(0.0) + noise * random.normal())
        });
    }
}
