//! `baggage` of W3C: `key=value;property` of applications on the way, passed on as they are.

use super::BLANKS;

/// Most members that are passed on.
const MAX_MEMBERS: usize = 180;

/// Most bytes that are passed on, in whole members.
const MAX_BYTES: usize = 8192;

/// The members that are ones, as far as they fit, and whether these are all.
pub(super) fn parse(text: &str) -> (String, bool) {
    let (mut kept, mut members, mut is_whole) = (String::new(), 0, true);
    for member in text.split(',').map(|member| member.trim_matches(BLANKS)).filter(|text| !text.is_empty()) {
        let comma = usize::from(members > 0);
        let fits = members < MAX_MEMBERS && kept.len() + comma + member.len() <= MAX_BYTES;
        if !fits || !is_member(member) {
            is_whole = false;
            continue;
        }
        if comma > 0 {
            kept.push(',');
        }
        kept.push_str(member);
        members += 1;
    }
    (kept, is_whole)
}

/// `key=value`, and properties behind it, each of which is a key or `key=value`.
fn is_member(member: &str) -> bool {
    let is_pair =
        |(key, value): (&str, &str)| is_key(key.trim_matches(BLANKS)) && is_value(value.trim_matches(BLANKS));
    let mut parts = member.split(';');
    let is_entry = parts.next().and_then(|entry| entry.split_once('=')).is_some_and(is_pair);
    is_entry
        && parts.all(|property| {
            property.split_once('=').map_or_else(|| is_key(property.trim_matches(BLANKS)), is_pair)
        })
}

/// A token of HTTP.
fn is_key(key: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !key.is_empty() && key.bytes().all(is_part)
}

/// Visible characters but for `"`, `,`, `;` and `\`, others being percent-encoded.
fn is_value(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\'))
}
