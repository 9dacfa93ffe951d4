//! Text forms of bytes: hex, base64, and the escapes of JSON strings. Where they stand in a message is the
//! business of the parser.

/// Appends the bytes that `hex` spells (either case) to `to`; `false`, leaving `to` alone, if it is no hex.
pub(super) fn hex(hex: &[u8], to: &mut Vec<u8>) -> bool {
    let (pairs, rest) = hex.as_chunks::<2>();
    if !rest.is_empty() {
        return false;
    }
    let (start, mut wrong) = (to.len(), 0);
    to.extend(pairs.iter().map(|[high, low]| {
        let (high, low) = (HEX[usize::from(*high)], HEX[usize::from(*low)]);
        wrong |= high | low;
        high << 4 | low & 15
    }));
    if wrong > 15 {
        to.truncate(start);
    }
    wrong <= 15
}

/// Value of each hex digit, 255 for what is none.
static HEX: [u8; 256] = table(b"0123456789abcdef", b"0123456789ABCDEF");

/// Value of each base64 digit of the standard and the URL alphabet, 255 for what is none.
static BASE64: [u8; 256] = table(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
);

const fn table(digits: &[u8], others: &[u8]) -> [u8; 256] {
    let mut table = [255; 256];
    let mut i = 0;
    while i < digits.len() {
        table[digits[i] as usize] = i as u8;
        table[others[i] as usize] = i as u8;
        i += 1;
    }
    table
}

/// Appends the bytes that `base64` (either alphabet, padded or not) spells to `to`; `false`, leaving `to`
/// alone, if it is no base64.
pub(super) fn base64(mut base64: &[u8], to: &mut Vec<u8>) -> bool {
    for _ in 0..2 {
        base64 = base64.strip_suffix(b"=").unwrap_or(base64);
    }
    let start = to.len();
    for group in base64.chunks(4) {
        let mut word = 0_u32;
        for &digit in group {
            let value = BASE64[usize::from(digit)];
            if value == 255 {
                to.truncate(start);
                return false;
            }
            word = word << 6 | u32::from(value);
        }
        let [_, bytes @ ..] = (word << (6 * (4 - group.len()))).to_be_bytes();
        // One digit alone spells no byte.
        let Some(len) = [0, 1, 2, 3].get(group.len() - 1).copied().filter(|&len| len > 0) else {
            to.truncate(start);
            return false;
        };
        to.extend_from_slice(&bytes[..len]);
    }
    true
}

/// What a JSON string's content spells with its escapes undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unescaped {
    /// Text as written.
    Fine,
    /// Text with U+FFFD in place of lone surrogates or bytes that are not UTF-8.
    Replaced,
    /// An escape at this byte of the content does not exist.
    Wrong(usize),
}

/// Appends the text of a string's `content` (what stands between the quotes) to `to`.
pub(super) fn unescape(content: &[u8], to: &mut String) -> Unescaped {
    let (mut at, mut replaced) = (0, false);
    while at < content.len() {
        let plain = content[at..].iter().position(|&byte| byte == b'\\').unwrap_or(content.len() - at);
        replaced |= push_lossy(&content[at..at + plain], to);
        at += plain;
        let Some(&escape) = content.get(at + 1) else {
            return if at < content.len() { Unescaped::Wrong(at) } else { done(replaced) };
        };
        let c = match escape {
            b'"' | b'\\' | b'/' => escape.into(),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let Some(unit) = code_unit(content, at) else { return Unescaped::Wrong(at) };
                let (c, len) = match (unit, code_unit(content, at + 6)) {
                    (high @ 0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                        (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
                    }
                    _ => (char::from_u32(unit), 6),
                };
                replaced |= c.is_none();
                to.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
                at += len;
                continue;
            }
            _ => return Unescaped::Wrong(at),
        };
        to.push(c);
        at += 2;
    }
    done(replaced)
}

fn done(replaced: bool) -> Unescaped {
    if replaced { Unescaped::Replaced } else { Unescaped::Fine }
}

/// Appends `bytes`; whether some were replaced.
pub(super) fn push_lossy(bytes: &[u8], to: &mut String) -> bool {
    let mut replaced = false;
    for chunk in bytes.utf8_chunks() {
        to.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            to.push(char::REPLACEMENT_CHARACTER);
            replaced = true;
        }
    }
    replaced
}

/// The code unit of a `\uXXXX` that stands at `at`.
fn code_unit(content: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = content.get(at..at + 6)? else { return None };
    digits.iter().try_fold(0, |unit, &digit| match HEX[usize::from(digit)] {
        255 => None,
        value => Some(unit << 4 | u32::from(value)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(f: impl Fn(&[u8], &mut Vec<u8>) -> bool, text: &str) -> Option<Vec<u8>> {
        let mut to = vec![7];
        let fine = f(text.as_bytes(), &mut to);
        assert!(fine || to == [7], "damage leaves nothing behind");
        fine.then(|| to.split_off(1))
    }

    #[test]
    fn hex_of_either_case() {
        assert_eq!(bytes(hex, "00fFA9"), Some(vec![0, 255, 0xa9]));
        assert_eq!(bytes(hex, ""), Some(vec![]));
        for wrong in ["0", "0g", "g0", "é"] {
            assert_eq!(bytes(hex, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn base64_of_both_alphabets() {
        // RFC 4648, section 10, and bytes whose digits differ between the alphabets.
        for (text, expected) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zg", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg==", b"foob"),
            ("Zm9vYmE", b"fooba"),
            ("Zm9vYmFy", b"foobar"),
            ("+/+/", b"\xfb\xff\xbf"),
            ("-_-_", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(bytes(base64, text).as_deref(), Some(expected), "{text}");
        }
        for wrong in ["Z", "Zm9vY", "Z===", "Zm 9", "Zg==Zg=="] {
            assert_eq!(bytes(base64, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn escapes() {
        let text = |content: &str| {
            let mut to = String::from("x");
            (unescape(content.as_bytes(), &mut to), to)
        };
        let fine = |to: &str| (Unescaped::Fine, format!("x{to}"));
        assert_eq!(text("plain é"), fine("plain é"));
        assert_eq!(text(r#"\"\\\/\b\f\n\r\t"#), fine("\"\\/\u{8}\u{c}\n\r\t"));
        assert_eq!(text(r"a\u00e9\u20AC\ud83d\ude00z"), fine("aé€😀z"));
        assert_eq!(text(r"\ud83dx"), (Unescaped::Replaced, "x\u{fffd}x".into()));
        assert_eq!(text(r"\ude00\ud83d"), (Unescaped::Replaced, "x\u{fffd}\u{fffd}".into()));
        assert_eq!(text(r"\ud83d\u0041"), (Unescaped::Replaced, "x\u{fffd}A".into()));
        for (wrong, at) in [(r"ab\q", 2), (r"\u12g4", 0), (r"\u123", 0), (r"ab\", 2)] {
            assert_eq!(text(wrong).0, Unescaped::Wrong(at), "{wrong}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let mut to = String::new();
        assert_eq!(unescape(b"a\xff\\n\xc3", &mut to), Unescaped::Replaced);
        assert_eq!(to, "a\u{fffd}\n\u{fffd}");
    }
}
