//! Conversion: what a target can hold comes back as it was, what it cannot hold is named.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::*;
use serde_json::{Value as Json, json};
use stepscope_core::attr;
use stepscope_model::{Converter, IssueKind, LostInConversion, ReadOptions, Reader, Target};

fn convert_with(options: &ReadOptions, target: Target, bytes: &[u8]) -> (Vec<u8>, LostInConversion) {
    let mut out = Vec::new();
    let mut converter = Converter::new(target, options, &mut out);
    let mut reader = Reader::new(options.clone());
    reader.read_stream("input", bytes, &mut converter).unwrap();
    let outcome = reader.finish(&mut converter);
    let wrong: Vec<_> = kinds(&outcome).into_iter().filter(|(kind, _)| *kind != IssueKind::Empty).collect();
    assert_eq!(wrong, []);
    let lost = converter.finish().unwrap();
    (out, lost)
}

fn convert(target: Target, bytes: &[u8]) -> (Vec<u8>, LostInConversion) {
    convert_with(&ReadOptions::default(), target, bytes)
}

/// A run whose times are whole microseconds, which is all that Jaeger has.
fn in_microseconds(rank: i64) -> Vec<GenMessage> {
    let mut messages = run(rank, 40, 7, 5);
    for span in messages.iter_mut().flat_map(|message| &mut message.spans) {
        span.start = BASE_NS + (span.start - BASE_NS) * 1_000;
        span.end = BASE_NS + (span.end - BASE_NS) * 1_000;
    }
    messages
}

#[test]
fn spans_come_back_from_every_target_that_is_read() {
    let messages = [in_microseconds(0), in_microseconds(1)].concat();
    let expected = expected(&messages);
    for source in [otlp::prefixed(&messages), otlp::lines(&messages)] {
        for target in [Target::OtlpProto, Target::OtlpJson, Target::Jaeger, Target::Chrome] {
            let (bytes, lost) = convert(target, &source);
            // Jaeger has lists as text, which is read all the same.
            let lists =
                (target == Target::Jaeger).then_some(("types of nested values, which became text", 2 * 40));
            assert_eq!(lost, LostInConversion::from_iter(lists), "{target:?}");
            let (collected, outcome) = read(&bytes);
            assert_eq!(kinds(&outcome), [], "{target:?}");
            assert!(collected.traces == expected, "{target:?}");
            assert!(collected.resources.values().all(|resource| resource.run_id == "run"));
            // And on from there.
            for second in [Target::OtlpProto, Target::OtlpJson, Target::Jaeger, Target::Chrome] {
                let (bytes, _) = convert(second, &bytes);
                assert!(read(&bytes).0.traces == expected, "{target:?} {second:?}");
            }
        }
    }
}

#[test]
fn little_memory_changes_nothing_but_the_order_of_traces() {
    let bytes = otlp::prefixed(&in_microseconds(0));
    let mut options = ReadOptions::default();
    options.memory_bytes = 5_000;
    for target in [Target::Jaeger, Target::Chrome] {
        let (whole, _) = convert(target, &bytes);
        let (spilled, _) = convert_with(&options, target, &bytes);
        let lines = |bytes: &[u8]| -> BTreeSet<String> {
            String::from_utf8(bytes.to_vec())
                .unwrap()
                .lines()
                .map(|line| line.trim_end_matches(',').to_owned())
                .collect()
        };
        if target == Target::Jaeger {
            assert_ne!(whole, spilled);
            assert_eq!(lines(&whole), lines(&spilled));
        }
        let json: Json = serde_json::from_slice(&spilled).unwrap();
        assert!(json.is_object());
    }
}

/// One span with everything that OTLP has, of which `times` end in nanoseconds.
fn everything(ns: u64) -> Json {
    let value = |value: Json| json!({"key": "k", "value": value});
    let attributes = |of: Json| json!([value(of)]);
    json!({"resourceSpans": [{
    "resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": "s"}}, {"key": "n", "value": {"intValue": "7"}}]},
    "scopeSpans": [{
        "scope": {"name": "lib", "version": "1", "attributes": attributes(json!({"boolValue": true}))},
        "spans": [{
            "traceId": "0102030405060708090a0b0c0d0e0f10", "spanId": "0102030405060708",
            "parentSpanId": "1112131415161718", "traceState": "a=b", "flags": 257, "name": "all \"of\" it",
            "kind": 4, "startTimeUnixNano": (1_700_000_000_000_000_000 + ns).to_string(),
            "endTimeUnixNano": "1700000000000009000",
            "attributes": [
                {"key": "i", "value": {"intValue": "-9007199254740993"}},
                {"key": "d", "value": {"doubleValue": 2.1692894864827394}}, {"key": "nan", "value": {"doubleValue": "NaN"}},
                {"key": "whole", "value": {"doubleValue": 2.0}}, {"key": "b", "value": {"boolValue": false}},
                {"key": "s", "value": {"stringValue": "é\n"}}, {"key": "y", "value": {"bytesValue": "/+8="}},
                {"key": "l", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "x"}]}}}],
            "events": [{"timeUnixNano": "1700000000000004000", "name": "e", "attributes": attributes(json!({"intValue": "1"}))}],
            "links": [{"traceId": "a102030405060708090a0b0c0d0e0f10", "spanId": "a102030405060708",
                       "attributes": attributes(json!({"intValue": "1"}))}],
            "droppedAttributesCount": 3, "status": {"code": 2, "message": "why"}
        }]}]}]})
}

#[test]
fn every_field_of_otlp_survives_otlp() {
    let source = serde_json::to_vec(&everything(1)).unwrap();
    let (proto, lost) = convert(Target::OtlpProto, &source);
    assert!(lost.is_empty());
    let (back, _) = convert(Target::OtlpJson, &proto);
    assert_eq!(serde_json::from_slice::<Json>(&back).unwrap(), everything(1));
}

#[test]
fn what_jaeger_cannot_hold_is_named_and_all_else_comes_back() {
    let (jaeger, lost) = convert(Target::Jaeger, &serde_json::to_vec(&everything(1)).unwrap());
    let expected = BTreeMap::from([
        ("attributes of scopes", 1),
        ("counts of what the writer dropped", 1),
        ("flags other than sampled", 1),
        ("times finer than a microsecond", 1),
        ("types of nested values, which became text", 1),
    ]);
    assert_eq!(lost, expected);
    let (back, _) = convert(Target::OtlpJson, &jaeger);
    let mut rest = everything(0);
    let scope = &mut rest["resourceSpans"][0]["scopeSpans"][0];
    scope["scope"].as_object_mut().unwrap().remove("attributes");
    let span = &mut scope["spans"][0];
    span["flags"] = json!(1);
    span.as_object_mut().unwrap().remove("droppedAttributesCount");
    span["attributes"][7]["value"] = json!({"stringValue": "[1,\"x\"]"});
    assert_eq!(serde_json::from_slice::<Json>(&back).unwrap(), rest);
}

/// A span whose links, event and resource have values that are no JSON; the link's attributes are `link`.
fn with_link(link: Json) -> Json {
    let values = json!([
        {"key": "blob", "value": {"bytesValue": "AAAwOQ=="}}, {"key": "inf", "value": {"doubleValue": "Infinity"}},
        {"key": "list", "value": {"arrayValue": {"values": [{"bytesValue": "/+8="}]}}}]);
    let own = "0102030405060708090a0b0c0d0e0f10";
    json!({"resourceSpans": [{"resource": {"attributes": values}, "scopeSpans": [{"scope": {}, "spans": [{
        "traceId": own, "spanId": "0102030405060708", "name": "a", "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000000000009000",
        "events": [{"timeUnixNano": "1700000000000004000", "name": "e", "attributes": values}],
        "links": [
            {"traceId": own, "spanId": "a102030405060708", "attributes": link},
            {"traceId": "a102030405060708090a0b0c0d0e0f10", "spanId": "a102030405060708"}],
        "status": {}}]}]}]})
}

#[test]
fn links_keep_their_attributes_through_jaeger_and_gain_none() {
    let kind = |kind: &str| json!({"key": "opentracing.ref_type", "value": {"stringValue": kind}});
    let more = json!({"key": "blob", "value": {"bytesValue": "AAAwOQ=="}});
    for link in [
        json!([more]),
        json!([kind("child_of"), more]),
        json!([more, kind("follows_from")]),
        json!([kind("child_of")]),
        json!([kind("follows_from")]),
        json!([kind("other")]),
    ] {
        let source = with_link(link);
        let (jaeger, lost) = convert(Target::Jaeger, &serde_json::to_vec(&source).unwrap());
        // The list in the resource and in the event.
        assert_eq!(lost, BTreeMap::from([("types of nested values, which became text", 2)]));
        let (back, _) = convert(Target::OtlpJson, &jaeger);
        let back: Json = serde_json::from_slice(&back).unwrap();
        let span = |document: &Json| document["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone();
        assert_eq!(span(&back)["links"], span(&source)["links"]);
        assert!(span(&back).get("parentSpanId").is_none(), "{back}");
    }
}

#[test]
fn what_chrome_makes_text_is_named_wherever_it_stands() {
    let blob = json!([{"key": "blob", "value": {"bytesValue": "AAAwOQ=="}}]);
    let (_, lost) = convert(Target::Chrome, &serde_json::to_vec(&with_link(blob)).unwrap());
    let expected = BTreeMap::from([
        // Two in the resource, two in the event, one in the link.
        ("types of bytes, which became base64", 5),
        ("doubles that are no numbers, which became text", 2),
    ]);
    assert_eq!(lost, expected);
}

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            json_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

#[test]
fn real_files_come_back_the_same() {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("STEPSCOPE_SHARED_DATA").map_or(default, PathBuf::from);
    if !data.is_dir() {
        eprintln!("SKIPPED: no real traces at {}; set STEPSCOPE_SHARED_DATA", data.display());
        return;
    }
    let mut files = Vec::new();
    for folder in ["jaeger_fixtures", "crisp", "jaeger_ui"] {
        json_files(&data.join(folder), &mut files);
    }
    assert!(files.len() >= 33);
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let (lines, _) = convert(Target::OtlpJson, &bytes);
        let (jaeger, _) = convert(Target::Jaeger, &bytes);
        // By way of OTLP, and again: the same document.
        assert_eq!(convert(Target::Jaeger, &lines).0, jaeger, "{}", path.display());
        let (proto, _) = convert(Target::OtlpProto, &jaeger);
        assert_eq!(convert(Target::Jaeger, &proto).0, jaeger, "{}", path.display());
        let (there, back) = (read(&bytes).0, read(&jaeger).0);
        assert!(there.traces == back.traces, "{}", path.display());
        if !bytes.starts_with(b"{\n  \"resourceSpans\"") {
            assert_eq!(jaeger_counts(&bytes), jaeger_counts(&jaeger), "{}", path.display());
        }
    }
}

/// Spans, tags that are no status, logs, fields and references of a document, counted in its tree.
fn jaeger_counts(bytes: &[u8]) -> [usize; 5] {
    fn walk(json: &Json, counts: &mut [usize; 5]) {
        if let Json::Object(members) = json {
            let list = |key: &str| members.get(key).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            if members.contains_key("operationName") {
                counts[0] += 1;
                let is_status = |tag: &&Json| tag["key"] == "error" || tag["key"] == "otel.status_code";
                counts[1] += list("tags").iter().filter(|tag| !is_status(tag)).count();
                counts[2] += list("logs").len();
                counts[3] +=
                    list("logs").iter().map(|log| log["fields"].as_array().unwrap().len()).sum::<usize>();
                counts[4] += list("references").len();
            }
            members.values().for_each(|value| walk(value, counts));
        } else if let Json::Array(items) = json {
            items.iter().for_each(|item| walk(item, counts));
        }
    }
    let mut counts = [0; 5];
    walk(&serde_json::from_slice(bytes).unwrap(), &mut counts);
    counts
}

/// Starts and ends of slices, in nanoseconds, by process and thread.
type Threads = BTreeMap<(i64, i64), Vec<(i64, i64)>>;

/// The slices of threads, and the number of asynchronous ones.
fn slices(document: &Json) -> (Threads, usize) {
    let (mut threads, mut begun, mut ended) = (Threads::new(), BTreeSet::new(), BTreeSet::new());
    for event in document["traceEvents"].as_array().unwrap() {
        let ns = |key: &str| (event[key].as_f64().unwrap() * 1e3).round() as i64;
        let lane = (event["pid"].as_i64().unwrap(), event["tid"].as_i64().unwrap());
        match event["ph"].as_str().unwrap() {
            "X" => threads.entry(lane).or_default().push((ns("ts"), ns("ts") + ns("dur"))),
            "b" => assert!(begun.insert(event["id"].to_string()), "an id is used once"),
            "e" => assert!(ended.insert(event["id"].to_string())),
            "M" | "i" | "n" => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(begun, ended);
    (threads, begun.len())
}

#[test]
fn chrome_has_every_span_once_and_slices_of_a_thread_nest() {
    let mut messages = [run(0, 60, 5, 9), run(1, 60, 5, 9)].concat();
    let mut spans = 0;
    for (index, span) in messages.iter_mut().flat_map(|message| &mut message.spans).enumerate() {
        spans += 1;
        if index % 7 > 0 {
            span.attributes.push(int(attr::THREAD_ID, [1, 1, 2][index % 3]));
        }
    }
    let (bytes, lost) = convert(Target::Chrome, &otlp::prefixed(&messages));
    assert_eq!(lost, LostInConversion::new());
    let document: Json = serde_json::from_slice(&bytes).unwrap();
    let (threads, asynchronous) = slices(&document);
    assert_eq!(threads.values().map(Vec::len).sum::<usize>() + asynchronous, spans);
    assert!(threads.len() == 4 && asynchronous < spans / 2, "{asynchronous} of {spans}");
    for (lane, slices) in &threads {
        for (index, a) in slices.iter().enumerate() {
            for b in &slices[index + 1..] {
                let apart = a.1 <= b.0 || b.1 <= a.0;
                let nested = a.0 <= b.0 && b.1 <= a.1 || b.0 <= a.0 && a.1 <= b.1;
                assert!(apart || nested, "{lane:?} {a:?} {b:?}");
            }
        }
    }
    // Times are exact to the nanosecond, relative to the base.
    let base: u64 = document["otherData"]["base_unix_ns"].as_str().unwrap().parse().unwrap();
    let mut durations: Vec<i64> = threads.values().flatten().map(|slice| slice.1 - slice.0).collect();
    durations.truncate(1_000);
    let expected: BTreeSet<i64> = messages
        .iter()
        .flat_map(|message| &message.spans)
        .map(|span| (span.end - span.start) as i64)
        .collect();
    assert!(durations.iter().all(|duration| expected.contains(duration)));
    let starts: BTreeSet<i64> =
        messages.iter().flat_map(|message| &message.spans).map(|span| (span.start - base) as i64).collect();
    assert!(threads.values().flatten().all(|slice| starts.contains(&slice.0)));
}

fn sort(attributes: &mut Json) {
    attributes.as_array_mut().unwrap().sort_by_key(|attribute| attribute["key"].as_str().map(str::to_owned));
}

#[test]
fn chrome_holds_attributes_events_and_links() {
    let (bytes, lost) = convert(Target::Chrome, &serde_json::to_vec(&everything(1)).unwrap());
    let named: Vec<&str> = lost.keys().copied().collect();
    assert_eq!(
        named,
        [
            "attributes of scopes",
            "counts of what the writer dropped",
            "doubles that are no numbers, which became text",
            "types of bytes, which became base64"
        ]
    );
    let document: Json = serde_json::from_slice(&bytes).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let by = |phase: &str| events.iter().find(|event| event["ph"] == phase).unwrap();
    assert_eq!(by("M")["args"], json!({"name": "s", "attributes": {"service.name": "s", "n": 7}}));
    let args = &by("b")["args"];
    assert_eq!(
        (&args["i"], &args["l"], &args["y"]),
        (&json!(-9_007_199_254_740_993_i64), &json!([1, "x"]), &json!("/+8="))
    );
    assert_eq!(args["otlp"]["links"][0]["span_id"], json!("a102030405060708"));
    assert_eq!((&args["otlp"]["status"], &args["otlp"]["kind"]), (&json!(2), &json!("producer")));
    assert_eq!((&by("n")["name"], &by("n")["args"]["k"]), (&json!("e"), &json!(1)));
    assert_eq!(by("n")["args"]["otlp"]["span_id"], json!("0102030405060708"));

    let (back, _) = convert(Target::OtlpJson, &bytes);
    let mut back: Json = serde_json::from_slice(&back).unwrap();
    let mut rest = everything(1);
    let scope = &mut rest["resourceSpans"][0]["scopeSpans"][0];
    scope["scope"].as_object_mut().unwrap().remove("attributes");
    let span = &mut scope["spans"][0];
    span.as_object_mut().unwrap().remove("droppedAttributesCount");
    span["attributes"][2]["value"] = json!({"stringValue": "NaN"});
    span["attributes"][6]["value"] = json!({"stringValue": "/+8="});
    // Members of an object have no order.
    for document in [&mut back, &mut rest] {
        let resource = &mut document["resourceSpans"][0];
        sort(&mut resource["resource"]["attributes"]);
        sort(&mut resource["scopeSpans"][0]["spans"][0]["attributes"]);
    }
    assert_eq!(back, rest);
}

#[test]
fn metrics_go_where_they_can_and_are_named_elsewhere() {
    let metrics = br#"{"resourceMetrics":[{"resource":{},"scopeMetrics":[{"scope":{"name":"x"},"metrics":[
        {"name":"m","gauge":{"dataPoints":[{"asInt":"1","timeUnixNano":"5"},{"asInt":"2","timeUnixNano":"6"}]}}]}]}]}"#;
    let spans = otlp::lines(&in_microseconds(0));
    let source =
        [metrics.iter().copied().filter(|&byte| byte != b'\n').chain([b'\n']).collect(), spans].concat();
    let (jaeger, lost) = convert(Target::Jaeger, &source);
    let lists = ("types of nested values, which became text", 40);
    assert_eq!(lost, BTreeMap::from([("points of metrics", 2), lists]));
    assert!(!jaeger.is_empty());
    let (lines, lost) = convert(Target::OtlpJson, &source);
    assert!(lost.is_empty());
    let text = String::from_utf8(lines).unwrap();
    assert!(text.contains(r#""asInt":"2""#) && text.contains("resourceSpans"));
}

#[test]
fn an_empty_input_is_a_valid_document() {
    let source = br#"{"resourceSpans":[]}"#;
    for target in [Target::Jaeger, Target::Chrome] {
        let (bytes, _) = convert(target, source);
        assert!(serde_json::from_slice::<Json>(&bytes).unwrap().is_object());
    }
}

#[test]
fn failing_outputs_are_errors() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let bytes = otlp::prefixed(&run(0, 5, 5, 1));
    for &(name, target) in Target::ALL {
        let mut converter = Converter::new(target, &ReadOptions::default(), Full);
        let mut reader = Reader::default();
        reader.read_stream("input", bytes.as_slice(), &mut converter).unwrap();
        let _ = reader.finish(&mut converter);
        assert!(converter.finish().is_err(), "{name}");
    }
}
