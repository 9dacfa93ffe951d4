//! Traces that others wrote: every file of the shared data is read, and nothing in it is lost, by counts that
//! come from a plain JSON tree; documents of Jaeger and Tempo in every dress and compression, cut anywhere.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use common::*;
use proptest::prelude::*;
use serde_json::Value as Json;
use stepscope_model::{Completeness, IssueKind, ReadOptions, Reader, Sink, Trace};
use stepscope_otlp::{EventHead, LinkHead, ResourceHead, Signal, SpanHead, StatusCode, Value, Visitor};

/// What a file holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    spans: u64,
    traces: BTreeSet<String>,
    names: BTreeMap<String, u64>,
    services: BTreeSet<String>,
    /// Tags that are attributes, and those that stand for fields.
    tags: u64,
    events: u64,
    event_fields: u64,
    parents: u64,
    links: u64,
    duration_ns: u64,
    errors: u64,
}

/// Counts what a reader hands over as it stands.
#[derive(Default)]
struct Counted(Content);

impl Visitor for Counted {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        if let ("service.name", Value::Str(name)) = (key, value) {
            self.0.services.insert(name.to_owned());
        }
    }
    fn resource(&mut self, _: &ResourceHead<'_>) {}
    fn scope(&mut self, head: &stepscope_otlp::ScopeHead<'_>) {
        assert!(head.schema_url.is_empty());
    }
    fn span_attribute(&mut self, _: &str, _: Value<'_>) {
        self.0.tags += 1;
    }
    fn event_attribute(&mut self, _: &str, _: Value<'_>) {
        self.0.event_fields += 1;
    }
    fn event(&mut self, head: &EventHead<'_>) {
        self.0.events += 1;
        self.0.event_fields += u64::from(!head.name.is_empty());
    }
    fn link(&mut self, _: &LinkHead<'_>) {
        self.0.links += 1;
    }
    fn span(&mut self, head: &SpanHead<'_>) {
        let content = &mut self.0;
        content.spans += 1;
        content.traces.insert(head.trace_id.iter().map(|byte| format!("{byte:02x}")).collect());
        *content.names.entry(head.name.to_owned()).or_default() += 1;
        content.parents += u64::from(!head.parent_span_id.is_empty());
        content.duration_ns += head.end_unix_ns - head.start_unix_ns;
        content.errors += u64::from(head.status == StatusCode::ERROR);
        content.tags += u64::from(head.kind.0 != 0) + u64::from(head.status == StatusCode::ERROR);
    }
}

impl Sink for Counted {
    fn trace(&mut self, _: &Trace) {
        panic!("nothing is assembled of what goes elsewhere");
    }
    fn raw(&mut self, signal: Signal) -> Option<&mut dyn Visitor> {
        assert_eq!(signal, Signal::Traces);
        Some(self)
    }
}

fn list<'j>(of: &'j Json, key: &str) -> &'j [Json] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

/// All objects that have a member `key`, at any depth.
fn objects<'j>(json: &'j Json, key: &str, found: &mut Vec<&'j Json>) {
    match json {
        Json::Object(members) => {
            if members.contains_key(key) {
                found.push(json);
            }
            members.values().for_each(|value| objects(value, key, found));
        }
        Json::Array(items) => items.iter().for_each(|item| objects(item, key, found)),
        _ => {}
    }
}

/// The content of a document of Jaeger, counted in its tree. Ids are compared by number only.
fn jaeger_content(json: &Json) -> Content {
    let mut content = Content::default();
    let mut spans = Vec::new();
    objects(json, "operationName", &mut spans);
    for span in &spans {
        content.spans += 1;
        *content.names.entry(span["operationName"].as_str().unwrap().to_owned()).or_default() += 1;
        content.duration_ns += span["duration"].as_u64().unwrap() * 1_000;
        let tags = list(span, "tags");
        content.tags += tags.len() as u64;
        let is_error = |tag: &Json| {
            tag["key"] == "error" && (tag["value"] == true || tag["value"] == "true")
                || tag["key"] == "otel.status_code" && tag["value"] == "ERROR"
        };
        content.errors += u64::from(tags.iter().any(is_error));
        content.tags += u64::from(!list(span, "warnings").is_empty());
        for log in list(span, "logs") {
            content.events += 1;
            content.event_fields += list(log, "fields").len() as u64;
        }
        let references = list(span, "references");
        let parent = references.iter().position(|reference| reference["refType"] == "CHILD_OF");
        content.parents += u64::from(parent.is_some());
        content.links += references.len() as u64 - u64::from(parent.is_some());
    }
    let mut processes = Vec::new();
    objects(json, "serviceName", &mut processes);
    content.services =
        processes.iter().map(|process| process["serviceName"].as_str().unwrap().into()).collect();
    content
}

/// The content of an OTLP document, counted in its tree.
fn otlp_content(json: &Json) -> Content {
    let mut content = Content::default();
    let mut spans = Vec::new();
    objects(json, "startTimeUnixNano", &mut spans);
    for span in spans {
        content.spans += 1;
        content.traces.insert(span["traceId"].as_str().unwrap().to_owned());
        *content.names.entry(span["name"].as_str().unwrap().to_owned()).or_default() += 1;
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        content.duration_ns += time("endTimeUnixNano") - time("startTimeUnixNano");
        content.tags += list(span, "attributes").len() as u64;
        let is_error = span["status"]["code"] == 2;
        content.tags += u64::from(span["kind"].as_u64().unwrap_or(0) != 0) + u64::from(is_error);
        content.errors += u64::from(is_error);
        content.parents += u64::from(span["parentSpanId"].as_str().is_some_and(|id| !id.is_empty()));
        content.links += list(span, "links").len() as u64;
        for event in list(span, "events") {
            content.events += 1;
            content.event_fields += list(event, "attributes").len() as u64;
            content.event_fields += u64::from(event["name"].as_str().is_some_and(|name| !name.is_empty()));
        }
    }
    let mut resources = Vec::new();
    objects(json, "resource", &mut resources);
    for attribute in resources.iter().flat_map(|of| list(&of["resource"], "attributes")) {
        if attribute["key"] == "service.name" {
            content.services.insert(attribute["value"]["stringValue"].as_str().unwrap().to_owned());
        }
    }
    content
}

fn counted(bytes: &[u8]) -> (Content, Vec<IssueKind>) {
    let mut counted = Counted::default();
    let mut reader = Reader::default();
    reader.read_stream("input", bytes, &mut counted).unwrap();
    let outcome = reader.finish(&mut counted);
    (counted.0, outcome.issues.iter().map(|issue| issue.kind).collect())
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

/// The folders of real traces, if this machine has them.
fn shared_data() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("STEPSCOPE_SHARED_DATA").map_or(default, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no real traces at {}; set STEPSCOPE_SHARED_DATA", folder.display());
    None
}

#[test]
fn nothing_in_the_files_of_others_is_lost() {
    let Some(data) = shared_data() else { return };
    let mut files = Vec::new();
    for folder in ["jaeger_fixtures", "crisp", "jaeger_ui"] {
        json_files(&data.join(folder), &mut files);
    }
    assert!(files.len() >= 33, "{}", files.len());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let json: Json = serde_json::from_slice(&bytes).unwrap();
        let is_otlp = json.get("resourceSpans").is_some();
        let mut expected = if is_otlp { otlp_content(&json) } else { jaeger_content(&json) };
        let (mut content, issues) = counted(&bytes);
        assert_eq!(issues, [], "{}", path.display());
        if !is_otlp {
            // One document is one trace in all of these; scopes and states are in none of their tags.
            assert_eq!(content.traces.len(), 1, "{}", path.display());
            expected.traces.clone_from(&content.traces);
            // Where both tags say so, they are one status.
            let both = expected.tags - content.tags;
            assert!(both <= expected.errors, "{}", path.display());
            content.tags += both;
        }
        assert_eq!(content, expected, "{}", path.display());
        // And as traces: all of them, whole.
        let (collected, outcome) = read(&bytes);
        assert_eq!(outcome.spans, expected.spans, "{}: {:?}", path.display(), outcome.issues);
        assert_eq!(collected.traces.len(), expected.traces.len(), "{}", path.display());
    }
}

const TRACE: &str = r#"{"traceID":"1f","spans":[
 {"traceID":"1f","spanID":"a","operationName":"root","references":[],"startTime":1700000000000000,"duration":90,
  "tags":[{"key":"stepscope.step","type":"int64","value":4}],"logs":[],"processID":"p1","warnings":null},
 {"traceID":"1f","spanID":"b","operationName":"child","startTime":1700000000000010,"duration":20,"processID":"p1",
  "references":[{"refType":"CHILD_OF","traceID":"1f","spanID":"a"},{"refType":"FOLLOWS_FROM","traceID":"1e","spanID":"c"}],
  "tags":[{"key":"error","type":"bool","value":true}]}],
 "processes":{"p1":{"serviceName":"train","tags":[{"key":"stepscope.rank","type":"int64","value":3}]}},"warnings":null}"#;

fn one_line(text: &str) -> String {
    text.replace('\n', "")
}

/// The same trace in every dress.
fn dresses() -> Vec<(&'static str, String)> {
    let line = one_line(TRACE);
    vec![
        ("trace", TRACE.to_owned()),
        ("answer", format!(r#"{{"data":[{line}],"total":0,"limit":0,"offset":0,"errors":null}}"#)),
        ("answer behind its counts", format!(r#"{{"total":0,"errors":null,"data":[{TRACE}]}}"#)),
        ("list", format!("[{line}\n]")),
        ("list of answers", format!(r#"[{{"data":[{line}]}}]"#)),
        ("wrapped", format!(r#" {{"trace":{TRACE}, "expected":[1,"x"]}}"#)),
        ("lines", format!("{{\"data\":[{line}]}}\n{{\"data\":[]}}\n")),
        ("byte order mark", format!("\u{feff}{{\"data\" : [ {line} ] }}\n")),
    ]
}

fn check_trace(name: &str, bytes: &[u8]) {
    let (collected, outcome) = read(bytes);
    assert_eq!(kinds(&outcome), [], "{name}");
    assert!(
        outcome.files[0].format.as_deref().is_some_and(|format| format.starts_with("Jaeger JSON")),
        "{name}"
    );
    let trace = collected.last.unwrap();
    assert_eq!((trace.spans.len(), trace.completeness), (2, Completeness::Complete), "{name}");
    let [root, child] = &trace.spans[..] else { panic!("{name}") };
    assert_eq!((root.start_ns, root.duration_ns()), (1_700_000_000_000_000_000, 90_000), "{name}");
    assert_eq!(root.figure(stepscope_model::Figure::Step), Some(4), "{name}");
    assert_eq!((child.parent, child.is_error, trace.text(child.name)), (Some(10), true, "child"), "{name}");
    assert_eq!((trace.links.len(), trace.links[0].target, trace.links[0].trace[15]), (1, 12, 0x1e), "{name}");
    assert_eq!((trace.resource.rank, trace.resource.service_name.as_str()), (Some(3), "train"), "{name}");
}

#[test]
fn jaeger_is_read_in_every_dress_and_compression() {
    for (name, text) in dresses() {
        check_trace(name, text.as_bytes());
        check_trace(name, &otlp::gzip(text.as_bytes()));
        check_trace(name, &otlp::zstd(text.as_bytes()));
    }
}

#[test]
fn members_before_the_traces_may_be_long() {
    let much = "12345,".repeat(50_000);
    check_trace("answer", format!(r#"{{"about":[{much}0],"data":[{TRACE}]}}"#).as_bytes());
}

#[test]
fn an_answer_without_traces_is_one() {
    for text in [
        r#"{"data":[],"total":0,"limit":0,"offset":0,"errors":null}"#,
        r#"{"data":null,"total":0,"limit":0,"offset":0,"errors":[{"code":404,"msg":"trace not found"}]}"#,
    ] {
        let (_, outcome) = read(text.as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (0, vec![(IssueKind::Empty, 1)]));
        assert!(outcome.check().is_ok());
    }
    for text in [r#"{"data":[1,2,3]}"#, r#"{"data":{"x":1}}"#, "[1,2]", r#"[{"name":"x"}]"#] {
        let (_, outcome) = read(text.as_bytes());
        assert!(outcome.check().is_err(), "{text}");
    }
}

#[test]
fn a_document_cut_anywhere_is_told_and_never_gives_other_spans() {
    for (name, text) in dresses() {
        let whole = text.trim_end().len();
        for cut in 1..whole {
            let (collected, outcome) = read(&text.as_bytes()[..cut]);
            let spans = collected.last.map_or(0, |trace| trace.spans.len());
            assert!(spans <= 2 && outcome.spans == spans as u64, "{name} {cut}");
            // The second line of two is whole by itself.
            let is_told =
                !outcome.issues.is_empty() || text.as_bytes()[..cut].trim_ascii_end().ends_with(b"}]}");
            assert!(is_told, "{name} {cut}");
        }
    }
}

/// A message as Tempo and Jaeger's newer API hand it out, with ids in hex or base64.
fn otlp_message(frame: &str, base64: bool) -> String {
    let (trace, root, child) = if base64 {
        ("AAAAAAAAAAAAAAAAAAAAHw==", "AAAAAAAAAAo=", "AAAAAAAAAAs=")
    } else {
        ("0000000000000000000000000000001f", "000000000000000a", "000000000000000b")
    };
    let scopes = format!(
        r#"[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"train"}}}}]}},
        "scopeSpans":[{{"spans":[
        {{"traceId":"{trace}","spanId":"{root}","name":"root","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000090000"}},
        {{"traceId":"{trace}","spanId":"{child}","parentSpanId":"{root}","name":"child","kind":"SPAN_KIND_CLIENT",
         "startTimeUnixNano":"1700000000000010000","endTimeUnixNano":"1700000000000030000","status":{{"code":"STATUS_CODE_ERROR"}}}}
        ]}}]}}]"#
    );
    frame.replace("SCOPES", &scopes)
}

#[test]
fn answers_of_tempo_and_jaeger_s_newer_api_are_read() {
    let frames = [
        r#"{"resourceSpans":SCOPES}"#,
        r#"{"batches":SCOPES}"#,
        r#"{"result":{"resourceSpans":SCOPES}}"#,
        r#"{"trace":{"resourceSpans":SCOPES},"metrics":{"inspectedBytes":"12"},"status":"COMPLETE"}"#,
        r#"[{"batches":SCOPES}]"#,
        r#"[ {"result":{"resourceSpans":SCOPES}} ]"#,
    ];
    for frame in frames {
        for base64 in [false, true] {
            let pretty = otlp_message(frame, base64);
            for text in [pretty.clone(), one_line(&pretty)] {
                for bytes in
                    [text.as_bytes().to_vec(), otlp::gzip(text.as_bytes()), otlp::zstd(text.as_bytes())]
                {
                    let (collected, outcome) = read(&bytes);
                    assert_eq!((kinds(&outcome), outcome.spans), (Vec::new(), 2), "{text}");
                    let trace = collected.last.unwrap();
                    assert_eq!(trace.id, 0x1f_u128.to_be_bytes());
                    assert_eq!((trace.spans[1].id, trace.spans[1].parent), (11, Some(10)));
                    assert!(trace.spans[1].is_error && trace.resource.service_name == "train");
                }
            }
        }
    }
}

#[test]
fn spans_that_jaeger_made_longer_are_what_they_were() {
    let warned = |text: &str| {
        text.replace(
            r#""endTimeUnixNano":"1700000000000030000""#,
            r#""endTimeUnixNano":"1700000000000010001","attributes":[{"key":"@jaeger@warnings","value":{"arrayValue":{"values":[{"stringValue":"a duration of 0"}]}}}]"#,
        )
    };
    let plain = otlp_message(r#"{"resourceSpans":SCOPES}"#, false);
    let length = |text: &str| {
        let trace = read(text.as_bytes()).0.last.unwrap();
        trace.spans[1].end_ns - trace.spans[1].start_ns
    };
    assert_eq!(length(&warned(&plain)), 0);
    // Without the warning, and with one about something else, a length stands as it is.
    assert_eq!(length(&warned(&plain).replace("@jaeger@warnings", "warnings")), 1);
    assert_eq!(length(&warned(&plain).replace("010001", "030000")), 20_000);
}

#[test]
fn a_document_of_many_traces_streams() {
    let count = 30_000;
    let mut text = Vec::new();
    text.extend(b"{\"data\":[");
    for n in 0..count {
        let trace = one_line(TRACE).replace("\"1f\"", &format!("\"{:x}\"", n + 1_000));
        write!(text, "{}{trace}", if n > 0 { "," } else { "" }).unwrap();
    }
    text.extend(b"],\"total\":0}");
    let mut options = ReadOptions::default();
    // Much less than the document, and much more than a trace of it.
    options.max_message_bytes = 64 << 10;
    options.memory_bytes = 1 << 20;
    let (collected, outcome) = read_with(options, &[("input", &text)]);
    assert_eq!((kinds(&outcome), outcome.traces, outcome.spans), (Vec::new(), count, 2 * count));
    assert_eq!(collected.traces.len() as u64, count);
}

#[test]
fn traces_above_the_limit_are_skipped_and_the_rest_is_read() {
    let large = one_line(TRACE).replace("\"root\"", &format!("\"{}\"", "x".repeat(100_000)));
    let small = one_line(TRACE).replace("\"1f\"", "\"2f\"");
    let text = format!(r#"{{"data":[{large},{small},{large}]}}"#);
    let mut options = ReadOptions::default();
    options.max_message_bytes = 50_000;
    let (_, outcome) = read_with(options, &[("input", text.as_bytes())]);
    assert_eq!((kinds(&outcome), outcome.spans), (vec![(IssueKind::LimitReached, 2)], 2));
}

#[test]
fn damage_inside_a_document_ends_in_issues() {
    let line = one_line(TRACE);
    let second = line.replace("\"1f\"", "\"2f\"");
    let cases = [
        // A span without times, a lost comma between spans, one between traces, garbage behind all.
        (line.replacen("\"startTime\":1700000000000010,", "", 1), 3),
        (line.replacen("\"warnings\":null}, {", "\"warnings\":null} {", 1), 4),
        (format!("{line} 7"), 4),
        (format!("{line},@"), 4),
    ];
    for (damaged, spans) in cases {
        assert_ne!(damaged, line);
        let (_, outcome) = read(format!(r#"{{"data":[{damaged},{second}]}}"#).as_bytes());
        assert_eq!(outcome.spans, spans, "{damaged}: {:?}", outcome.issues);
        assert!(outcome.issues.iter().any(|issue| issue.kind == IssueKind::Corrupt), "{:?}", outcome.issues);
    }
    let deep = format!("{{\"data\":{}", "[".repeat(200_000));
    let deep_tag = line.replacen("\"value\":4", &format!("\"value\":{}", "[".repeat(50_000)), 1);
    let deep_whole =
        line.replacen("\"value\":4", &format!("\"value\":{}{}", "[".repeat(50_000), "]".repeat(50_000)), 1);
    // Behind damage, a span that begins as a message does.
    let mixed = format!(
        r#"{{"data":[{line} x {{"resourceSpans":[],"spanID":"2","operationName":"o","startTime":1}}"#
    );
    for text in [deep, deep_tag, deep_whole, mixed] {
        let (_, outcome) = read(text.as_bytes());
        assert!(!outcome.issues.is_empty());
    }
}

/// Two traces in an answer, of which the second has `byte` at `at`; whether the first is read.
fn survives(at: usize, byte: u8) -> bool {
    let other = one_line(TRACE).replace("\"1f\"", "\"2f\"");
    let mut damaged = one_line(TRACE).into_bytes();
    damaged[at] = byte;
    let text = [b"{\"data\":[", other.as_bytes(), b",", &damaged, b"]}"].concat();
    read(&text).0.traces.contains_key(&0x2f_u128.to_be_bytes())
}

#[test]
fn structure_in_the_wrong_place_costs_no_other_trace() {
    for at in 0..one_line(TRACE).len() {
        for &byte in b"{}[],:\"\\ 0n" {
            assert!(survives(at, byte), "{:?} at {at}", char::from(byte));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic_and_cost_no_other_trace(at: prop::sample::Index, byte: u8) {
        prop_assert!(survives(at.index(one_line(TRACE).len()), byte));
    }

    #[test]
    fn random_members_never_panic(
        key in "[a-zA-Z]{1,12}|startTime|duration|tags|logs|references|processID|process|flags|spanID|warnings",
        value in "null|true|-?[0-9]{1,25}|-?[0-9]{1,4}e[0-9]{1,3}|\"[ -~]{0,8}\"|\\[[0-9,{}\"]{0,9}\\]|\\{\\}",
    ) {
        let text = format!(r#"{{"traceID":"1","spans":[{{"spanID":"2","startTime":3,"{key}":{value}}}]}}"#);
        read(text.as_bytes());
    }
}
