//! Families by which the detector may be tuned.

use crate::random::Random;
use crate::shape::{Course, Family, healthy, leak};

/// Nothing beside noise.
fn flat(_: &mut Random, _: usize) -> Course {
    Box::new(|_| 0.0)
}

fn line(_: &mut Random, _: usize) -> Course {
    Box::new(|share| share)
}

fn fills(random: &mut Random, _: usize) -> Course {
    let scale = random.scale(0.05, 0.5);
    Box::new(move |share| 1.0 - (-share / scale).exp())
}

fn full(random: &mut Random, _: usize) -> Course {
    let at = random.between(0.2, 0.86);
    Box::new(move |share| (share / at).min(1.0))
}

fn stairs(random: &mut Random, _: usize) -> Course {
    let count = random.whole(1, 4);
    let places: Vec<(f64, f64)> =
        (0..count).map(|_| (random.between(0.1, 0.9), random.between(0.3, 1.0))).collect();
    Box::new(move |share| places.iter().filter(|place| share >= place.0).map(|place| place.1).sum())
}

fn teeth(random: &mut Random, _: usize) -> Course {
    let count = random.whole(4, 40) as f64 + random.share();
    Box::new(move |share| (share * count).fract())
}

fn uneven_teeth(random: &mut Random, _: usize) -> Course {
    let mut places = vec![0.0];
    let usual = 1.0 / random.between(6.0, 40.0);
    while places[places.len() - 1] < 1.0 {
        places.push(places[places.len() - 1] + usual * random.between(0.6, 1.4));
    }
    Box::new(move |share| {
        let at = places.partition_point(|&place| place <= share);
        (share - places[at.saturating_sub(1)]) / usual
    })
}

fn spikes(random: &mut Random, _: usize) -> Course {
    let (count, wide) = (random.whole(3, 30) as f64, random.between(0.03, 0.2));
    Box::new(move |share| f64::from(u8::from((share * count).fract() > 1.0 - wide)))
}

fn shrinks(random: &mut Random, _: usize) -> Course {
    let scale = random.scale(0.1, 2.0);
    Box::new(move |share| (-share / scale).exp())
}

fn appears(random: &mut Random, count: usize) -> Course {
    let at = random.between(0.0, 3.0) / count as f64;
    Box::new(move |share| if share > at { 1.0 } else { 0.0 })
}

fn wanders(random: &mut Random, count: usize) -> Course {
    let mut own = Random(random.0 ^ 77);
    let (mut state, pull) = (0.0, random.scale(4.0, 60.0) / count as f64);
    let step = 0.35 * (2.0 * pull).sqrt();
    Box::new(move |_| {
        state += step * own.normal() - pull * state;
        state
    })
}

fn late_line(random: &mut Random, _: usize) -> Course {
    let at = random.between(0.1, 0.6);
    Box::new(move |share| (share - at).max(0.0))
}

fn by_epoch(random: &mut Random, _: usize) -> Course {
    let count = random.whole(8, 40) as f64;
    Box::new(move |share| (share * count).floor() / count)
}

fn plus(random: &mut Random, count: usize, other: crate::shape::Draw, part: (f64, f64)) -> Course {
    let (mut other, size) = (other(random, count), random.scale(part.0, part.1));
    Box::new(move |share| share + size * other(share))
}

fn bent(random: &mut Random, _: usize) -> Course {
    let power = random.between(1.2, 2.5);
    Box::new(move |share: f64| share.powf(power))
}

fn by_chance(random: &mut Random, count: usize) -> Course {
    let (mut own, often) = (Random(random.0 ^ 99), random.between(20.0, 400.0) / count as f64);
    let mut sum = 0.0;
    let each = 1.0 / (often * count as f64);
    Box::new(move |_| {
        if own.is(often) {
            sum += each * own.between(0.5, 1.5);
        }
        sum
    })
}

/// All of them.
pub(crate) const FAMILIES: &[Family] = &[
    healthy("flat", 8, flat),
    healthy("cache fills by halves", 30, fills),
    healthy("cache is full", 20, full),
    healthy("curriculum in stages", 20, stairs),
    healthy("saw-tooth of epochs", 40, teeth),
    healthy("saw-tooth without beat", 60, uneven_teeth),
    healthy("evaluation", 40, spikes),
    healthy("shrinks", 8, shrinks),
    healthy("optimizer state", 8, appears),
    healthy("wanders", 30, wanders),
    leak("line", 8, line),
    leak("line, late", 30, late_line),
    leak("by epoch", 60, by_epoch),
    leak("line on a saw-tooth", 60, |random, count| plus(random, count, teeth, (0.1, 2.0))),
    leak("line on an uneven saw-tooth", 100, |random, count| plus(random, count, uneven_teeth, (0.1, 1.0))),
    leak("line and evaluation", 40, |random, count| plus(random, count, spikes, (0.1, 2.0))),
    leak("line and a stage", 30, |random, count| plus(random, count, stairs, (0.1, 0.6))),
    leak("line after a cache", 40, |random, count| {
        plus(
            random,
            count,
            |random, _| {
                let scale = random.scale(0.02, 0.12);
                Box::new(move |share| 1.0 - (-share / scale).exp())
            },
            (0.1, 1.5),
        )
    }),
    leak("bends up", 20, bent),
    leak("by chance", 40, by_chance),
    leak("line that wanders", 40, |random, count| plus(random, count, wanders, (0.05, 0.3))),
];
