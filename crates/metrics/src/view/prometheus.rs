//! Prometheus' text format 0.0.4 and OpenMetrics 1.0, rendered from a snapshot. Names and heads of families are made once
//! and kept.

use std::fmt::Write as _;

use stepscope_core::vocabulary::{Instrument, Metric};

use super::names;
use super::number::number;
use crate::points::{Label, Series, Value, Visitor, visit};
use crate::snapshot::Snapshot;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `text/plain; version=0.0.4`.
    Text,
    /// `application/openmetrics-text; version=1.0.0`.
    OpenMetrics,
}

impl Format {
    /// The one that a scraper with this `Accept` takes; text, where it does not say.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        let mut quality_of = [None, None];
        for offer in accept.split(',') {
            let mut parts = offer.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut quality, mut version) = (1.0, None);
            for part in parts {
                match part.split_once('=') {
                    Some(("q", text)) => quality = text.parse().unwrap_or(0.0),
                    Some(("version", text)) => version = Some(text.to_owned()),
                    _ => {}
                }
            }
            let index = match (&*kind, version.as_deref()) {
                ("application/openmetrics-text", None | Some("1.0.0" | "0.0.1")) => 1,
                ("text/plain", None | Some("0.0.4")) | ("*/*" | "text/*", _) => 0,
                _ => continue,
            };
            if let Some(best) = quality_of.get_mut(index) {
                *best = Some(best.map_or(quality, |best: f64| best.max(quality)));
            }
        }
        match quality_of {
            [text, Some(open)] if open > 0.0 && text.is_none_or(|text| open >= text) => Self::OpenMetrics,
            _ => Self::Text,
        }
    }

    /// The `Content-Type` of what is rendered.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Renders snapshots, one after the other.
#[derive(Debug)]
pub struct Renderer {
    format: Format,
    families: Vec<Family>,
}

#[derive(Debug)]
struct Family {
    row: &'static Metric,
    head: String,
    sample: String,
    /// Its attributes and the heads of their labels, in the order of the table.
    labels: Vec<(&'static str, String)>,
}

impl Renderer {
    /// A renderer for one of the formats.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, families: Vec::new() }
    }

    /// Writes the text after what is in `out`. `resource` are the attributes of `target_info`.
    pub fn render(
        &mut self,
        snapshot: &Snapshot,
        budget: usize,
        resource: &[(&'static str, String)],
        out: &mut String,
    ) -> Series {
        self.target(resource, out);
        let mut writer = Writer { renderer: self, out, next: 0, family: 0 };
        let series = visit(snapshot, budget, &mut writer);
        if self.format == Format::OpenMetrics {
            out.push_str("# EOF\n");
        }
        series
    }

    fn target(&self, resource: &[(&'static str, String)], out: &mut String) {
        if resource.is_empty() {
            return;
        }
        let kind = match self.format {
            Format::Text => "# HELP target_info Attributes of all series.\n# TYPE target_info gauge\n",
            Format::OpenMetrics => "# HELP target Attributes of all series.\n# TYPE target info\n",
        };
        out.push_str(kind);
        out.push_str("target_info");
        for (index, (key, text)) in resource.iter().enumerate() {
            label(out, index, &label_head(key), text);
        }
        out.push_str("\"} 1\n");
    }

    fn family(&self, row: &'static Metric) -> Family {
        let (sample, family) = (names::sample(row), names::family(row));
        let name = if self.format == Format::OpenMetrics { &family } else { &sample };
        let kind = if row.instrument == Instrument::Counter { "counter" } else { "gauge" };
        let mut head = format!("# HELP {name} ");
        escape(&mut head, row.doc.trim(), self.format == Format::OpenMetrics);
        let _ = write!(head, "\n# TYPE {name} {kind}\n");
        // The format wants the unit at the end of the name.
        let is_last = |unit: &String| family.strip_suffix(&**unit).is_some_and(|rest| rest.ends_with('_'));
        if self.format == Format::OpenMetrics
            && let Some(unit) = names::unit(row).filter(is_last)
        {
            let _ = writeln!(head, "# UNIT {name} {unit}");
        }
        let labels = row.attributes.iter().map(|key| (*key, label_head(key))).collect();
        Family { row, head, sample, labels }
    }
}

struct Writer<'r> {
    renderer: &'r mut Renderer,
    out: &'r mut String,
    /// Where the next family is, if it is the same as last time.
    next: usize,
    family: usize,
}

impl Visitor for Writer<'_> {
    fn metric(&mut self, row: &'static Metric) {
        let families = &self.renderer.families;
        let is_it = |family: &Family| std::ptr::eq(family.row, row);
        self.family = match families.get(self.next).filter(|family| is_it(family)) {
            Some(_) => self.next,
            None => families.iter().position(is_it).unwrap_or_else(|| {
                let family = self.renderer.family(row);
                self.renderer.families.push(family);
                self.renderer.families.len() - 1
            }),
        };
        self.next = self.family + 1;
        if let Some(family) = self.renderer.families.get(self.family) {
            self.out.push_str(&family.head);
        }
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let Some(family) = self.renderer.families.get(self.family) else { return };
        self.out.push_str(&family.sample);
        for (index, (key, text)) in labels.iter().enumerate() {
            // In the order of the table, but for what a point lacks.
            let is_it = |(attribute, _): &&(&str, String)| attribute == key;
            let known = family.labels.get(index).filter(is_it);
            match known.or_else(|| family.labels.iter().find(is_it)) {
                Some((_, head)) => label(self.out, index, head, text),
                None => label(self.out, index, &label_head(key), text),
            }
        }
        self.out.push_str(if labels.is_empty() { " " } else { "\"} " });
        number(self.out, value);
        self.out.push('\n');
    }
}

/// What is before a label's value, behind another one.
fn label_head(key: &str) -> String {
    format!("\",{}=\"", names::sanitized(key))
}

/// Without the quote at its end.
fn label(out: &mut String, index: usize, head: &str, text: &str) {
    if index == 0 {
        out.push('{');
        out.push_str(head.get(2..).unwrap_or_default());
    } else {
        out.push_str(head);
    }
    escape(out, text, true);
}

/// Backslashes, line ends and, where the place is between quotes, these. Other control characters become blanks.
fn escape(out: &mut String, text: &str, quotes: bool) {
    let special = |byte: u8| byte == b'\\' || byte < b' ' || (quotes && byte == b'"');
    if !text.bytes().any(special) {
        out.push_str(text);
        return;
    }
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            letter if letter < ' ' => out.push(' '),
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Disk;

    fn rendered(format: Format) -> String {
        let mut snapshot = Snapshot::default();
        snapshot.host.load = [Some(0.5), None, None];
        snapshot.host.uptime_s = Some(1.5);
        snapshot.disks = vec![Disk {
            name: "a\\b\"c\nd".into(),
            bytes: [Some(1), Some(u64::MAX)],
            operations: [None; 2],
            operation_s: [None, Some(2.0)],
            busy_s: None,
        }];
        let mut out = String::new();
        let resource = [("service.name", "x".to_owned())];
        Renderer::new(format).render(&snapshot, 100, &resource, &mut out);
        out
    }

    #[test]
    fn text_has_totals_in_its_heads() {
        let text = rendered(Format::Text);
        assert!(text.starts_with("# HELP target_info Attributes of all series.\n# TYPE target_info gauge\ntarget_info{service_name=\"x\"} 1\n"));
        assert!(text.contains("# TYPE system_uptime_seconds gauge\nsystem_uptime_seconds 1.5\n"));
        assert!(text.contains("# TYPE system_disk_io_bytes_total counter\nsystem_disk_io_bytes_total{system_device=\"a\\\\b\\\"c\\nd\",disk_io_direction=\"read\"} 1\n"));
        assert!(text.contains("direction=\"write\"} 18446744073709551615\n"));
        assert!(text.contains("stepscope_system_load{stepscope_load_window=\"1m\"} 0.5\n"));
        assert!(!text.contains("15m") && !text.contains("# EOF") && !text.contains("# UNIT"));
    }

    #[test]
    fn openmetrics_has_units_families_without_totals_and_an_end() {
        let text = rendered(Format::OpenMetrics);
        assert!(text.contains("# TYPE target info\ntarget_info{"));
        assert!(text.contains("# TYPE system_disk_io_bytes counter\n# UNIT system_disk_io_bytes bytes\nsystem_disk_io_bytes_total{"));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn the_format_is_what_the_scraper_prefers() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
                          text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        assert_eq!(
            Format::accepted("text/plain;version=0.0.4, application/openmetrics-text;q=0.1"),
            Format::Text
        );
        assert_eq!(Format::accepted("application/openmetrics-text; version=2.0.0"), Format::Text);
        for accept in ["", "*/*", "text/html", ";;q=,", "application/openmetrics-text;q=0"] {
            assert_eq!(Format::accepted(accept), Format::Text, "{accept}");
        }
    }
}
