//! Values of attributes as the model takes them: foreign writers put integers into doubles and strings.

use stepscope_otlp::Value;

/// An integer, also where it was written as an integral double or as decimal text.
#[inline]
pub(crate) fn integer(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        Value::Double(number) => integral(number),
        Value::Str(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// 1 or 0, where it is a truth value; Jaeger has some as text.
pub(crate) fn flag(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Bool(is_true) => Some(is_true.into()),
        Value::Str("true") => Some(1),
        Value::Str("false") => Some(0),
        _ => None,
    }
}

/// An integer that does not fit into 64 bits with a sign, as it was written.
pub(crate) fn large(value: Value<'_>) -> Option<String> {
    match value {
        Value::Double(number)
            if number.is_finite() && integral(number).is_none() && number.fract() == 0.0 =>
        {
            Some(format!("{number:e}"))
        }
        Value::Str(text) => {
            let digits = text.trim();
            let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
            let is_integer = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
            (is_integer && digits.parse::<i64>().is_err()).then(|| bounded(digits, 40).to_owned())
        }
        _ => None,
    }
}

/// The integer that a double stands for, if it stands for one.
pub(crate) fn integral(number: f64) -> Option<i64> {
    // 2^63 itself is out of range, and is the first double above i64::MAX.
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    (in_range && number.trunc() == number).then_some(number as i64)
}

/// A finite or infinite number, also where it was written as text.
pub(crate) fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => Some(number as f64),
        Value::Double(number) => Some(number),
        Value::Str(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Text.
#[inline]
pub(crate) fn text(value: Value<'_>) -> Option<&str> {
    if let Value::Str(text) = value { Some(text) } else { None }
}

/// At most `limit` bytes of `text`, cut between characters.
#[inline]
pub(crate) fn bounded(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_taken_in_every_spelling() {
        assert_eq!(integer(Value::Int(-7)), Some(-7));
        assert_eq!(integer(Value::Double(32.0)), Some(32));
        assert_eq!(integer(Value::Str(" 41 ")), Some(41));
        for other in [
            Value::Double(0.5),
            Value::Double(f64::NAN),
            Value::Double(f64::INFINITY),
            Value::Double(9_223_372_036_854_775_808.0),
            Value::Str("4.1"),
            Value::Bool(true),
            Value::Empty,
        ] {
            assert_eq!(integer(other), None, "{other:?}");
        }
        assert_eq!(integer(Value::Double(i64::MIN as f64)), Some(i64::MIN));
    }

    #[test]
    fn integers_that_do_not_fit_are_told_from_what_is_none() {
        assert_eq!(large(Value::Str(" 9223372036854775808 ")).as_deref(), Some("9223372036854775808"));
        assert_eq!(large(Value::Str("-9223372036854775809")).as_deref(), Some("-9223372036854775809"));
        assert_eq!(large(Value::Double(1e30)).as_deref(), Some("1e30"));
        for other in [
            Value::Str("9223372036854775807"),
            Value::Str(""),
            Value::Str("-"),
            Value::Str("warmup"),
            Value::Str("1e30"),
            Value::Double(0.5),
            Value::Double(f64::INFINITY),
            Value::Double(7.0),
            Value::Int(-1),
            Value::Empty,
        ] {
            assert_eq!(large(other), None, "{other:?}");
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(bounded("aéb", 2), "a");
        assert_eq!(bounded("aéb", 3), "aé");
        assert_eq!(bounded("aéb", 4), "aéb");
    }
}
