//! Format `json`: the report as one object, described by `schema/report.schema.json`. Indented down to the
//! elements of its lists, so that it reads and compares by the line; each element is one line, so that long
//! series stay small.

use super::{Options, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer = Renderer {
    name: "json",
    about: "for programs, described by a JSON Schema",
    output: Output::Text(render),
};

/// Nesting down to which every value has a line of its own.
const INDENTED: usize = 2;

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let compact = serde_json::to_string(report).map_err(|error| RenderError(error.to_string()))?;
    Ok(lines(&compact))
}

/// Compact JSON with line breaks at the outer levels of nesting. What is between two of these is taken over as a whole.
fn lines(compact: &str) -> String {
    let mut text = String::with_capacity(compact.len() + compact.len() / 16);
    let mut depth = 0usize;
    // What was taken over so far.
    let mut done = 0;
    let bytes = compact.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = at + 1;
        let mut take = |text: &mut String, to: usize| {
            text.push_str(compact.get(done..to).unwrap_or_default());
            done = to;
        };
        match byte {
            b'"' => {
                at = end_of_string(bytes, next);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                // Nothing stays on one line with its bracket.
                if depth <= INDENTED && !matches!(bytes.get(next), Some(b'}' | b']')) {
                    take(&mut text, next);
                    line(&mut text, depth);
                }
            }
            b'}' | b']' => {
                let is_empty =
                    at.checked_sub(1).is_some_and(|last| matches!(bytes.get(last), Some(b'{' | b'[')));
                if depth <= INDENTED && !is_empty {
                    take(&mut text, at);
                    line(&mut text, depth.saturating_sub(1));
                }
                depth = depth.saturating_sub(1);
            }
            b',' if depth <= INDENTED => {
                take(&mut text, next);
                line(&mut text, depth);
            }
            b':' if depth <= INDENTED => {
                take(&mut text, next);
                text.push(' ');
            }
            _ => {}
        }
        at = next;
    }
    text.push_str(compact.get(done..).unwrap_or_default());
    text.push('\n');
    text
}

/// Where a string whose content begins at `at` is over.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    at
}

fn line(text: &mut String, depth: usize) {
    text.push('\n');
    (0..depth).for_each(|_| text.push_str("  "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_levels_are_lines_and_inner_ones_are_not() {
        let compact = r#"{"a":[{"b":[1,2],"c":{}},3],"d":{},"e":[],"f":{"g":null}}"#;
        let expected = "{\n  \"a\": [\n    {\"b\":[1,2],\"c\":{}},\n    3\n  ],\n  \"d\": {},\n  \"e\": [],\n  \
                        \"f\": {\n    \"g\": null\n  }\n}\n";
        assert_eq!(lines(compact), expected);
    }

    #[test]
    fn strings_are_left_alone() {
        let text = r#"{"a,b":"{[:,\"]}\\","c":"\\\""}"#;
        assert_eq!(lines(text), "{\n  \"a,b\": \"{[:,\\\"]}\\\\\",\n  \"c\": \"\\\\\\\"\"\n}\n");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&lines(text)), value(text));
    }
}
