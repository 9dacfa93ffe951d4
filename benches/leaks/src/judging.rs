//! Families by which the detector is judged: of other mechanisms than those for tuning, and never looked at while tuning.

use std::f64::consts::TAU;

use crate::random::Random;
use crate::shape::{Course, Draw, Family, healthy, leak};

/// A dictionary of words that come again: Heaps' law.
fn dictionary(random: &mut Random, _: usize) -> Course {
    let power = random.between(0.25, 0.55);
    Box::new(move |share: f64| share.powf(power))
}

fn logistic(random: &mut Random, _: usize) -> Course {
    let (at, wide) = (random.between(0.2, 0.55), random.between(0.03, 0.1));
    Box::new(move |share| 1.0 / (1.0 + (-(share - at) / wide).exp()))
}

fn wave(random: &mut Random, _: usize) -> Course {
    let (count, phase) = (random.between(3.0, 60.0), random.share());
    Box::new(move |share| (TAU * (share * count + phase)).sin())
}

fn turns(random: &mut Random, _: usize) -> Course {
    let (count, part) = (random.between(4.0, 50.0), random.between(0.2, 0.8));
    Box::new(move |share| f64::from(u8::from((share * count).fract() < part)))
}

fn pool_doubles(random: &mut Random, count: usize) -> Course {
    let first = random.scale(1.0, 0.1 * count as f64 + 1.5) / count as f64;
    Box::new(move |share| {
        if share < first { first / 2.0 } else { first * 2f64.powf((share / first).log2().floor()) / 2.0 }
    })
}

fn buffer_for_a_while(random: &mut Random, _: usize) -> Course {
    let (at, wide) = (random.between(0.1, 0.75), random.between(0.08, 0.2));
    Box::new(move |share| f64::from(u8::from(share > at && share < at + wide)))
}

fn ramp_then_holds(random: &mut Random, _: usize) -> Course {
    let (from, to) = (random.between(0.05, 0.3), random.between(0.45, 0.8));
    Box::new(move |share| ((share - from) / (to - from)).clamp(0.0, 1.0))
}

fn fine_tunes(random: &mut Random, _: usize) -> Course {
    let (at, down) = (random.between(0.3, 0.7), random.between(-1.0, 0.6));
    Box::new(move |share| if share > at { down } else { 0.0 })
}

fn queue_fills(random: &mut Random, count: usize) -> Course {
    let at = random.between(3.0, 0.25 * count as f64 + 4.0) / count as f64;
    Box::new(move |share| (share / at).min(1.0))
}

fn growing_epochs(random: &mut Random, _: usize) -> Course {
    let count = random.whole(4, 10) as f64;
    Box::new(move |share| (share * count).fract().powi(2) + 0.3 * (TAU * 3.0 * share * count).sin())
}

fn evicts(random: &mut Random, count: usize) -> Course {
    let (mut own, mut held) = (Random(random.0 ^ 5), 0.0);
    let (full, put) = (random.between(0.3, 1.0), random.scale(3.0, 40.0) / count as f64);
    Box::new(move |_| {
        held += put * own.share();
        if held > full {
            held *= own.between(0.3, 0.9);
        }
        held
    })
}

fn falls_back(random: &mut Random, _: usize) -> Course {
    let at = random.between(0.5, 0.9);
    Box::new(move |share| if share < at { share } else { 0.1 })
}

fn line(_: &mut Random, _: usize) -> Course {
    Box::new(|share| share)
}

fn on(random: &mut Random, count: usize, other: Draw, low: f64, high: f64) -> Course {
    let (mut other, size) = (other(random, count), random.scale(low, high));
    Box::new(move |share| share + size * other(share))
}

fn evaluations_keep(random: &mut Random, _: usize) -> Course {
    let mut own = Random(random.0 ^ 3);
    let count = random.whole(10, 30);
    let sizes: Vec<f64> = (0..count).map(|_| own.between(0.4, 1.6) / count as f64).collect();
    Box::new(move |share| sizes.iter().take((share * count as f64) as usize).sum())
}

fn two_rates(random: &mut Random, _: usize) -> Course {
    let (at, before) = (random.between(0.2, 0.7), random.between(0.1, 0.8));
    Box::new(move |share| before * share.min(at) + (share - at).max(0.0))
}

fn gives_some_back(random: &mut Random, _: usize) -> Course {
    let (count, part) = (random.between(6.0, 30.0), random.between(0.2, 0.6));
    Box::new(move |share| share - part / count * (share * count).floor() + 0.0)
}

fn pauses(random: &mut Random, _: usize) -> Course {
    let (count, part) = (random.whole(5, 20) as f64, random.between(0.3, 0.7));
    Box::new(move |share| ((share * count).floor() + ((share * count).fract() / part).min(1.0)) / count)
}

fn slows_a_little(random: &mut Random, _: usize) -> Course {
    let power = random.between(0.85, 0.97);
    Box::new(move |share: f64| share.powf(power))
}

fn begins_at_once(random: &mut Random, _: usize) -> Course {
    let at = random.between(0.3, 0.75);
    Box::new(move |share| if share < at { 0.0 } else { 0.2 + (share - at) })
}

fn heavy(random: &mut Random, count: usize) -> Course {
    let mut own = Random(random.0 ^ 11);
    let mut sum = 0.0;
    let each = 0.5 / count as f64;
    Box::new(move |_| {
        sum += each / own.share().max(0.01).sqrt();
        sum
    })
}

/// All of them.
pub(crate) const FAMILIES: &[Family] = &[
    healthy("dictionary", 30, dictionary),
    healthy("logistic", 30, logistic),
    healthy("wave", 60, wave),
    healthy("two levels in turns", 60, turns),
    healthy("pool doubles", 30, pool_doubles),
    healthy("buffer for a while", 30, buffer_for_a_while),
    healthy("ramp, then holds", 30, ramp_then_holds),
    healthy("pre-training, then fine-tuning", 12, fine_tunes),
    healthy("loader's queue", 12, queue_fills),
    healthy("curved epochs", 60, growing_epochs),
    healthy("cache that evicts", 60, evicts),
    healthy("falls back", 30, falls_back),
    healthy("noise alone", 8, |_, _| Box::new(|_| 0.0)),
    leak("line under other noise", 8, line),
    leak("line on a wave", 60, |random, count| on(random, count, wave, 0.05, 0.6)),
    leak("line on two levels", 60, |random, count| on(random, count, turns, 0.05, 1.0)),
    leak("evaluations keep", 60, evaluations_keep),
    leak("two rates", 30, two_rates),
    leak("gives some back", 80, gives_some_back),
    leak("pauses", 60, pauses),
    leak("slows a little", 30, slows_a_little),
    leak("begins with a jump", 30, begins_at_once),
    leak("heavy sizes", 40, heavy),
    leak("line and a dictionary", 40, |random, count| on(random, count, dictionary, 0.1, 0.5)),
    leak("line and a buffer for a while", 40, |random, count| {
        on(random, count, buffer_for_a_while, 0.1, 0.7)
    }),
    leak("line and a loader's queue", 30, |random, count| on(random, count, queue_fills, 0.1, 1.0)),
    leak("line on curved epochs", 60, |random, count| on(random, count, growing_epochs, 0.05, 0.5)),
    leak("line and fine-tuning", 30, |random, count| on(random, count, fine_tunes, 0.1, 0.5)),
];
