//! `tracestate` of W3C Trace Context: `key=value` of tracers on the way, passed on as they are.

use super::BLANKS;

/// Most members that there may be.
const MAX_MEMBERS: usize = 32;

/// The members without the white space around them; `None` where the header is none, and then nothing of it counts.
/// Of a key that is there twice, the first one counts, which was added last.
pub(super) fn parse(text: &str) -> Option<String> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut members = 0;
    for member in text.split(',').map(|member| member.trim_matches(BLANKS)).filter(|text| !text.is_empty()) {
        let (key, value) = member.split_once('=')?;
        members += 1;
        if members > MAX_MEMBERS || !is_key(key) || !is_value(value) {
            return None;
        }
        if seen.iter().all(|(other, _)| *other != key) {
            seen.push((key, value));
        }
    }
    let texts: Vec<String> = seen.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Some(texts.join(","))
}

/// Up to 256 characters, of which the first is a letter or a digit: the keys of level 2, among which those of level 1 are.
fn is_key(key: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    key.as_bytes().first().is_some_and(is_first) && key.len() <= 256 && key.bytes().all(is_part)
}

/// Up to 256 printable characters; white space at its end was not part of it.
fn is_value(value: &str) -> bool {
    let is_part = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    (1..=256).contains(&value.len()) && value.bytes().all(is_part)
}
