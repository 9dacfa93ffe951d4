//! Numbers as Prometheus' text has them: the shortest text that is read as the same number.

use std::fmt::Write as _;

use crate::points::{MAX_DIGITS, Value, digits};

/// The same text as the library's, sooner: a scrape has hundreds of them.
pub(crate) fn number(out: &mut String, value: Value) {
    let value = match value {
        Value::Int(value) => return out.push_str(digits(value, &mut [0; MAX_DIGITS])),
        Value::Double(value) => value,
    };
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    if text.contains('e') {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
    } else {
        out.push_str(text.strip_suffix(".0").unwrap_or(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_written_as_prometheus_has_them() {
        let mut out = String::new();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-9] {
            number(&mut out, Value::Double(value));
            out.push(' ');
        }
        assert!(out.starts_with("NaN +Inf -Inf 1"));
        assert!(out.ends_with("0.000000001 "));
    }

    #[test]
    fn numbers_are_the_shortest_texts_that_are_read_as_they_were() {
        let mut doubles =
            vec![0.0, -0.0, -1.5, 0.1, 0.1 + 0.2, 123_456_789.01, 999_999_999.999_999, 1e9, 1e15];
        doubles.extend([9_007_199_254_740_993.0, 1e-6, 1.5e-6, 1e-7, f64::MIN_POSITIVE, f64::MAX, 1.0 / 3.0]);
        let mut state = 1_u64;
        for round in 0..20_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = state >> 11;
            doubles.extend([f64::from_bits(random << 1), random as f64 / 1e6, (random >> 20) as f64 / 1e6]);
            doubles.push((random % 100_000_000) as f64 / 10_f64.powi(i32::try_from(round % 9).unwrap()));
        }
        for value in doubles {
            let mut out = String::new();
            number(&mut out, Value::Double(value));
            assert_eq!(out, value.to_string());
        }
        for value in [0, 7, 10, 1_000_000, u64::MAX - 1, u64::MAX] {
            let mut out = String::new();
            number(&mut out, Value::Int(value));
            assert_eq!(out, value.to_string());
        }
    }
}
