//! Damaged and hostile input: never a panic, never more lost than what is damaged, always told.

mod common;

use common::*;
use proptest::prelude::*;
use stepscope_core::{SCOPE_NAME, attr};
use stepscope_model::{IssueKind, ReadOptions, Reader};

/// Messages that share no trace, so that damage in one cannot touch another.
fn separate(count: u32, seed: u64) -> Vec<GenMessage> {
    let mut random = Random(seed);
    (0..count)
        .map(|number| GenMessage {
            resource: resource(0),
            scope: SCOPE_NAME.into(),
            spans: step(0, number, 5, &mut random),
        })
        .collect()
}

fn encode_all(
    messages: &[GenMessage],
    encode: impl Fn(&GenMessage) -> Vec<u8>,
) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
    let mut bytes = Vec::new();
    let mut ranges = Vec::new();
    for message in messages {
        let start = bytes.len();
        bytes.extend(encode(message));
        ranges.push(start..bytes.len());
    }
    (bytes, ranges)
}

#[test]
fn a_damaged_byte_costs_at_most_its_record() {
    let messages = separate(4, 31);
    let forms = [
        encode_all(&messages, |m| (otlp::json(m) + "\n").into_bytes()),
        encode_all(&messages, |m| otlp::record(&otlp::proto(m))),
        encode_all(&messages, |m| otlp::record(&otlp::zstd(&otlp::proto(m)))),
    ];
    for (form, (bytes, ranges)) in forms.iter().enumerate() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let (collected, outcome) = read(&damaged);
                for (message, range) in messages.iter().zip(ranges) {
                    // A line also ends at the newline before it.
                    let touched = range.contains(&at) || (form == 0 && at + 1 == range.start && at > 0);
                    if touched {
                        continue;
                    }
                    for (id, text) in expected(std::slice::from_ref(message)) {
                        let got = collected.traces.get(&id);
                        assert_eq!(
                            got,
                            Some(&text),
                            "form {form}, byte {at} ^ {flip:#x}: {:?}",
                            outcome.issues
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_damaged_record_in_the_middle_is_placed_and_its_whole_spans_are_kept() {
    let messages = separate(5, 32);
    let (mut bytes, ranges) = encode_all(&messages, |m| otlp::record(&otlp::proto(m)));
    // The last span of the third message: an impossible wire type for its name.
    let target = &bytes[ranges[2].clone()];
    let name = target.windows(6).rposition(|w| w == b"\x2a\x04step").unwrap();
    bytes[ranges[2].start + name] = 0x2f;
    let (collected, outcome) = read(&bytes);
    let issue = outcome.issues.iter().find(|issue| issue.kind == IssueKind::Corrupt).unwrap();
    assert_eq!((issue.offset, issue.count), (Some(ranges[2].start as u64), 1));
    assert_eq!(issue.file, "input");
    assert_eq!(collected.traces.len(), 5);
    assert_eq!(outcome.spans, 29);
    assert_eq!(outcome.incomplete_traces, 1);
}

/// The number of the line in which a byte stands, from 1 on.
fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count()
}

#[test]
fn damage_in_lines_is_placed_by_line_and_says_what_to_do() {
    let messages = separate(7, 41);
    let sound = |number: usize| (otlp::json(&messages[number]) + "\n").into_bytes();
    let bad_syntax = otlp::json(&messages[1]).replacen("\"spans\":[", "\"spans\":[{]", 1) + "\n";
    let id = otlp::json(&messages[2]).find("\"spanId\":\"").unwrap() + 10;
    let mut bad_id = otlp::json(&messages[2]) + "\n";
    bad_id.replace_range(id..id + 1, "z");
    let torn = otlp::json(&messages[3]);
    let torn = torn[..torn.len() / 2].to_owned() + &otlp::json(&messages[4]) + "\n";
    let damaged = [
        (
            "syntax",
            bad_syntax,
            IssueKind::Corrupt,
            "reading went on at the next span; if this is a copy, copy it again",
        ),
        ("id", bad_id, IssueKind::BadId, "only the spans with such damage were left out"),
        (
            "text",
            "Killed\n".to_owned(),
            IssueKind::Corrupt,
            "not OTLP; reading went on at the next line; if this is a copy, copy it again",
        ),
        (
            "torn",
            torn,
            IssueKind::Corrupt,
            "of the record; reading went on at the next record; if this is a copy, copy it again",
        ),
        (
            "large",
            format!("{{\"resourceSpans\":[],\"x\":\"{}\"}}\n", "y".repeat(50_000)),
            IssueKind::LimitReached,
            "larger `ReadOptions::max_message_bytes`",
        ),
    ];
    // In front: a line; blank lines, few and many; the rest of a record that began in another file.
    let rest = sound(6)[300..].to_vec();
    let fronts = [Vec::new(), b"\n\n\r\n".to_vec(), vec![b'\n'; 100_000], rest.clone()];
    for front in fronts.map(|front| [front, sound(0)].concat()) {
        for (what, line, kind, end) in &damaged {
            // That it begins so is an issue of this kind, and comes first.
            if *kind == IssueKind::Corrupt && front.starts_with(&rest) {
                continue;
            }
            let before = [front.clone(), b"\n".to_vec(), sound(5)].concat();
            let bytes = [before.clone(), line.clone().into_bytes(), sound(6)].concat();
            for threads in [1, 2] {
                let mut options = ReadOptions::default();
                (options.max_message_bytes, options.threads) = (40_000, threads);
                let (_, outcome) = read_with(options, &[("input", &bytes)]);
                let issue = outcome
                    .issues
                    .iter()
                    .find(|issue| issue.kind == *kind && issue.offset > Some(0))
                    .unwrap();
                let line_range = before.len() as u64..(before.len() + line.len()) as u64;
                assert!(issue.offset.is_some_and(|at| line_range.contains(&at)), "{what}: {issue:?}");
                assert_eq!(issue.count, 1, "{what}");
                let begin = format!("line {}: ", line_of(&bytes, before.len()));
                assert!(issue.reason.starts_with(&begin), "{what}: {begin}, {}", issue.reason);
                assert!(issue.reason.ends_with(end), "{what}: {}", issue.reason);
            }
        }
    }
}

#[test]
fn damage_behind_lengths_says_what_to_do() {
    let messages = separate(5, 42);
    let (bytes, ranges) = encode_all(&messages, |m| otlp::record(&otlp::proto(m)));
    let advice = "; if this is a copy, copy it again";
    // An impossible wire type in the third, and the length of the third.
    let name = bytes[ranges[2].clone()].windows(6).rposition(|w| w == b"\x2a\x04step").unwrap();
    for (at, value, said) in [
        (ranges[2].start + name, 0x2f, " of the record; reading went on"),
        (ranges[2].start + 1, 0x7f, "the length of a record is damaged"),
    ] {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        let (_, outcome) = read(&damaged);
        let issue = outcome.issues.iter().find(|issue| issue.kind == IssueKind::Corrupt).unwrap();
        assert_eq!(issue.offset, Some(ranges[2].start as u64));
        assert!(issue.reason.contains(said) && issue.reason.ends_with(advice), "{}", issue.reason);
    }
    // Cut off at both ends.
    let (_, outcome) = read(&bytes[10..bytes.len() - 10]);
    let said =
        |kind: IssueKind| outcome.issues.iter().find(|issue| issue.kind == kind).unwrap().reason.as_str();
    assert!(
        said(IssueKind::Corrupt).ends_with("give the file before it, too, if there is one"),
        "{}",
        said(IssueKind::Corrupt)
    );
    assert!(
        said(IssueKind::Truncated)
            .ends_with("a writer that was stopped leaves this, and a copy that was made too early")
    );
}

#[test]
fn a_record_behind_the_torn_rest_of_another_is_found() {
    // A writer was killed in the middle of a record, and another one went on in the same file.
    let messages = separate(6, 33);
    for (bytes, form) in [
        (encode_all(&messages, |m| (otlp::json(m) + "\n").into_bytes()), "lines"),
        (encode_all(&messages, |m| otlp::record(&otlp::proto(m))), "prefixed"),
    ] {
        let (bytes, ranges) = bytes;
        for keep in [1, 2, 3, 4, 5, 9, 100, 300] {
            let mut torn = bytes[..ranges[2].start + keep].to_vec();
            torn.extend_from_slice(&bytes[ranges[3].start..]);
            let (collected, outcome) = read(&torn);
            for (index, message) in messages.iter().enumerate().filter(|(index, _)| *index != 2) {
                for (id, text) in expected(std::slice::from_ref(message)) {
                    assert_eq!(collected.traces.get(&id), Some(&text), "{form} {keep} message {index}");
                }
            }
            assert!(outcome.issues.iter().any(|issue| issue.kind == IssueKind::Corrupt), "{form} {keep}");
        }
    }
}

#[test]
fn what_follows_a_torn_record_is_not_taken_for_its_rest() {
    // By its length the torn one ends inside of those behind it.
    let messages = separate(6, 34);
    let (bytes, ranges) = encode_all(&messages, |m| otlp::record(&otlp::proto(m)));
    for keep in 5..ranges[2].len() {
        let mut torn = bytes[..ranges[2].start + keep].to_vec();
        torn.extend_from_slice(&bytes[ranges[3].start..]);
        for threads in [1, 2] {
            let mut options = ReadOptions::default();
            options.threads = threads;
            let (collected, outcome) = read_with(options, &[("input", &torn)]);
            let known = expected(&messages);
            assert!(collected.traces.keys().all(|id| known.contains_key(id)), "{keep}: a trace of nobody");
            for (index, message) in messages.iter().enumerate().filter(|(index, _)| *index != 2) {
                for (id, text) in expected(std::slice::from_ref(message)) {
                    assert_eq!(
                        collected.traces.get(&id),
                        Some(&text),
                        "{keep} of {}, message {index}: {:?}",
                        ranges[2].len(),
                        outcome.issues
                    );
                }
            }
            let told = kinds(&outcome);
            assert!(told.iter().any(|(kind, _)| *kind == IssueKind::Corrupt), "{keep}: {told:?}");
            let foreign = [IssueKind::InvalidUtf8, IssueKind::BadId, IssueKind::NegativeDuration];
            assert!(told.iter().all(|(kind, _)| !foreign.contains(kind)), "{keep}: {told:?}");
        }
    }
}

#[test]
fn bad_ids_and_times_are_told_and_repaired() {
    let trace = ids(0).trace_id(1, None);
    let mut good = span(trace, 7, 0, "good", 100, 200);
    good.attributes.push(int(attr::TRACE_SPANS, 2));
    let backwards = GenSpan { end: BASE_NS + 20, ..span(trace, 8, 7, "backwards", 150, 0) };
    let mut spans = vec![good, backwards];
    let mut broken = |change: fn(&mut GenSpan)| {
        let mut bad = span(trace, 9, 7, "bad", 0, 1);
        change(&mut bad);
        spans.insert(0, bad);
    };
    broken(|bad| bad.trace = vec![1; 15]);
    broken(|bad| bad.trace = vec![0; 16]);
    broken(|bad| bad.trace = Vec::new());
    broken(|bad| bad.id = vec![0; 8]);
    broken(|bad| bad.id = vec![1; 9]);
    let message = GenMessage { resource: resource(0), scope: SCOPE_NAME.into(), spans };
    for bytes in [otlp::prefixed(std::slice::from_ref(&message)), otlp::lines(&[message])] {
        let (collected, outcome) = read(&bytes);
        assert_eq!(kinds(&outcome), [(IssueKind::BadId, 5), (IssueKind::NegativeDuration, 1)]);
        assert!(outcome.issues.iter().all(|issue| issue.offset == Some(0) && issue.file == "input"));
        assert_eq!(collected.traces.len(), 1);
        let text = &collected.traces[&trace];
        assert!(text.contains(&format!("\"backwards\" {}+0", BASE_NS + 150)), "{text}");
    }
}

#[test]
fn a_bad_value_in_json_costs_only_its_span() {
    let trace = [7; 16];
    let spans = (1..=121).map(|id| span(trace, id, u64::from(id > 1), "s", id, id + 1)).collect();
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans };
    let sound = otlp::json(&message);
    let id = format!("\"{}\"", "07".repeat(16));
    let at = sound.find(&id).unwrap();
    // The second span's, so that the trace keeps its root.
    let at = at + 1 + sound[at + 1..].find(&id).unwrap();
    let damaged = sound[..at].to_owned() + "\"no id at all\"" + &sound[at + id.len()..];
    let (_, outcome) = read(damaged.as_bytes());
    assert_eq!((outcome.spans, kinds(&outcome)), (120, vec![(IssueKind::BadId, 1)]));
    let time = format!("\"{}\"", BASE_NS + 3);
    for wrong in ["\"-3\"".to_owned(), format!("\"1{}\"", "0".repeat(30))] {
        // The end of the second span is the start of the third: two spans.
        let damaged = sound.replace(&time, &wrong);
        assert_ne!(damaged, sound);
        let (_, outcome) = read(damaged.as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (119, vec![(IssueKind::Corrupt, 2)]), "{wrong}");
    }
}

#[test]
fn bad_spans_before_a_syntax_error_are_told_too() {
    let mut messages = separate(2, 33);
    messages[0].spans[0].id.truncate(7);
    let sound = String::from_utf8(otlp::lines(&messages)).unwrap();
    let damaged = sound.replacen("]}]}\n", "}]}]}\n", 1).replacen("0000000", "zz00000", 1);
    let damaged = damaged.replacen("\"status\":{}}]", "\"status\":{},}]", 1);
    let (_, outcome) = read(damaged.as_bytes());
    let kinds: Vec<IssueKind> = outcome.issues.iter().map(|issue| issue.kind).collect();
    assert!(kinds.contains(&IssueKind::BadId) && kinds.contains(&IssueKind::Corrupt), "{:?}", outcome.issues);
}

#[test]
fn text_that_is_not_utf8_is_shown_with_replacements() {
    let messages = separate(2, 34);
    let mut bytes = otlp::prefixed(&messages);
    let at = bytes.windows(7).position(|w| w == b"forward").unwrap();
    bytes[at] = 0xff;
    let (collected, outcome) = read(&bytes);
    assert_eq!(kinds(&outcome), [(IssueKind::InvalidUtf8, 1)]);
    assert!(collected.traces.values().any(|text| text.contains('\u{fffd}')));
}

#[test]
fn cycles_are_cut_at_their_smallest_id() {
    let trace = [3; 16];
    // 5 → 9 → 4 → 5, 11 its own parent, 20 below the cycle, and a sound root.
    let links = [(5, 9), (9, 4), (4, 5), (11, 11), (20, 5), (1, 0), (2, 1)];
    let spans = links.map(|(id, parent)| span(trace, id, parent, "s", id, id + 1)).to_vec();
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans };
    let (collected, outcome) = read(&otlp::prefixed(&[message]));
    assert_eq!(kinds(&outcome), [(IssueKind::ParentCycle, 2)]);
    let got = collected.last.unwrap();
    let roots: Vec<u64> = got.spans.iter().filter(|s| s.parent.is_none()).map(|s| s.id).collect();
    assert_eq!(roots, [1, 4, 11]);
    assert_eq!(got.spans.iter().find(|s| s.id == 5).unwrap().parent, Some(9));
}

#[test]
fn missing_parents_and_clock_jumps_are_told() {
    let hour = 3_600_000_000_000;
    let trace = ids(0).trace_id(9, None);
    let mut root = span(trace, 1, 0, "root", 0, 100);
    root.attributes.push(int(attr::TRACE_SPANS, 5));
    let spans = vec![
        root,
        span(trace, 2, 99, "orphan", 10, 20),
        span(trace, 3, 1, "late but near", hour, hour + 5),
        span(trace, 4, 1, "far", hour + 200, hour + 300),
        span(trace, 5, 1, "in", 50, 60),
    ];
    let message = GenMessage { resource: resource(0), scope: SCOPE_NAME.into(), spans };
    let (_, outcome) = read(&otlp::prefixed(&[message]));
    assert_eq!(kinds(&outcome), [(IssueKind::MissingParent, 1), (IssueKind::ClockJump, 1)]);
}

/// A span with these times, and not with such after the base of generated ones.
fn timed(id: u64, parent: u64, name: &str, start: u64, end: u64) -> GenSpan {
    GenSpan { start, end, ..span([5; 16], id, parent, name, 0, 0) }
}

#[test]
fn times_that_are_none_are_told_and_make_no_run_longer() {
    let latest = u64::try_from(i64::MAX).unwrap();
    let spans = [
        timed(1, 0, "root", 1, latest),
        timed(2, 1, "never ends", 5, latest + 1),
        timed(3, 1, "never was", u64::MAX, u64::MAX),
        timed(4, 1, "sound", 6, 8),
    ];
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans: spans.to_vec() };
    for bytes in [otlp::prefixed(std::slice::from_ref(&message)), otlp::lines(&[message])] {
        let (collected, outcome) = read(&bytes);
        let spans = &collected.last.as_ref().unwrap().spans;
        let times: Vec<_> = spans.iter().map(|span| (span.id, span.start_ns, span.end_ns)).collect();
        assert_eq!(times, [(1, 1, latest), (2, 5, 5), (4, 6, 8)]);
        assert_eq!(kinds(&outcome), [(IssueKind::BadTime, 2)]);
        let reason = &outcome.issues[0].reason;
        assert!(
            reason.contains("span \"never ends\" ends after") && reason.ends_with("counts as 0"),
            "{reason}"
        );
    }
}

#[test]
fn a_start_that_was_not_set_makes_no_span_of_decades() {
    let (now, day) = (1_750_000_000_000_000_000, 86_400_000_000_000);
    let spans = [
        timed(1, 0, "root", 0, now + 100),
        timed(2, 1, "forward", now, now + 90),
        timed(3, 2, "unset", 0, now + 50),
    ];
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans: spans.to_vec() };
    for bytes in [otlp::prefixed(std::slice::from_ref(&message)), otlp::lines(&[message])] {
        let (collected, outcome) = read(&bytes);
        let mut times: Vec<_> = collected.last.as_ref().unwrap().spans.iter().collect();
        times.sort_by_key(|span| span.id);
        let times: Vec<_> = times.iter().map(|span| (span.id, span.start_ns, span.end_ns)).collect();
        assert_eq!(times, [(1, now + 100, now + 100), (2, now, now + 90), (3, now + 50, now + 50)]);
        assert_eq!(kinds(&outcome), [(IssueKind::BadTime, 2)]);
        assert!(outcome.issues[0].reason.contains("span \"root\" has no start;"), "{:?}", outcome.issues);
    }
    // Where times count from 0 they are as they are said to be.
    let spans = vec![timed(1, 0, "root", 0, day), timed(2, 1, "forward", 0, day / 2)];
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans };
    let (collected, outcome) = read(&otlp::prefixed(&[message]));
    assert_eq!((kinds(&outcome), collected.last.unwrap().spans[0].end_ns), (vec![], day));
}

#[test]
fn one_id_with_two_contents_counts_once_whatever_comes_first() {
    let trace = [6; 16];
    let root = span(trace, 1, 0, "root", 0, 100);
    let variants =
        [span(trace, 2, 1, "b", 5, 9), span(trace, 2, 1, "a", 5, 9), span(trace, 2, 1, "c", 4, 90)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut spans = vec![root.clone()];
        spans.extend(order.map(|index| variants[index].clone()));
        let message = GenMessage { resource: resource(0), scope: "other".into(), spans };
        let (collected, outcome) = read(&otlp::prefixed(&[message]));
        assert_eq!(kinds(&outcome), [(IssueKind::DuplicateSpan, 2)]);
        assert!(
            outcome.issues[0].reason.starts_with("different spans of trace 0606"),
            "{:?}",
            outcome.issues
        );
        assert!(collected.traces[&trace].contains("\"c\""), "{order:?}");
        assert_eq!(outcome.spans, 2);
    }
}

#[test]
fn a_newer_schema_is_read_with_a_note() {
    let mut messages = separate(1, 35);
    messages[0].resource.push(int(attr::SCHEMA_VERSION, 99));
    let (collected, outcome) = read(&otlp::prefixed(&messages));
    assert_eq!(kinds(&outcome), [(IssueKind::NewerSchema, 1)]);
    assert!(collected.traces == expected(&messages));
}

#[test]
fn hostile_bytes_end_in_issues() {
    let deep = "{\"resourceSpans\":".to_owned() + &"[".repeat(200_000);
    let deep_value = format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"a\",\"value\":{}",
        "{\"arrayValue\":{\"values\":[".repeat(50_000)
    );
    let huge_prefix = [&[0x7f, 0xff, 0xff, 0xff, 0x0a][..], &[0; 1_000]].concat();
    let many_prefixes: Vec<u8> = (0..50_000).flat_map(|_| [0, 0, 0x40, 0, 0x0a, 0xff, 0x7f, 0x0a]).collect();
    let mut claims = vec![0, 0x20, 0, 0];
    claims.extend(b"\x0a\xff\xff\x7f".repeat(10_000));
    let inputs: Vec<(&str, Vec<u8>)> = vec![
        ("one byte", vec![0]),
        ("zeros", vec![0; 100_000]),
        ("newlines", vec![b'\n'; 100_000]),
        ("braces", vec![b'{'; 100_000]),
        ("tags", vec![0x0a; 100_000]),
        ("deep", deep.into_bytes()),
        ("deep value", deep_value.into_bytes()),
        ("huge prefix", huge_prefix),
        ("many prefixes", many_prefixes),
        ("claims", claims),
        ("gzip magic", vec![0x1f, 0x8b, 8, 0]),
        ("zstd magic", vec![0x28, 0xb5, 0x2f, 0xfd]),
        ("zstd in a record", [&[0, 0, 0, 8][..], &[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3, 4]].concat()),
        ("json of others", br#"{"level":"info","message":"hello"}"#.repeat(10)),
        ("logs only", br#"{"resourceLogs":[]}"#.to_vec()),
        ("a long line", vec![b'x'; 300_000]),
    ];
    let mut options = ReadOptions::default();
    options.max_message_bytes = 100_000;
    for (name, bytes) in inputs {
        let (collected, outcome) = read_with(options.clone(), &[(name, &bytes)]);
        assert!(collected.traces.is_empty(), "{name}");
        let silent = ["zeros", "logs only"].contains(&name);
        assert!(silent || !outcome.issues.is_empty(), "{name}");
    }
}

#[test]
fn many_beginnings_on_one_line_end() {
    let line = "{\"resourceSpans\":[".repeat(100_000);
    let (collected, outcome) = read(format!("{line}\n{line}\n").as_bytes());
    assert!(collected.traces.is_empty());
    assert!(!outcome.issues.is_empty());
}

#[test]
fn many_small_bombs_end_in_issues() {
    // Each record is a frame that holds 8 MiB of zeros in 64 blocks of four bytes.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for block in 0..64u32 {
        let header = (128 << 10) << 3 | 1 << 1 | u32::from(block == 63);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    let bytes = otlp::record(&frame).repeat(2_000);
    let (collected, outcome) = read(&bytes);
    assert!(collected.traces.is_empty() && !outcome.issues.is_empty());
}

#[test]
fn attribute_floods_and_long_texts_are_bounded() {
    let trace = ids(0).trace_id(2, None);
    let mut flood = span(trace, 1, 0, &"é".repeat(50_000), 0, 10);
    flood.attributes = (0..20_000).map(|n| int(&format!("key{n}"), n)).collect();
    flood.attributes.push(int(attr::TRACE_SPANS, 1));
    flood.links = vec![(vec![1; 16], vec![1; 8]); 5_000];
    for n in 0..5_000 {
        flood.attributes.push((format!("{}v{n}", attr::VALUE_PREFIX), Attr::Double(0.5)));
    }
    let message = GenMessage { resource: resource(0), scope: SCOPE_NAME.into(), spans: vec![flood] };
    let (collected, outcome) = read(&otlp::prefixed(&[message]));
    assert_eq!(outcome.traces, 1);
    let got = collected.last.unwrap();
    assert!(got.links.len() <= 1_024 && got.values.len() <= 1_024);
    let name = got.text(got.spans[0].name);
    assert!(name.len() <= 4_096 && name.starts_with('é'));
}

#[test]
fn readers_can_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Reader>();
    is_send::<stepscope_model::Unfinished>();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4_000), kind in 0..6u8) {
        let begin: &[u8] = match kind {
            0 => b"",
            1 => b"{\"resourceSpans\":[",
            2 => &[0, 0, 1, 0, 0x0a],
            3 => &[0x1f, 0x8b, 8],
            4 => &[0x28, 0xb5, 0x2f, 0xfd],
            _ => &[0, 0, 0, 40, 0x28, 0xb5, 0x2f, 0xfd],
        };
        read(&[begin, &bytes].concat());
    }

    #[test]
    fn spliced_files_never_panic(seed: u64, cuts in proptest::collection::vec(any::<prop::sample::Index>(), 2..6)) {
        let messages = run(0, 10, 5, seed);
        let sources = [otlp::lines(&messages), otlp::prefixed(&messages), otlp::prefixed_zstd(&messages, otlp::proto)];
        let mut spliced = Vec::new();
        for (index, cut) in cuts.iter().enumerate() {
            let source = &sources[index % 3];
            let at = cut.index(source.len());
            spliced.extend_from_slice(&source[at..(at + 3_000).min(source.len())]);
        }
        let (_, outcome) = read(&spliced);
        prop_assert!(outcome.issues.len() < 20);
    }

    #[test]
    fn damaged_partials_never_panic(seed: u64, at: prop::sample::Index, flip: u8) {
        let messages = run(0, 6, 5, seed);
        let bytes = otlp::prefixed(&messages);
        let mut collected = Collected::default();
        let mut reader = Reader::default();
        reader.read_stream("input", &bytes[20..bytes.len() - 30], &mut collected).unwrap();
        let mut stored = postcard::to_stdvec(&reader.suspend().unwrap()).unwrap();
        let at = at.index(stored.len());
        stored[at] ^= flip;
        if let Ok(unfinished) = postcard::from_bytes(&stored) {
            let mut reader = Reader::default();
            reader.absorb(unfinished, &mut collected);
            let _ = reader.finish(&mut collected);
        }
    }
}
