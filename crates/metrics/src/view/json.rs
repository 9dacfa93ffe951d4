//! The points of a snapshot as one line of JSON: `{"taken_unix_ns":…,"points":[{"metric":…,"attributes":{…},"value":…}]}`.

use std::fmt::Write as _;

use stepscope_core::vocabulary::Metric;

use crate::points::{Label, Series, Value, Visitor, visit};
use crate::snapshot::Snapshot;

/// Writes the line, its end included, after what is in `out`.
pub fn render(snapshot: &Snapshot, budget: usize, out: &mut String) -> Series {
    let _ = write!(out, "{{\"taken_unix_ns\":{},\"points\":[", snapshot.taken_unix_ns);
    let series = visit(snapshot, budget, &mut Writer { out, row: None, is_first: true });
    out.push_str("]}\n");
    series
}

struct Writer<'o> {
    out: &'o mut String,
    row: Option<&'static Metric>,
    is_first: bool,
}

impl Visitor for Writer<'_> {
    fn metric(&mut self, row: &'static Metric) {
        self.row = Some(row);
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let Some(row) = self.row else { return };
        if !std::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        let _ = write!(self.out, "{{\"metric\":\"{}\",\"unit\":\"{}\",\"attributes\":{{", row.name, row.unit);
        for (index, (key, text)) in labels.iter().enumerate() {
            let _ = write!(self.out, "{}\"{key}\":\"", if index == 0 { "" } else { "," });
            escape(self.out, text);
            self.out.push('"');
        }
        let _ = match value {
            Value::Int(value) => write!(self.out, "}},\"value\":{value}}}"),
            // JSON has no words for what is no number.
            Value::Double(value) if !value.is_finite() => write!(self.out, "}},\"value\":null}}"),
            Value::Double(value) => write!(self.out, "}},\"value\":{value}}}"),
        };
    }
}

fn escape(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Sensor;

    #[test]
    fn it_is_json_whatever_names_are() {
        let mut snapshot = Snapshot { taken_unix_ns: 5, ..Snapshot::default() };
        snapshot.sensors = vec![Sensor { name: "a\"b\\c\u{1}ü".into(), celsius: Some(f64::INFINITY) }];
        let mut out = String::new();
        render(&snapshot, 10, &mut out);
        assert!(out.starts_with("{\"taken_unix_ns\":5,\"points\":[{\"metric\":\"hw.temperature\",\"unit\":\"Cel\",\"attributes\":{\"hw.id\":\"a\\\"b\\\\c\\u0001ü\","));
        assert!(out.contains("\"value\":null}"));
        assert!(out.ends_with("]}\n"));
    }
}
