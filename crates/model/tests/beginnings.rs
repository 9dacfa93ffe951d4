//! What is said of files of which nothing could be read: that they are empty, cut off at their start, or of
//! no known format.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use common::*;
use stepscope_model::{IssueKind, ReadOptions, Reader};

/// The one issue of a file; also the error of a run of which it is all, unless its format was recognised.
fn told(bytes: &[u8]) -> (IssueKind, String) {
    let (_, outcome) = read(bytes);
    assert_eq!(outcome.issues.len(), 1, "{:?}", outcome.issues);
    let reason = outcome.issues[0].reason.clone();
    match outcome.check() {
        Ok(()) => assert!(outcome.files[0].format.is_some()),
        Err(error) => assert_eq!(error.to_string(), format!("{reason}: input")),
    }
    let mut reader = Reader::default();
    reader.read_stream("input", bytes, &mut Collected::default()).unwrap();
    let unfinished = reader.suspend().unwrap();
    assert!(unfinished.check().is_ok() || !unfinished.has_pieces());
    (outcome.issues[0].kind, reason)
}

#[test]
fn an_empty_file_is_called_empty() {
    for bytes in [&b""[..], b"\n \n", &otlp::gzip(b""), &otlp::zstd(b"")] {
        let (kind, error) = told(bytes);
        assert_eq!(kind, IssueKind::Empty);
        assert!(error.contains("empty") || error.contains("blank"), "{error}");
    }
}

#[test]
fn a_file_cut_off_at_its_start_is_called_so() {
    let messages = run(0, 30, 40, 3);
    let plain = otlp::prefixed(&messages);
    let forms = [
        otlp::gzip(&plain),
        otlp::zstd(&plain),
        otlp::prefixed(&messages),
        otlp::prefixed_zstd(&messages, otlp::proto),
        otlp::lines(&messages),
    ];
    for (form, bytes) in forms.iter().enumerate() {
        for cut in 1..=16 {
            let (kind, error) = told(&bytes[..cut]);
            assert_eq!(kind, IssueKind::Truncated, "{form} {cut} {error}");
            assert!(error.contains("cut off"), "{form} {cut} {error}");
        }
    }
    let pretty = otlp::pretty(&messages[0]);
    for cut in 1..=18 {
        assert_eq!(told(&pretty.as_bytes()[..cut]).0, IssueKind::Truncated, "{cut}");
    }
}

#[test]
fn a_compressed_file_cut_off_inside_its_first_record_is_not_foreign() {
    let random: Vec<u64> = (0..20_000).map(stepscope_core::identity::mix).collect();
    let mut messages = run(0, 1, 40, 3);
    for span in &mut messages[0].spans {
        span.name = random.iter().map(|word| format!("{word:x}")).collect();
    }
    let bytes = otlp::gzip(&otlp::prefixed(&messages[..1]));
    let (_, outcome) = read(&bytes[..bytes.len() / 2]);
    assert_eq!(kinds(&outcome), [(IssueKind::Truncated, 1), (IssueKind::IncompleteTrace, 1)]);
}

#[test]
fn foreign_files_stay_foreign() {
    for bytes in [&b"this is no trace\n"[..], b"\x7fELF\x02\x01\x01", b"%PDF-1.7", b"{\"level\":\"info\"}\n"]
    {
        assert_eq!(told(bytes).0, IssueKind::UnknownFormat);
    }
}

#[test]
fn the_first_file_with_something_in_it_is_named() {
    let inputs: [(&str, &[u8]); 3] = [("a", b""), ("b", b"this is no trace\n"), ("c", b"")];
    let (_, outcome) = read_with(ReadOptions::default(), &inputs);
    let error = outcome.check().unwrap_err();
    assert_eq!(error.path().to_str(), Some("b"));
    assert!(error.to_string().starts_with("none of the formats"), "{error}");
    let (_, outcome) = read_with(ReadOptions::default(), &inputs[..1]);
    assert_eq!(outcome.check().unwrap_err().to_string(), "the file is empty: a");
}

#[test]
fn what_follows_a_compressed_stream_is_counted_and_left() {
    let messages = run(0, 3, 40, 3);
    let plain = otlp::lines(&messages);
    let half = plain.len() / 2;
    let in_two = |pack: fn(&[u8]) -> Vec<u8>| [pack(&plain[..half]), pack(&plain[half..])].concat();
    for (of, pack) in [("gzip", otlp::gzip as fn(&[u8]) -> Vec<u8>), ("zstd", otlp::zstd)] {
        for stream in [pack(&plain), in_two(pack)] {
            for (tail, expected) in [
                (
                    &b"x"[..],
                    format!(
                        "1 byte behind the end of the {of} stream is no {of}; everything before it was read"
                    ),
                ),
                (
                    b"-- signed --\n",
                    format!(
                        "13 bytes behind the end of the {of} stream are no {of}; everything before them was read"
                    ),
                ),
                // Longer than what is read at once, and as it begins itself but for a byte.
                (
                    &[7; 70_000],
                    format!(
                        "70000 bytes behind the end of the {of} stream are no {of}; everything before them was read"
                    ),
                ),
                (
                    &[0x1f, 0x8b, 0x28, 0xb5],
                    format!(
                        "4 bytes behind the end of the {of} stream are no {of}; everything before them was read"
                    ),
                ),
            ] {
                let (collected, outcome) = read(&[&stream, tail].concat());
                assert_eq!(collected.traces.len(), 3);
                assert_eq!(kinds(&outcome), [(IssueKind::LeftOut, 1)], "{expected}");
                assert_eq!(outcome.issues[0].reason, expected);
            }
            // Zeros fill blocks up.
            let (collected, outcome) = read(&[&stream[..], &[0; 512]].concat());
            assert_eq!((collected.traces.len(), kinds(&outcome)), (3, vec![]));
            // Another stream that is cut off is no tail.
            for cut in 1..=12 {
                let (collected, outcome) = read(&[&stream[..], &pack(&plain)[..cut]].concat());
                assert_eq!(
                    (collected.traces.len(), kinds(&outcome)),
                    (3, vec![(IssueKind::Truncated, 1)]),
                    "{of} {cut}"
                );
            }
        }
    }
}

#[test]
fn documents_without_spans_are_called_so() {
    let whole = [
        ("[]", "an empty JSON list"),
        (" [ ]\n", "an empty JSON list"),
        ("{}", "an empty JSON object"),
        (r#"{"data":[]}"#, "an answer of Jaeger without a trace"),
        ("{ \"data\" : [ ] }\n", "an answer of Jaeger without a trace"),
        (r#"{"traces":[]}"#, "an answer without a trace"),
        (r#"{"data":[],"total":0}"#, "an answer of Jaeger without a trace"),
        (r#"{"traceEvents":[]}"#, "Chrome trace events without a slice"),
        (r#"{"resourceSpans":[]}"#, "OTLP traces without a span"),
        (r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}"#, "OTLP logs"),
        (r#"{"took":1,"hits":{"total":{"value":0},"hits":[]}}"#, "an answer of Elasticsearch"),
        (
            r#"{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"x"}}],"displayTimeUnit":"ms"}"#,
            "Chrome trace events without a slice",
        ),
    ];
    for (text, said) in whole {
        let (kind, reason) = told(text.as_bytes());
        assert_eq!(kind, IssueKind::Empty, "{text}");
        assert!(reason.starts_with(said), "{text}: {reason}");
    }
    let events = [r#"{"traceEvents":[]"#, r#"{"traceEvents":[1]}"#, r#"{"traceEvents":[]} x"#];
    for text in events.into_iter().chain([
        "[1]",
        "[] x",
        r#"{"data":[]"#,
        r#"{"data":[1]}"#,
        r#"{"data":{}}"#,
        r#"{"list":[]}"#,
    ]) {
        assert_ne!(told(text.as_bytes()).0, IssueKind::Empty, "{text}");
    }
}

#[test]
fn documents_may_begin_with_any_number_of_blanks() {
    let messages = run(0, 3, 40, 3);
    let events = r#"{"traceEvents":[{"ph":"X","ts":1,"dur":2,"name":"a","pid":1,"tid":1}]}"#;
    let jaeger = r#"{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"a","startTime":1,"duration":2}]}]}"#;
    let documents =
        [otlp::lines(&messages), otlp::pretty(&messages[0]).into_bytes(), events.into(), jaeger.into()];
    for document in documents {
        let (expected, outcome) = read(&document);
        assert!(!expected.traces.is_empty());
        for blanks in [(64 << 10) - 1, 64 << 10, (64 << 10) + 1, 300_000] {
            for mark in [&b""[..], b"\xef\xbb\xbf"] {
                let (collected, read) =
                    read(&[mark, "\n ".repeat(blanks / 2).as_bytes(), &document].concat());
                assert_eq!(collected.traces, expected.traces, "{blanks}");
                assert_eq!(
                    (read.files[0].format.clone(), kinds(&read)),
                    (outcome.files[0].format.clone(), kinds(&outcome))
                );
            }
        }
    }
    assert_eq!(told(&[b' '; 200_000]), (IssueKind::Empty, "the file is blank".into()));
    assert_eq!(told(&[&[b' '; 200_000][..], b"no trace"].concat()).0, IssueKind::UnknownFormat);
}

#[test]
fn documents_of_events_that_are_cut_off_before_these_are_known() {
    let head = r#"{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"H200"}],"distributedInfo":{"backend":"nccl","rank":0,"pg_config":[{"pg_name":"0","ranks":[0,1]}]},"traceEvents":["#;
    let known = head.find("[{\"id\"").unwrap();
    for cut in known + 1..head.len() {
        let (_, outcome) = read(&head.as_bytes()[..cut]);
        assert_eq!(outcome.files[0].format.as_deref(), Some("Chrome trace events"), "{cut}");
        assert_eq!(kinds(&outcome), [(IssueKind::Truncated, 1)], "{cut}");
        assert!(outcome.issues[0].reason.contains("cut off"), "{cut}");
    }
    // Without a name that tells, or whole, it may be anything.
    for text in [r#"{"schemaVersion":1,"layers":["#, r#"{"distributedInfo":{"rank":0}}"#] {
        assert_ne!(read(text.as_bytes()).1.files[0].format.as_deref(), Some("Chrome trace events"), "{text}");
    }
}
