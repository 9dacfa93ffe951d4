//! What is refused over HTTP, with which status, and that the reason is in the answer.

use std::io::Write;

use stepscope_otlp::proto::decode_export_response;
use stepscope_server::Limits;
use stepscope_testkit::folder::files_below;

use crate::client::{Headers, JSON, PROTOBUF, answer, connect, gzip, post, receiver};

#[test]
fn statuses_follow_the_specification() {
    let (folder, receiver) = receiver("refused", Limits { message_bytes: 1_000, ..Limits::default() });
    let metrics =
        br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[]}}]}]}]}"#;
    let cases: [(&str, Headers<'_>, &[u8], u16, &str); 12] = [
        ("/v1/nothing", &[("content-type", JSON)], b"{}", 404, "nothing is here"),
        ("/", &[], b"", 404, "/v1/traces"),
        ("/v1/traces", &[("content-type", "text/plain")], b"{}", 415, "content type"),
        ("/v1/traces", &[], b"{}", 415, "content type"),
        ("/v1/traces", &[("content-type", JSON), ("content-encoding", "br")], b"{}", 415, "gzip"),
        ("/v1/traces", &[("content-type", JSON)], b"<html>", 400, "not a message of traces"),
        ("/v1/traces", &[("content-type", JSON)], metrics, 400, "a message of metrics where one of traces"),
        ("/v1/traces", &[("content-type", PROTOBUF)], b"\x0a\x05ab", 400, "ends too early"),
        ("/v1/metrics", &[("content-type", PROTOBUF)], b"\xff\xff\xff", 400, "not a message of metrics"),
        ("/v1/logs", &[("content-type", PROTOBUF)], b"garbage", 400, "not a message of logs"),
        ("/v1/traces", &[("content-type", JSON)], &[b' '; 1_001], 413, "more than 1000 bytes"),
        (
            "/v1/traces",
            &[("content-type", JSON), ("content-encoding", "gzip")],
            b"PK\x03\x04xxxxxxxxxx",
            400,
            "not gzip",
        ),
    ];
    for (path, headers, body, status, words) in cases {
        let answer = post(receiver.address(), path, headers, body);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{path} {headers:?}: {text}");
        assert!(text.contains(words), "{path} {headers:?}: {text}");
        let is_protobuf = headers.contains(&("content-type", PROTOBUF));
        // `google.rpc.Status`: its first field is a code other than 0.
        let (kind, begin) = if is_protobuf { (PROTOBUF, "\u{8}\u{3}\u{12}") } else { (JSON, "{\"code\":") };
        assert!(answer.head.contains(&format!("content-type: {kind}")), "{path}: {}", answer.head);
        assert!(text.starts_with(begin), "{path}: {text}");
    }
    let counts = receiver.stop();
    assert_eq!((counts.taken(), counts.refused), (0, cases.len() as u64));
    assert_eq!(counts.reasons.values().sum::<u64>(), cases.len() as u64);
    assert_eq!(files_below(folder.path()).expect("a folder").len(), 0, "nothing of it is kept");
}

#[test]
fn other_methods_are_told_which_one() {
    let (_folder, receiver) = receiver("methods", Limits::default());
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let mut stream = connect(receiver.address());
        write!(stream, "{method} /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").expect("sent");
        let answer = answer(&mut stream);
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("allow: post"), "{}", answer.head);
    }
}

#[test]
fn compressed_bodies_must_be_whole() {
    let (_folder, receiver) = receiver("gzip-cut", Limits::default());
    let whole = gzip(b"{}                                                          ");
    let headers = [("content-type", JSON), ("content-encoding", "gzip")];
    assert_eq!(post(receiver.address(), "/v1/traces", &headers, &whole).status, 200);
    for cut in 0..whole.len() {
        let answer = post(receiver.address(), "/v1/traces", &headers, &whole[..cut]);
        assert_eq!(answer.status, 400, "cut at {cut}: {:?}", String::from_utf8_lossy(&answer.body));
    }
    let mut wrong = whole.clone();
    let checksum = wrong.len() - 8;
    wrong[checksum] ^= 1;
    assert_eq!(post(receiver.address(), "/v1/traces", &headers, &wrong).status, 400);
    // Two members are one body.
    let two = [gzip(b"{"), gzip(b"}")].concat();
    assert_eq!(post(receiver.address(), "/v1/traces", &headers, &two).status, 200);
}

#[test]
fn spans_that_no_reader_takes_are_rejected_by_number() {
    let (_folder, receiver) = receiver("partial", Limits::default());
    let span = |id: &str| {
        format!(
            r#"{{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"{id}","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2"}}"#
        )
    };
    let spans = [span("0102030405060708"), span("0102"), span("no id")].join(",");
    let message = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
    let answer = post(receiver.address(), "/v1/traces", &[("content-type", JSON)], message.as_bytes());
    let text = String::from_utf8(answer.body).expect("text");
    assert_eq!(answer.status, 200);
    assert!(text.starts_with(r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":""#), "{text}");
    assert_eq!(receiver.stop().rejected, 2);
}

#[test]
fn a_full_store_rejects_and_says_so() {
    let (_folder, receiver) = receiver("full", Limits { stored_bytes: 150, ..Limits::default() });
    // A resource with a scope with one span: ids of 16 and 8 bytes, a start and an end.
    let span = [
        &b"\x0a\x10"[..],
        &[1; 16],
        b"\x12\x08",
        &[2; 8],
        b"\x39\x01\x00\x00\x00\x00\x00\x00\x00\x41\x02\x00\x00\x00\x00\x00\x00\x00",
    ]
    .concat();
    let scope = [&[0x12, span.len() as u8], &span[..]].concat();
    let resource = [&[0x12, scope.len() as u8], &scope[..]].concat();
    let message = [&[0x0a, resource.len() as u8], &resource[..]].concat();
    let post = || post(receiver.address(), "/v1/traces", &[("content-type", PROTOBUF)], &message);
    // 56 bytes and their length fit twice.
    for _ in 0..2 {
        let answer = post();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b""[..]));
    }
    let answer = post();
    assert_eq!(answer.status, 200, "trying again would not help");
    let (rejected, reason) = decode_export_response(&answer.body).expect("a response");
    assert_eq!(rejected, 1);
    assert!(reason.contains("150 bytes"), "{reason}");
}
