//! Comparing printed reports byte for byte, except for named fields.

/// A printed JSON report without the fields of these names, wherever they are and whatever they hold; nothing
/// else of it is changed.
#[must_use]
pub fn without(text: &str, fields: &[&str]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find('"') {
        let (before, quoted) = rest.split_at(begin);
        kept.push_str(before);
        let end = string_end(quoted);
        let (name, after) = quoted.split_at(end);
        let value = after.strip_prefix(": ").or_else(|| after.strip_prefix(':'));
        rest = match value {
            Some(value) if fields.contains(&name.trim_matches('"')) => &value[value_end(value)..],
            _ => {
                kept.push_str(name);
                after
            }
        };
    }
    kept.push_str(rest);
    kept
}

/// Behind the string that begins `text`.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Behind the value that begins `text`, before the comma or bracket that follows it.
fn value_end(text: &str) -> usize {
    let (mut index, mut depth) = (0, 0_u32);
    while let Some(&byte) = text.as_bytes().get(index) {
        match byte {
            b'"' => {
                index += string_end(&text[index..]);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' | b',' if depth == 0 => return index,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        index += 1;
    }
    index
}

/// Where two texts part: the first lines that differ.
#[must_use]
pub fn difference(a: &str, b: &str) -> String {
    let differing = a.lines().zip(b.lines()).enumerate().filter(|(_, (a, b))| a != b).take(10);
    let lines: Vec<String> =
        differing.map(|(number, (a, b))| format!("line {}: {a}\n    against: {b}", number + 1)).collect();
    format!("{} and {} lines\n{}", a.lines().count(), b.lines().count(), lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_fields_are_left_out_and_nothing_else() {
        let text = r#"{"a": [{"b": 1, "x": "]\"}"}], "c": {"d":2,"e":"a, \"b\": 3"}, "f": "a"}"#;
        assert_eq!(without(text, &["a"]), r#"{, "c": {"d":2,"e":"a, \"b\": 3"}, "f": "a"}"#);
        assert_eq!(
            without(text, &["b", "d"]),
            r#"{"a": [{, "x": "]\"}"}], "c": {,"e":"a, \"b\": 3"}, "f": "a"}"#
        );
        assert_eq!(without(text, &["c", "f"]), r#"{"a": [{"b": 1, "x": "]\"}"}], , }"#);
        assert_eq!(without(text, &[]), text);
    }
}
