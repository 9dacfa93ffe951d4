//! Planted changes are found within five points, and none in series without: stated noise, fixed seeds.

use super::{Change, MIN_POINTS, changes, median, smallest_visible};
use crate::generated::{Noise, Random, length, noisy_machine};

mod oracle;
mod rounds;
mod slow_noise;

/// Points within which a planted change is found.
const WITHIN: usize = 5;

#[test]
fn nothing_is_found_where_nothing_changes() {
    for (sigma, correlation) in [(0.02, 0.0), (0.05, 0.3), (0.1, 0.6), (0.05, 0.9)] {
        for seed in 0..50 {
            let series = Noise::new(seed, sigma, correlation).series(length(seed), |_| 1.0);
            assert_eq!(changes(&series), [], "seed {seed}, σ {sigma}, ρ {correlation}, {}", series.len());
        }
    }
}

#[test]
fn periodic_steps_and_single_ones_are_no_changes() {
    for seed in 0..50 {
        let count = length(seed);
        let every = |n: usize, ratio: f64| move |index: usize| if index % n == n - 1 { ratio } else { 1.0 };
        for (n, ratio) in [(50, 4.0), (100, 20.0), (7, 1.5), (2, 1.2)] {
            let series = Noise::new(seed, 0.03, 0.3).series(count, every(n, ratio));
            assert_eq!(changes(&series), [], "seed {seed}, every {n} of {count}");
        }
        let single =
            Noise::new(seed, 0.03, 0.3).series(count, |index| if index == count / 2 { 1e3 } else { 1.0 });
        assert_eq!(changes(&single), [], "seed {seed}");
        // A disturbance: shorter than what a level lasts.
        let short = count / 2..count / 2 + MIN_POINTS - 3;
        let disturbed =
            Noise::new(seed, 0.03, 0.3).series(count, |index| if short.contains(&index) { 2.0 } else { 1.0 });
        assert_eq!(changes(&disturbed), [], "seed {seed}, {short:?} of {count}");
    }
}

#[test]
fn a_change_that_is_missed_is_not_one_that_would_have_been_seen() {
    let mut missed = 0;
    for seed in 0..30 {
        for (ratio, percent) in [(1.2, 20), (1.0 / 1.2, 20)] {
            let later = |index: usize| if index >= 250 { ratio } else { 1.0 };
            let series = Noise::new(seed, 0.3, 0.0).series(500, later);
            if changes(&series).is_empty() {
                missed += 1;
                let seen = smallest_visible(&series);
                assert!(seen.is_none_or(|seen| seen >= percent), "seed {seed}, {ratio}: {seen:?}");
            }
        }
    }
    assert!(missed > 20, "{missed}: too few to tell");
}

#[test]
fn what_is_missed_in_rounds_that_are_too_long_is_not_one_that_would_have_been_seen() {
    let mut missed = 0;
    for seed in 0..5 {
        for (length, most, percent) in [(300, 1.0, 50), (300, 0.3, 25), (333, 1.0, 100), (250, 1.0, 100)] {
            let round = |index: usize| 1.0 - most / 2.0 + most * (index % length) as f64 / length as f64;
            let later = |index: usize| if index >= 1_003 { 1.0 + percent as f64 / 100.0 } else { 1.0 };
            let series = Noise::new(seed, 0.02, 0.0).series(2_000, |index| round(index) * later(index));
            if changes(&series).is_empty() {
                missed += 1;
                let seen = smallest_visible(&series);
                assert!(
                    seen.is_none_or(|seen| seen >= percent),
                    "seed {seed}, {percent} in {length}: {seen:?}"
                );
            }
        }
    }
    assert!(missed > 10, "{missed}: too few to tell");
}

#[test]
fn a_change_that_would_be_seen_is_so_in_rounds_too() {
    // Groups of neighbours, of which the rounds are no multiple.
    let round = |index: usize| 0.5 + (index % 100) as f64 / 100.0;
    assert_eq!(smallest_visible(&Noise::new(1, 0.02, 0.0).series(30_000, round)), Some(5));
}

#[test]
fn a_noisy_machine_changes_nothing() {
    for seed in 0..50 {
        let period = [7, 10, 25, 50][seed as usize % 4];
        let series = noisy_machine(seed, length(seed), |index| if index % period == 0 { 3.0 } else { 1.0 });
        assert_eq!(changes(&series), [], "seed {seed}, every {period} of {}", series.len());
    }
}

#[test]
fn a_noisy_machine_hides_no_change() {
    // A disturbance that ends where the change begins, and is as slow, belongs to it as far as anybody can tell: who
    // knows all about levels, noise and disturbances is so in 48 of 50, and in 193 of 200.
    const DISTURBED: usize = WITHIN + 14;
    let (mut off, mut least_off) = (Vec::new(), Vec::new());
    for seed in 0..200 {
        let count = length(seed);
        let place = count * 6 / 10;
        let periodic = |index: usize| if index.is_multiple_of(50) { 3.0 } else { 1.0 };
        let level = |index: usize| periodic(index) * if index < place { 1.0 } else { 1.25 };
        let series = noisy_machine(seed, count, level);
        let found = changes(&series);
        assert!(found.len() <= 1 && (found.len() == 1 || seed >= 50), "seed {seed}: {found:#?}");
        off.push(found.first().map_or(count, |change| change.at.abs_diff(place)));
        let likeliest = oracle::likeliest(&series, place, periodic, |index| 1.25 * periodic(index));
        least_off.push(likeliest.abs_diff(place));
    }
    let exact = |off: &[usize]| off.iter().filter(|&&off| off <= WITHIN).count();
    let told = [exact(&off[..50]), exact(&off)];
    let known = [exact(&least_off[..50]), exact(&least_off)];
    assert!(off[..50].iter().all(|&off| off <= DISTURBED), "{off:?}");
    assert!(told[0] >= 47 && told[1] >= 190, "{told:?}, {known:?}: {off:?}");
    assert!(known[0] < 50 && known[1] <= told[1] + 3, "{told:?}, {known:?}: {least_off:?}");
}

#[test]
fn values_of_neither_level_next_to_a_change_are_halved() {
    let level = |index: usize| match index {
        0..200 => 1.0,
        200..208 => 3.0,
        _ => 1.4,
    };
    let series = Noise::new(2, 0.02, 0.3).series(400, level);
    assert_eq!(changes(&series).iter().map(|change| change.at).collect::<Vec<_>>(), [204]);
}

fn assert_one(series: &[u64], place: usize, ratio: f64, label: &str) {
    assert_one_of(series, place, (ratio, 0.04), label);
}

fn assert_one_of(series: &[u64], place: usize, (ratio, tolerance): (f64, f64), label: &str) {
    let found = changes(series);
    let [change] = found.as_slice() else { panic!("{label}: {found:#?}") };
    assert!(change.at.abs_diff(place) <= WITHIN && !change.is_gradual, "{label}: {place}, {change:?}");
    let told = change.after as f64 / change.before as f64;
    assert!((told / ratio - 1.0).abs() < tolerance, "{label}: {told}");
    assert!(change.p_value <= 1e-3, "{label}: {change:?}");
}

#[test]
fn planted_changes_are_found_where_they_are() {
    // The noise is a quarter of the change: with more of it nobody can tell the place within five points, since
    // neighbours share a part of it.
    for (ratio, sigma) in [(1.05, 0.0125), (0.95, 0.0125), (1.14, 0.033), (1.0 / 1.14, 0.033), (2.0, 0.17)] {
        for seed in 0..50 {
            let count = length(seed);
            let share = 20 + Random(seed ^ 0xdef).bits() % 61;
            let place = count * usize::try_from(share).unwrap() / 100;
            let level = |index: usize| if index < place { 1.0 } else { ratio };
            let series = Noise::new(seed, sigma, 0.3).series(count, level);
            assert_one(&series, place, ratio, &format!("seed {seed}, ×{ratio}, {place} of {count}"));
        }
    }
}

#[test]
fn periodic_steps_and_a_slow_start_hide_no_change() {
    for seed in 0..50 {
        let count = length(seed).max(1_000);
        let place = count * 6 / 10;
        let level = |index: usize| {
            let usual = if index < place { 1.0 } else { 1.14 };
            if index < 10 || index % 50 == 49 { 3.0 * usual } else { usual }
        };
        let series = Noise::new(seed, 0.03, 0.3).series(count, level);
        assert_one(&series, place, 1.14, &format!("seed {seed}, {place} of {count}"));
    }
}

#[test]
fn values_that_go_round_hide_no_change() {
    let rounds: [&[f64]; 6] = [
        &[1.0, 3.0],
        &[1.0, 1.3],
        &[3.0, 3.0, 1.0],
        &[1.0, 1.0, 3.0, 3.0],
        &[3.0, 1.0, 1.0, 3.0, 1.0],
        &[1.0, 2.0, 4.0],
    ];
    let singles = (2..=10usize)
        .map(|every| (0..every).map(|at| if at + 1 == every { 3.0 } else { 1.0 }).collect::<Vec<f64>>());
    for round in rounds.into_iter().map(<[f64]>::to_vec).chain(singles) {
        for seed in 0..25 {
            let count = length(seed).clamp(400, 1_500);
            let share = 20 + Random(seed ^ 0xdef).bits() % 61;
            let place = count * usize::try_from(share).unwrap() / 100;
            let level = |index: usize| round[index % round.len()] * if index < place { 1.0 } else { 1.14 };
            let series = Noise::new(seed, 0.03, 0.0).series(count, level);
            // Shares of the round differ a little on both sides, and so do means of the middle.
            assert_one_of(
                &series,
                place,
                (1.14, 0.1),
                &format!("seed {seed}, {round:?}, {place} of {count}"),
            );
            let series = Noise::new(seed, 0.03, 0.0).series(count, |index| round[index % round.len()]);
            assert_eq!(changes(&series), [], "seed {seed}, {round:?}, {count}");
        }
    }
}

#[test]
fn what_changes_at_one_place_of_a_round_is_found_where_it_does() {
    // Every second or third step; the others take 1.
    for (every, before, after) in
        [(2, 1.5, 2.0), (2, 1.0, 1.4), (2, 3.0, 3.6), (2, 0.5, 0.8), (3, 2.0, 3.0), (3, 2.0, 1.0)]
    {
        let mut told = 0;
        for seed in 0..30 {
            let count = length(seed).max(400);
            let place = count * 3 / 5;
            let level = |index: usize| match index {
                _ if !index.is_multiple_of(every) => 1.0,
                _ if index < place => before,
                _ => after,
            };
            let found = changes(&Noise::new(seed, 0.03, 0.3 * (seed % 2) as f64).series(count, level));
            let label =
                format!("one in {every}, {before} to {after}, seed {seed}, {place} of {count}: {found:?}");
            let [change] = found.as_slice() else { panic!("{label}") };
            assert!(!change.is_gradual && change.at.abs_diff(place) <= 2 * WITHIN, "{label}");
            told += u32::from(change.at.abs_diff(place) <= WITHIN);
            let mean = |level: f64| (every as f64 - 1.0 + level) / every as f64;
            let off = (change.after as f64 / change.before as f64) / (mean(after) / mean(before)) - 1.0;
            assert!(off.abs() < 0.03 && change.over % every == 0, "{label}");
        }
        assert!(told >= 29, "one in {every}, {before} to {after}: {told} of 30");
    }
}

#[test]
fn a_quick_start_is_a_level() {
    for (count, place, ratio) in
        [(2_000, 60, 1.3), (2_000, 90, 1.3), (10_000, 300, 1.3), (10_000, 250, 1.0 / 1.14)]
    {
        let is_told = |seed: &u64| {
            let level = |index: usize| if index < place { 1.0 } else { ratio };
            let found = changes(&Noise::new(*seed, 0.03, 0.3).series(count, level));
            assert!(found.len() <= 1, "seed {seed}: {found:?}");
            found.first().is_some_and(|change| change.at.abs_diff(place) <= WITHIN)
        };
        let told = (0..50).filter(is_told).count();
        assert!(told >= 47, "{told} of 50: ×{ratio} at {place} of {count}");
    }
}

#[test]
fn changes_that_follow_each_other_are_two() {
    let is_told = |seed: &u64| {
        let level = |index: usize| match index {
            ..500 => 1.0,
            500..550 => 1.2,
            _ => 1.44,
        };
        let series = Noise::new(*seed, 0.03, 0.0).series(2_000, level);
        let found: Vec<usize> = changes(&series).iter().map(|change| change.at).collect();
        assert!(matches!(found.len(), 1 | 2), "seed {seed}: {found:?}");
        found.len() == 2 && found[0].abs_diff(500) <= WITHIN && found[1].abs_diff(550) <= WITHIN
    };
    let told = (0..50).filter(is_told).count();
    assert!(told >= 48, "{told} of 50");
}

#[test]
fn several_changes_are_told_apart() {
    for seed in 0..50 {
        let count = length(seed).max(600);
        let places = [count / 4, count / 2, count * 3 / 4];
        let levels = [1.0, 1.2, 1.0, 1.5];
        let level = |index: usize| levels[places.iter().filter(|&&place| place <= index).count()];
        let series = Noise::new(seed, 0.04, 0.3).series(count, level);
        let found: Vec<usize> = changes(&series).iter().map(|change| change.at).collect();
        assert_eq!(found.len(), 3, "seed {seed}: {places:?}, {found:?}");
        for (place, found) in places.iter().zip(&found) {
            assert!(place.abs_diff(*found) <= WITHIN, "seed {seed}: {places:?}, {found:?}");
        }
    }
}

#[test]
fn a_drift_is_one_change() {
    for seed in 0..50 {
        let count = length(seed);
        let series =
            Noise::new(seed, 0.03, 0.3).series(count, |index| 1.0 + 0.3 * index as f64 / count as f64);
        let found = changes(&series);
        let [Change { from: 0, at: 0, to, before, after, is_gradual: true, .. }] = found.as_slice() else {
            panic!("seed {seed}: {found:#?}")
        };
        assert_eq!(*to, count);
        let grown = *after as f64 / *before as f64;
        assert!((1.25..1.36).contains(&grown), "seed {seed}: {grown}");
    }
}

#[test]
fn a_level_that_begins_to_grow_drifts_from_there_on() {
    for (count, place, growth) in [(400, 200, 0.4), (400, 100, 0.6), (400, 300, 0.4), (2_000, 1_000, 0.5)] {
        let is_told = |seed: &u64| {
            let after = |index: usize| index.saturating_sub(place) as f64 / (count - place) as f64;
            let series =
                Noise::new(*seed, 0.03, 0.3 * (seed % 2) as f64).series(count, |at| 1.0 + growth * after(at));
            let found = changes(&series);
            let [Change { from, at, to, before, after, is_gradual: true, .. }] = found.as_slice() else {
                return false;
            };
            let grown = *after as f64 / *before as f64;
            from == at
                && at.abs_diff(place) <= count / 20
                && *to == count
                && (grown - 1.0 - growth).abs() < 0.05
        };
        let told = (0..50).filter(is_told).count();
        assert!(told >= 46, "{told} of 50: {growth} from {place} of {count}");
    }
}

#[test]
fn what_leads_from_one_level_to_another_is_one_change() {
    for (count, from, to, least) in
        [(400, 150, 250, 42), (1_000, 400, 600, 48), (1_000, 300, 700, 48), (2_000, 800, 1_200, 48)]
    {
        for growth in [0.2, 0.5] {
            let is_told = |seed: &u64| {
                let share = |index: usize| index.clamp(from, to) - from;
                let level = |index: usize| 1.0 + growth * share(index) as f64 / (to - from) as f64;
                let found = changes(&Noise::new(*seed, 0.03, 0.3 * (seed % 2) as f64).series(count, level));
                let [change] = found.as_slice() else { panic!("seed {seed}: {found:?}") };
                let near = |at: usize, place: usize| at.abs_diff(place) <= (to - from) / 4;
                let grown = change.after as f64 / change.before as f64;
                change.is_gradual
                    && change.from == change.at
                    && near(change.at, from)
                    && near(change.to, to)
                    && (grown - 1.0 - growth).abs() < 0.03
            };
            let told = (0..50).filter(is_told).count();
            assert!(told >= least, "{told} of 50: +{growth} from {from} to {to} of {count}");
        }
    }
    // Down again at once: the level between begins where the drift ends.
    for seed in 0..50 {
        let level = |index: usize| match index {
            ..1_000 => 1.0 + 0.5 * (index.clamp(300, 600) - 300) as f64 / 300.0,
            _ => 1.0,
        };
        let found = changes(&Noise::new(seed, 0.03, 0.0).series(1_500, level));
        let [up, down] = found.as_slice() else { panic!("seed {seed}: {found:?}") };
        assert!(up.is_gradual && !down.is_gradual && down.from == up.to, "seed {seed}: {found:?}");
        assert!(down.at.abs_diff(1_000) <= WITHIN, "seed {seed}: {down:?}");
    }
}

#[test]
fn what_leads_from_one_level_to_another_is_so_beside_a_change_in_the_same_direction() {
    for (count, at, from, to, least) in [
        (600, 150, 300, 450, 35),
        (1_000, 200, 500, 700, 48),
        (1_000, 800, 300, 500, 48),
        (2_000, 400, 1_000, 1_400, 48),
        (2_000, 400, 1_000, 2_000, 48),
    ] {
        for growth in [0.2, 0.3, 0.5] {
            let is_told = |seed: &u64| {
                let share = |index: usize| index.clamp(from, to) - from;
                let level = |index: usize| {
                    let led = 1.0 + growth * share(index) as f64 / (to - from) as f64;
                    if index < at { led } else { 1.3 * led }
                };
                let found = changes(&Noise::new(*seed, 0.03, 0.3 * (seed % 2) as f64).series(count, level));
                assert!(
                    found.iter().all(|change| change.from <= change.at && change.at < change.to),
                    "{found:?}"
                );
                assert!(
                    found.windows(2).all(|two| two[0].to <= two[1].at && two[0].at <= two[1].from),
                    "{found:?}"
                );
                let near = |at: usize, place: usize| at.abs_diff(place) <= (to - from) / 4;
                let [first, second] = found.as_slice() else { return false };
                let (drift, change) = if at < from { (second, first) } else { (first, second) };
                let grown = drift.after as f64 / drift.before as f64;
                drift.is_gradual
                    && !change.is_gradual
                    && change.at.abs_diff(at) <= WITHIN
                    && near(drift.at, from)
                    && near(drift.to, to)
                    && (grown - 1.0 - growth).abs() < 0.06
            };
            let told = (0..50).filter(is_told).count();
            assert!(told >= least, "{told} of 50: +{growth} from {from} to {to} of {count}");
        }
    }
}

#[test]
fn two_drifts_with_a_level_between_are_two() {
    for count in [1_000, 2_000, 3_000] {
        let drifts = [count / 6, count * 2 / 3].map(|from| (from, from + count / 8));
        let is_told = |seed: &u64| {
            let level = |index: usize| {
                let led = drifts
                    .map(|(from, to)| 1.0 + 0.4 * (index.clamp(from, to) - from) as f64 / (to - from) as f64);
                led[0] * led[1]
            };
            let found = changes(&Noise::new(*seed, 0.03, 0.0).series(count, level));
            assert!(found.len() == 2, "seed {seed}: {found:?}");
            let near = |at: usize, place: usize| at.abs_diff(place) <= count / 32;
            found.iter().zip(drifts).all(|(change, (from, to))| {
                change.is_gradual && near(change.from, from) && near(change.to, to)
            })
        };
        let told = (0..30).filter(is_told).count();
        assert!(told >= 26, "{told} of 30 in {count}");
    }
}

#[test]
fn long_series_tell_the_single_step() {
    let place = 40_009;
    let series = Noise::new(3, 0.02, 0.3).series(65_536, |index| if index < place { 1.0 } else { 1.05 });
    assert_one(&series, place, 1.05, "65,536 points");
}

#[test]
fn a_change_that_is_new_is_told_in_long_series_too() {
    for seed in 0..20 {
        let place = 19_500;
        for ratio in [2.0, 1.25] {
            let level = |index: usize| if index < place { 1.0 } else { ratio };
            assert_one(
                &Noise::new(seed, 0.03, 0.3).series(20_000, level),
                place,
                ratio,
                &format!("seed {seed}"),
            );
        }
        // As many at another place are a disturbance.
        let disturbed = |index: usize| if (12_000..12_500).contains(&index) { 2.0 } else { 1.0 };
        assert_eq!(changes(&Noise::new(seed, 0.03, 0.3).series(20_000, disturbed)), [], "seed {seed}");
        assert_eq!(changes(&noisy_machine(seed, 20_000, |_| 1.0)), [], "seed {seed}");
    }
}

#[test]
fn degenerate_series_change_nowhere() {
    for series in [vec![], vec![1], vec![7; 1_000], vec![0; 100], vec![u64::MAX; 500]] {
        assert_eq!(changes(&series), []);
    }
    // The extremes themselves are no danger to the arithmetic.
    let mut steps = vec![0; 100];
    steps.extend([u64::MAX; 100]);
    let found = changes(&steps);
    assert_eq!(
        found.iter().map(|change| (change.at, change.before, change.after)).collect::<Vec<_>>(),
        [(100, 0, u64::MAX)]
    );
}

#[test]
fn the_median_is_the_lower_one() {
    assert_eq!([median(&[]), median(&[3]), median(&[9, 1, 5]), median(&[9, 1])], [0, 3, 5, 1]);
}
