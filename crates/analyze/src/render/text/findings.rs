//! The findings: what was found, the figures behind it, what to do, what it can bring; and what the other
//! rules say.

use serde_json::Value;

use super::page::{Look, Page};
use super::width::left;
use crate::report::units::{bytes, count, duration, percent, signed_bytes};
use crate::report::{Bottleneck, Report};

/// Severity from which a finding stands out.
pub(super) const NOTICE: f64 = 10.0;
/// Severity from which it is alarming.
const ALARM: f64 = 40.0;

/// Notes shown.
const NOTES: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    if report.bottlenecks.is_empty() {
        page.heading("No findings");
    } else {
        page.heading("Findings");
        for (position, found) in report.bottlenecks.iter().enumerate() {
            if position > 0 {
                page.blank();
            }
            finding(position + 1, found, page);
        }
    }
    if !report.bottlenecks.is_empty()
        && report.detailed_metrics.rules.iter().any(|rule| rule.because.is_some())
    {
        page.heading("Also checked");
    }
    let others = report.detailed_metrics.rules.iter().filter_map(|rule| Some((rule, rule.because.as_ref()?)));
    for (rule, because) in others {
        let state = if rule.state == "fine" { "fine" } else { "not enough data" };
        let first = format!("  {} ", left(rule.rule, 20));
        page.paragraph(Look::Dim, &first, &format!("{state}: {because}"));
    }
    for note in report.notes.iter().take(NOTES) {
        page.paragraph(Look::Plain, "  Note: ", &note.text);
    }
    page.more(report.notes.len(), NOTES, "notes");
}

fn finding(number: usize, found: &Bottleneck, page: &mut Page) {
    let look = match found.severity {
        severity if severity >= ALARM => Look::Alarm,
        severity if severity >= NOTICE => Look::Notice,
        _ => Look::Heading,
    };
    let first = format!("{number:>2}. ");
    page.paragraph(look, &first, &found.title);
    let mut about = vec![format!("severity {:.0}", found.severity), found.rule.to_owned()];
    about.extend(found.rank.map(|rank| format!("rank {rank}")));
    about.extend(found.section.as_ref().map(|section| format!("in {section}")));
    page.paragraph(Look::Plain, "    ", &about.join(", "));
    let evidence: Vec<String> = found
        .evidence
        .iter()
        .map(|(key, value)| figure(key, value))
        .filter(|text| !text.is_empty())
        .collect();
    if !evidence.is_empty() {
        page.paragraph(Look::Dim, "    Because: ", &format!("{}.", evidence.join("; ")));
    }
    page.paragraph(Look::Plain, "    What to do: ", &found.recommendation);
    if let Some(gain) = &found.predicted_gain {
        let because = gain.because.as_ref().map(|because| format!(": {because}"));
        let text = format!(
            "{} {} of the step time ({} less, {} left){}.",
            gain.method.as_str(),
            percent(gain.share),
            duration(gain.saved_ns_per_step),
            duration(gain.step_time_ns),
            because.unwrap_or_default()
        );
        page.paragraph(Look::Plain, "    Gain: ", &text);
    }
}

/// A figure of evidence in words: its key without the unit, and its value in it.
fn figure(key: &str, value: &Value) -> String {
    let (label, value) = match value {
        Value::Number(number) => {
            let plain = number.as_f64().unwrap_or(0.0);
            let whole = number.as_u64().unwrap_or(plain.max(0.0).round() as u64);
            match key.rsplit_once('_') {
                Some((label, "ns")) => (label, duration(whole)),
                Some((label, "bytes")) if plain < 0.0 => (label, signed_bytes(plain.round() as i64)),
                Some((label, "bytes")) => (label, bytes(whole)),
                // A share of nothing is no evidence.
                Some((_, "share")) if plain == 0.0 => return String::new(),
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
        Value::Array(items) if items.is_empty() => return String::new(),
        Value::Array(items) => (key, items.iter().map(item).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) if fields.is_empty() => return String::new(),
        Value::Object(_) => (key, item(value)),
        Value::Null => return String::new(),
    };
    format!("{} {value}", label.replace('_', " "))
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
