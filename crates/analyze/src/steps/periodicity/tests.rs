//! Planted periods are told exactly, and seldom one in series without.

use crate::generated_tests::{Random, series};
use crate::steps::periodicity::{binomial_ln, period};

/// Every how many and from which on, of a series whose numbers are its places.
fn of(values: &[u64]) -> Option<(u64, u64)> {
    let numbers: Vec<u64> = (0..values.len() as u64).collect();
    period(&numbers, values).map(|period| (period.every, period.first))
}

/// Of 50 series, how many show this.
fn right(expected: Option<(u64, u64)>, count: usize, sigma: f64, level: impl Fn(usize) -> f64) -> usize {
    (0..50).filter(|&seed| of(&series(seed, count, (sigma, 0.3), &level)) == expected).count()
}

#[test]
fn a_planted_period_is_told_exactly() {
    for (every, first, times, count) in [
        (50, 49, 3.0, 1_000),
        (10, 3, 1.3, 600),
        (2, 1, 3.0, 400),
        (3, 2, 1.5, 400),
        (4, 1, 20.0, 400),
        (100, 99, 2.0, 1_000),
    ] {
        let level = |index: usize| if index % every == first { times } else { 1.0 };
        // Few large values among outliers may begin with one of these.
        let told = right(Some((every as u64, first as u64)), count, 0.02, level);
        assert!(told >= 45, "every {every} of {count}: {told} of 50");
    }
}

#[test]
fn of_several_the_clearest_is_told() {
    let level = |index: usize| match index {
        _ if index % 100 == 99 => 5.0,
        _ if index % 10 == 9 => 1.5,
        _ => 1.0,
    };
    assert!(right(Some((10, 9)), 1_000, 0.02, level) >= 48);
}

#[test]
fn it_begins_with_the_first_large_value_and_may_be_left_out_at_times() {
    let late = |index: usize| if index >= 300 && index.is_multiple_of(50) { 4.0 } else { 1.0 };
    assert!(right(Some((50, 300)), 1_000, 0.02, late) >= 40);
    let left_out = |index: usize| if index % 50 == 49 && !(index / 50).is_multiple_of(4) { 4.0 } else { 1.0 };
    assert!(right(Some((50, 99)), 1_500, 0.02, left_out) >= 40);
}

#[test]
fn series_without_have_none() {
    for (sigma, correlation) in [(0.02, 0.0), (0.05, 0.3), (0.1, 0.6), (0.05, 0.9)] {
        let is_told = |seed: &u64| of(&series(*seed, 800, (sigma, correlation), |_| 1.0)).is_some();
        let told = (0..200).filter(is_told).count();
        assert!(told <= 1, "{told} of 200: σ {sigma}, ρ {correlation}");
    }
    // A change, a drift, and three in ten by chance.
    let mut random = Random(7);
    let by_chance: Vec<f64> = (0..800).map(|_| if random.unit() < 0.3 { 2.0 } else { 1.0 }).collect();
    assert!(right(None, 800, 0.03, |index| by_chance[index]) >= 49);
    assert!(right(None, 800, 0.03, |index| if index < 500 { 1.0 } else { 1.4 }) >= 49);
    assert!(right(None, 800, 0.03, |index| 1.0 + index as f64 / 800.0) >= 49);
}

#[test]
fn gaps_in_the_numbers_and_extremes_are_no_danger() {
    let numbers: Vec<u64> = (0..400u64).filter(|number| number % 7 != 5).chain([u64::MAX - 1]).collect();
    let values: Vec<u64> = numbers.iter().map(|number| if number % 20 == 19 { 300 } else { 100 }).collect();
    assert_eq!(period(&numbers, &values).map(|period| period.every), Some(20));
    assert_eq!((of(&[0; 200]), of(&[u64::MAX; 200]), of(&[])), (None, None, None));
    assert_eq!(period(&numbers, &values[1..]), None);
}

#[test]
fn the_bound_is_one_of_the_binomial_distribution() {
    // 4 of 4 at one in ten, and at least 3 of 10 at one in ten: 0.0702.
    assert!((binomial_ln(4, 4, 0.1) - 4.0 * 0.1f64.ln()).abs() < 1e-12);
    assert!(binomial_ln(3, 10, 0.1) > 0.0702f64.ln() && binomial_ln(3, 10, 0.1) < 0.25f64.ln());
    assert!(binomial_ln(1, 10, 0.1).abs() < 1e-12);
}
