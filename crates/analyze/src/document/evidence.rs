//! The figures of a finding in words: the end of a key is the unit of its value.

use serde_json::Value;

use crate::report::units::{byte_rate, bytes, count, duration, percent, signed_bytes};

/// A figure of evidence in words: its key without the unit, and its value in it; empty where it says nothing.
fn figure(key: &str, value: &Value) -> String {
    labelled(key, value).map_or_else(String::new, |(label, value)| format!("{label} {value}"))
}

/// The same in two parts.
pub(super) fn labelled(key: &str, value: &Value) -> Option<(String, String)> {
    let (label, value) = match value {
        Value::Number(number) => {
            let plain = number.as_f64().unwrap_or(0.0);
            let whole = number.as_u64().unwrap_or(plain.max(0.0).round() as u64);
            match key.rsplit_once('_') {
                Some((label, "ns")) => (label, duration(whole)),
                Some((label, "bytes")) if plain < 0.0 => (label, signed_bytes(plain.round() as i64)),
                Some((label, "bytes")) => (label, bytes(whole)),
                _ if key == "bytes" => (key, bytes(whole)),
                _ if key == "bytes_per_s" => ("throughput", byte_rate(plain)),
                // A share of nothing is no evidence.
                Some((_, "share")) if plain == 0.0 => return None,
                Some((label, "share")) => (label, percent(plain)),
                Some((label, "ratio")) => (label, format!("{plain:.2}")),
                _ if key == "p_value" => {
                    ("p", if plain < 0.001 { "< 0.001".into() } else { format!("{plain:.3}") })
                }
                _ if number.is_f64() => (key, format!("{plain:.2}")),
                _ => (key, number.as_u64().map_or_else(|| number.to_string(), count)),
            }
        }
        Value::String(text) => (key, text.clone()),
        Value::Bool(flag) => (key, flag.to_string()),
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(items) => (key, items.iter().map(item).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) if fields.is_empty() => return None,
        Value::Object(_) => (key, item(value)),
        Value::Null => return None,
    };
    Some((label.replace('_', " "), value))
}

/// The elements of a list in words; nothing for what is none, or has one.
pub(super) fn items(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| items.len() > 1)?;
    Some(items.iter().map(item).collect())
}

/// An element of a list: its name and its figures.
fn item(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut parts: Vec<String> = Vec::new();
            for (key, value) in fields {
                match value {
                    Value::String(name) => parts.insert(0, name.clone()),
                    Value::Number(number) if number.is_u64() && !key.contains("_bytes") => {
                        parts.push(format!("{key} {}", count(number.as_u64().unwrap_or(0))));
                    }
                    _ => parts.push(format!("({})", figure(key, value))),
                }
            }
            parts.join(" ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_told_in_their_units() {
        let cases = [
            ("wait_p50_ns", json!(2_000_000), "wait p50 2.00 ms"),
            ("queue_bytes", json!(2_048), "queue 2.00 KiB"),
            ("bytes", json!(1_200_000), "bytes 1.14 MiB"),
            ("bytes_per_s", json!(2_000_636.0), "throughput 1.91 MiB/s"),
            ("steps", json!(1_200), "steps 1,200"),
            ("lost_share", json!(0.0), ""),
        ];
        for (key, value, words) in cases {
            assert_eq!(figure(key, &value), words, "{key}");
        }
    }
}
