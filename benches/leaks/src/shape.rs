//! A family: what memory does over a run, and whether that is a leak. The families themselves are elsewhere.

use crate::random::{Random, noise};

/// A series and what it is.
pub(crate) struct Series {
    pub(crate) points: Vec<(u64, f64)>,
    pub(crate) leaks: bool,
    /// Bytes a step, of families whose names begin with "line": all grow by one size over a run.
    pub(crate) rate: Option<f64>,
}

/// Memory over shares of the run (0 to 1), in sizes of what happens.
pub(crate) type Course = Box<dyn FnMut(f64) -> f64>;

/// How a course of a run of so many steps is drawn.
pub(crate) type Draw = fn(&mut Random, usize) -> Course;

/// A family.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) leaks: bool,
    pub(crate) draw: Draw,
    /// Steps, at least.
    pub(crate) least: usize,
}

pub(crate) const fn leak(name: &'static str, least: usize, draw: Draw) -> Family {
    Family { name, leaks: true, draw, least }
}

pub(crate) const fn healthy(name: &'static str, least: usize, draw: Draw) -> Family {
    Family { name, leaks: false, draw, least }
}

/// Steps of a run.
fn steps(random: &mut Random, least: usize) -> usize {
    let count = match random.share() {
        share if share < 0.12 => random.scale(8.0, 30.0),
        share if share < 0.4 => random.scale(30.0, 200.0),
        share if share < 0.85 => random.scale(200.0, 3_000.0),
        share if share < 0.97 => random.scale(3_000.0, 20_000.0),
        _ => 100_000.0,
    };
    (count as usize).max(least)
}

/// A series of a family by its seed.
pub(crate) fn series(family: &Family, seed: u64, is_judging: bool, is_rss: bool) -> Series {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x51ed);
    let count = steps(&mut random, family.least);
    let base = random.scale(2e7, 4e9);
    let spread = base * random.scale(2e-4, 1e-2);
    let size = spread * random.scale(8.0, 200.0);
    let rate = family.name.starts_with("line").then_some(size / count as f64);
    let mut course = (family.draw)(&mut random, count);
    let rough = noise(&mut random, count, is_judging);
    let mut values: Vec<f64> = (0..count)
        .map(|step| base + size * course(step as f64 / count as f64) + spread * rough[step])
        .collect();
    // What is there only after the first steps.
    if random.is(0.4) && count > 20 {
        let (lacks, until) = (random.between(0.05, 0.6) * base, random.scale(1.0, 0.05 * count as f64 + 2.0));
        for (step, value) in values.iter_mut().enumerate() {
            *value -= lacks * (-(step as f64) / until * 3.0).exp();
        }
    }
    if is_rss {
        resident(&mut random, &mut values, base);
    }
    let mut points: Vec<(u64, f64)> =
        values.iter().enumerate().map(|(step, value)| (step as u64, value.max(0.0).round())).collect();
    wear(&mut random, &mut points, is_judging);
    Series { points, leaks: family.leaks, rate }
}

/// What the kernel says of such a heap: pages that come back late, in pieces, beside what nobody counts.
fn resident(random: &mut Random, values: &mut [f64], base: f64) {
    let page = if random.is(0.2) { 2_097_152.0 } else { 4_096.0 };
    let keeps = random.between(0.0, 0.97);
    let (mut held, mut walk) = (0.0_f64, 0.0);
    let (step, pull) = (base * random.scale(2e-5, 1e-3), random.scale(0.005, 0.2));
    for value in values.iter_mut() {
        walk += step * random.normal() - pull * walk;
        held = value.max(keeps * held + (1.0 - keeps) * *value);
        *value = ((held * 1.1 + walk + 3e7) / page).round() * page;
    }
}

/// Points that are missing, late, repeated or wrong.
fn wear(random: &mut Random, points: &mut Vec<(u64, f64)>, is_judging: bool) {
    let count = points.len();
    if random.is(0.15) {
        let lost = random.between(0.02, 0.4);
        points.retain(|_| !random.is(lost));
    }
    if random.is(0.1) && count > 40 {
        let every = random.whole(2, (count / 20).min(50));
        let mut at = 0;
        points.retain(|_| {
            at += 1;
            at % every == 0
        });
    }
    let last = points.len().saturating_sub(2);
    if random.is(0.1) && last > 10 {
        for _ in 0..last / 10 {
            let at = random.whole(0, last);
            points.swap(at, at + 1);
        }
    }
    if is_judging && random.is(0.1) && last > 10 {
        for _ in 0..1 + last / 200 {
            let at = random.whole(0, last);
            points[at].1 = if random.is(0.5) { 0.0 } else { f64::NAN };
        }
    }
    if !is_judging && random.is(0.05) && last > 10 {
        for _ in 0..1 + last / 100 {
            let at = random.whole(0, last);
            points[at].1 *= random.between(0.2, 3.0);
        }
    }
}
