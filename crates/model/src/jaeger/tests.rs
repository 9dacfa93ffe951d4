//! Tests of one trace: what becomes of each member, in any order of members, and cut anywhere.

use stepscope_otlp::{EventHead, LinkHead, ResourceHead, ScopeHead, SpanHead, Value};

use super::*;

/// Writes every call down.
#[derive(Default)]
struct Log(Vec<String>);

impl Visitor for Log {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.0.push(format!("process {key}={value:?}"));
    }
    fn resource(&mut self, _: &ResourceHead<'_>) {
        self.0.push("resource".into());
    }
    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.0.push(format!("scope {:?} {:?}", head.name, head.version));
    }
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.0.push(format!("tag {key}={value:?}"));
    }
    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.0.push(format!("field {key}={value:?}"));
    }
    fn event(&mut self, head: &EventHead<'_>) {
        self.0.push(format!("event {:?} {}", head.name, head.time_unix_ns));
    }
    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.0.push(format!("reference {key}={value:?}"));
    }
    fn link(&mut self, head: &LinkHead<'_>) {
        self.0.push(format!("link {} {}", head.trace_id[15], head.span_id[7]));
    }
    fn span(&mut self, head: &SpanHead<'_>) {
        self.0.push(format!(
            "span {}/{}<{} {:?} kind {} {}..{} status {} {:?} state {:?} flags {}",
            head.trace_id.last().copied().unwrap_or(0),
            head.span_id.last().copied().unwrap_or(0),
            head.parent_span_id.last().copied().unwrap_or(0),
            head.name,
            head.kind.0,
            head.start_unix_ns,
            head.end_unix_ns,
            head.status.0,
            head.status_message,
            head.trace_state,
            head.flags,
        ));
    }
}

const SPAN: &str = r#"{"traceID":"1","spanID":"b","flags":1,"operationName":"op \"x\"",
 "references":[{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"7"},
  {"refType":"CHILD_OF","traceID":"1","spanID":"A"},{"refType":"CHILD_OF","traceID":"2","spanID":"3"}],
 "startTime":1000001,"duration":"2","processID":"p1","warnings":["late","odd"],
 "tags":[{"key":"span.kind","type":"string","value":"producer"},
  {"key":"otel.status_code","type":"string","value":"ERROR"},{"key":"error","type":"bool","value":true},
  {"key":"otel.status_description","type":"string","value":"why"},
  {"key":"w3c.tracestate","type":"string","value":"a=b"},
  {"key":"otel.scope.name","type":"string","value":"lib"},{"key":"otel.scope.version","value":"1.2"},
  {"key":"b","type":"bool","value":"true"},{"key":"i","type":"int64","value":"-7"},{"key":"j","type":"int64","value":7},
  {"key":"f","type":"float64","value":2},{"key":"g","type":"float64","value":"1.5"},{"key":"u","value":0.5},
  {"key":"n","type":"binary","value":"Zm8="},{"key":"big","value":18446744073709551615},
  {"key":"s","type":"string","value":9},{"key":"o","value":{"x":[1]}},{"key":"z","value":null}],
 "logs":[{"timestamp":1000002,"fields":[{"key":"event","type":"string","value":"retry"},
  {"key":"attempt","type":"int64","value":2}]}]}"#;
const PROCESSES: &str =
    r#"{"p1":{"serviceName":"trainer","tags":[{"key":"rank","type":"int64","value":3}]}}"#;

const EXPECTED: &[&str] = &[
    "process service.name=Str(\"trainer\")",
    "process rank=Int(3)",
    "resource",
    "scope \"lib\" \"1.2\"",
    "tag b=Bool(true)",
    "tag i=Int(-7)",
    "tag j=Int(7)",
    "tag f=Double(2.0)",
    "tag g=Double(1.5)",
    "tag u=Double(0.5)",
    "tag n=Bytes([102, 111])",
    "tag big=Str(\"18446744073709551615\")",
    "tag s=Str(\"9\")",
    "tag o=Str(\"{\\\"x\\\":[1]}\")",
    "tag z=Empty",
    "tag @jaeger@warnings=Array([Str(\"late\"), Str(\"odd\")])",
    "field attempt=Int(2)",
    "event \"retry\" 1000002000",
    "reference opentracing.ref_type=Str(\"follows_from\")",
    "link 1 7",
    "reference opentracing.ref_type=Str(\"child_of\")",
    "link 2 3",
    "span 1/11<10 \"op \\\"x\\\"\" kind 4 1000001000..1000003000 status 2 \"why\" state \"a=b\" flags 1",
];

fn read(text: &[u8]) -> (Vec<String>, Decoded) {
    let mut log = Log::default();
    let decoded = decode(text, &mut log);
    (log.0, decoded)
}

#[test]
fn every_member_has_its_place_in_any_order() {
    let orders = [
        format!(r#"{{"traceID":"1","spans":[{SPAN}],"processes":{PROCESSES},"warnings":null}}"#),
        format!(r#"{{"processes":{PROCESSES},"warnings":["w"],"spans":[{SPAN}],"traceID":"1"}}"#),
    ];
    for text in &orders {
        let (log, decoded) = read(text.as_bytes());
        assert_eq!(log, EXPECTED);
        assert_eq!((decoded.spans, decoded.bad_spans, decoded.ended), (1, 0, None));
        assert!(is_trace(text.as_bytes()));
    }
}

#[test]
fn frames_follow_processes_and_scopes() {
    let span = |id: u32, process: &str| {
        format!(
            r#"{{"spanID":"{id}","operationName":"s","startTime":1,"duration":1,"processID":"{process}"}}"#
        )
    };
    let spans = [span(1, "a"), span(2, "a"), span(3, "b"), span(4, "missing")].join(",");
    let text = format!(
        r#"{{"spans":[{spans}],"traceID":"f","processes":{{"a":{{"serviceName":"A"}},"b":{{"serviceName":"B","tags":null}}}}}}"#
    );
    let (log, _) = read(text.as_bytes());
    let frames: Vec<&str> =
        log.iter().map(String::as_str).filter(|line| !line.starts_with("scope")).collect();
    assert_eq!(frames[0], "process service.name=Str(\"A\")");
    assert!(frames[2].starts_with("span 15/1<0") && frames[3].starts_with("span 15/2<0"));
    assert_eq!(frames[4], "process service.name=Str(\"B\")");
    assert_eq!(frames[7], "resource");
    assert_eq!(frames.len(), 9);
}

#[test]
fn a_damaged_span_costs_itself() {
    let sound = r#"{"spanID":"1","startTime":5,"duration":1}"#;
    for bad in [
        r#"{"spanID":"2"}"#,
        r#"{"spanID":"2","startTime":-5}"#,
        r#"{"spanID":"2","startTime":5,"duration":{}}"#,
        r#"{"spanID":"2","startTime":5,"tags":7}"#,
        r#"{"spanID":"2","startTime":99999999999999999999}"#,
        r#"{"spanID":"2","startTime":5,"operationName":"\q"}"#,
        "[]",
        "7",
    ] {
        let text = format!(r#"{{"traceID":"1","spans":[{sound},{bad},{sound}]}}"#);
        let (_, decoded) = read(text.as_bytes());
        assert_eq!((decoded.spans, decoded.bad_spans, decoded.ended), (2, 1, None), "{bad}");
        assert_eq!(decoded.first_bad.0, text.find(bad).unwrap_or(0), "{bad}");
        assert!(!decoded.first_bad.1.is_empty());
    }
    let (_, decoded) = read(
        b"{\"traceID\":\"1\",\"spans\":[{\"spanID\":\"1\",\"startTime\":5,\"operationName\":\"\xff\"}]}",
    );
    assert_eq!((decoded.spans, decoded.invalid_utf8), (1, 1));
}

#[test]
fn a_trace_cut_anywhere_gives_its_whole_spans() {
    let text = format!(r#"{{"traceID":"1","processes":{PROCESSES},"spans":[{SPAN},{SPAN}]}}"#);
    let ends: Vec<usize> = text.match_indices(SPAN).map(|(at, _)| at + SPAN.len()).collect();
    for cut in 1..text.len() {
        let (log, decoded) = read(&text.as_bytes()[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count() as u64;
        assert_eq!(decoded.spans, whole, "{cut}");
        assert_eq!(decoded.ended.map(|(_, ended)| ended), Some(Ended::Truncated), "{cut}");
        assert_eq!(log.iter().filter(|line| line.starts_with("span")).count() as u64, whole);
    }
    let damaged = text.replacen("},{\"traceID\"", "}{\"traceID\"", 1);
    let (_, decoded) = read(damaged.as_bytes());
    assert_eq!((decoded.spans, decoded.ended.map(|(_, ended)| ended)), (1, Some(Ended::Damaged)));
}
