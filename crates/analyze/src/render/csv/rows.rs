//! The JSON report with what tables need besides: lists of what it has as several fields, and rows for the rest of
//! what some lists partition.

use serde_json::{Map, Value, json};

use crate::document::periods::every;
use crate::report::Report;

/// The report to select rows from.
pub(super) fn of(report: &Report) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(report)?;
    let waits = &value["detailed_metrics"]["waits"];
    let figures =
        [("wait_ns", "wait"), ("produce_ns", "produce"), ("queue_ns", "queue"), ("depth_batches", "depth")];
    let waits = figures.map(|(figure, name)| json!({ "figure": figure, "stats": waits[name] }));
    let fates = fates(&value["losses"]);
    value["waits"] = json!(waits);
    value["fates"] = Value::Array(fates);
    memory(&mut value["memory"]);
    hosts(&mut value);
    for (row, finding) in list(&mut value["findings"]).zip(&report.findings) {
        row["evidence"] = finding.evidence.iter().map(|(key, value)| evidence(key, value)).collect();
    }
    for (mode, row) in list(&mut value["detailed_metrics"]["modes"]).zip(&report.detailed_metrics.modes) {
        for (step, slow) in list(&mut mode["slowest"]).zip(&row.slowest) {
            step["every"] = json!(every(report, row.mode, slow.step));
        }
    }
    for series in list(&mut value["detailed_metrics"]["phase_series"]) {
        for point in list(&mut series["points"]) {
            // What no phase covers.
            let rest = json!({ "exposed_ns": point["unattributed_ns"] });
            push(&mut point["exposed"], rest);
        }
    }
    for series in list(&mut value["detailed_metrics"]["values"]) {
        let (shift, unnumbered) = (series["shift"].clone(), series["unnumbered"].take());
        list(&mut series["points"]).for_each(|point| point["shift"] = shift.clone());
        // Values that belong to no numbered step have no step number.
        if let Value::Object(mut point) = unnumbered {
            point.remove("step");
            push(&mut series["points"], Value::Object(point));
        }
    }
    for example in list(&mut value["exemplars"]) {
        let lanes = example["lanes"].clone();
        for span in list(&mut example["spans"]) {
            let lane = span["lane"].as_u64().and_then(|lane| lanes.get(usize::try_from(lane).ok()?));
            for name in ["thread_id", "thread_name"] {
                span[name] = lane.map_or(Value::Null, |lane| lane[name].clone());
            }
        }
    }
    list(&mut value["ranks"]).for_each(rank_phases);
    Ok(value)
}

fn list(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

fn push(value: &mut Value, row: Value) {
    if let Value::Array(rows) = value {
        rows.push(row);
    }
}

/// The same object with a field more.
fn with(value: &Value, name: &str, field: &str) -> Value {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.insert(name.into(), field.into());
    Value::Object(fields)
}

/// A figure of a finding; lists and objects are JSON.
fn evidence(key: &str, value: &Value) -> Value {
    let is_plain = !value.is_array() && !value.is_object();
    json!({ "key": key, "value": if is_plain { value.clone() } else { value.to_string().into() } })
}

fn fates(losses: &Value) -> Vec<Value> {
    let plain = |fate: &str, spans: &Value| json!({ "fate": fate, "spans": spans });
    let several = |fate: &'static str, name: &str| {
        losses[name].as_array().into_iter().flatten().map(move |row| with(row, "fate", fate))
    };
    let mut rows = Vec::new();
    rows.extend(
        Some(&losses["emitted"]).filter(|spans| !spans.is_null()).map(|spans| plain("emitted", spans)),
    );
    rows.extend(several("exported", "exported").chain(several("dropped", "dropped")));
    rows.push(plain("missing", &losses["missing_spans"]));
    rows.push(plain("unplaced", &losses["unplaced"]));
    rows
}

fn memory(memory: &mut Value) {
    if memory.is_null() {
        return;
    }
    let kinds = ["live", "rss"].into_iter().filter(|kind| !memory[kind].is_null());
    let kinds: Vec<Value> = kinds.map(|kind| with(&memory[kind], "memory", kind)).collect();
    memory["kinds"] = Value::Array(kinds);
    let held = &mut memory["by_section"];
    if held.is_null() {
        return;
    }
    let paths: Vec<Value> = list(&mut held["sections"]).map(|section| section["path"].clone()).collect();
    let (mode, shift) = (held["mode"].clone(), held["shift"].clone());
    for point in list(&mut held["points"]) {
        let bytes = point["sections"].as_array().cloned().unwrap_or_default();
        let rows =
            paths.iter().zip(bytes).map(|(path, bytes)| json!({ "section": path, "retained_bytes": bytes }));
        let rest = json!({ "retained_bytes": point["other_bytes"] });
        let rows: Vec<Value> = rows.chain([rest]).collect();
        point["sections"] = Value::Array(rows);
        point["mode"] = mode.clone();
        point["shift"] = shift.clone();
    }
    list(&mut held["sections"]).for_each(|section| section["what"] = "section".into());
    for rest in ["other", "total"] {
        let row = with(&held[rest], "what", rest);
        push(&mut held["sections"], row);
    }
}

/// A row for each figure of a machine, a process or a GPU, and one for each of its stretches.
fn hosts(value: &mut Value) {
    let hosts = value["host"]["hosts"].as_array().cloned().unwrap_or_default();
    let devices = value["gpu"]["devices"].as_array().cloned().unwrap_or_default();
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    for (at, host) in hosts.iter().enumerate() {
        let mut add = |of: Value, figures: &Value| {
            for row in figures.as_array().into_iter().flatten() {
                let mut fields = of.as_object().cloned().unwrap_or_default();
                fields.insert("host".into(), host["name"].clone());
                for key in ["figure", "about", "mean", "min", "max"] {
                    fields.insert(key.into(), row[key].clone());
                }
                let stretches = host["stretches"].as_array().into_iter().flatten();
                for (stretch, value) in stretches.zip(row["values"].as_array().into_iter().flatten()) {
                    let mut point = fields.clone();
                    point.extend(stretch.as_object().cloned().unwrap_or_default());
                    point.insert("value".into(), value.clone());
                    points.push(Value::Object(point));
                }
                rows.push(Value::Object(fields));
            }
        };
        add(json!({}), &host["figures"]);
        add(json!({}), &host["gauges"]);
        for process in host["processes"].as_array().into_iter().flatten() {
            add(json!({ "rank": process["rank"] }), &process["figures"]);
        }
        for gpu in devices.iter().filter(|gpu| gpu["host"] == json!(at)) {
            let of = json!({ "gpu": gpu["name"], "gpu_id": gpu["id"], "model": gpu["model"] });
            add(of, &gpu["figures"]);
        }
    }
    if !hosts.is_empty() {
        value["host"]["rows"] = Value::Array(rows);
        value["host"]["points"] = Value::Array(points);
    }
}

fn rank_phases(rank: &mut Value) {
    let mut phases: Vec<Map<String, Value>> = Vec::new();
    for (list, column) in
        [("phases_per_step", "exposed_per_step_ns"), ("phases_between_steps", "exposed_between_per_step_ns")]
    {
        for time in rank[list].as_array().into_iter().flatten() {
            let exposed = time["exposed_ns"].clone();
            match phases.iter_mut().find(|row| row.get("phase") == time.get("phase")) {
                Some(row) => drop(row.insert(column.into(), exposed)),
                None => {
                    let mut row = Map::new();
                    row.insert("phase".into(), time["phase"].clone());
                    row.insert("exposed_per_step_ns".into(), 0.into());
                    row.insert("exposed_between_per_step_ns".into(), 0.into());
                    row.insert(column.into(), exposed);
                    phases.push(row);
                }
            }
        }
    }
    rank["phases"] = phases.into_iter().map(Value::Object).collect();
}
