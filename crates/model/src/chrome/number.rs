//! Microseconds in decimal, as exact nanoseconds: going through a double would move times by some of them.

/// Digits of a number that are looked at; times have 20.
const MAX_DIGITS: u32 = 36;

/// Nanoseconds of a decimal number of microseconds, what is finer rounded to the nearest. `None` where the text is
/// no number, or one beyond 64 bits of nanoseconds on either side of 0.
pub(super) fn nanoseconds(text: &[u8]) -> Option<i128> {
    let text = text.trim_ascii();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut mantissa = 0i128;
    // Power of ten of the mantissa in nanoseconds.
    let mut power = 3i64;
    let (mut digits, mut seen, mut behind_point) = (0, false, false);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                if digits < MAX_DIGITS {
                    mantissa = mantissa * 10 + i128::from(byte - b'0');
                    digits += u32::from(mantissa != 0);
                    power -= i64::from(behind_point);
                } else {
                    power += i64::from(!behind_point);
                }
            }
            b'.' if !behind_point => behind_point = true,
            _ => break,
        }
        rest = after;
    }
    match rest {
        [] => {}
        [b'e' | b'E', exponent @ ..] => {
            let exponent: i64 = std::str::from_utf8(exponent).ok()?.parse().ok()?;
            power = power.saturating_add(exponent);
        }
        _ => return None,
    }
    if !seen {
        return None;
    }
    let ns = scaled(mantissa, power)?;
    u64::try_from(ns).is_ok().then_some(if negative { -ns } else { ns })
}

fn scaled(mantissa: i128, power: i64) -> Option<i128> {
    if mantissa == 0 {
        return Some(0);
    }
    if power >= 0 {
        return mantissa.checked_mul(10i128.checked_pow(u32::try_from(power).ok()?)?);
    }
    let Ok(power) = u32::try_from(power.unsigned_abs()) else { return Some(0) };
    let Some(divisor) = 10i128.checked_pow(power) else { return Some(0) };
    Some((mantissa + divisor / 2) / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact() {
        for (text, ns) in [
            ("0", 0),
            ("1", 1_000),
            ("1689179597340511", 1_689_179_597_340_511_000),
            ("1689179597340511.123", 1_689_179_597_340_511_123),
            ("1689179597340511.1235", 1_689_179_597_340_511_124),
            ("0.001", 1),
            ("0.0004", 0),
            ("0.0005", 1),
            ("-0.25", -250),
            ("1.5e3", 1_500_000),
            ("15E-1", 1_500),
            ("1e-400", 0),
            ("0e999999999", 0),
            ("00000000000000000000000000000000000000000000000000001", 1_000),
            ("0.00000000000000000000000000000000000000000000000000001", 0),
            ("18446744073709551.615", i128::from(u64::MAX)),
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), Some(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "-",
            ".",
            "x",
            "1x",
            "1e",
            "1e400",
            "NaN",
            "18446744073709551.616",
            "1.2.3",
            "1e99999999999999999999",
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), None, "{text}");
        }
    }
}
