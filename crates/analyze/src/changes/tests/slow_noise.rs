//! Noise that wanders: where nothing changes none is told, and a change beyond all that it does is told by its size.

use crate::changes::{Change, changes};
use crate::generated::Random;

use super::WITHIN;

/// Steps with a coefficient of variation of `variation`, of which each keeps `share` of the one before (an
/// autoregression of first order, normal).
fn wandering(
    seed: u64,
    count: usize,
    (variation, share): (f64, f64),
    level: impl Fn(usize) -> f64,
) -> Vec<u64> {
    let mut random = Random(seed * 77 + 5);
    let mut state = random.normal();
    let point = |index: usize| {
        state = share * state + (1.0 - share * share).sqrt() * random.normal();
        (2e7 * level(index) * (1.0 + variation * state).max(0.05)) as u64
    };
    (0..count).map(point).collect()
}

#[test]
fn noise_that_wanders_is_no_change() {
    for share in [0.0, 0.5, 0.8, 0.95] {
        let mut told = Vec::new();
        for (seed, count) in (0..200).zip([100, 200, 300, 1_000].into_iter().cycle()) {
            if !changes(&wandering(seed, count, (0.08, share), |_| 1.0)).is_empty() {
                told.push((seed, count));
            }
        }
        let periodic = |index: usize| if index % 50 < 3 { 2.0 } else { 1.0 };
        for seed in 0..20 {
            assert_eq!(
                changes(&wandering(seed, 400, (0.05, share), periodic)),
                [],
                "seed {seed}, share {share}"
            );
        }
        assert!(told.len() <= 1, "share {share}: {told:?}");
    }
}

#[test]
fn a_change_beyond_slow_noise_is_told() {
    for (ratio, variation, least) in [(1.3, 0.05, 42), (1.5, 0.05, 48), (2.0, 0.05, 48), (2.0, 0.1, 47)] {
        for share in [0.8, 0.95] {
            for (count, place) in [(300, 150), (400, 100), (1_000, 800)] {
                let is_told = |seed: &u64| {
                    let level = |index: usize| if index < place { 1.0 } else { ratio };
                    let found = changes(&wandering(*seed, count, (variation, share), level));
                    let is_it = |change: &Change| change.at.abs_diff(place) <= WITHIN && !change.is_gradual;
                    found.len() == 1 && found.iter().all(is_it)
                };
                let told = (0..50).filter(is_told).count();
                let label = format!("×{ratio} at {place} of {count}, {variation}, {share}");
                assert!(told >= least, "{told} of 50: {label}");
            }
        }
    }
}

#[test]
fn a_disturbance_right_before_a_change_hides_it_from_nobody() {
    for share in [0.0, 0.5, 0.8, 0.95] {
        for (count, place) in [(150, 90), (200, 100), (400, 200), (600, 360)] {
            for (length, ratio, exact) in
                [(6, 1.6, 44), (6, 3.0, 46), (10, 1.6, 30), (10, 2.0, 44), (14, 2.0, 0)]
            {
                let off = |seed: u64| {
                    let level = |index: usize| match index {
                        _ if index >= place => 1.3,
                        _ if index + length >= place => ratio,
                        _ => 1.0,
                    };
                    let found = changes(&wandering(seed, count, (0.05, share), level));
                    found.iter().map(|change| change.at.abs_diff(place)).min()
                };
                let off: Vec<usize> = (0..50).filter_map(off).collect();
                let near = off.iter().filter(|&&off| off <= WITHIN).count();
                let label = format!("{length} of ×{ratio} before {place} of {count}, {share}: {off:?}");
                assert!(off.len() >= 48 && near >= exact, "{}, {near} of 50: {label}", off.len());
            }
        }
    }
}

#[test]
fn one_disturbance_is_none_however_large() {
    for seed in 0..50 {
        let level = |index: usize| if (150..164).contains(&index) { 3.0 } else { 1.0 };
        assert_eq!(changes(&wandering(seed, 300, (0.05, 0.9), level)), [], "seed {seed}");
    }
}
