//! Jaeger JSON as a target, in the mapping that the reader undoes (see `jaeger::tag`): resources become
//! processes, attributes tags, events logs, parents and links references, and what OTLP has fields for tags. References have no tags in Jaeger, which passes
//! over those that are written here.

use std::cmp::Reverse;
use std::io::{self, Write};

use serde_json::{Value as Json, json};
use stepscope_core::attr;
use stepscope_otlp::StatusCode;
use stepscope_otlp::json::encode_base64;

use super::gather::{Gather, Gathered};
use super::item::{Any, Item, Process, find};
use super::lost::{self, Lost};
use crate::assembly::hex;
use crate::jaeger::tag;

const NS_PER_US: u64 = 1_000;

/// Writes one document.
pub(super) fn write(gather: Gather, lost: &mut Lost, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"data\":[")?;
    let mut total = 0u64;
    gather.finish(lost, &mut |mut trace, lost| {
        // In the order that it has when it is read back, without nanoseconds.
        trace.spans.sort_by(|(_, a), (_, b)| {
            let key = |item: &Item| (item.start_ns / NS_PER_US, Reverse(item.end_ns / NS_PER_US));
            key(a).cmp(&key(b)).then_with(|| a.span_id.cmp(&b.span_id))
        });
        out.write_all(if total > 0 { b",\n" } else { b"\n" })?;
        total += 1;
        serde_json::to_writer(&mut *out, &document(&trace, lost))?;
        Ok(())
    })?;
    out.write_all(b"\n],\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null}\n")
}

fn document(trace: &Gathered, lost: &mut Lost) -> Json {
    let trace_id = hex(&trace.trace_id);
    // A process of Jaeger has no scope: those that differ in it only are one.
    let mut processes: Vec<&Process> = Vec::new();
    // By their first spans, so that what is written does not depend on the order of what was read.
    let mut numbers: Vec<Option<usize>> = vec![None; trace.processes.len()];
    let mut spans = Vec::with_capacity(trace.spans.len());
    for (index, item) in &trace.spans {
        let (Some(process), Some(number)) = (trace.processes.get(*index), numbers.get_mut(*index)) else {
            continue;
        };
        let number = *number.get_or_insert_with(|| {
            let known = processes.iter().position(|known| known.attributes == process.attributes);
            known.unwrap_or_else(|| {
                processes.push(process);
                processes.len() - 1
            }) + 1
        });
        spans.push(span(item, &trace_id, process, number, lost));
    }
    let processes: serde_json::Map<String, Json> = (1..)
        .zip(&processes)
        .map(|(number, process): (usize, &&Process)| (format!("p{number}"), process_json(process, lost)))
        .collect();
    json!({"traceID": trace_id, "spans": spans, "processes": processes, "warnings": null})
}

fn process_json(process: &Process, lost: &mut Lost) -> Json {
    let name = find(&process.attributes, attr::SERVICE_NAME).and_then(Any::as_str);
    let rest = process.attributes.iter().filter(|(key, _)| name.is_none() || key != attr::SERVICE_NAME);
    let tags: Vec<Json> = rest.map(|(key, value)| tag_json(key, value, lost)).collect();
    json!({"serviceName": name.unwrap_or_default(), "tags": tags})
}

fn span(item: &Item, trace_id: &str, process: &Process, number: usize, lost: &mut Lost) -> Json {
    let fine = [item.start_ns, item.end_ns].iter().any(|ns| ns % NS_PER_US != 0);
    lost.note(lost::NANOSECONDS, u64::from(fine));
    lost.note(lost::FLAGS, u64::from(item.flags & !1 != 0));
    lost.note(lost::NEGATIVE, u64::from(item.end_ns < item.start_ns));
    let mut warnings = Json::Null;
    let mut tags = Vec::with_capacity(item.attributes.len() + 4);
    for (key, value) in &item.attributes {
        match value {
            Any::Array(texts) if key == tag::WARNINGS && texts.iter().all(|text| text.as_str().is_some()) => {
                warnings = value.to_json();
            }
            _ => tags.push(tag_json(key, value, lost)),
        }
    }
    let mut text = |key: &str, value: &str| {
        if !value.is_empty() {
            tags.push(json!({"key": key, "type": "string", "value": value}));
        }
    };
    text(tag::SCOPE_NAME, &process.scope);
    text(tag::SCOPE_VERSION, &process.version);
    let kind = usize::try_from(item.kind).ok().and_then(|kind| tag::KINDS.get(kind)).copied();
    text(tag::KIND, kind.unwrap_or_default());
    let status = StatusCode(item.status);
    text(
        tag::STATUS_CODE,
        if status == StatusCode::OK {
            "OK"
        } else if status == StatusCode::ERROR {
            "ERROR"
        } else {
            ""
        },
    );
    text(tag::STATUS_MESSAGE, &item.status_message);
    text(tag::TRACE_STATE, &item.trace_state);
    if status == StatusCode::ERROR {
        tags.push(json!({"key": tag::ERROR, "type": "bool", "value": true}));
    }
    json!({
        "traceID": trace_id,
        "spanID": hex(&item.span_id),
        "flags": item.flags & 1,
        "operationName": item.name,
        "references": references(item, trace_id, lost),
        "startTime": item.start_ns / NS_PER_US,
        "duration": (item.end_ns / NS_PER_US).saturating_sub(item.start_ns / NS_PER_US),
        "tags": tags,
        "logs": logs(item, lost),
        "processID": format!("p{number}"),
        "warnings": warnings,
    })
}

fn references(item: &Item, trace_id: &str, lost: &mut Lost) -> Vec<Json> {
    let reference = |kind: &str, trace: &str, span: &[u8]| json!({"refType": kind, "traceID": trace, "spanID": hex(span)});
    let mut references = Vec::new();
    if !item.parent_span_id.is_empty() {
        references.push(reference("CHILD_OF", trace_id, &item.parent_span_id));
    }
    for link in &item.links {
        let trace = hex(&link.trace_id);
        let kind = find(&link.attributes, tag::REF_TYPE).and_then(Any::as_str);
        let is_child = kind == Some(tag::CHILD_OF);
        let mut written =
            reference(if is_child { "CHILD_OF" } else { "FOLLOWS_FROM" }, &trace, &link.span_id);
        // What a reader would make of the reference alone needs no more words; the one that it would take for the
        // parent does.
        let is_all = kind.is_some_and(|kind| [tag::CHILD_OF, tag::FOLLOWS_FROM].contains(&kind))
            && link.attributes.len() == 1
            && !(is_child && trace == trace_id);
        if let (false, Some(members)) = (is_all, written.as_object_mut()) {
            let tags = link.attributes.iter().map(|(key, value)| tag_json(key, value, lost)).collect();
            members.insert(tag::LINK_TAGS.to_owned(), tags);
        }
        references.push(written);
    }
    references
}

fn logs(item: &Item, lost: &mut Lost) -> Vec<Json> {
    let mut logs = Vec::with_capacity(item.events.len());
    for event in &item.events {
        lost.note(lost::NANOSECONDS, u64::from(event.time_ns % NS_PER_US != 0));
        let mut fields = Vec::with_capacity(event.attributes.len() + 1);
        if !event.name.is_empty() {
            fields.push(json!({"key": tag::EVENT, "type": "string", "value": event.name}));
        }
        fields.extend(event.attributes.iter().map(|(key, value)| tag_json(key, value, lost)));
        logs.push(json!({"timestamp": event.time_ns / NS_PER_US, "fields": fields}));
    }
    logs
}

fn tag_json(key: &str, value: &Any, lost: &mut Lost) -> Json {
    let kind = match value {
        Any::Bool(_) => "bool",
        Any::Int(_) => "int64",
        Any::Double(_) => "float64",
        Any::Bytes(bytes) => {
            return json!({"key": key, "type": "binary", "value": encode_base64(bytes)});
        }
        Any::Empty | Any::Str(_) => "string",
        Any::Array(_) | Any::Map(_) => {
            lost.note(lost::NESTED, 1);
            return json!({"key": key, "type": "string", "value": value.to_json().to_string()});
        }
    };
    json!({"key": key, "type": kind, "value": value.to_json()})
}
