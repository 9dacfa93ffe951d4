//! Several services in one file: what each does stays its own, by name, and so it does through a partial.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::BTreeSet;

use common::*;
use serde_json::{Value as Json, json};
use stepscope_core::attr;
use stepscope_model::{ReadOptions, Reader, Unfinished};

/// Names and parents' names of the spans of the one trace that was read.
fn names(collected: &Collected) -> BTreeSet<(String, String)> {
    let trace = collected.last.as_ref().unwrap();
    let of = |id: u64| trace.spans.iter().find(|span| span.id == id).map_or("", |span| trace.text(span.name));
    let around = |parent: Option<u64>| parent.map_or("", of).to_owned();
    trace.spans.iter().map(|span| (around(span.parent), trace.text(span.name).to_owned())).collect()
}

/// `shop` asks `stock` and `prices` the same; `stock` asks its own database.
fn messages() -> Vec<GenMessage> {
    let trace = [5; 16];
    let of = |service: &str, spans| GenMessage {
        resource: vec![text(attr::SERVICE_NAME, service), text("host.name", "h")],
        scope: "other".into(),
        spans,
    };
    vec![
        of("shop", vec![span(trace, 1, 0, "buy", 0, 900), span(trace, 2, 1, "pay", 700, 800)]),
        of("stock", vec![span(trace, 3, 1, "look up", 10, 200), span(trace, 4, 3, "query", 20, 100)]),
        of("prices", vec![span(trace, 5, 1, "look up", 300, 400)]),
        // The span that asked is not here.
        of("audit", vec![span(trace, 6, 77, "look up", 500, 600)]),
    ]
}

fn expected() -> BTreeSet<(String, String)> {
    let pair = |(around, name): (&str, &str)| (around.to_owned(), name.to_owned());
    [
        ("", "buy"),
        ("buy", "pay"),
        ("buy", "stock: look up"),
        ("stock: look up", "query"),
        ("buy", "prices: look up"),
        ("", "audit: look up"),
    ]
    .map(pair)
    .into()
}

#[test]
fn what_several_services_do_is_told_apart_as_jaeger_does() {
    let messages = messages();
    let mut reversed = messages.clone();
    reversed.reverse();
    for messages in [&messages, &reversed] {
        for bytes in [otlp::lines(messages), otlp::prefixed(messages)] {
            assert_eq!(names(&read(&bytes).0), expected());
        }
    }
}

#[test]
fn one_service_on_several_hosts_keeps_its_names() {
    let mut messages = messages();
    for (message, host) in messages.iter_mut().zip(0..) {
        message.resource = vec![text(attr::SERVICE_NAME, "train"), int("host.name", host)];
    }
    let found = names(&read(&otlp::lines(&messages)).0);
    assert!(found.iter().all(|(_, name)| !name.contains(": ")), "{found:?}");
}

#[test]
fn services_go_with_a_partial() {
    let messages = messages();
    let suspended = |messages: &[GenMessage]| {
        let mut reader = Reader::new(ReadOptions::default());
        reader.read_stream("input", otlp::lines(messages).as_slice(), &mut Collected::default()).unwrap();
        let bytes = postcard::to_stdvec(&reader.suspend().unwrap()).unwrap();
        postcard::from_bytes::<Unfinished>(&bytes).unwrap()
    };
    let (first, second) = messages.split_at(2);
    let mut collected = Collected::default();
    let mut reader = Reader::new(ReadOptions::default());
    reader.absorb(suspended(second), &mut collected);
    reader.absorb(suspended(first), &mut collected);
    drop(reader.finish(&mut collected));
    assert_eq!(names(&collected), expected());
}

/// Spans as Jaeger keeps them in Elasticsearch: tags as objects with a type, or as fields.
fn documents(as_fields: bool) -> Vec<Json> {
    let span = |id: &str, parent: Option<&str>, service: &str, name: &str, start_us: u64| {
        let references = parent
            .map_or(json!([]), |parent| json!([{"refType": "CHILD_OF", "traceID": "1f", "spanID": parent}]));
        let mut span = json!({"traceID": "1f", "spanID": id, "flags": 1, "operationName": name, "references": references,
            "startTime": start_us, "startTimeMillis": start_us / 1_000, "duration": 40, "logs": [],
            "process": {"serviceName": service, "tags": []}});
        if as_fields {
            span["tag"] = json!({"stepscope@step": 4, "error": true});
            span["process"]["tag"] = json!({"host@name": "h"});
        } else {
            span["tags"] = json!([{"key": "stepscope.step", "type": "int64", "value": "4"}, {"key": "error", "type": "bool", "value": "true"}]);
            span["process"]["tags"] = json!([{"key": "host.name", "type": "string", "value": "h"}]);
        }
        span
    };
    vec![
        span("a", None, "shop", "buy", 1_700_000_000_000_000),
        span("b", Some("a"), "stock", "look up", 1_700_000_000_000_010),
    ]
}

#[test]
fn spans_of_jaeger_in_elasticsearch_are_read() {
    for documents in [documents(false), documents(true)] {
        let hits: Vec<Json> = documents
            .iter()
            .map(|document| json!({"_index": "jaeger-span-2026-11-30", "_id": "x", "_source": document}))
            .collect();
        let lines = |all: &[Json]| all.iter().map(|one| format!("{one}\n")).collect::<String>();
        let answer = json!({"took": 3, "timed_out": false, "_shards": {"total": 5},
            "hits": {"total": {"value": 2, "relation": "eq"}, "max_score": null, "hits": hits}});
        let whole = [
            lines(&documents),
            lines(&hits),
            Json::from(documents.clone()).to_string(),
            Json::from(hits.clone()).to_string(),
            answer.to_string(),
            serde_json::to_string_pretty(&answer).unwrap(),
        ];
        for text in whole {
            let (collected, outcome) = read(text.as_bytes());
            assert_eq!((outcome.spans, kinds(&outcome)), (2, Vec::new()), "{text}");
            let expected =
                [("", "buy"), ("buy", "stock: look up")].map(|(a, b)| (a.to_owned(), b.to_owned()));
            assert_eq!(names(&collected), expected.into(), "{text}");
            let trace = collected.last.unwrap();
            assert_eq!(trace.resource.host_name, "h", "{text}");
            assert!(trace.spans.iter().all(|span| span.is_error && span.duration_ns() == 40_000), "{text}");
            assert_eq!(trace.spans[0].figure(stepscope_model::Figure::Step), Some(4), "{text}");
        }
    }
}

#[test]
fn a_damaged_line_of_elasticsearch_costs_only_itself() {
    let [first, second] = documents(false).try_into().unwrap();
    let torn = first.to_string().replace("\"startTime\"", "startTime\"");
    let text = format!("{second}\n{torn}\n{second}\n");
    let (_, outcome) = read(text.as_bytes());
    assert_eq!(outcome.spans, 1, "the other one is there twice");
    assert!(
        outcome.issues.iter().any(|issue| issue.offset == Some(second.to_string().len() as u64 + 1)
            || issue.lost_bytes.is_some_and(|lost| lost >= 100)),
        "{:?}",
        outcome.issues
    );
}
