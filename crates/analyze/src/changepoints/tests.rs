//! Planted changes are found where they are, and none in series without.

use crate::changepoints::{Change, SIGNIFICANCE, changes, visible_share};
use crate::generated_tests::series;

/// By noise (share, and how much of it neighbours share), series of 300 to 2,000 values.
const NOISES: [(f64, f64); 4] = [(0.02, 0.0), (0.05, 0.3), (0.05, 0.6), (0.03, 0.9)];
const LENGTHS: [usize; 3] = [300, 800, 2_000];

/// Of 30 series, in how many the changes are as `is_right` says.
fn right(
    count: usize,
    noise: (f64, f64),
    level: impl Fn(usize) -> f64,
    is_right: impl Fn(&[Change]) -> bool,
) -> usize {
    (0..30).filter(|&seed| is_right(&changes(&series(seed, count, noise, &level)))).count()
}

#[test]
fn a_planted_change_is_found_where_it_is() {
    for (sigma, correlation) in [(0.02, 0.0), (0.05, 0.3)] {
        for (count, ratio) in
            LENGTHS.into_iter().flat_map(|count| [1.14, 1.5, 2.0, 0.7].map(|ratio| (count, ratio)))
        {
            let place = count * 3 / 5;
            let is_right = |found: &[Change]| match found {
                [one] => {
                    let share = one.after as f64 / one.before as f64;
                    one.at.abs_diff(place) <= 5 && !one.is_gradual && (share / ratio - 1.0).abs() < 0.05
                }
                _ => false,
            };
            let level = |index: usize| if index < place { 1.0 } else { ratio };
            let found = right(count, (sigma, correlation), level, is_right);
            assert!(found >= 28, "×{ratio} of {count}, σ {sigma}, ρ {correlation}: {found} of 30");
        }
    }
}

#[test]
fn several_changes_are_told_apart() {
    let level = |index: usize| [1.0, 1.5, 1.2][(index / 300).min(2)];
    let is_right = |found: &[Change]| matches!(found, [a, b] if a.at.abs_diff(300) <= 5 && b.at.abs_diff(600) <= 5 && (a.to, a.last) == (b.at, a.at));
    assert!(right(900, (0.05, 0.3), level, is_right) >= 28);
}

#[test]
fn three_and_more_in_one_direction_are_a_gradual_one() {
    for count in [400, 1_000, 2_000] {
        let level = |index: usize| 1.0 + 0.5 * index as f64 / count as f64;
        let is_right = |found: &[Change]| matches!(found, [one] if one.is_gradual && one.from == 0 && one.to == count && one.at < one.last);
        let found = right(count, (0.02, 0.0), level, is_right);
        assert!(found >= 28, "{count}: {found} of 30");
    }
}

#[test]
fn series_without_a_change_show_none() {
    for noise in NOISES {
        for count in LENGTHS {
            let found =
                (0..200).filter(|&seed| !changes(&series(seed, count, noise, |_| 1.0)).is_empty()).count();
            assert!(found <= 1, "{found} of 200 series of {count}, {noise:?}");
        }
    }
    // A disturbance, and one step in four that takes twice as long.
    let of = |level: &dyn Fn(usize) -> f64| right(800, (0.03, 0.3), level, <[Change]>::is_empty);
    assert!(of(&|index| if (400..415).contains(&index) { 2.0 } else { 1.0 }) >= 29);
    assert!(of(&|index| if index % 4 == 3 { 2.0 } else { 1.0 }) >= 29);
}

#[test]
fn what_would_have_been_seen_is_seen() {
    for (sigma, correlation, every) in [(0.02, 0.0, 800), (0.05, 0.3, 800), (0.1, 0.5, 800), (0.05, 0.3, 8)] {
        // One in so many takes ten times as long.
        let usual = |index: usize| if index % every == 7 { 10.0 } else { 1.0 };
        let seen = visible_share(&series(1, 800, (sigma, correlation), usual));
        let level = |index: usize| usual(index) * if index < 400 { 1.0 } else { 1.0 + 1.5 * seen };
        let found = right(800, (sigma, correlation), level, |found| found.len() == 1);
        assert!(found >= 28, "{seen} at σ {sigma}, ρ {correlation}, one in {every}: {found} of 30");
    }
}

#[test]
fn long_series_are_placed_by_single_values_and_extremes_are_no_danger() {
    let level = |index: usize| if index < 7_001 { 1.0 } else { 1.3 };
    let [one] = changes(&series(3, 20_000, (0.02, 0.0), level))[..] else { panic!("one change") };
    assert!(one.at.abs_diff(7_001) <= 2 && one.p_value <= SIGNIFICANCE, "{one:?}");
    assert_eq!(one.levels_of(&vec![7; 20_000]), (7, 7));
    for values in [vec![0; 500], vec![u64::MAX; 500], Vec::new(), vec![1; 39]] {
        assert_eq!(changes(&values), []);
    }
    assert_eq!(changes(&[vec![0; 100], vec![u64::MAX; 100]].concat()).len(), 1);
}
