//! Planted warm-up is told within stated bounds, and seldom in series without: stated noise, fixed seeds.

use super::{Early, LONGEST, warm_up};
use crate::config::WARMUP_STEPS;
use crate::generated::{Noise, Random, noisy_machine};

/// From four times the values that are looked at on, the length is without effect.
const LONG: usize = 4 * WARMUP_STEPS;

/// Noise by its share, and by how much of it neighbours share.
const QUIET: [(f64, f64); 2] = [(0.02, 0.0), (0.05, 0.3)];
const LOUD: [(f64, f64); 2] = [(0.1, 0.6), (0.05, 0.9)];

const FACTORS: [f64; 4] = [1.5, 2.0, 4.0, 10.0];

/// Of a series without periods.
fn told(values: &[u64]) -> usize {
    told_of(values, values.len())
}

/// Of a series of `count`.
fn told_of(values: &[u64], count: usize) -> usize {
    let first = values.iter().take(WARMUP_STEPS).map(|&value| Early { value, is_periodic: false });
    warm_up(&first.collect::<Vec<_>>(), count as u64)
}

/// How many of 50 series, and how many of 1,000, show one.
fn found(series: impl Fn(u64) -> Vec<u64>) -> (usize, usize) {
    let seeds: Vec<u64> = (0..1_000).filter(|&seed| told(&series(seed)) > 0).collect();
    (seeds.iter().filter(|&&seed| seed < 50).count(), seeds.len())
}

#[test]
fn series_without_seldom_have_one() {
    for length in [100, 400, LONG] {
        for (sigma, correlation) in QUIET {
            let (few, all) = found(|seed| Noise::new(seed, sigma, correlation).series(length, |_| 1.0));
            assert!(few == 0 && all <= 20, "{few}, {all}: σ {sigma}, ρ {correlation}, {length}");
        }
        for (sigma, correlation) in LOUD {
            let (few, all) = found(|seed| Noise::new(seed, sigma, correlation).series(length, |_| 1.0));
            assert!(few <= 2 && all <= 50, "{few}, {all}: σ {sigma}, ρ {correlation}, {length}");
        }
        // Those that begin with a disturbance.
        let (few, all) = found(|seed| noisy_machine(seed, length, |_| 1.0));
        assert!(few <= 2 && all <= 50, "{few}, {all}: noisy machine, {length}");
    }
}

#[test]
fn values_that_go_back_and_forth_have_none() {
    let few_of = |label: &str, level: &dyn Fn(usize, &mut Random) -> f64| {
        for length in [300, LONG] {
            let (few, all) = found(|seed| {
                let mut random = Random(seed ^ 0xb1);
                let levels: Vec<f64> = (0..length).map(|index| level(index, &mut random)).collect();
                Noise::new(seed + 1_000, 0.05, 0.0).series(length, |index| levels[index])
            });
            assert!(few <= 1 && all <= 40, "{few}, {all}: {label}, {length}");
        }
    };
    for ratio in [1.2, 1.5, 2.0, 3.0] {
        for first in [0, 1] {
            few_of(&format!("every other ×{ratio}, the first {first}"), &|index, _| {
                if index % 2 == first { ratio } else { 1.0 }
            });
        }
    }
    few_of("two of four", &|index, _| if index % 4 < 2 { 3.0 } else { 1.0 });
    for share in [0.1, 0.3, 0.4, 0.45, 0.5] {
        few_of(&format!("{share} at random"), &|_, random| if random.unit() < share { 3.0 } else { 1.0 });
    }
}

#[test]
fn a_level_from_which_a_series_changes_is_none() {
    for seed in 0..50 {
        let warm = 100 + usize::try_from(Random(seed).bits() % 120).unwrap();
        for ratio in [1.14, 1.2, 1.67] {
            let level = |index: usize| if index < warm { ratio } else { 1.0 };
            let series = Noise::new(seed, 0.03, 0.3).series(1_000, level);
            assert_eq!(told(&series), 0, "seed {seed}: {warm} of ×{ratio}");
            // It may begin with a warm-up of its own, and may be longer than any warm-up.
            for warm in [warm, 2 * warm] {
                let level = |index: usize| if index < 7 { 5.0 } else { level(index) };
                let series = Noise::new(seed, 0.03, 0.3).series(1_000, level);
                assert!(told(&series).abs_diff(7) <= 1, "seed {seed}: {} of {warm}", told(&series));
            }
        }
        // A sixth of a short series, and 40 values at least.
        let few = |count: usize, warm: usize, ratio: f64| {
            told(&Noise::new(seed, 0.02, 0.0).series(count, |index| if index < warm { ratio } else { 1.0 }))
        };
        assert_eq!((few(400, 80, 1.2), few(200, 45, 1.5)), (0, 0), "seed {seed}");
        assert!(few(400, 15, 1.5).abs_diff(15) <= 2 && few(400, 80, 2.5).abs_diff(80) <= 2, "seed {seed}");
        // What fades is none.
        let level = |index: usize| 1.0 + 0.5 * (1.0 - index as f64 / warm as f64).max(0.0);
        let series = Noise::new(seed, 0.03, 0.3).series(1_000, level);
        assert!(told(&series) * 2 > warm, "seed {seed}: {} of {warm}", told(&series));
    }
}

/// How far off the ends that are told are, of 50 series of which the first `warm` values are as many times the others.
fn misses(series: impl Fn(u64, &dyn Fn(usize) -> f64) -> Vec<u64>, warm: usize, factor: f64) -> Vec<usize> {
    let level = |index: usize| if index < warm { factor } else { 1.0 };
    (0..50).map(|seed| told_of(&series(seed, &level), LONG).abs_diff(warm)).collect()
}

fn within(misses: &[usize], most: usize) -> usize {
    misses.iter().filter(|&&miss| miss <= most).count()
}

#[test]
fn a_sudden_end_is_told_within_two_values_in_quiet_noise() {
    for (sigma, correlation) in QUIET {
        for (warm, factor) in cases(&[1, 3, 10, 50, 200]) {
            let of = misses(
                |seed, level| Noise::new(seed, sigma, correlation).series(WARMUP_STEPS, level),
                warm,
                factor,
            );
            let label = format!("{warm} of ×{factor}, σ {sigma}, ρ {correlation}: {of:?}");
            // One value among outliers as large can be missed, which is within two.
            assert!(within(&of, 2) == 50 && within(&of, 0) >= 46, "{label}");
        }
    }
}

#[test]
fn a_sudden_end_is_told_in_loud_noise() {
    for (sigma, correlation) in LOUD {
        for (warm, factor) in cases(&[1, 3, 10, 50, 200]).filter(|&(_, factor)| factor >= 2.0) {
            let of = misses(
                |seed, level| Noise::new(seed, sigma, correlation).series(WARMUP_STEPS, level),
                warm,
                factor,
            );
            let label = format!("{warm} of ×{factor}, σ {sigma}, ρ {correlation}: {of:?}");
            assert!(within(&of, 14) == 50 && within(&of, 2) >= 48 && within(&of, 0) >= 45, "{label}");
        }
    }
    // What no disturbance of the machine looks like; a disturbance that follows cannot be told from it.
    for (warm, factor) in cases(&[3, 10, 50, 200]).filter(|&(_, factor)| factor >= 4.0) {
        let of = misses(|seed, level| noisy_machine(seed, WARMUP_STEPS, level), warm, factor);
        let label = format!("{warm} of ×{factor}, noisy machine: {of:?}");
        assert!(within(&of, 26) == 50 && within(&of, 0) >= 40, "{label}");
    }
}

/// Lengths and factors; what is no more than twice as long for a hundred values is a level.
fn cases(lengths: &[usize]) -> impl Iterator<Item = (usize, f64)> {
    let all = lengths.iter().flat_map(|&length| FACTORS.into_iter().map(move |factor| (length, factor)));
    all.filter(|&(length, factor)| length < 100 || factor > 2.0)
}

#[test]
fn what_fades_is_told_until_little_of_it_is_left() {
    for (sigma, correlation) in QUIET {
        for (warm, factor) in cases(&[10, 50]).chain(FACTORS.map(|factor| (200, factor))) {
            // To nothing on a line, or to a tenth by a constant factor.
            let line = |index: usize| 1.0 + (factor - 1.0) * warm.saturating_sub(index) as f64 / warm as f64;
            let rate = ((factor - 1.0) / 0.1).ln() / warm as f64;
            let exponential = |index: usize| 1.0 + (factor - 1.0) * (-rate * index as f64).exp();
            for level in [&line as &dyn Fn(usize) -> f64, &exponential] {
                for seed in 0..50 {
                    let series = Noise::new(seed, sigma, correlation).series(WARMUP_STEPS, level);
                    let end = told_of(&series, LONG);
                    let label =
                        format!("seed {seed}: {end}, {warm} of ×{factor}, σ {sigma}, ρ {correlation}");
                    assert!(level(end) < 1.34, "{label}: {} left", level(end));
                    assert!(end <= warm + warm.div_ceil(5).max(7), "{label}");
                }
            }
        }
    }
}

#[test]
fn changes_later_on_are_no_warm_up_and_do_not_hide_one() {
    for seed in 0..50 {
        let count = 900 + usize::try_from(Random(seed).bits() % 4_000).unwrap();
        for (place, ratio) in [(30, 0.7), (60, 0.5), (60, 1.4), (10, 1.4), (90, 3.0)] {
            for warm in [0, 5] {
                let level = |index: usize| match index {
                    _ if index < warm => 8.0,
                    _ if index * 100 < count * place => 1.0,
                    _ => ratio,
                };
                let series = Noise::new(seed + 1, 0.03, 0.3).series(count, level);
                let off = told(&series).abs_diff(warm);
                assert!(off <= 1, "seed {seed}: {off} off {warm}, ×{ratio} from {place} % of {count}");
            }
        }
    }
}

#[test]
fn a_higher_level_among_the_first_values_hides_no_warm_up() {
    for seed in 0..50 {
        for (place, ratio) in [(120, 2.0), (120, 3.0), (90, 1.3), (200, 1.5)] {
            // Four times as long at first, which fades to a tenth more within 27 values.
            let fades = |index: usize| 1.0 + 3.0 * (-(index as f64) / 8.0).exp();
            let higher = |index: usize| fades(index) * if index < place { 1.0 } else { ratio };
            let [alone, with] = [&fades as &dyn Fn(usize) -> f64, &higher]
                .map(|level| told(&Noise::new(seed, 0.03, 0.0).series(400, level)));
            let label = format!("seed {seed}: {with} for {alone}, ×{ratio} from {place}");
            assert!((17..=36).contains(&with) && with.abs_diff(alone) <= 5, "{label}");
            // For a while only.
            let a_while = |index: usize| if index < place + 70 { higher(index) } else { fades(index) };
            let series = Noise::new(seed, 0.03, 0.0).series(400, a_while);
            assert!((17..=36).contains(&told(&series)), "{label}, back at {}: {}", place + 70, told(&series));
        }
        // A warm-up that gets worse before it ends.
        let level = |index: usize| [2.5, 5.0, 1.0][(index / 40).min(2)];
        let series = Noise::new(seed, 0.03, 0.0).series(600, level);
        assert!(told(&series).abs_diff(80) <= 2, "seed {seed}: {}", told(&series));
    }
}

#[test]
fn epochs_that_each_begin_with_long_ones_have_none() {
    // Sorted by length in each epoch, of which those that are looked at hold two at least.
    for length in [300, LONG] {
        let (few, all) = found(|seed| {
            let epoch = 40 + seed as usize % 61;
            let share = |index: usize| (index % epoch) as f64 / epoch as f64;
            Noise::new(seed, 0.03, 0.0).series(length, |index| 2.5 - 2.0 * share(index))
        });
        assert!(few <= 5 && all <= 60, "{few}, {all}: {length}");
    }
}

#[test]
fn periodic_values_say_nothing() {
    let told = |every: usize, warm: usize| {
        let series = Noise::new(4, 0.03, 0.3).series(LONG, |index| match index {
            _ if index.is_multiple_of(every) => 3.0,
            _ if index < warm => 2.0,
            _ => 1.0,
        });
        let early =
            |(index, &value): (usize, &u64)| Early { value, is_periodic: index.is_multiple_of(every) };
        warm_up(&series.iter().take(WARMUP_STEPS).enumerate().map(early).collect::<Vec<_>>(), LONG as u64)
    };
    assert_eq!([2, 3, 10, 50].map(|every| told(every, 0)), [0; 4]);
    // The last value is periodic where nine are warm.
    assert_eq!([3, 10, 50].map(|every| told(every, 9)), [9, 9, 9]);
    assert_eq!([2, 9].map(|every| told(every, 10)), [10, 9]);
}

#[test]
fn of_few_values_only_much_is_told() {
    let series = |warm: &[u64], count: usize| {
        let mut values = warm.to_vec();
        values.resize(count, 100);
        told(&values)
    };
    assert_eq!([0, 1, 2, 3].map(|count| series(&[], count)), [0; 4]);
    assert_eq!((series(&[900], 3), series(&[900], 4)), (0, 1));
    assert_eq!((series(&[150], 19), series(&[151], 19), series(&[150], 20)), (0, 1, 1));
    assert_eq!((series(&[900; 2], 8), series(&[900; 3], 8)), (2, 0));
}

#[test]
fn extremes_are_no_danger() {
    for value in [0, 1, u64::MAX] {
        assert_eq!(told(&[value; 500]), 0);
    }
    let mut values = vec![u64::MAX; 30];
    values.resize(1_000, 0);
    assert_eq!(told(&values), 30);
    values.fill(u64::MAX);
    values[..30].fill(0);
    assert_eq!(told(&values), 0);
    assert_eq!(told_of(&values[..WARMUP_STEPS], usize::MAX), 0);
    // As long as can be told, and longer.
    let long = |warm: usize| told(&[vec![500; warm], vec![100; 2_000]].concat());
    assert_eq!((long(LONGEST), long(LONGEST + 1), long(WARMUP_STEPS)), (LONGEST, 0, 0));
}

/// How far off the ends that are told are, of 100 series of 400 that are at two levels by chance, of which the first
/// `warm` values are three times the others.
fn misses_at_two_levels(share: f64, ratio: f64, warm: usize) -> Vec<usize> {
    let series = |seed: u64| -> Vec<u64> {
        let mut random = Random(seed + 7);
        let mut value = |index: usize| {
            let level = if random.unit() < share { ratio } else { 1.0 };
            let level = if index < warm { 3.0 * level } else { level };
            (1e7 * level * (1.0 + 0.03 * random.normal())) as u64
        };
        (0..400).map(&mut value).collect()
    };
    (0..100).map(|seed| told(&series(seed)).abs_diff(warm)).collect()
}

#[test]
fn values_at_two_levels_hide_no_warm_up_and_prolong_none() {
    for (share, ratio) in [(0.5, 1.5), (0.3, 1.5), (0.7, 1.5), (0.5, 2.0), (0.5, 1.2)] {
        for warm in [0, 5, 20, 50] {
            let of = misses_at_two_levels(share, ratio, warm);
            assert!(within(&of, 2) >= 97, "{warm}, ×{ratio} of {share}: {of:?}");
        }
    }
}
