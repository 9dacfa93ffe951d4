//! Ids as Jaeger writes them: hex without leading zeros. Some programs and test data write other names;
//! those become ids by their hash, so that references still meet.

use stepscope_core::identity::{SpanId, TraceId, hash_parts, mix};

/// A trace id; all zeros where there is none.
pub(super) fn trace(text: &str) -> TraceId {
    number(text, 32).map_or_else(
        || {
            let hash = hash_parts(&[text.as_bytes()]);
            (u128::from(hash) << 64 | u128::from(mix(hash))).to_be_bytes()
        },
        u128::to_be_bytes,
    )
}

/// A span id; all zeros where there is none.
pub(super) fn span(text: &str) -> SpanId {
    match number(text, 16).and_then(|number| u64::try_from(number).ok()) {
        Some(number) => number.to_be_bytes(),
        None => hash_parts(&[text.as_bytes()]).to_be_bytes(),
    }
}

/// What at most `digits` hex digits spell; nothing is 0.
fn number(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || text.len() > digits {
        return None;
    }
    if text.is_empty() { Some(0) } else { u128::from_str_radix(text, 16).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_may_be_missing() {
        assert_eq!(span("4b52eb0cabcb50a"), 0x04b5_2eb0_cabc_b50a_u64.to_be_bytes());
        assert_eq!(span("4B52EB0CABCB50A"), span("04b52eb0cabcb50a"));
        assert_eq!(trace("6c3cf93508f205"), 0x006c_3cf9_3508_f205_u128.to_be_bytes());
        assert_eq!(trace("9ced30503c58dab894a2d7598b01a87a")[..2], [0x9c, 0xed]);
        assert_eq!((trace(""), span("0")), ([0; 16], [0; 8]));
    }

    #[test]
    fn names_become_ids_that_differ() {
        let names = ["span-1", "span-2", "trace-abc", "g", "00000000000000001", "é"];
        for (index, name) in names.iter().enumerate() {
            assert_ne!(span(name), [0; 8]);
            assert_ne!(trace(name)[..8], trace(name)[8..]);
            assert!(names[..index].iter().all(|other| span(other) != span(name)));
        }
    }
}
