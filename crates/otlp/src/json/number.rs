//! Reads numbers: integers eight digits at a time, everything else through the standard library.

/// The digits at the start of `text` as a number, and how many they are; `None` if they overflow 64 bits.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut len) = (0_u64, 0);
    // Two words of eight digits cannot overflow.
    while len < 16 {
        let Some(word) = text.get(len..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        let Some(eight) = eight_digits(u64::from_le_bytes(*word)) else { break };
        value = value * 100_000_000 + eight;
        len += 8;
    }
    for &byte in &text[len..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
        len += 1;
    }
    Some((value, len))
}

/// The number that eight ASCII digits spell, the first in the lowest byte; `None` if one is no digit.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const SIXES: u64 = 0x0606_0606_0606_0606;
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    if word & HIGH != ZEROS || word.wrapping_add(SIXES) & HIGH != ZEROS {
        return None;
    }
    // Neighbours are joined three times: digits to pairs, pairs to fours, fours to the whole.
    let word = word - ZEROS;
    let word = (word * 10 + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let word = (word * 100 + (word >> 16)) & 0x0000_ffff_0000_ffff;
    Some((word * 10_000 + (word >> 32)) & 0xffff_ffff)
}

/// Length of the number token at the start of `text`.
pub(super) fn token_len(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).count()
}

/// A token as a double.
pub(super) fn double(token: &[u8]) -> Option<f64> {
    str::from_utf8(token).ok()?.parse().ok()
}

/// A token such as `1e3` or `-2.0` as an integer, if it is one of at most 64 bits: sign and magnitude.
pub(super) fn integral(token: &[u8]) -> Option<(bool, u64)> {
    let value = double(token)?;
    let fits = value.fract() == 0.0 && value.abs() < 18_446_744_073_709_551_616.0;
    fits.then_some((value < 0.0, value.abs() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_length() {
        let text = "18446744073709551615";
        for len in 0..=text.len() {
            let text = &text[..len];
            let expected = text.parse().unwrap_or(0);
            assert_eq!(digits(text.as_bytes()), Some((expected, len)));
            assert_eq!(digits(format!("{text}\",").as_bytes()), Some((expected, len)));
            assert_eq!(digits(format!("{text}:012345678").as_bytes()), Some((expected, len)));
        }
        assert_eq!(digits(b"18446744073709551616"), None);
        assert_eq!(digits(b"99999999999999999999"), None);
        assert_eq!(digits(b"000000000000000000000000012"), Some((12, 27)));
    }

    #[test]
    fn bytes_next_to_the_digits_are_none() {
        for byte in 0..=255_u8 {
            let text = [b'1', b'2', b'3', byte, b'5', b'6', b'7', b'8', b'9'];
            let expected = if byte.is_ascii_digit() {
                (123_056_789 + u64::from(byte - b'0') * 100_000, 9)
            } else {
                (123, 3)
            };
            assert_eq!(digits(&text), Some(expected), "{byte}");
        }
    }

    #[test]
    fn integers_in_other_dress() {
        assert_eq!(integral(b"1e3"), Some((false, 1000)));
        assert_eq!(integral(b"-2.0"), Some((true, 2)));
        assert_eq!(integral(b"1.5"), None);
        assert_eq!(integral(b"1e20"), None);
        assert_eq!(integral(b"-"), None);
    }
}
