//! The traces do not depend on the order of spans, on how they are spread over messages, files and partials,
//! on repetition, or on how little memory there is.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::BTreeSet;

use common::*;
use proptest::prelude::*;
use stepscope_core::{SCOPE_NAME, attr};
use stepscope_model::{IssueKind, ReadOptions, ReadOutcome, Reader, Unfinished};

/// A forest of our steps and of foreign traces with random trees; parents may be missing.
fn forest(seed: u64) -> Vec<GenMessage> {
    let mut random = Random(seed);
    let mut ours = Vec::new();
    for number in 0..1 + random.below(12) as u32 {
        let children = random.below(9);
        ours.extend(step(random.below(2) as i64, number, children, &mut random));
    }
    let mut foreign = Vec::new();
    for _ in 0..random.below(5) {
        let trace: [u8; 16] = std::array::from_fn(|_| random.next() as u8 | 1);
        let ids: Vec<u64> = (0..1 + random.below(12)).map(|_| random.next() | 1).collect();
        for (index, &id) in ids.iter().enumerate() {
            let parent = match random.below(8) {
                0 if index > 0 => 0xdead,
                _ if index > 0 => ids[random.below(index as u64) as usize],
                _ => 0,
            };
            let start = random.below(1_000_000);
            foreign.push(span(trace, id, parent, "work", start, start + random.below(1_000)));
        }
    }
    random.shuffle(&mut ours);
    random.shuffle(&mut foreign);
    let per_message = 1 + random.below(20) as usize;
    let mut messages = Vec::new();
    for (spans, scope) in [(ours, SCOPE_NAME), (foreign, "other")] {
        for chunk in spans.chunks(per_message) {
            messages.push(GenMessage { resource: resource(0), scope: scope.into(), spans: chunk.to_vec() });
        }
    }
    random.shuffle(&mut messages);
    messages
}

fn tiny_memory() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.memory_bytes = 2_000;
    options
}

/// Everything about an outcome that must not depend on the order, except for where repetition was met.
fn essence(outcome: &ReadOutcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let issues: Vec<_> = outcome
        .issues
        .iter()
        .filter(|issue| issue.kind != IssueKind::DuplicateSpan)
        .map(|issue| (issue.kind, issue.count, issue.reason.clone()))
        .collect();
    (outcome.spans, outcome.traces, outcome.incomplete_traces, outcome.duplicate_spans, issues)
}

fn through_bytes(unfinished: &Unfinished) -> Unfinished {
    postcard::from_bytes(&postcard::to_stdvec(unfinished).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shuffled_and_doubled_messages_give_the_same_traces(seed: u64) {
        let messages = forest(seed);
        let expected = expected(&messages);
        let (collected, outcome) = read(&otlp::prefixed(&messages));
        prop_assert_eq!(&collected.traces, &expected);
        let mut shuffled = messages.clone();
        Random(seed ^ 1).shuffle(&mut shuffled);
        let (again, other) = read(&otlp::lines(&shuffled));
        prop_assert_eq!(&again.traces, &expected);
        prop_assert_eq!(essence(&other), essence(&outcome));
        prop_assert_eq!(&again.incomplete.iter().collect::<BTreeSet<_>>(), &collected.incomplete.iter().collect());

        // Twice in one file, in another order, in both formats.
        let mut twice = messages.clone();
        twice.extend(shuffled.iter().cloned());
        let spans: u64 = messages.iter().map(|m| m.spans.len() as u64).sum();
        for inputs in [
            vec![("a", otlp::prefixed(&twice))],
            vec![("a", otlp::prefixed(&messages)), ("b", otlp::lines(&shuffled))],
        ] {
            let inputs: Vec<(&str, &[u8])> = inputs.iter().map(|(name, b)| (*name, b.as_slice())).collect();
            for options in [ReadOptions::default(), tiny_memory()] {
                let (doubled, outcome) = read_with(options, &inputs);
                prop_assert_eq!(&doubled.traces, &expected);
                prop_assert_eq!(outcome.duplicate_spans, spans);
                prop_assert_eq!(outcome.spans, spans);
            }
        }
    }

    #[test]
    fn little_memory_changes_nothing(seed: u64) {
        let messages = forest(seed);
        let bytes = otlp::prefixed(&messages);
        let (roomy, outcome) = read(&bytes);
        for memory_bytes in [0, 1_000, 5_000, 20_000] {
            let mut options = ReadOptions::default();
            options.memory_bytes = memory_bytes;
            let (tight, other) = read_with(options, &[("input", &bytes)]);
            if other.issues.iter().any(|issue| issue.kind == IssueKind::LimitReached) {
                // A single trace was larger than the memory.
                prop_assert!(memory_bytes <= 5_000);
                continue;
            }
            prop_assert_eq!(&tight.traces, &roomy.traces);
            prop_assert_eq!(other, outcome.clone());
        }
    }

    #[test]
    fn partials_in_any_order_give_the_same_traces(seed: u64) {
        let messages = forest(seed);
        let (whole, outcome) = read(&otlp::prefixed(&messages));
        let mut random = Random(seed ^ 2);
        let count = 1 + random.below(4) as usize;
        let mut collected = Collected::default();
        let mut parts: Vec<Unfinished> = (0..count)
            .map(|part| {
                let own: Vec<GenMessage> =
                    messages.iter().skip(part).step_by(count).cloned().collect();
                let options = if part % 2 == 0 { ReadOptions::default() } else { tiny_memory() };
                let mut reader = Reader::new(options);
                let bytes = otlp::prefixed(&own);
                if !bytes.is_empty() {
                    reader.read_stream("input", bytes.as_slice(), &mut collected).unwrap();
                }
                reader.suspend().unwrap()
            })
            .collect();
        random.shuffle(&mut parts);
        // Some are merged among themselves first.
        let mut left = Reader::default();
        let mut right = Reader::new(tiny_memory());
        for (index, part) in parts.iter().enumerate() {
            let reader = if index % 2 == 0 { &mut left } else { &mut right };
            prop_assert!(!reader.has_read(part) || part.files().is_empty());
            reader.absorb(through_bytes(part), &mut collected);
        }
        left.absorb(through_bytes(&right.suspend().unwrap()), &mut collected);
        let merged = left.finish(&mut collected);
        prop_assert!(collected.repeated.is_empty());
        prop_assert_eq!(&collected.traces, &whole.traces);
        prop_assert_eq!(essence(&merged), essence(&outcome));
    }
}

#[test]
fn the_same_partial_twice_is_recognised() {
    let messages = run(0, 30, 7, 21);
    let suspend = |bytes: &[u8], name: &str| {
        let mut reader = Reader::default();
        reader.read_stream(name, bytes, &mut Collected::default()).unwrap();
        reader.suspend().unwrap()
    };
    let first = suspend(&otlp::prefixed(&messages), "a");
    let again = suspend(&otlp::gzip(&otlp::prefixed(&messages)), "b");
    let other = suspend(&otlp::prefixed(&messages[..3]), "c");
    assert_eq!(first.fingerprint(), again.fingerprint());
    assert!(first.is_same_input(&again));
    assert!(!first.is_same_input(&other));
    let mut reader = Reader::default();
    let mut collected = Collected::default();
    reader.absorb(first, &mut collected);
    assert!(reader.has_read(&again));
    assert!(!reader.has_read(&other));
    // Merged all the same, the overlap is told.
    let whole = messages[..3].iter().flat_map(|m| &m.spans).filter(|s| s.parent.is_empty()).count() as u64;
    reader.absorb(other, &mut collected);
    let outcome = reader.finish(&mut collected);
    assert!(kinds(&outcome).contains(&(IssueKind::Overlap, whole)), "{:?}", outcome.issues);
}

#[test]
fn memory_does_not_grow_with_the_number_of_traces() {
    // 100,000 traces of one span each, of one process: all but the last message's are closed at once, so a
    // bound far below their size is never passed, and what is remembered of them is one range.
    let spans: Vec<GenSpan> = (0..100_000u32)
        .map(|number| {
            let trace = ids(0).trace_id(number, None);
            let mut made = span(trace, u64::from(number) + 1, 0, "batch", 0, 10);
            made.attributes = vec![int(attr::TRACE_SPANS, 1), text(attr::SECTION_KIND, "batch")];
            made
        })
        .collect();
    let messages: Vec<GenMessage> = spans
        .chunks(500)
        .map(|chunk| GenMessage { resource: resource(0), scope: SCOPE_NAME.into(), spans: chunk.to_vec() })
        .collect();
    let bytes = otlp::prefixed(&messages);
    let mut options = ReadOptions::default();
    options.memory_bytes = 10_000;
    // A directory that does not exist: an attempt to spill would be an issue.
    options.spill_dir = Some("/nonexistent/stepscope".into());
    let mut collected = Collected::default();
    let mut reader = Reader::new(options.clone());
    reader.read_stream("input", bytes.as_slice(), &mut collected).unwrap();
    let unfinished = reader.suspend().unwrap();
    assert_eq!(unfinished.open_traces(), 0);
    assert!(postcard::to_stdvec(&unfinished).unwrap().len() < 200);
    assert_eq!(collected.traces.len(), 100_000);
    let mut reader = Reader::new(options);
    reader.absorb(unfinished, &mut collected);
    reader.read_stream("again", bytes.as_slice(), &mut collected).unwrap();
    let outcome = reader.finish(&mut collected);
    assert_eq!(collected.repeated.len(), 0);
    assert_eq!(kinds(&outcome), [(IssueKind::DuplicateSpan, 100_000)]);
}

#[test]
fn many_foreign_traces_go_through_temporary_files() {
    let spans: Vec<GenSpan> = (0..20_000u64)
        .map(|number| {
            let trace: [u8; 16] =
                std::array::from_fn(|i| (stepscope_core::identity::mix(number + 1) >> (i % 8 * 8)) as u8);
            span(trace, 1 + number, 0, "request", number, number + 5)
        })
        .collect();
    let messages: Vec<GenMessage> = spans
        .chunks(100)
        .map(|chunk| GenMessage { resource: resource(3), scope: "other".into(), spans: chunk.to_vec() })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let mut options = ReadOptions::default();
    options.memory_bytes = 200_000;
    options.spill_dir = Some(dir.path().into());
    let bytes = otlp::prefixed(&messages);
    let (collected, outcome) = read_with(options, &[("input", &bytes)]);
    assert_eq!(kinds(&outcome), []);
    assert!(collected.traces == expected(&messages));
    assert!(collected.resources.values().all(|resource| resource.rank == Some(3)));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_trace_larger_than_the_memory_is_cut_and_told() {
    let trace = [5u8; 16];
    let mut spans = vec![span(trace, 1, 0, "root", 0, 1_000_000)];
    spans.extend((2..5_000u64).map(|id| span(trace, id, 1, "child", id, id + 1)));
    let messages: Vec<GenMessage> = spans
        .chunks(50)
        .map(|chunk| GenMessage { resource: resource(0), scope: "other".into(), spans: chunk.to_vec() })
        .collect();
    let mut options = ReadOptions::default();
    options.memory_bytes = 100_000;
    let (collected, outcome) = read_with(options, &[("input", &otlp::prefixed(&messages))]);
    assert_eq!((outcome.traces, outcome.incomplete_traces), (1, 1));
    let left_out = outcome.issues.iter().find(|issue| issue.kind == IssueKind::LimitReached).unwrap();
    assert_eq!(outcome.spans + left_out.count, 4_999);
    assert!(outcome.spans > 500);
    assert_eq!(collected.traces.len(), 1);
}

#[test]
fn a_disk_that_fails_costs_memory_and_not_spans() {
    let messages = forest(77);
    let mut options = ReadOptions::default();
    options.memory_bytes = 1_000;
    options.spill_dir = Some("/nonexistent/stepscope".into());
    let (collected, outcome) = read_with(options, &[("input", &otlp::prefixed(&messages))]);
    assert!(collected.traces == expected(&messages));
    assert!(outcome.issues.iter().any(|issue| issue.kind == IssueKind::LimitReached));
}
