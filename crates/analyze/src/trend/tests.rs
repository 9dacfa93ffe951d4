//! Tests of the module above.

use super::*;

fn of(values: &[f64]) -> Trend {
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect();
    trend(&points).unwrap()
}

#[test]
fn a_line_has_its_slope_and_no_doubt() {
    let values: Vec<f64> = (0..50).map(|x| 7.0 + 3.0 * f64::from(x)).collect();
    let trend = of(&values);
    assert_eq!((trend.n, trend.slope_per_step, trend.confidence_interval), (50, 3.0, (3.0, 3.0)));
    assert!(trend.p_value < 1e-12);
}

#[test]
fn figures_are_those_of_another_implementation() {
    // Independent: all pairs in Python; S = 27, variance 125, z = 26/√125, p = math.erfc(z/√2);
    // ranks (45 ∓ 1.959964·√125)/2 of the 45 sorted slopes.
    let values = [1.0, 3.0, 2.0, 4.0, 3.5, 5.0, 4.5, 2.5, 6.0, 5.5];
    let trend = of(&values);
    assert!((trend.slope_per_step - SLOPE).abs() < 1e-12, "{trend:?}");
    assert!((trend.p_value - P).abs() < 1e-6, "{trend:?}");
    assert!((trend.confidence_interval.0 - LOW).abs() < 1e-12, "{trend:?}");
    assert!((trend.confidence_interval.1 - HIGH).abs() < 1e-12, "{trend:?}");
}

const SLOPE: f64 = 0.5;
const P: f64 = 0.020_044_668_622_627_458;
const LOW: f64 = 0.125;
const HIGH: f64 = 0.666_666_666_666_666_6;

#[test]
fn a_flat_series_has_no_trend() {
    let trend = of(&[5.0; 30]);
    assert_eq!((trend.slope_per_step, trend.p_value), (0.0, 1.0));
}

#[test]
fn one_outlier_moves_nothing() {
    let mut values: Vec<f64> = (0..100).map(f64::from).collect();
    values[50] = 1e9;
    assert!((of(&values).slope_per_step - 1.0).abs() < 0.01);
}

#[test]
fn many_points_are_averaged() {
    let values: Vec<f64> = (0..65_536).map(|x| f64::from(x) * 2.0).collect();
    let trend = of(&values);
    assert_eq!((trend.n, trend.slope_per_step), (512, 2.0));
}

#[test]
fn few_points_have_no_trend() {
    assert_eq!(trend(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]), None);
    assert_eq!(trend(&[(1.0, 1.0); 9]), None);
}

#[test]
fn the_error_function_is_right() {
    // Independent: math.erfc.
    for (x, expected) in [
        (0.0, 1.0),
        (0.5, 0.479_500_122_186_953_5),
        (1.0, 0.157_299_207_050_285_13),
        (3.0, 2.209_049_699_858_544e-5),
    ] {
        assert!((erfc(x) / expected - 1.0).abs() < 2e-7, "{x}");
    }
}
