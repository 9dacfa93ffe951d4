//! The scans against others that look at one byte at a time.

use proptest::prelude::*;

use super::*;

/// Text in which everything that matters is frequent.
fn dense() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(br#""\{}[]ax:, "#.to_vec()), 0..200)
}

/// The end of a container, one byte at a time.
fn slow_container_end(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
    for (i, &byte) in bytes.iter().enumerate() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match byte {
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

proptest! {
    #[test]
    fn containers_end_where_counting_says(text in dense()) {
        let text = [b"{", &text[..]].concat();
        prop_assert_eq!(container_end(&text, 0), slow_container_end(&text));
    }

    #[test]
    fn string_marks_are_found_at_once(text in dense(), from in 0..200_usize) {
        let expected = (from..text.len()).find(|&i| text[i] == b'"' || text[i] == b'\\');
        prop_assert_eq!(string_mark(&text, from), expected);
    }

    #[test]
    fn the_last_schema_url_is_found(head in dense(), tail in dense(), snake: bool) {
        let key: &[u8] = if snake { br#""schema_url""# } else { br#""schemaUrl""# };
        let text = [&head, key, &tail].concat();
        prop_assert_eq!(last_schema_url(&text), head.len() + key.len());
        prop_assert_eq!(last_schema_url(&head), 0);
    }
}
