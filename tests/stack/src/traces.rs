//! OTLP JSON as a plain value, by trace: what a test compares with the answers of other programs. Nothing of our
//! own readers is used.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// The spans of each trace, by trace id and span id; a span that came twice is there once.
pub type Traces = BTreeMap<String, BTreeMap<String, Value>>;

/// Adds the spans of an OTLP message (`resourceSpans`).
pub fn add(traces: &mut Traces, message: &Value) {
    for span in spans(message) {
        let id = |field: &str| span[field].as_str().unwrap_or_default().to_owned();
        traces.entry(id("traceId")).or_default().insert(id("spanId"), canonical(span));
    }
}

/// The spans of an OTLP message.
pub fn spans(message: &Value) -> impl Iterator<Item = &Value> {
    each(&message["resourceSpans"])
        .flat_map(|resource| each(&resource["scopeSpans"]))
        .flat_map(|scope| each(&scope["spans"]))
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// Adds the traces in a file of JSON lines. A torn line is left out.
///
/// # Errors
/// When the file cannot be read.
pub fn of_json_lines(file: &Path, traces: &mut Traces) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| format!("failed to read {}: {error}", file.display()))?;
    for line in text.split(|&byte| byte == b'\n') {
        if let Ok(message) = serde_json::from_slice::<Value>(line) {
            add(traces, &message);
        }
    }
    Ok(())
}

/// A span with its attributes by name and without what is absent by default, so that two programs that leave out
/// different things agree.
fn canonical(span: &Value) -> Value {
    let mut span = span.clone();
    sort_attributes(&mut span);
    if let Some(fields) = span.as_object_mut() {
        fields.retain(|_, value| !is_default(value));
    }
    span
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        Value::Bool(_) => false,
    }
}

fn sort_attributes(value: &mut Value) {
    match value {
        Value::Array(items) => {
            if items.iter().all(|item| item["key"].is_string()) {
                items.sort_by(|a, b| a["key"].as_str().cmp(&b["key"].as_str()));
            }
            items.iter_mut().for_each(sort_attributes);
        }
        Value::Object(fields) => fields.values_mut().for_each(sort_attributes),
        _ => {}
    }
}

/// An answer of Jaeger's API v3 as it was before Jaeger repaired it: spans of no length, which the starts of runs
/// and epochs are, are 1 ns long there, and an attribute says so.
#[must_use]
pub fn without_repairs(mut value: Value) -> Value {
    undo_repairs(&mut value);
    value
}

fn undo_repairs(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(undo_repairs),
        Value::Object(fields) => {
            let attributes = fields.get_mut("attributes").and_then(Value::as_array_mut);
            let repaired = attributes.is_some_and(|attributes| {
                let before = attributes.len();
                attributes.retain(|entry| entry["key"] != "@jaeger@warnings");
                attributes.len() < before
            });
            if repaired && let Some(start) = fields.get("startTimeUnixNano").cloned() {
                fields.insert("endTimeUnixNano".into(), start);
            }
            fields.values_mut().for_each(undo_repairs);
        }
        _ => {}
    }
}

/// An attribute of a span: the value with its type (`{"intValue": "3"}`).
#[must_use]
pub fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    span["attributes"].as_array()?.iter().find(|entry| entry["key"] == key).map(|entry| &entry["value"])
}

/// An integer attribute of a span.
#[must_use]
pub fn integer(span: &Value, key: &str) -> Option<i64> {
    attribute(span, key)?["intValue"].as_str()?.parse().ok()
}

/// A text attribute of a span.
#[must_use]
pub fn text<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    attribute(span, key)?["stringValue"].as_str()
}

/// The root of a trace, if there is exactly one.
#[must_use]
pub fn root(spans: &BTreeMap<String, Value>) -> Option<&Value> {
    let mut roots = spans.values().filter(|span| span["parentSpanId"].is_null());
    let root = roots.next()?;
    roots.next().is_none().then_some(root)
}
