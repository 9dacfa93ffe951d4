//! Numbers and words in the kernel's texts, without allocation. What is no number is absent.

/// The decimal number that `text` is, spaces around it aside.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.checked_sub(b'0').filter(|&digit| digit <= 9)?;
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

/// A decimal fraction.
pub(crate) fn fraction(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The lines of a text.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Lines of a key and a number: `MemTotal:  16 kB`, `pgfault 12`.
pub(crate) fn pairs(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        let key = words.next()?;
        let key = key.strip_suffix(b":").unwrap_or(key);
        Some((key, number(words.next()?)?))
    })
}

/// The number after `key` in lines of a key and a number.
pub(crate) fn value(text: &[u8], key: &[u8]) -> Option<u64> {
    pairs(text).find(|(name, _)| *name == key).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_absent() {
        assert_eq!(number(b" 18446744073709551615\n"), Some(u64::MAX));
        for text in [&b""[..], b"max", b"-1", b"1.5", b"18446744073709551616", b"1 2"] {
            assert_eq!(number(text), None);
        }
        assert_eq!(fraction(b"0.25 "), Some(0.25));
        assert_eq!(fraction(b"NaN"), None);
    }

    #[test]
    fn pairs_take_both_styles_of_keys() {
        let text = b"MemTotal:       16 kB\npgfault 12\nempty\nword x\n";
        assert_eq!(pairs(text).collect::<Vec<_>>(), [(&b"MemTotal"[..], 16), (&b"pgfault"[..], 12)]);
        assert_eq!(value(text, b"pgfault"), Some(12));
        assert_eq!(value(text, b"pgf"), None);
    }
}
