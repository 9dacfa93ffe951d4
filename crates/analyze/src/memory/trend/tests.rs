//! Tests of the module above.

use crate::memory::trend::*;

fn of(values: &[u64]) -> Trend {
    let points: Vec<(u64, u64)> = values.iter().enumerate().map(|(x, &y)| (x as u64, y)).collect();
    trend(&points).unwrap()
}

#[test]
fn a_line_has_its_slope_and_no_doubt() {
    let trend = of(&(0..50).map(|x| 7 + 3 * x).collect::<Vec<_>>());
    assert_eq!((trend.n, trend.slope_per_step, trend.confidence_interval), (50, 3.0, (3.0, 3.0)));
    assert_eq!((trend.from_step, trend.to_step, trend.first_bytes, trend.last_bytes), (0, 49, 7, 154));
    assert_eq!(trend.p_value, 3.0 * SMALLEST_P);
}

#[test]
fn figures_are_those_by_hand() {
    // Four points are blocks of their own in each view. Slopes 1, 1.5, 2, 2, 2.5 and 3 have the median 2, which leaves
    // -1, 1, 0 of the increments 1, 3, 2: a variance of 2/2, neighbours of -1/2, so a walk of 0 and noise of 1/2. The
    // error of the ends is the root of 1.2 · 1/2 · 12 · 3 / (4 · 5) = 1.08; 6 divided by it is 5.7735, of which Student's
    // probability with 2 degrees of freedom is 1 - 5.7735/√(2 + 5.7735²) = 0.028714; three views make it 0.086142.
    // What is outside of 4.302653 is a twentieth.
    let trend = of(&[10, 11, 14, 16]);
    assert_eq!(trend.slope_per_step, 2.0);
    assert!((trend.p_value - 0.086_142).abs() < 1e-6, "{trend:?}");
    let reach = 4.302_653 * 1.08_f64.sqrt() / 3.0;
    assert!((trend.confidence_interval.0 - (2.0 - reach)).abs() < 1e-6, "{trend:?}");
    assert!((trend.confidence_interval.1 - (2.0 + reach)).abs() < 1e-6, "{trend:?}");
    // Offsets 10, 9, 10, 10.
    assert_eq!((trend.first_bytes, trend.last_bytes), (10, 16));
}

#[test]
fn a_flat_series_has_no_trend() {
    let trend = of(&[5; 30]);
    assert_eq!((trend.slope_per_step, trend.p_value), (0.0, 1.0));
}

#[test]
fn one_outlier_moves_nothing() {
    let mut values: Vec<u64> = (0..100).collect();
    values[50] = 1_000_000_000;
    let trend = of(&values);
    assert!((trend.slope_per_step - 1.0).abs() < 0.01 && trend.p_value < 1e-6, "{trend:?}");
}

#[test]
fn the_floor_of_a_sawtooth_is_what_grows() {
    let cleared = |rise: u64| (0..1_000).map(move |x| x * rise + x % 90 * 1_000).collect::<Vec<u64>>();
    let (flat, rising) = (of(&cleared(0)), of(&cleared(50)));
    assert!(flat.p_value > 0.1, "{flat:?}");
    assert_eq!((rising.slope_per_step, rising.p_value), (50.0, 3.0 * SMALLEST_P));
}

#[test]
fn few_points_have_no_trend() {
    assert_eq!(trend(&[(0, 1), (1, 2), (2, 3)]), None);
    assert_eq!(trend(&[(1, 1); 9]), None);
}
