//! Fields of comma-separated values (RFC 4180).
//!
//! Spreadsheets run text that begins like a formula. Such text, and only text, gets an apostrophe before it, which
//! spreadsheets take for "this is text"; numbers stay as they are.

use serde_json::Value;

/// Beginnings that a spreadsheet takes for a formula, in their wide forms too.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// Writes a value. Lists of words are words; other lists, and objects, are JSON.
pub(super) fn write(value: &Value, line: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => line.push_str(if *flag { "true" } else { "false" }),
        // The shortest digits that give the same number again.
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => line.push_str(&number.to_string()),
            None => line.push_str(&number.to_string()),
        },
        Value::String(text) => field(text, line),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            field(&items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "), line);
        }
        Value::Array(_) | Value::Object(_) => field(&value.to_string(), line),
    }
}

fn field(text: &str, line: &mut String) {
    let is_formula = text.trim_start_matches([' ', '\n']).starts_with(FORMULA);
    let guard = if is_formula { "'" } else { "" };
    if is_formula || text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        line.push('"');
        line.push_str(guard);
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(value: Value) -> String {
        let mut text = String::new();
        write(&value, &mut text);
        text
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let cases = [
            ("plain/path", "plain/path"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            (" padded", "\" padded\""),
            ("", ""),
        ];
        for (text, field) in cases {
            assert_eq!(one(text.into()), field, "{text:?}");
        }
    }

    #[test]
    fn text_is_never_a_formula_and_numbers_stay_numbers() {
        for text in ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "  =1", "\n=1", "＝1"] {
            assert!(one(text.into()).starts_with("\"'"), "{text:?}: {}", one(text.into()));
        }
        assert_eq!(
            (one(json!(-5)), one(json!(-0.5)), one(json!(1e300)).len()),
            ("-5".into(), "-0.5".into(), 301)
        );
    }

    #[test]
    fn absent_is_empty_and_zero_is_not() {
        assert_eq!(
            (one(Value::Null), one(json!(0)), one(json!(["a", "b"]))),
            ("".into(), "0".into(), "a b".into())
        );
    }
}
