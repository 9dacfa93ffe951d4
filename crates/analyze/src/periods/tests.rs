//! Planted periods are told exactly, and none in series without: stated noise, fixed seeds.

use super::{Among, Period, binomial_ln, periods};
use crate::generated::{Noise, Random, length, noisy_machine};

fn told(numbers: &[u64], values: &[u64]) -> Vec<(u64, u64)> {
    periods(numbers, values).iter().map(|period| (period.every, period.first)).collect()
}

/// From where on, of a series whose numbers are its places.
fn since(values: &[u64]) -> Vec<(u64, u64, Option<u64>)> {
    let numbers: Vec<u64> = (0..values.len() as u64).collect();
    periods(&numbers, values).iter().map(|period| (period.every, period.first, period.since)).collect()
}

/// Of a series whose numbers are its places.
fn of(values: &[u64]) -> Vec<(u64, u64)> {
    told(&(0..values.len() as u64).collect::<Vec<_>>(), values)
}

#[test]
fn a_planted_period_is_told_exactly() {
    for (every, first, ratio) in
        [(50, 49, 3.1), (10, 0, 1.3), (3, 2, 1.5), (4, 1, 20.0), (20, 7, 1.2), (100, 99, 2.0)]
    {
        for seed in 0..50 {
            let count = length(seed).max(600);
            let level = |index: usize| if index % every == first { ratio } else { 1.0 };
            let series = Noise::new(seed, 0.02, 0.3).series(count, level);
            assert_eq!(of(&series), [(every as u64, first as u64)], "seed {seed}, every {every} of {count}");
        }
    }
}

#[test]
fn short_periods_of_values_that_scatter_are_told() {
    for (every, count) in [2, 3, 4, 5, 6, 8].into_iter().flat_map(|every| [(every, 300), (every, 1_000)]) {
        // Every fifth seed with a long one beside the short one.
        let is_told = |seed: &u64| {
            let first = *seed as usize % every;
            let level = |index: usize| {
                let long = if seed.is_multiple_of(5) && index % 50 == 49 { 4.0 } else { 1.0 };
                if index % every == first { 1.3 * long } else { long }
            };
            let told = of(&Noise::new(*seed, 0.05, 0.0).series(count, level));
            told.contains(&(every as u64, first as u64))
                && told.len() == 1 + usize::from(seed.is_multiple_of(5))
        };
        let told = (0..50).filter(is_told).count();
        assert!(told >= 48, "every {every} of {count}: {told} of 50");
    }
}

#[test]
fn what_is_slightly_larger_is_no_multiple_of_its_period() {
    for every in [10, 22, 50] {
        // Of these, a third or so are outliers.
        let level = |index: usize| if index.is_multiple_of(every) { 1.25 } else { 1.0 };
        let series = |seed| Noise::new(seed, 0.07, 0.0).series(18 * every + 4, level);
        let told: Vec<Vec<(u64, u64)>> = (0..50).map(|seed| of(&series(seed))).collect();
        let right = told.iter().filter(|told| told[..] == [(every as u64, 0)]).count();
        let wrong = told.iter().flatten().filter(|period| **period != (every as u64, 0)).count();
        assert!(right >= 40 && wrong <= 2, "every {every}: {right} right, {wrong} wrong");
    }
}

#[test]
fn a_period_that_is_left_out_at_times_is_one() {
    let is_told = |seed: &u64| {
        let mut random = Random(seed ^ 0xd209);
        let is_left_out: Vec<bool> = (0..2_000).map(|_| random.unit() < 0.3).collect();
        let level = |index: usize| if index % 50 == 49 && !is_left_out[index] { 5.0 } else { 1.0 };
        of(&Noise::new(*seed, 0.05, 0.0).series(2_000, level)) == [(50, 49)]
    };
    let told = (0..50).filter(is_told).count();
    assert!(told >= 47, "{told} of 50");
}

#[test]
fn a_period_that_begins_late_is_told_with_its_beginning() {
    for (every, from, count) in
        [(50, 400, 1_000), (50, 700, 1_000), (10, 800, 1_000), (4, 1_500, 2_000), (100, 1_200, 3_000)]
    {
        let mut exact = 0;
        for seed in 0..50 {
            let is_long = |index: usize| index >= from && index.is_multiple_of(every);
            let level = |index: usize| if is_long(index) { 3.0 } else { 1.0 };
            let series = Noise::new(seed, 0.02, 0.3).series(count, level);
            let told = since(&series);
            let what = format!("seed {seed}, every {every} from {from} of {count}: {told:?}");
            let [(told_every, 0, Some(told_from))] = told[..] else { panic!("{what}") };
            // One value in a hundred is an outlier: one just before the period seems to be its first.
            assert!(told_every == every as u64 && told_from + 2 * told_every >= from as u64, "{what}");
            assert!(told_from <= from as u64, "{what}");
            exact += usize::from(told_from == from as u64);
        }
        assert!(exact >= 47, "{exact} of 50, every {every} from {from} of {count}");
    }
}

#[test]
fn what_is_there_from_the_start_begins_with_its_first_long_value() {
    for seed in 0..50 {
        let count = length(seed).max(600);
        // The first of them is left out, as a checkpoint at step 0 is.
        let level = |index: usize| if index > 0 && index.is_multiple_of(25) { 3.0 } else { 1.0 };
        let mut series = Noise::new(seed, 0.02, 0.3).series(count, level);
        // None of the outliers.
        series[0] = series[1].min(series[2]);
        assert_eq!(since(&series), [(25, 0, Some(25))], "seed {seed} of {count}");
    }
}

#[test]
fn none_is_told_where_there_is_none() {
    for seed in 0..50 {
        for (sigma, correlation) in [(0.02, 0.0), (0.05, 0.3), (0.1, 0.6), (0.05, 0.9), (0.3, 0.0)] {
            let series = Noise::new(seed, sigma, correlation).series(length(seed), |_| 1.0);
            assert_eq!(of(&series), [], "seed {seed}, σ {sigma}, ρ {correlation}, {}", series.len());
        }
        let series = noisy_machine(seed, length(seed), |_| 1.0);
        assert_eq!(of(&series), [], "seed {seed}, noisy, {}", series.len());
        // Changes of level and drifts are none.
        let count = length(seed);
        let level = |index: usize| if index * 3 < count { 1.0 } else { 1.5 + index as f64 / count as f64 };
        let series = Noise::new(seed, 0.03, 0.3).series(count, level);
        assert_eq!(of(&series), [], "seed {seed}, changing, {count}");
        // Slow steps at random distances, as many as every twentieth would be.
        let mut random = Random(seed ^ 0x0dd);
        let slow: Vec<bool> = (0..count).map(|_| random.unit() < 0.05).collect();
        let series = Noise::new(seed, 0.03, 0.3).series(count, |index| if slow[index] { 3.0 } else { 1.0 });
        assert_eq!(of(&series), [], "seed {seed}, at random, {count}");
    }
}

#[test]
fn of_every_other_value_the_longer_ones_are_periodic() {
    for seed in 0..50 {
        // Whichever of both there are more of.
        let (count, long) = (length(seed).max(600) + seed as usize % 3, seed as usize % 2);
        let level = |index: usize| if index % 2 == long { 1.6 } else { 1.0 };
        let series = Noise::new(seed, 0.02, 0.3).series(count, level);
        assert_eq!(of(&series), [(2, long as u64)], "seed {seed}, {count}");
        // One that is longer still is told besides.
        let series = Noise::new(seed, 0.02, 0.3)
            .series(count, |index| level(index) * if index % 50 == 49 { 3.0 } else { 1.0 });
        assert_eq!(of(&series), [(50, 49), (2, long as u64)], "seed {seed}, {count}");
    }
}

#[test]
fn values_that_are_of_two_sizes_at_random_alternate_not() {
    for seed in 0..50 {
        let count = length(seed).max(600);
        let mut random = Random(seed ^ 0x2b);
        let is_long: Vec<bool> = (0..count).map(|_| random.unit() < 0.5).collect();
        let level = |index: usize| if is_long[index] { 3.0 } else { 1.0 };
        assert_eq!(of(&Noise::new(seed, 0.02, 0.3).series(count, level)), [], "seed {seed}, {count}");
    }
}

#[test]
fn a_noisy_machine_hides_no_period() {
    for seed in 0..50 {
        let count = length(seed).max(1_000);
        let series = noisy_machine(seed, count, |index| if index % 50 == 49 { 4.0 } else { 1.0 });
        assert_eq!(of(&series), [(50, 49)], "seed {seed}, {count}");
    }
}

#[test]
fn nested_and_other_periods_are_told_apart() {
    for seed in 0..50 {
        let count = length(seed).max(1_000);
        // Logging every 10 steps, evaluation every 100.
        let nested = |index: usize| match (index % 10, index % 100) {
            (_, 0) => 6.0,
            (0, _) => 1.5,
            _ => 1.0,
        };
        let series = Noise::new(seed, 0.02, 0.3).series(count, nested);
        assert_eq!(of(&series), [(100, 0), (10, 0)], "seed {seed}, nested, {count}");
        let sum = |index: usize| {
            1.0 + if index % 12 == 5 { 0.5 } else { 0.0 } + if index % 35 == 3 { 4.0 } else { 0.0 }
        };
        let series = Noise::new(seed, 0.02, 0.3).series(count, sum);
        assert_eq!(of(&series), [(35, 3), (12, 5)], "seed {seed}, apart, {count}");
    }
}

#[test]
fn periods_last_through_changes_of_level_and_gaps_of_numbers() {
    for seed in 0..50 {
        let count = length(seed).max(800);
        let level = |index: usize| {
            let usual = if index * 2 < count { 1.0 } else { 1.4 };
            if index % 40 == 39 { 2.5 * usual } else { usual }
        };
        let series = Noise::new(seed, 0.02, 0.3).series(count, level);
        // Numbers begin anywhere, and one in seven was not read.
        let read: Vec<(u64, u64)> = series.iter().copied().zip(10_000_u64..).map(|(v, n)| (n, v)).collect();
        let read: Vec<(u64, u64)> = read.into_iter().filter(|(number, _)| number % 7 != 3).collect();
        let (numbers, values): (Vec<u64>, Vec<u64>) = read.into_iter().unzip();
        let first = numbers.iter().copied().find(|number| (number - 10_000) % 40 == 39).unwrap();
        assert_eq!(told(&numbers, &values), [(40, first)], "seed {seed}, {count}");
    }
}

#[test]
fn values_of_a_class_that_scatter_are_no_further_period() {
    for seed in 0..50 {
        let mut random = Random(seed ^ 0xca5e);
        let sizes: Vec<f64> = (0..5_000).map(|_| 2.0 + 6.0 * random.unit()).collect();
        let level = |index: usize| if index.is_multiple_of(25) { sizes[index] } else { 1.0 };
        let series = Noise::new(seed, 0.02, 0.3).series(length(seed).max(1_000), level);
        assert_eq!(of(&series), [(25, 0)], "seed {seed}");
    }
}

#[test]
fn degenerate_series_have_none() {
    for values in [vec![], vec![1], vec![7; 1_000], vec![0; 100], vec![u64::MAX; 500]] {
        assert_eq!(of(&values), []);
    }
    assert_eq!(told(&[1, 2], &[1; 100]), [], "numbers are missing");
    let mut extremes = vec![0; 300];
    extremes.iter_mut().step_by(10).for_each(|value| *value = u64::MAX);
    assert_eq!(of(&extremes), [(10, 0)]);
    let holds = |every, first, since, number| Period { every, first, since }.holds(number);
    assert!(holds(10, 20, None, 50) && holds(10, 20, None, 10) && !holds(0, 0, None, 0));
    assert!(holds(10, 0, Some(40), 40) && !holds(10, 0, Some(40), 30) && !holds(10, 0, Some(40), 45));
}

#[test]
fn chance_is_bounded_as_it_should_be() {
    // All of 10 at a share of a tenth: 1e-10; half of 10: 4 (0.1 · 0.9) to the fifth.
    assert!((binomial_ln(10, 10, 0.1) - 1e-10_f64.ln()).abs() < 1e-9);
    assert!((binomial_ln(5, 10, 0.1) - (4.0 * 0.09_f64).powi(5).ln()).abs() < 1e-9);
    assert_eq!((binomial_ln(1, 10, 0.1), binomial_ln(1, 10, 0.0)), (0.0, 0.0));
    // Of 88 others eight are large, 9/90 by the rule of succession; 312.5 classes fit into 100 values, looked at twice.
    let chance = Among { values: 100, large: 20 }.chance_ln(12, 12);
    assert!((chance - (1e-12_f64 * 625.0).ln()).abs() < 1e-9, "{chance}");
}
