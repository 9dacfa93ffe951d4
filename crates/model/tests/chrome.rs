//! Chrome trace events: which spans they are, in which traces, under which parents; real files of Kineto.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use common::kinds;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{
    Converter, Figure, IssueKind, PhaseTag, ReadOptions, ReadOutcome, Reader, Sink, Span, Target, Trace,
};

#[derive(Default)]
struct Traces(Vec<Trace>);

impl Sink for Traces {
    fn trace(&mut self, trace: &Trace) {
        self.0.push(trace.clone());
    }
}

fn read_with(options: ReadOptions, bytes: &[u8]) -> (Vec<Trace>, ReadOutcome) {
    let mut traces = Traces::default();
    let mut reader = Reader::new(options);
    reader.read_stream("input", bytes, &mut traces).unwrap();
    let outcome = reader.finish(&mut traces);
    (traces.0, outcome)
}

fn read(bytes: &[u8]) -> (Vec<Trace>, ReadOutcome) {
    read_with(ReadOptions::default(), bytes)
}

/// Every span by name: start, end, its parent's name.
fn tree(traces: &[Trace]) -> BTreeMap<String, (u64, u64, String)> {
    let name = |trace: &Trace, span: &Span| trace.text(span.name).to_owned();
    traces
        .iter()
        .flat_map(|trace| trace.spans.iter().map(move |span| (trace, span)))
        .map(|(trace, span)| {
            let parent = trace.spans.iter().find(|other| Some(other.id) == span.parent);
            (
                name(trace, span),
                (span.start_ns, span.end_ns, parent.map_or(String::new(), |parent| name(trace, parent))),
            )
        })
        .collect()
}

fn find<'t>(traces: &'t [Trace], name: &str) -> (&'t Trace, &'t Span) {
    let found = traces.iter().find_map(|trace| {
        trace.spans.iter().find(|span| trace.text(span.name) == name).map(|span| (trace, span))
    });
    found.unwrap_or_else(|| panic!("no span {name}"))
}

#[test]
fn numbers_of_kinetos_steps_that_are_none_are_told() {
    let slice = |name: &str, at: u64| json!({"ph": "X", "cat": "user_annotation", "name": name, "pid": 9, "tid": 9, "ts": at, "dur": 90});
    for (name, kind, said) in [
        ("ProfilerStep#-1", SectionKind::Step, "step number -1 of span \"ProfilerStep\" is none"),
        (
            "ProfilerStep#9223372036854775808",
            SectionKind::Section,
            "a number behind `ProfilerStep#` is beyond",
        ),
    ] {
        let events = [slice(name, 100), slice("aten::add", 110), slice("ProfilerStep#0", 200)];
        let (traces, outcome) =
            read(json!({ "schemaVersion": 1, "traceEvents": events }).to_string().as_bytes());
        assert_eq!(kinds(&outcome), [(IssueKind::BadStep, 1)], "{name}");
        assert!(outcome.issues[0].reason.starts_with(said), "{}", outcome.issues[0].reason);
        let numbers: Vec<_> = traces.iter().filter_map(|trace| trace.spans[0].figure(Figure::Step)).collect();
        assert_eq!((numbers, outcome.spans), (vec![0], 3), "{name}");
        let shown = if kind == SectionKind::Step { "ProfilerStep" } else { name };
        let is_it = |span: &&Span, trace: &Trace| {
            trace.text(span.name) == shown && span.figure(Figure::Step).is_none()
        };
        let found = traces.iter().find_map(|trace| trace.spans.iter().find(|span| is_it(span, trace)));
        assert_eq!(found.unwrap().kind, kind, "{name}");
    }
}

const PHASES: &str = r#"[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"app"}},
{"ph":"M","name":"thread_name","pid":1,"tid":"7","args":{"name":"main"}},
{"ph":"X","name":"inner","ts":20.001,"dur":10.25,"pid":1,"tid":7},
{"ph":"X","name":"outer","ts":10,"dur":"40","pid":"1","tid":7,"args":{"batch_size":3}},
{"ph":"B","name":"begun","ts":60,"pid":1,"tid":7,"args":{"a":1}},
{"ph":"i","name":"mark","s":"t","ts":61,"pid":1,"tid":7,"args":{"x":true}},
{"ph":"s","id":5,"cat":"f","name":"flow","ts":62,"pid":1,"tid":7},
{"ph":"E","ts":70.5,"pid":1,"tid":7,"args":{"b":2}},
{"ph":"B","name":"after","ts":70.5,"pid":1,"tid":7},
{"ph":"E","ts":80,"pid":1,"tid":7},
{"ph":"X","name":"target","ts":90,"dur":5,"pid":1,"tid":8},
{"ph":"f","bp":"e","id":5,"cat":"f","name":"flow","ts":91,"pid":1,"tid":8},
{"ph":"b","cat":"c","id":"0x1","name":"request","ts":5,"pid":1,"tid":7},
{"ph":"b","cat":"c","id":"0x1","name":"part","ts":6,"pid":1,"tid":7},
{"ph":"n","cat":"c","id":"0x1","name":"moment","ts":6.5,"pid":1,"tid":7},
{"ph":"e","cat":"c","id":"0x1","name":"part","ts":7,"pid":1,"tid":7},
{"ph":"e","cat":"c","id":"0x1","name":"request","ts":9,"pid":1,"tid":7},
{"ph":"C","name":"memory","ts":9,"pid":1,"args":{"rss":5,"heap":2.5}}
"#;

#[test]
fn slices_of_every_kind_nest() {
    // The list has no end: its writer may have died.
    let (traces, outcome) = read(PHASES.as_bytes());
    assert_eq!(kinds(&outcome), [(IssueKind::LeftOut, 1)], "the counter");
    let row = |start: u64, end: u64, parent: &str| (start, end, parent.to_owned());
    let expected = BTreeMap::from([
        ("outer".to_owned(), row(10_000, 50_000, "")),
        ("inner".to_owned(), row(20_001, 30_251, "outer")),
        ("begun".to_owned(), row(60_000, 70_500, "")),
        ("after".to_owned(), row(70_500, 80_000, "")),
        ("target".to_owned(), row(90_000, 95_000, "")),
        ("request".to_owned(), row(5_000, 9_000, "")),
        ("part".to_owned(), row(6_000, 7_000, "request")),
    ]);
    assert_eq!(tree(&traces), expected);
    let (trace, outer) = find(&traces, "outer");
    assert_eq!((trace.resource.service_name.as_str(), trace.resource.pid), ("app", Some(1)));
    assert_eq!(outer.figure(Figure::Samples).or(Some(3)), Some(3));
    assert_eq!((outer.figure(Figure::ThreadId), trace.text(outer.thread_name)), (Some(7), "main"));
    let (begin, (trace, target)) = (find(&traces, "begun"), find(&traces, "target"));
    let links: Vec<_> = trace.links.iter().map(|link| (link.span, link.trace, link.target)).collect();
    assert_eq!(links, [(target.id, begin.0.id, begin.1.id)]);
    // Read twice, nothing is new.
    let mut twice = Traces::default();
    let mut reader = Reader::new(ReadOptions::default());
    for name in ["a", "b"] {
        reader.read_stream(name, PHASES.as_bytes(), &mut twice).unwrap();
    }
    let outcome = reader.finish(&mut twice);
    assert_eq!((outcome.spans, outcome.duplicate_spans), (7, 7));
}

#[test]
fn slices_that_overlap_are_in_none_of_each_other() {
    // As of tools that round starts and durations apart; and of those that have several tasks on a thread.
    let text = r#"[
        {"ph":"X","name":"step","ts":0,"dur":100,"pid":1,"tid":1},
        {"ph":"X","name":"load","ts":0,"dur":20.001,"pid":1,"tid":1},
        {"ph":"X","name":"forward","ts":20,"dur":40.001,"pid":1,"tid":1},
        {"ph":"X","name":"matmul","ts":20,"dur":10,"pid":1,"tid":1},
        {"ph":"X","name":"backward","ts":50,"dur":30,"pid":1,"tid":1},
        {"ph":"X","name":"relu","ts":55,"dur":2,"pid":1,"tid":1}]"#;
    let (traces, outcome) = read(text.as_bytes());
    assert_eq!(kinds(&outcome), []);
    let parents: BTreeMap<String, String> =
        tree(&traces).into_iter().map(|(name, (_, _, parent))| (name, parent)).collect();
    let expected = [
        ("backward", "step"),
        ("forward", "step"),
        ("load", "step"),
        ("matmul", "forward"),
        ("relu", "backward"),
        ("step", ""),
    ];
    assert_eq!(parents, expected.map(|(name, parent)| (name.to_owned(), parent.to_owned())).into());
}

#[test]
fn kernels_that_overlap_by_rounding_come_one_after_the_other() {
    let text = r#"[
        {"ph":"X","name":"first","cat":"kernel","ts":1,"dur":2.001,"pid":0,"tid":7},
        {"ph":"X","name":"second","cat":"kernel","ts":3,"dur":5.002,"pid":0,"tid":7},
        {"ph":"X","name":"third","cat":"kernel","ts":7,"dur":2,"pid":0,"tid":7},
        {"ph":"X","name":"call","cat":"cpu_op","ts":1,"dur":2.001,"pid":1,"tid":1},
        {"ph":"X","name":"next","cat":"cpu_op","ts":3,"dur":2,"pid":1,"tid":1}]"#;
    let (traces, _) = read(text.as_bytes());
    let duration_ns = |name: &str| find(&traces, name).1.duration_ns();
    // By a nanosecond, as of decimals, and by more than microseconds do; threads say how long they took.
    let found = ["first", "second", "third", "call"].map(duration_ns);
    assert_eq!(found, [2_000, 5_002, 2_000, 2_001]);
}

#[test]
fn arguments_and_marks_and_counters_are_converted() {
    let mut out = Vec::new();
    let mut converter = Converter::new(Target::OtlpJson, &ReadOptions::default(), &mut out);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_stream("input", PHASES.as_bytes(), &mut converter).unwrap();
    let _ = reader.finish(&mut converter);
    assert!(converter.finish().unwrap().is_empty());
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all = json!(lines);
    let mut spans = Vec::new();
    let mut points = Vec::new();
    for resource in lines.iter().flat_map(|line| line["resourceSpans"].as_array().into_iter().flatten()) {
        spans.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().iter().cloned());
    }
    for resource in lines.iter().flat_map(|line| line["resourceMetrics"].as_array().into_iter().flatten()) {
        points.extend(
            resource["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"]
                .as_array()
                .unwrap()
                .iter()
                .cloned(),
        );
    }
    let begun = spans.iter().find(|span| span["name"] == "begun").unwrap_or_else(|| panic!("{all}"));
    let attribute = |span: &Json, key: &str| {
        let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
        found.map(|attribute| attribute["value"].clone())
    };
    assert_eq!(
        (attribute(begun, "a"), attribute(begun, "b")),
        (Some(json!({"intValue": "1"})), Some(json!({"intValue": "2"})))
    );
    assert_eq!(
        (&begun["events"][0]["name"], &begun["events"][0]["timeUnixNano"]),
        (&json!("mark"), &json!("61000"))
    );
    assert_eq!((points.len(), &points[0]["asDouble"], &points[1]["asInt"]), (2, &json!(2.5), &json!("5")));
}

#[test]
fn what_no_report_has_a_place_for_is_counted() {
    let text = r#"[
{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},
{"ph":"C","name":"memory","ts":1,"pid":1,"args":{"rss":5,"heap":2}},
{"ph":"C","name":"memory","ts":2,"pid":1,"args":{"rss":6}},
{"ph":"N","name":"object","id":"0x1","ts":1,"pid":1,"tid":1},
{"ph":"P","name":"sample","ts":1,"pid":1,"tid":1},
{"ph":"v","name":"dump","id":"0x2","ts":1,"pid":1,"tid":1},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}}
]"#;
    let (_, outcome) = read(text.as_bytes());
    assert_eq!((outcome.spans, kinds(&outcome)), (1, vec![(IssueKind::LeftOut, 5)]));
    let reason = &outcome.issues[0].reason;
    assert!(reason.contains("counters (2;") && reason.contains("memory dumps (3)"), "{reason}");
}

const KINETO: &str = r#"{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":8},"traceEvents":[
{"ph":"M","name":"process_name","pid":100,"tid":0,"args":{"name":"python"}},
{"ph":"X","cat":"cpu_op","name":"aten::add","ts":110,"dur":10,"pid":100,"tid":100},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":112,"dur":4,"pid":100,"tid":100,"args":{"correlation":9}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#6","ts":200,"dur":100,"pid":100,"tid":100},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","ts":100,"dur":100,"pid":100,"tid":100},
{"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","ts":250,"dur":20,"pid":100,"tid":100},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","ts":230,"dur":30,"pid":0,"tid":7,"args":{"correlation":9}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#5","ts":230,"dur":30,"pid":0,"tid":7},
{"ph":"X","cat":"cpu_op","name":"aten::zero_","ts":20,"dur":5,"pid":100,"tid":100},
{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","ts":0,"dur":500,"pid":"Spans","tid":"PyTorch Profiler"},
{"ph":"i","s":"g","name":"Record Window End","ts":500,"pid":"","tid":""}
],"baseTimeNanoseconds":1700000000000000000}"#;

#[test]
fn kinetos_steps_are_traces() {
    let (traces, outcome) = read(KINETO.as_bytes());
    assert_eq!(kinds(&outcome), []);
    let steps: Vec<(&Trace, &Span)> = traces
        .iter()
        .filter_map(|trace| {
            trace.spans.iter().find(|span| span.kind == SectionKind::Step).map(|span| (trace, span))
        })
        .collect();
    let mut numbers: Vec<_> = steps.iter().map(|(_, span)| span.figure(Figure::Step)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [Some(5), Some(6)]);
    assert!(
        steps.iter().all(|(trace, span)| trace.text(span.name) == "ProfilerStep" && span.parent.is_none())
    );
    let (trace, add) = find(&traces, "aten::add");
    let step = trace.spans.iter().find(|span| span.kind == SectionKind::Step).unwrap();
    assert_eq!(
        (add.parent, step.figure(Figure::Step), step.start_ns),
        (Some(step.id), Some(5), 1_700_000_000_000_100_000)
    );
    assert_eq!((trace.resource.rank, trace.resource.world_size), (Some(3), Some(8)));
    assert_eq!(trace.resource.service_name, "python");
    // The kernel ran in step 6, but step 5 had launched it.
    let (of_kernel, kernel) = find(&traces, "ncclDevKernel_AllReduce");
    let (_, launch) = find(&traces, "cudaLaunchKernel");
    assert_eq!((of_kernel.id, kernel.phase), (trace.id, PhaseTag::Known(Phase::Communication)));
    assert!(of_kernel.links.iter().any(|link| link.span == kernel.id && link.target == launch.id));
    assert_ne!(kernel.figure(Figure::ThreadId), Some(7), "a stream is no thread");
    let on_device: Vec<(&str, &str)> = traces
        .iter()
        .flat_map(|trace| trace.spans.iter().map(move |span| (trace, span)))
        .filter(|(_, span)| span.is_on_device)
        .map(|(trace, span)| (trace.text(span.name), trace.text(span.thread_name)))
        .collect();
    assert_eq!(on_device.len(), 2, "{on_device:?}");
    let (of_optimizer, optimizer) = find(&traces, "Optimizer.step#SGD.step");
    assert_ne!(of_optimizer.id, trace.id);
    assert_eq!(optimizer.phase, PhaseTag::Known(Phase::Optimizer));
    let (outside, zero) = find(&traces, "aten::zero_");
    assert_eq!((outside.spans.len(), zero.parent), (1, None));
    assert_eq!(outcome.spans, 8);
    // Another rank's file has other ids.
    let other = KINETO.replace("\"rank\":3", "\"rank\":4");
    assert!(read(other.as_bytes()).0.iter().all(|other| traces.iter().all(|trace| trace.id != other.id)));
}

#[test]
fn members_before_the_events_may_be_long() {
    let (expected, _) = read(KINETO.as_bytes());
    // Of a process group with all ranks, as thousands of them have.
    for ranks in [5_000, 20_000, 300_000] {
        let group = format!(r#""pg_config":[{{"ranks":{:?}}}],"rank":3"#, (0..ranks).collect::<Vec<u32>>());
        let text = KINETO.replace(r#""rank":3"#, &group);
        let (traces, outcome) = read(text.as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (8, vec![]), "{ranks}");
        assert_eq!(tree(&traces), tree(&expected), "{ranks}");
        assert_eq!(traces[0].resource.rank, Some(3), "{ranks}");
        // So may those of other documents.
        let (_, outcome) = read(text.replace("traceEvents", "events").as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (0, vec![(IssueKind::UnknownFormat, 1)]), "{ranks}");
    }
}

#[test]
fn damage_is_told_and_the_rest_is_read() {
    let whole = KINETO.find("\"gpu_user_annotation\"").unwrap();
    let (traces, outcome) = read(&KINETO.as_bytes()[..whole]);
    assert_eq!(kinds(&outcome), [(IssueKind::Truncated, 1)]);
    assert_eq!(traces.iter().map(|trace| trace.spans.len()).sum::<usize>(), 6);
    let odd = r#"{"traceEvents":[7,{"ph":"X","name":"no time"},{"name":"no phase","ts":1},{"ph":"X","ts":1,"dur":-5,"name":"back"},
        {"ph":"E","ts":9},{"ph":"B","ts":10,"name":"open"},{"ph":"X","ts":1e400,"name":"late"},{"ph":"X","ts":-1,"name":"early"},
        {"ph":"b","ts":1,"id":1,"name":"never"},]} x"#;
    let (traces, outcome) = read(odd.as_bytes());
    let (corrupt, negative) = (IssueKind::Corrupt, (IssueKind::NegativeDuration, 1));
    // Of those that are no events, the bytes are told; of those that belong nowhere, only that they do.
    let expected = [(IssueKind::Truncated, 2), (corrupt, 2), (corrupt, 5), negative, (IssueKind::BadTime, 1)];
    assert_eq!(kinds(&outcome), expected);
    assert_eq!(traces.len(), 3);
    for cut in 0..PHASES.len() {
        let (_, outcome) = read(&PHASES.as_bytes()[..cut]);
        assert!(outcome.spans <= 7, "{cut}");
    }
}

#[test]
fn little_memory_changes_nothing() {
    let mut events =
        vec![json!({"ph": "X", "name": "ProfilerStep#1", "ts": 0, "dur": 9_000, "pid": 1, "tid": 1})];
    for number in 0..2_000 {
        let (ts, tid) = (number * 7 % 4_000, number % 5);
        events.push(json!({"ph": "X", "name": format!("op {number}"), "ts": ts, "dur": number % 13, "pid": 1, "tid": tid, "args": {"n": number}}));
    }
    let bytes = serde_json::to_vec(&events).unwrap();
    let (whole, outcome) = read(&bytes);
    assert_eq!((whole.len(), outcome.spans), (1, 2_001));
    for memory_bytes in [10_000, 300_000] {
        let mut options = ReadOptions::default();
        options.memory_bytes = memory_bytes;
        let (traces, outcome) = read_with(options, &bytes);
        if memory_bytes == 300_000 {
            assert_eq!(kinds(&outcome), []);
            assert_eq!(tree(&traces), tree(&whole));
        }
        assert_eq!(traces.len(), 1);
    }
}

/// JSON values that a Chrome trace keeps with their types.
fn value() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(|number| json!({"intValue": number.to_string()})),
        any::<bool>().prop_map(|value| json!({"boolValue": value})),
        (-1e300f64..1e300).prop_map(|number| json!({"doubleValue": number})),
        "\\PC{0,12}".prop_map(|text| json!({"stringValue": text})),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| json!({"arrayValue": {"values": items}})),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4).prop_map(|members| {
                let members: Vec<Json> =
                    members.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
                json!({"kvlistValue": {"values": members}})
            }),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Json> {
    prop::collection::btree_map("[a-z.]{1,8}", value(), 0..5).prop_map(|members| {
        members
            .into_iter()
            .filter(|(key, _)| key != "otlp")
            .map(|(key, value)| json!({"key": key, "value": value}))
            .collect()
    })
}

fn id(bytes: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(any::<u8>(), bytes).prop_map(|bytes| {
        let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text.replace_range(..1, "a");
        text
    })
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 1_700_000_000_000_000_000..1_700_000_010_000_000_000u64, 0..5u64]
}

prop_compose! {
    fn span()(trace in id(16), span in id(8), parent in prop::option::of(id(8)), name in "\\PC{0,10}", kind in 0..7, times in (time(), time()),
        thread in prop::option::of(0..3i64), attributes in attributes(), events in prop::collection::vec((time(), "\\PC{1,6}", attributes()), 0..3),
        links in prop::collection::vec((id(16), id(8), attributes()), 0..3), status in 0..3, message in "[a-z]{0,5}", flags in 0..800u32) -> Json {
        let mut attributes = attributes;
        if let Some(thread) = thread {
            attributes.as_array_mut().unwrap().push(json!({"key": "thread.id", "value": {"intValue": thread.to_string()}}));
        }
        json!({
            "traceId": trace, "spanId": span, "parentSpanId": parent.unwrap_or_default(), "flags": flags, "name": name, "kind": kind,
            "startTimeUnixNano": times.0.min(times.1).to_string(), "endTimeUnixNano": times.0.max(times.1).to_string(),
            "attributes": attributes, "status": {"code": status, "message": message},
            "events": events.into_iter().map(|(time, name, attributes)| json!({"timeUnixNano": time.to_string(), "name": name, "attributes": attributes})).collect::<Vec<_>>(),
            "links": links.into_iter().map(|(trace, span, attributes)| json!({"traceId": trace, "spanId": span, "attributes": attributes})).collect::<Vec<_>>(),
        })
    }
}

fn convert(target: Target, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut converter = Converter::new(target, &ReadOptions::default(), &mut out);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_stream("input", bytes, &mut converter).unwrap();
    assert_eq!(kinds(&reader.finish(&mut converter)), []);
    assert!(converter.finish().unwrap().is_empty());
    out
}

/// Spans of OTLP JSON lines by their ids, in one spelling.
fn spans(lines: &[u8]) -> BTreeMap<String, Json> {
    let mut spans = BTreeMap::new();
    for line in String::from_utf8_lossy(lines).lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        for resource in line["resourceSpans"].as_array().unwrap() {
            for scope in resource["scopeSpans"].as_array().unwrap() {
                for span in scope["spans"].as_array().unwrap() {
                    let mut span = span.clone();
                    let attributes = span["attributes"].as_array().cloned().unwrap_or_default();
                    let mut attributes: Vec<(String, String)> = attributes
                        .iter()
                        .map(|attribute| (attribute["key"].to_string(), attribute["value"].to_string()))
                        .collect();
                    attributes.sort();
                    span["attributes"] = json!(attributes);
                    span["resource"] = resource["resource"]["attributes"].clone();
                    span["scope"] = scope["scope"].clone();
                    spans.insert(format!("{}{}", span["traceId"], span["spanId"]), span);
                }
            }
        }
    }
    spans
}

/// All of a file's times may lie where a signed integer does not reach.
#[test]
fn the_last_times_that_can_be_come_back() {
    for time in [i64::MAX as u64 + 1, 9_223_372_037_000_000_000, u64::MAX] {
        let time = time.to_string();
        let span = json!({"traceId": "a".repeat(32), "spanId": "a".repeat(16), "name": "late",
            "startTimeUnixNano": &time, "endTimeUnixNano": &time});
        let message = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
        let before = convert(Target::OtlpJson, &serde_json::to_vec(&message).unwrap());
        let after = spans(&convert(Target::OtlpJson, &convert(Target::Chrome, &before)));
        assert!(
            after.values().all(|span| span["startTimeUnixNano"] == time && span["endTimeUnixNano"] == time),
            "{after:?}"
        );
        assert_eq!(after.len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read_as_it_was(all in prop::collection::vec(span(), 1..6)) {
        let message = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
            "scopeSpans": [{"scope": {"name": "lib", "version": "2"}, "spans": all}]}]});
        // Once through our own encoder, for one spelling of what is absent.
        let before = convert(Target::OtlpJson, &serde_json::to_vec(&message).unwrap());
        let chrome = convert(Target::Chrome, &before);
        let after = convert(Target::OtlpJson, &chrome);
        prop_assert_eq!(spans(&after), spans(&before));
    }
}

fn fixtures() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("STEPSCOPE_SHARED_DATA").map_or(default, PathBuf::from);
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("SKIPPED: no real traces at {}; set STEPSCOPE_SHARED_DATA", data.display());
    None
}

/// The process of the slice over all of the recording changed its name in 2021.
#[test]
fn the_recording_itself_is_no_span() {
    let old = KINETO.replace("\"pid\":\"Spans\"", "\"pid\":\"Traces\"");
    assert_ne!(old, KINETO);
    let (traces, outcome) = read(old.as_bytes());
    assert_eq!((outcome.spans, kinds(&outcome)), (8, vec![]));
    assert_eq!(tree(&traces), tree(&read(KINETO.as_bytes()).0));
    // Another tracer's process may be called so.
    let (traces, _) = read(old.replace("\"cat\":\"Trace\"", "\"cat\":\"work\"").as_bytes());
    find(&traces, "PyTorch Profiler (0)");
}

/// Slices and steps of real files, counted by another program's rules: a walk over the whole document.
#[test]
fn real_files_of_kineto_lose_nothing() {
    let Some(data) = fixtures() else { return };
    let files = [
        "kineto/resnet50_workers4/worker0.1623212756351.pt.trace.json.gz",
        "kineto/linear_kineto.json.gz",
        "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
        "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
        "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    ];
    for file in files {
        let bytes = std::fs::read(data.join(file)).unwrap();
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
        let document: Json = serde_json::from_slice(&text).unwrap();
        let events = document["traceEvents"].as_array().unwrap();
        let slices: Vec<&Json> =
            events.iter().filter(|event| event["ph"] == "X" && event["cat"] != "Trace").collect();
        let steps: BTreeMap<i64, u64> = slices
            .iter()
            .filter(|event| !event["cat"].as_str().unwrap_or_default().starts_with("gpu"))
            .filter_map(|event| {
                let number = event["name"].as_str()?.strip_prefix("ProfilerStep#")?.parse().ok()?;
                Some((number, (event["dur"].as_f64()? * 1e3).round() as u64))
            })
            .collect();
        let (traces, outcome) = read(&bytes);
        assert_eq!(kinds(&outcome), [], "{file}");
        assert_eq!(outcome.duplicate_spans, 0, "{file}");
        let found: BTreeMap<i64, u64> = traces
            .iter()
            .flat_map(|trace| &trace.spans)
            .filter(|span| span.kind == SectionKind::Step)
            .map(|span| (span.figure(Figure::Step).unwrap(), span.duration_ns()))
            .collect();
        assert_eq!(found, steps, "{file}");
        let instants = outcome.spans - slices.len() as u64;
        assert!(instants <= events.iter().filter(|event| event["ph"] == "i").count() as u64, "{file}");
    }
}

/// Before autograd's engine had slices of its own, its nodes were all that told of the backward pass.
#[test]
fn nodes_of_autograd_in_real_files_are_backward() {
    let Some(data) = fixtures() else { return };
    let files = [
        "kineto/resnet50_workers0/worker0.1623143089861.pt.trace.json.gz",
        "kineto/resnet50_workers4/worker0.1623212756351.pt.trace.json.gz",
    ];
    let nodes = ["AddBackward0", "AddmmBackward", "ReluBackward1", "torch::autograd::AccumulateGrad"];
    for file in files {
        let bytes = std::fs::read(data.join(file)).unwrap();
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
        let document: Json = serde_json::from_slice(&text).unwrap();
        let events = document["traceEvents"].as_array().unwrap();
        let (traces, _) = read(&bytes);
        let spans = || traces.iter().flat_map(|trace| trace.spans.iter().map(move |span| (trace, span)));
        let backward = |span: &Span| span.phase == PhaseTag::Known(Phase::Backward);
        for node in nodes {
            let written = events.iter().filter(|event| event["ph"] == "X" && event["name"] == node).count();
            let found =
                spans().filter(|(trace, span)| trace.text(span.name) == node && backward(span)).count();
            assert!(written > 0 && found == written, "{file}: {node}: {found} of {written}");
        }
        let forward =
            spans().filter(|(trace, span)| trace.text(span.name) == "aten::conv2d").collect::<Vec<_>>();
        assert!(!forward.is_empty() && forward.iter().all(|(_, span)| !backward(span)), "{file}");
    }
}
