//! The findings of a report as OTLP log records, in JSON: the sentence is the body, the evidence is in attributes. Identity
//! and time of a record depend on the run alone, so that whoever gets it twice can tell.

use serde_json::{Value, json};
use stepscope_analyze::report::{FindingRow, Report};
use stepscope_core::{SCOPE_NAME, attr};

/// Severities from which a finding is a warning, and an error, to those who read logs.
const WARNING: f64 = 10.0;
const ERROR: f64 = 20.0;

/// The message.
///
/// # Errors
/// Where it cannot be written, which no report brings about.
pub(super) fn message(report: &Report, run: &str, now_ns: u64) -> Result<String, String> {
    let resource: Vec<Value> = super::resource(report, run)
        .iter()
        .map(|(key, text)| attribute(key, &Value::from(&**text)))
        .collect();
    let records: Vec<Value> =
        report.findings.iter().map(|found| record(report, run, found, now_ns)).collect();
    let message = json!({"resourceLogs": [{
        "resource": {"attributes": resource},
        "scopeLogs": [{
            "scope": {"name": SCOPE_NAME, "version": env!("CARGO_PKG_VERSION")},
            "logRecords": records,
        }],
    }]});
    serde_json::to_string(&message).map_err(|error| format!("failed to write the findings: {error}"))
}

fn record(report: &Report, run: &str, found: &FindingRow, now_ns: u64) -> Value {
    // The end of the run, which every analysis of it finds again.
    let time_ns = report.run.last_ns.or(report.run.started_ns).unwrap_or(0);
    let (number, text) = match found.severity {
        severity if severity >= ERROR => (17, "ERROR"),
        severity if severity >= WARNING => (13, "WARN"),
        _ => (9, "INFO"),
    };
    let id = format!("{run}/{}/{}", report.run.attempt, found.id);
    let gain = found.predicted_gain.as_ref();
    let mut attributes = vec![
        attribute(attr::FINDING_ID, &id.into()),
        attribute(attr::FINDING_RULE, &found.rule.into()),
        attribute(attr::FINDING_TYPE, &found.r#type.as_str().into()),
        attribute(attr::FINDING_SEVERITY, &found.severity.into()),
        attribute(attr::FINDING_ADVICE, &found.recommendation.as_str().into()),
        attribute(attr::RUN_ID, &run.into()),
        attribute(attr::RUN_ATTEMPT, &report.run.attempt.into()),
    ];
    let known = [
        (attr::PATH, found.section.as_deref().map(Value::from)),
        (attr::PHASE, found.phase.as_deref().map(Value::from)),
        (attr::RANK, found.rank.map(Value::from)),
        (attr::FINDING_GAIN, gain.map(|gain| gain.share.into())),
        (attr::FINDING_GAIN_METHOD, gain.map(|gain| json!(gain.method))),
    ];
    attributes.extend(known.iter().filter_map(|(key, value)| Some(attribute(key, value.as_ref()?))));
    for (key, value) in found.evidence.iter() {
        attributes.push(attribute(&format!("{}{key}", attr::FINDING_EVIDENCE_PREFIX), value));
    }
    json!({
        "timeUnixNano": time_ns.to_string(),
        "observedTimeUnixNano": now_ns.to_string(),
        "severityNumber": number,
        "severityText": text,
        "eventName": attr::FINDING_EVENT,
        "body": {"stringValue": found.title},
        "attributes": attributes,
    })
}

fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": any(value)})
}

/// A value as OTLP has it; whole numbers are text there.
fn any(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => json!({"intValue": whole.to_string()}),
            None => json!({"doubleValue": number}),
        },
        Value::Array(values) => {
            let values: Vec<Value> = values.iter().map(any).collect();
            json!({"arrayValue": {"values": values}})
        }
        Value::Object(members) => {
            let members: Vec<Value> = members.iter().map(|(key, value)| attribute(key, value)).collect();
            json!({"kvlistValue": {"values": members}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_otlp() {
        let cases = [
            (json!(7), json!({"intValue": "7"})),
            (json!(7.5), json!({"doubleValue": 7.5})),
            (json!("x"), json!({"stringValue": "x"})),
            (json!(["a", 1]), json!({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}})),
            (
                json!({"a": true}),
                json!({"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": true}}]}}),
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(any(&value), expected);
        }
    }
}
