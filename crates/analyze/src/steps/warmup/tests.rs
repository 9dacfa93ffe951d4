//! Planted warm-up is told, and seldom one in series without.

use crate::config::WARMUP_STEPS;
use crate::generated_tests::series;
use crate::steps::warmup::{LONGEST, warm_up};

fn told(values: &[u64]) -> usize {
    warm_up(values.get(..WARMUP_STEPS).unwrap_or(values), values.len() as u64)
}

#[test]
fn planted_warm_up_is_told_within_two_values() {
    for (sigma, correlation) in [(0.02, 0.0), (0.05, 0.3)] {
        for (warm, times) in [(1, 10.0), (3, 2.0), (10, 4.0), (50, 1.5), (200, 3.0)] {
            let level = |index: usize| if index < warm { times } else { 1.0 };
            let of =
                |seed: &u64| told(&series(*seed, 1_000, (sigma, correlation), level)).abs_diff(warm) <= 2;
            let right = (0..100).filter(of).count();
            assert!(right >= 90, "{warm} of ×{times}, σ {sigma}, ρ {correlation}: {right}");
        }
    }
}

#[test]
fn what_fades_is_told_until_little_of_it_is_left() {
    for seed in 0..50 {
        let level = |index: usize| 1.0 + 3.0 * (-(index as f64) / 20.0).exp();
        let end = told(&series(seed, 1_000, (0.03, 0.3), level));
        assert!((40..=90).contains(&end), "seed {seed}: {end}");
    }
}

#[test]
fn series_without_seldom_have_one() {
    let share = |level: &dyn Fn(usize) -> f64| {
        (0..400).filter(|&seed| told(&series(seed, 400, (0.04, 0.3), level)) > 0).count()
    };
    assert!(share(&|_| 1.0) <= 20, "{}", share(&|_| 1.0));
    // Slower from a step on, at two levels in turn, or in one of three.
    assert!(share(&|index| if index < 60 { 1.0 } else { 2.0 }) <= 20);
    assert!(share(&|index| if index % 2 == 0 { 3.0 } else { 1.0 }) <= 20);
    assert!(share(&|index| if index % 3 == 0 { 1.5 } else { 1.0 }) <= 20);
}

#[test]
fn what_lasts_too_long_is_a_level() {
    let long = |warm: usize, count: usize| told(&[vec![500; warm], vec![100; count - warm]].concat());
    assert_eq!((long(LONGEST, 2_000), long(LONGEST + 1, 2_000)), (LONGEST, 0));
    assert_eq!((long(25, 100), long(26, 100), long(2, 8), long(3, 8)), (25, 0, 2, 0));
}

#[test]
fn three_usual_values_end_it_and_two_do_not() {
    let with = |usual: usize| {
        let mut values = vec![100; 400];
        (values[0], values[1 + usual]) = (900, 900);
        told(&values)
    };
    assert_eq!((with(2), with(3)), (4, 1));
}

#[test]
fn of_few_values_only_much_is_told_and_extremes_are_no_danger() {
    let of = |warm: &[u64], count: usize| {
        let mut values = warm.to_vec();
        values.resize(count, 100);
        told(&values)
    };
    assert_eq!([0, 1, 2, 3].map(|count| of(&[], count)), [0; 4]);
    assert_eq!((of(&[900], 3), of(&[900], 4)), (0, 1));
    assert_eq!((of(&[150], 19), of(&[151], 19), of(&[150], 20)), (0, 1, 1));
    for value in [0, 1, u64::MAX] {
        assert_eq!(told(&[value; 500]), 0);
    }
    assert_eq!(told(&[vec![u64::MAX; 30], vec![0; 970]].concat()), 30);
}
