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
