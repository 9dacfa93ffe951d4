//! JSON with sorted keys, two blanks a level and a line end behind it: what a diff can show.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::Outcome;

pub(super) fn pretty(value: &impl Serialize) -> Outcome<String> {
    let failed = |error| format!("failed to write JSON: {error}");
    let mut out = String::new();
    write(&serde_json::to_value(value).map_err(failed)?, 0, &mut out);
    out.push('\n');
    Ok(out)
}

fn write(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            list(out, ('{', '}'), depth, sorted.into_iter(), |out, (key, value)| {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write(value, depth + 1, out);
            });
        }
        Value::Array(items) if !items.is_empty() => {
            list(out, ('[', ']'), depth, items.iter(), |out, value| write(value, depth + 1, out));
        }
        Value::Number(number) => match number.as_f64().filter(|number| number.fract() == 0.0) {
            // Grafana writes no fractions of zero.
            Some(whole) => out.push_str(&format!("{whole:.0}")),
            None => out.push_str(&number.to_string()),
        },
        value => out.push_str(&value.to_string()),
    }
}

fn list<T>(
    out: &mut String,
    (open, close): (char, char),
    depth: usize,
    items: impl Iterator<Item = T>,
    mut item: impl FnMut(&mut String, T),
) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    out.push(open);
    for (index, value) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        line(out, depth + 1);
        item(out, value);
    }
    line(out, depth);
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_numbers_short() {
        let value = serde_json::json!({"b": [1.0, 0.5, {}], "a": {"d": null, "c": "x\"y"}});
        let text = pretty(&value).unwrap();
        let expected = "{\n  \"a\": {\n    \"c\": \"x\\\"y\",\n    \"d\": null\n  },\n  \"b\": [\n    1,\n    0.5,\n    {}\n  ]\n}\n";
        assert_eq!(text, expected);
    }
}
