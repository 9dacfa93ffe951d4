//! Student's distribution for whole degrees of freedom, by its finite series: M. Abramowitz, I. A. Stegun, "Handbook of
//! Mathematical Functions" (1964), 26.7.3 and 26.7.4.

/// Halvings after which a quantile is as exact as its numbers.
const HALVINGS: usize = 64;

/// Beyond any quantile that is asked for.
const LARGEST: f64 = 1_000.0;

/// Probability outside of `±t`, for `t` ≥ 0 and at least one degree of freedom.
pub(crate) fn outside(t: f64, freedom: usize) -> f64 {
    let (sine, cosine) = (t / (freedom.max(1) as f64).sqrt()).atan().sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut sum, mut term) = (0.0, if is_odd { cosine } else { 1.0 });
    for index in (usize::from(is_odd)..freedom.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= cosine * cosine * (index + 1) as f64 / (index + 2) as f64;
    }
    let inside =
        if is_odd { (sine.atan2(cosine) + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// The `t` outside of which is this probability.
pub(crate) fn quantile(probability: f64, freedom: usize) -> f64 {
    let halve = |(low, high): (f64, f64), _| {
        let middle = f64::midpoint(low, high);
        if outside(middle, freedom) > probability { (middle, high) } else { (low, middle) }
    };
    (0..HALVINGS).fold((0.0, LARGEST), halve).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        // Two-sided, from Abramowitz and Stegun, table 26.10.
        let table = [
            (0.05, 1, 12.706),
            (0.05, 2, 4.303),
            (0.05, 5, 2.571),
            (0.05, 8, 2.306),
            (0.01, 2, 9.925),
            (0.01, 5, 4.032),
            (0.01, 8, 3.355),
            (0.001, 8, 5.041),
        ];
        for (probability, freedom, t) in table {
            assert!((quantile(probability, freedom) - t).abs() < 6e-4, "{probability} of {freedom}");
        }
    }

    #[test]
    fn the_ends_are_all_and_nothing() {
        for freedom in 1..9 {
            assert!((outside(0.0, freedom) - 1.0).abs() < 1e-12, "{freedom}");
            assert!(outside(1e12, freedom) < 1e-9, "{freedom}");
        }
    }
}
