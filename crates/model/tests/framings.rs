//! Every framing and compression of the same run gives the same traces.

mod common;

use common::*;
use stepscope_model::{IssueKind, ReadOptions, Reader, is_compressed};

#[test]
fn every_framing_gives_the_same_traces() {
    let messages = run(0, 40, 9, 1);
    let expected = expected(&messages);
    let lines = otlp::lines(&messages);
    let prefixed = otlp::prefixed(&messages);
    let no_newline = lines[..lines.len() - 1].to_vec();
    let windows: Vec<u8> = messages.iter().flat_map(|m| (otlp::json(m) + "\r\n").into_bytes()).collect();
    let with_mark = [&[0xef, 0xbb, 0xbf][..], &lines].concat();
    let blank_lines: Vec<u8> =
        messages.iter().flat_map(|m| format!("\n  {}\n\n", otlp::json(m)).into_bytes()).collect();
    let documents: Vec<u8> = messages.iter().flat_map(|m| otlp::pretty(m).into_bytes()).collect();
    let with_empty: Vec<u8> =
        messages.iter().flat_map(|m| [vec![0; 4], otlp::record(&otlp::proto(m))].concat()).collect();
    let json_records: Vec<u8> =
        messages.iter().flat_map(|m| otlp::record(otlp::json(m).as_bytes())).collect();
    let half = prefixed.len() / 2;
    let forms: Vec<(&str, Vec<u8>, &str)> = vec![
        ("lines", lines.clone(), "OTLP JSON lines"),
        ("no newline at the end", no_newline, "OTLP JSON lines"),
        ("windows line ends", windows, "OTLP JSON lines"),
        ("byte order mark", with_mark, "OTLP JSON lines"),
        ("blank lines", blank_lines, "OTLP JSON lines"),
        ("documents", documents, "OTLP JSON document"),
        ("prefixed", prefixed.clone(), "OTLP protobuf, length-prefixed"),
        ("empty records", with_empty, "OTLP protobuf, length-prefixed"),
        ("json records", json_records, "OTLP protobuf, length-prefixed"),
        (
            "zstd records",
            otlp::prefixed_zstd(&messages, otlp::proto),
            "OTLP, length-prefixed, a zstd frame each",
        ),
        (
            "zstd records of json",
            otlp::prefixed_zstd(&messages, |m| otlp::json(m).into_bytes()),
            "OTLP, length-prefixed, a zstd frame each",
        ),
        ("zstd lines", otlp::zstd(&lines), "OTLP JSON lines, zstd"),
        (
            "zstd frames cut anywhere",
            [otlp::zstd(&prefixed[..half]), otlp::zstd(&prefixed[half..])].concat(),
            "OTLP protobuf, length-prefixed, zstd",
        ),
        ("gzip lines", otlp::gzip(&lines), "OTLP JSON lines, gzip"),
        (
            "gzip members",
            [otlp::gzip(&prefixed[..half]), otlp::gzip(&prefixed[half..])].concat(),
            "OTLP protobuf, length-prefixed, gzip",
        ),
        (
            "gzip around zstd records",
            otlp::gzip(&otlp::prefixed_zstd(&messages, otlp::proto)),
            "OTLP, length-prefixed, a zstd frame each, gzip",
        ),
    ];
    for (name, bytes, format) in forms {
        let (collected, outcome) = read(&bytes);
        assert_eq!(kinds(&outcome), [], "{name}: {:?}", outcome.issues);
        assert!(collected.traces == expected, "{name}");
        assert!(collected.incomplete.is_empty(), "{name}");
        assert_eq!(outcome.files[0].format.as_deref(), Some(format), "{name}");
        assert_eq!(outcome.files[0].bytes, bytes.len() as u64, "{name}");
        let is_packed = bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5]);
        assert_eq!(is_compressed(format), is_packed, "{name}");
        let spans = messages.iter().map(|m| m.spans.len() as u64).sum::<u64>();
        assert_eq!((outcome.spans, outcome.files[0].spans, outcome.traces), (spans, spans, 40), "{name}");
    }
}

#[test]
fn a_bare_message_is_read() {
    let messages = run(0, 5, 1_000, 2);
    for bytes in [otlp::proto(&messages[0]), otlp::json(&messages[0]).into_bytes()] {
        let (collected, outcome) = read(&bytes);
        assert_eq!(kinds(&outcome), []);
        assert!(collected.traces == expected(&messages));
    }
}

#[test]
fn a_file_larger_than_any_buffer_streams_through() {
    let messages = run(0, 3_000, 40, 3);
    let bytes = otlp::prefixed(&messages);
    assert!(bytes.len() > 1 << 20);
    let (collected, outcome) = read(&bytes);
    assert_eq!(kinds(&outcome), []);
    assert!(collected.traces == expected(&messages));
    assert!(!collected.progress.is_empty());
    let lines = otlp::lines(&messages);
    let (collected, _) = read(&otlp::gzip(&lines));
    assert!(collected.traces == expected(&messages));
}

#[test]
fn a_directory_is_read_recursively_without_following_links() {
    let dir = tempfile::tempdir().unwrap();
    let messages = run(0, 30, 9, 4);
    let (left, right) = messages.split_at(7);
    std::fs::create_dir(dir.path().join("a")).unwrap();
    std::fs::write(dir.path().join("a/traces.jsonl"), otlp::lines(right)).unwrap();
    std::fs::write(dir.path().join("b.otlp"), otlp::prefixed(left)).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/loop")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("b.otlp"), dir.path().join("twice.otlp")).unwrap();
    }
    let mut collected = Collected::default();
    let mut reader = Reader::default();
    reader.read_path(dir.path(), &mut collected).unwrap();
    let outcome = reader.finish(&mut collected);
    assert_eq!(kinds(&outcome), []);
    assert!(collected.traces == expected(&messages));
    assert_eq!(outcome.files.len(), 2);
    assert!(outcome.files[0].path.ends_with("a/traces.jsonl"));
    outcome.check().unwrap();
}

#[test]
fn paths_that_cannot_be_read_are_errors_and_foreign_files_are_issues() {
    let dir = tempfile::tempdir().unwrap();
    let mut collected = Collected::default();
    let mut reader = Reader::default();
    let error = reader.read_path(&dir.path().join("nothing"), &mut collected).unwrap_err();
    assert!(error.is_missing());
    assert!(error.to_string().contains("nothing"), "{error}");
    let error = reader.read_path(dir.path(), &mut collected).unwrap_err();
    assert!(!error.is_missing());
    std::fs::write(dir.path().join("empty"), b"").unwrap();
    std::fs::write(dir.path().join("notes.txt"), b"hello\nworld\n").unwrap();
    std::fs::write(dir.path().join("picture"), [0x89, b'P', b'N', b'G', 1, 2, 3]).unwrap();
    reader.read_path(dir.path(), &mut collected).unwrap();
    let outcome = reader.finish(&mut collected);
    assert_eq!(
        kinds(&outcome),
        [(IssueKind::Empty, 1), (IssueKind::UnknownFormat, 1), (IssueKind::UnknownFormat, 1)]
    );
    assert!(outcome.check().is_err());
}

#[test]
fn messages_above_the_limit_are_skipped_and_the_rest_is_read() {
    let small = run(0, 20, 9, 5);
    let mut large = run(1, 1, 9, 6);
    large[0].spans[0].attributes.push(text("filler", &"x".repeat(40_000)));
    let mut messages = small.clone();
    messages.insert(3, large[0].clone());
    let mut options = ReadOptions::default();
    options.max_message_bytes = 20_000;
    for bytes in [
        otlp::lines(&messages),
        otlp::prefixed(&messages),
        otlp::prefixed_zstd(&messages, otlp::proto),
        otlp::gzip(&otlp::prefixed(&messages)),
    ] {
        let (collected, outcome) = read_with(options.clone(), &[("input", &bytes)]);
        assert_eq!(kinds(&outcome), [(IssueKind::LimitReached, 1)]);
        assert!(collected.traces == expected(&small));
    }
}
