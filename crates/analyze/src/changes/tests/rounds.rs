//! Long rounds, as batches that are ordered by their length make them: changes are found in them, and none where they
//! alone are.

use crate::changes::changes;
use crate::generated::{Noise, Random};

use super::{WITHIN, assert_one_of};

const COUNT: usize = 2_000;

/// From shortest to longest, with as much between them as the mean times `most`.
fn sawtooth(length: usize, most: f64) -> impl Fn(usize) -> f64 {
    move |index| 1.0 - most / 2.0 + most * (index % length) as f64 / length as f64
}

/// In an order of chance, which is the same in each round.
fn shuffled(seed: u64, length: usize, most: f64) -> impl Fn(usize) -> f64 {
    move |index| 1.0 + most * (Random(seed << 32 | (index % length) as u64).unit() - 0.5)
}

/// Where the change is: between three and seven tenths.
fn place_of(seed: u64) -> usize {
    COUNT * 3 / 10 + usize::try_from(Random(seed ^ 0x7ea).bits()).unwrap() % (COUNT * 4 / 10)
}

fn series(seed: u64, level: impl Fn(usize) -> f64) -> Vec<u64> {
    Noise::new(seed, 0.02, 0.0).series(COUNT, level)
}

#[test]
fn long_rounds_are_no_changes() {
    for length in [20, 32, 64, 128, 200] {
        for most in [0.3, 1.0] {
            for seed in 0..50 {
                let label = format!("seed {seed}, {most} in {length}");
                assert_eq!(changes(&series(seed, sawtooth(length, most))), [], "{label}");
                if seed < 15 {
                    assert_eq!(changes(&series(seed, shuffled(seed, length, most))), [], "{label}, shuffled");
                }
            }
        }
    }
}

#[test]
fn long_rounds_hide_no_change() {
    for length in [20, 32, 64, 128, 200] {
        for most in [0.1, 0.3, 1.0] {
            for ratio in [1.14, 1.5, 2.0, 0.7] {
                for seed in 0..5 {
                    let (place, round) = (place_of(seed), sawtooth(length, most));
                    let level = |index: usize| round(index) * if index < place { 1.0 } else { ratio };
                    let label = format!("seed {seed}, ×{ratio}, {most} in {length}");
                    // Each side has parts of rounds at its ends.
                    assert_one_of(&series(seed, level), place, (ratio, 0.1), &label);
                }
            }
        }
    }
}

#[test]
fn what_takes_longer_by_the_same_at_each_place_of_a_long_round_is_a_change() {
    for length in [20, 32, 64, 128, 200] {
        for most in [0.3, 1.0] {
            for more in [0.14, 0.5, 1.0] {
                for seed in 0..5 {
                    let (place, round) = (place_of(seed), sawtooth(length, most));
                    let level = |index: usize| round(index) + if index < place { 0.0 } else { more };
                    let found = changes(&series(seed, level));
                    let label = format!("seed {seed}, {more} more, {most} in {length}");
                    let [change] = found.as_slice() else { panic!("{label}: {found:?}") };
                    assert!(change.at.abs_diff(place) <= WITHIN, "{label}: {place}, {change:?}");
                }
            }
        }
    }
}

#[test]
fn a_part_of_a_round_that_is_too_long_to_be_told_is_none() {
    for seed in 0..50 {
        for most in [0.3, 1.0] {
            let series = Noise::new(seed, 0.02, 0.0).series(1_100, sawtooth(200, most));
            assert_eq!(changes(&series), [], "seed {seed}, {most}");
        }
    }
}

#[test]
fn a_drift_goes_round_nowhere() {
    for seed in 0..20 {
        let level = |index: usize| 1.0 + 0.5 * index as f64 / COUNT as f64;
        for sigma in [0.01, 0.02] {
            let found = changes(&Noise::new(seed, sigma, 0.0).series(COUNT, level));
            let [change] = found.as_slice() else { panic!("seed {seed}, {sigma}: {found:?}") };
            assert!(change.is_gradual && change.from == 0, "seed {seed}, {sigma}: {change:?}");
        }
    }
}
