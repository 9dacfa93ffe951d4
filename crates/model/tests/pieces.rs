//! A file cut at any byte gives the same traces as the whole: as two inputs of one reader and as two
//! partials, in either order. What has no other half is damage.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use common::*;
use stepscope_model::{Completeness, IssueKind, ReadOptions, Reader, Unfinished};

/// Reads each input with a reader of its own and lets one more go on with what they left, through bytes.
fn by_partials(inputs: &[(&str, &[u8])]) -> (Collected, stepscope_model::ReadOutcome) {
    let mut collected = Collected::default();
    let mut parts = Vec::new();
    for (name, bytes) in inputs {
        let mut reader = Reader::default();
        reader.read_stream(name, *bytes, &mut collected).unwrap();
        parts.push(postcard::to_stdvec(&reader.suspend().unwrap()).unwrap());
    }
    let mut merged = Reader::default();
    for part in parts {
        merged.absorb(postcard::from_bytes::<Unfinished>(&part).unwrap(), &mut collected);
    }
    let outcome = merged.finish(&mut collected);
    assert!(collected.repeated.is_empty());
    (collected, outcome)
}

fn files() -> Vec<(&'static str, Vec<u8>, Traces)> {
    let messages = run(0, 4, 3, 11);
    let one = &messages[..1];
    vec![
        ("lines", otlp::lines(&messages), expected(&messages)),
        ("prefixed", otlp::prefixed(&messages), expected(&messages)),
        ("one line", otlp::lines(one), expected(one)),
        ("one record", otlp::prefixed(one), expected(one)),
        ("one bare message", otlp::proto(&messages[0]), expected(one)),
        ("one document", otlp::pretty(&messages[0]).into_bytes(), expected(one)),
    ]
}

#[test]
fn two_pieces_in_any_order_are_the_whole() {
    for (name, bytes, expected) in files() {
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            let pieces: [(&str, &[u8]); 2] = [("a", left), ("b", right)];
            let swapped = [pieces[1], pieces[0]];
            let runs = [
                read_with(ReadOptions::default(), &pieces),
                read_with(ReadOptions::default(), &swapped),
                by_partials(&pieces),
                by_partials(&swapped),
            ];
            for (index, (collected, outcome)) in runs.iter().enumerate() {
                assert!(collected.traces == expected, "{name} cut at {cut}, {index}: {:?}", outcome.issues);
                let issues: Vec<IssueKind> = outcome
                    .issues
                    .iter()
                    .map(|issue| issue.kind)
                    .filter(|&kind| kind != IssueKind::IncompleteTrace)
                    .collect();
                let is_empty = |piece: &[u8]| match name {
                    "lines" | "one line" | "one document" => piece.trim_ascii().is_empty(),
                    _ => piece.is_empty(),
                };
                let empty = is_empty(left) || is_empty(right);
                assert_eq!(
                    issues,
                    vec![IssueKind::Empty; usize::from(empty)],
                    "{name} cut at {cut}, {index}"
                );
                assert_eq!(outcome.spans, runs[0].1.spans);
            }
            assert_eq!(runs[0].1.files, runs[1].1.files);
            assert_eq!(runs[2].1, runs[3].1);
            assert_eq!(runs[0].1, runs[2].1);
        }
    }
}

#[test]
fn many_pieces_with_a_whole_record_each_are_the_whole() {
    let messages = run(0, 60, 5, 12);
    let expected = expected(&messages);
    for bytes in [otlp::lines(&messages), otlp::prefixed(&messages)] {
        let mut random = Random(5);
        for _ in 0..20 {
            // Records are at most 2 kB here.
            let mut cuts = vec![0];
            while bytes.len() - cuts[cuts.len() - 1] > 12_000 {
                cuts.push(cuts[cuts.len() - 1] + 5_000 + random.below(5_000) as usize);
            }
            cuts.push(bytes.len());
            let names: Vec<String> = (0..cuts.len()).map(|n| format!("piece{n:03}")).collect();
            let mut pieces: Vec<(&str, &[u8])> = cuts
                .windows(2)
                .zip(&names)
                .map(|(cut, name)| (name.as_str(), &bytes[cut[0]..cut[1]]))
                .collect();
            random.shuffle(&mut pieces);
            let (collected, outcome) = read_with(ReadOptions::default(), &pieces);
            assert_eq!(kinds(&outcome), []);
            assert!(collected.traces == expected);
        }
    }
}

#[test]
fn a_truncated_file_gives_everything_before_the_cut() {
    let messages = run(0, 4, 3, 13);
    let expected = expected(&messages);
    for (bytes, encode) in [
        (otlp::lines(&messages), (|m| otlp::lines(m)) as fn(&[GenMessage]) -> Vec<u8>),
        (otlp::prefixed(&messages), |m| otlp::prefixed(m)),
    ] {
        for cut in 1..bytes.len() {
            let (collected, outcome) = read(&bytes[..cut]);
            let whole = (0..=messages.len()).rev().find(|&n| encode(&messages[..n]).len() <= cut).unwrap();
            let before = common::expected(&messages[..whole]);
            for (id, text) in &before {
                // Spans of a torn record may join them.
                assert!(text.lines().all(|line| collected.traces[id].contains(line)), "{cut}");
            }
            for (id, text) in &collected.traces {
                assert!(text.lines().all(|line| expected[id].contains(line)), "{cut}");
            }
            for (kind, count) in kinds(&outcome) {
                let fine = match kind {
                    IssueKind::Truncated | IssueKind::UnknownFormat => count == 1,
                    IssueKind::IncompleteTrace => true,
                    _ => false,
                };
                assert!(fine, "{cut}: {:?}", outcome.issues);
            }
            let boundary = encode(&messages[..whole]).len() == cut;
            let newline_lacks = bytes[0] == b'{' && bytes[cut] == b'\n';
            assert_eq!(
                outcome.issues.iter().any(|i| i.kind != IssueKind::IncompleteTrace),
                !boundary && !newline_lacks,
                "{cut}"
            );
        }
    }
}

#[test]
fn spans_of_a_torn_record_are_kept() {
    let messages = run(0, 12, 30, 14);
    for bytes in [otlp::lines(&messages[..1]), otlp::prefixed(&messages[..1])] {
        let (collected, outcome) = read(&bytes[..bytes.len() * 3 / 4]);
        assert!(outcome.spans > 15, "{}", outcome.spans);
        assert!(!collected.traces.is_empty());
        assert!(kinds(&outcome).contains(&(IssueKind::Truncated, 1)));
        outcome.check().unwrap();
    }
}

#[test]
fn halves_without_each_other_are_reported_with_their_place() {
    let messages = run(0, 30, 9, 15);
    let bytes = otlp::prefixed(&messages);
    let first = 4 + otlp::proto(&messages[0]).len();
    let (_, outcome) = read(&bytes[10..]);
    let issue = &outcome.issues[0];
    assert_eq!((issue.kind, issue.offset, issue.count), (IssueKind::Corrupt, Some(0), 1));
    let (_, outcome) = read(&bytes[..first + 50]);
    let issue = outcome.issues.iter().find(|issue| issue.kind == IssueKind::Truncated).unwrap();
    assert_eq!(issue.offset, Some(first as u64));
}

#[test]
fn a_cut_compressed_file_gives_what_came_before() {
    // zstd gives whole blocks of 128 KiB only.
    let messages = run(0, 2_000, 20, 16);
    let expected = expected(&messages);
    let plain = otlp::prefixed(&messages);
    for bytes in [otlp::gzip(&plain), otlp::zstd(&plain), otlp::gzip(&otlp::lines(&messages))] {
        let (collected, outcome) = read(&bytes[..bytes.len() / 2]);
        assert!(collected.traces.len() > 50, "{}", collected.traces.len());
        assert!(collected.traces.len() < 2_000);
        for (id, text) in &collected.traces {
            assert!(text.lines().all(|line| expected[id].contains(line)));
        }
        assert_eq!(kinds(&outcome)[0], (IssueKind::Truncated, 1));
        // Unless the last whole span happens to end its trace.
        let incomplete = u64::from(collected.last.unwrap().completeness == Completeness::Incomplete);
        assert_eq!(outcome.issues.iter().skip(1).map(|issue| issue.count).sum::<u64>(), incomplete);
    }
}
