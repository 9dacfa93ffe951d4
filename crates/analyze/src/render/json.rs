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

/// Compact JSON with line breaks at the outer levels of nesting.
fn lines(compact: &str) -> String {
    let mut text = String::with_capacity(compact.len() + compact.len() / 16);
    let mut depth = 0;
    let mut in_string = false;
    let mut is_escaped = false;
    let mut letters = compact.chars().peekable();
    while let Some(letter) = letters.next() {
        if in_string {
            text.push(letter);
            in_string = is_escaped || letter != '"';
            is_escaped = letter == '\\' && !is_escaped;
            continue;
        }
        match letter {
            '"' => in_string = true,
            '{' | '[' => {
                depth += 1;
                text.push(letter);
                // Nothing stays on one line with its bracket.
                if depth <= INDENTED && !matches!(letters.peek(), Some('}' | ']')) {
                    line(&mut text, depth);
                }
                continue;
            }
            '}' | ']' => {
                if depth <= INDENTED && !text.ends_with(['{', '[']) {
                    line(&mut text, depth.saturating_sub(1));
                }
                depth = depth.saturating_sub(1);
            }
            ',' if depth <= INDENTED => {
                text.push(letter);
                line(&mut text, depth);
                continue;
            }
            ':' if depth <= INDENTED => {
                text.push_str(": ");
                continue;
            }
            _ => {}
        }
        text.push(letter);
    }
    text.push('\n');
    text
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
