//! Traces that go on in others are one trace, whatever the order, the memory and the partials; where some are missing, or all
//! are too much, that is said.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use common::*;
use proptest::prelude::*;
use stepscope_core::identity::TraceId;
use stepscope_core::{SCOPE_NAME, attr};
use stepscope_model::{Figure, IssueKind, ReadOptions, Reader, Unfinished};

const RUN: u32 = 9_999;

/// Traces of a step: its own, those that continue its first section, and one (the fourth) that continues a section of the second.
const PARTS: u32 = 7;

/// The id of part `part` of a step: 0 is the step's own trace.
fn id_of(step: u32, part: u32) -> TraceId {
    ids(0).trace_id(step * 10 + part, Some(u64::from(step)))
}

/// A wide step: what its traces hold, and what it is as one trace.
#[derive(Default)]
struct Wide {
    parts: Vec<Vec<GenSpan>>,
    joined: Vec<GenSpan>,
}

impl Wide {
    fn new(step: u32, sections: u64) -> Self {
        let begin = u64::from(step) * 1_000_000;
        let first_id = u64::from(step) << 32;
        let mut wide = Self::default();
        // The section that each part continues, and the number of parts of each.
        let (around, counts) = (|part| if part == 3 { 1_000_001 } else { 2 }, [5, 1, 0, 0, 0, 0, 0]);
        for part in 0..PARTS {
            let trace = id_of(step, part);
            let mut spans = Vec::new();
            let parent = if part == 0 { 1 } else { around(part) };
            for section in 0..sections {
                let id = u64::from(part) * 1_000_000 + 2 + section;
                let start = begin + u64::from(part) * 1_000 + section;
                let (id, parent) = if part == 1 && section == 0 { (1_000_001, parent) } else { (id, parent) };
                spans.push(span(
                    trace,
                    first_id + id,
                    first_id + parent,
                    "section",
                    start,
                    start + 1 + section % 7,
                ));
            }
            wide.joined
                .extend(spans.iter().cloned().map(|made| GenSpan { trace: id_of(step, 0).to_vec(), ..made }));
            let counted =
                [int(attr::TRACE_SPANS, sections as i64), int(attr::TRACE_PARTS, counts[part as usize])];
            if part > 0 {
                for root in &mut spans {
                    root.parent.clear();
                    root.attributes = vec![text(attr::PARENT_PATH, "step/section")];
                }
                let last = spans.last_mut().unwrap();
                last.attributes.extend(counted);
                last.attributes.push(int(attr::TRACE_DROPPED, 0));
                let continued = id_of(step, if part == 3 { 1 } else { 0 });
                let run = ids(0).trace_id(RUN, None);
                for (trace, id) in [([7; 16], 9), (continued, first_id + parent), (run, 1)] {
                    last.links.push((trace.to_vec(), u64::to_be_bytes(id).to_vec()));
                }
                let joined = wide.joined.last_mut().unwrap();
                joined.links = vec![(vec![7; 16], vec![9; 8])];
            }
            wide.parts.push(spans);
        }
        let mut root = span(id_of(step, 0), first_id + 1, 0, "step", begin, begin + 900_000);
        root.attributes = vec![text(attr::SECTION_KIND, "step"), int(attr::STEP, i64::from(step))];
        root.links = vec![(ids(0).trace_id(RUN, None).to_vec(), vec![0, 0, 0, 0, 0, 0, 0, 1])];
        let mut joined = root.clone();
        joined.attributes.extend([
            int(attr::TRACE_SPANS, i64::from(PARTS) * sections as i64 + 1),
            int(attr::TRACE_DROPPED, 0),
        ]);
        root.attributes
            .extend([int(attr::TRACE_SPANS, sections as i64 + 1), int(attr::TRACE_PARTS, counts[0])]);
        wide.parts[0].push(root);
        wide.joined.push(joined);
        wide
    }
}

fn messages(spans: &[GenSpan], size: usize) -> Vec<GenMessage> {
    let message = |spans: &[GenSpan]| GenMessage {
        resource: resource(0),
        scope: SCOPE_NAME.into(),
        spans: spans.to_vec(),
    };
    spans.chunks(size).map(message).collect()
}

fn with_memory(memory_bytes: usize) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.memory_bytes = memory_bytes;
    options
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn continued_traces_are_one_in_any_order(seed: u64) {
        let mut random = Random(seed);
        let steps: Vec<Wide> =
            (0..1 + random.below(4) as u32).map(|step| Wide::new(step, 3 + u64::from(step))).collect();
        let expected = expected(&messages(&steps.iter().flat_map(|step| step.joined.clone()).collect::<Vec<_>>(), 1_000));
        let mut spans: Vec<GenSpan> = steps.iter().flat_map(|step| step.parts.concat()).collect();
        let count = spans.len() as u64;
        random.shuffle(&mut spans);
        let once = messages(&spans, 1 + random.below(9) as usize);
        let mut again = once.clone();
        random.shuffle(&mut again);
        // Little, and four times that is enough for one of these steps twice.
        for memory_bytes in [64 << 20, 12_000] {
            let (collected, outcome) = read_with(with_memory(memory_bytes), &[("a", &otlp::prefixed(&once))]);
            prop_assert_eq!(&collected.traces, &expected);
            prop_assert_eq!(kinds(&outcome), []);
            prop_assert_eq!((outcome.spans, outcome.traces), (count, steps.len() as u64));
            let doubled = [("a", otlp::prefixed(&once)), ("b", otlp::lines(&again))];
            let inputs: Vec<(&str, &[u8])> = doubled.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
            let (collected, outcome) = read_with(with_memory(memory_bytes), &inputs);
            prop_assert_eq!(&collected.traces, &expected);
            prop_assert_eq!((outcome.spans, outcome.duplicate_spans), (count, count));
            prop_assert!(collected.incomplete.is_empty());
        }
        // In partials, one of which may have a trace whole that another one continues.
        let mut collected = Collected::default();
        let mut parts: Vec<Unfinished> = (0..3)
            .map(|part| {
                let own: Vec<GenMessage> = once.iter().skip(part).step_by(3).cloned().collect();
                let mut reader = Reader::new(with_memory(if part == 0 { 1_000 } else { 64 << 20 }));
                if !own.is_empty() {
                    reader.read_stream("a", otlp::prefixed(&own).as_slice(), &mut collected).unwrap();
                }
                reader.suspend().unwrap()
            })
            .collect();
        random.shuffle(&mut parts);
        let mut reader = Reader::default();
        parts.into_iter().for_each(|part| reader.absorb(part, &mut collected));
        let outcome = reader.finish(&mut collected);
        prop_assert_eq!(&collected.traces, &expected);
        prop_assert_eq!(kinds(&outcome), []);
    }
}

#[test]
fn a_continued_trace_is_delivered_once_its_last_part_has_come() {
    let wide = Wide::new(0, 5);
    let mut reader = Reader::default();
    let mut collected = Collected::default();
    for part in [3, 0, 2, 4, 6, 5, 1] {
        assert!(collected.traces.is_empty());
        let bytes = otlp::prefixed(&messages(&wide.parts[part], 100));
        reader.read_stream(&format!("part{part}"), bytes.as_slice(), &mut collected).unwrap();
    }
    assert_eq!(collected.traces, expected(&messages(&wide.joined, 100)));
    let trace = collected.last.as_ref().unwrap();
    assert_eq!(trace.spans[0].figure(Figure::TraceParts), None);
    // A link into a part that is joined leads into the trace; what led back, and the run's link of each part, are gone.
    assert_eq!(trace.links.iter().filter(|link| link.span == trace.spans[0].id).count(), 1);
    assert_eq!(trace.links.len(), 1 + 6);
}

#[test]
fn what_is_missing_of_a_continued_trace_is_said() {
    let wide = Wide::new(0, 5);
    let without = |missing: &[usize]| {
        let spans = wide.parts.iter().zip(0..).filter(|(_, part)| !missing.contains(part));
        let spans: Vec<GenSpan> = spans.flat_map(|(spans, _)| spans.clone()).collect();
        read(&otlp::prefixed(&messages(&spans, 3)))
    };
    for (parts, missing) in
        [(&[2][..], 1), (&[3], 1), (&[1, 3], 1), (&[2, 3, 4], 3), (&[1, 2, 3, 4, 5, 6], 5)]
    {
        let (collected, outcome) = without(parts);
        assert_eq!((outcome.traces, outcome.incomplete_traces), (1, 1), "{parts:?}");
        let root = &collected.last.as_ref().unwrap().spans[0];
        assert_eq!(root.figure(Figure::TraceParts), Some(missing), "{parts:?}");
        assert_eq!(kinds(&outcome), [(IssueKind::IncompleteTrace, 1)]);
        assert!(outcome.issues[0].reason.contains("some are missing"), "{:?}", outcome.issues);
    }
    // The step is in another input: what continues it stands for itself.
    let (collected, outcome) = without(&[0]);
    assert_eq!((outcome.traces, outcome.incomplete_traces, outcome.spans), (5, 5, 30));
    assert!(outcome.issues[0].reason.contains("continues another one"), "{:?}", outcome.issues);
    assert_eq!(collected.last.as_ref().unwrap().spans[0].parent, None);
}

/// A deep step, and a section in a trace of its own that stands beside it.
fn deep_step() -> (GenSpan, Vec<GenSpan>) {
    let mut step = span(id_of(0, 0), 1, 0, "step", 0, 900);
    step.attributes = vec![text(attr::SECTION_KIND, "step"), text(attr::STEP_DEEP, "true")];
    step.attributes.extend([int(attr::TRACE_SPANS, 1), int(attr::TRACE_PARTS, 1)]);
    let run = (ids(0).trace_id(RUN, None).to_vec(), vec![0, 0, 0, 0, 0, 0, 0, 1]);
    step.links = vec![run.clone()];
    let mut root = span(id_of(0, 1), 2, 0, "share", 100, 800);
    root.attributes =
        vec![text(attr::STEP_DEEP, "true"), int(attr::TRACE_SPANS, 2), int(attr::TRACE_PARTS, 0)];
    root.links = vec![(id_of(0, 0).to_vec(), vec![0, 0, 0, 0, 0, 0, 0, 1]), run];
    (step, vec![root, span(id_of(0, 1), 3, 2, "update", 200, 300)])
}

#[test]
fn what_stands_beside_a_deep_step_is_in_its_trace_and_in_none_of_its_sections() {
    let (step, beside) = deep_step();
    let mut spans = [vec![step], beside].concat();
    for _ in 0..spans.len() {
        spans.rotate_left(1);
        let (collected, outcome) = read(&otlp::prefixed(&messages(&spans, 1)));
        assert_eq!((outcome.traces, outcome.incomplete_traces, kinds(&outcome)), (1, 0, vec![]));
        let trace = collected.last.as_ref().unwrap();
        let of = trace.spans.iter().map(|span| (span.id, span.parent, span.figure(Figure::TraceSpans)));
        assert_eq!(of.collect::<Vec<_>>(), [(1, None, Some(3)), (2, None, None), (3, Some(2), None)]);
        assert_eq!(trace.links.iter().map(|link| link.span).collect::<Vec<_>>(), [1]);
    }
}

#[test]
fn what_stands_beside_a_step_that_was_lost_is_whole() {
    let (_, beside) = deep_step();
    let (collected, outcome) = read(&otlp::prefixed(&messages(&beside, 1)));
    assert_eq!((outcome.traces, outcome.incomplete_traces, kinds(&outcome)), (1, 0, vec![]));
    assert_eq!(collected.last.as_ref().unwrap().spans[0].figure(Figure::TraceSpans), Some(2));
}

#[test]
fn what_is_not_counted_stays_by_itself() {
    let mut wide = Wide::new(0, 5);
    // It began after the step had ended.
    let uncounted = |spans: &mut Vec<GenSpan>| {
        spans.iter_mut().for_each(|span| span.attributes.retain(|(key, _)| key != attr::TRACE_PARTS));
    };
    uncounted(&mut wide.parts[2]);
    let root = wide.parts[0].last_mut().unwrap();
    root.attributes
        .iter_mut()
        .filter(|(key, _)| key == attr::TRACE_PARTS)
        .for_each(|part| part.1 = Attr::Int(4));
    let (collected, outcome) = read(&otlp::prefixed(&messages(&wide.parts.concat(), 3)));
    assert_eq!((outcome.traces, outcome.incomplete_traces, kinds(&outcome)), (2, 0, vec![]));
    assert_eq!(collected.traces[&id_of(0, 0)].lines().count(), 31);
}

#[test]
fn traces_that_continue_each_other_end() {
    let mut spans = Vec::new();
    for (part, around) in [(0, 1), (1, 2), (2, 0), (3, 3)] {
        let mut root = span(id_of(0, part), u64::from(part) + 1, 0, "s", 0, 9);
        root.attributes = vec![
            text(attr::PARENT_PATH, "a"),
            int(attr::TRACE_SPANS, 1),
            int(attr::TRACE_PARTS, i64::from(part % 2)),
        ];
        root.links = vec![(id_of(0, around).to_vec(), vec![1; 8]), (vec![7; 16], vec![9; 8])];
        spans.push(root);
    }
    let (_, outcome) = read(&otlp::prefixed(&messages(&spans, 1)));
    spans.reverse();
    let (_, reversed) = read(&otlp::prefixed(&messages(&spans, 1)));
    assert_eq!((outcome.spans, outcome.incomplete_traces), (4, outcome.traces));
    assert_eq!(outcome.issues, reversed.issues);
}

/// What is too much to be joined: the traces stand for themselves, and the step is not whole.
fn too_much(wide: &Wide, options: ReadOptions, spans: u64) {
    let (collected, outcome) =
        read_with(options, &[("a", &otlp::prefixed(&messages(&wide.parts.concat(), 500)))]);
    assert_eq!((outcome.spans, outcome.traces), (spans, u64::from(PARTS)));
    assert_eq!(kinds(&outcome).iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [IssueKind::LimitReached]);
    assert!(outcome.issues[0].reason.contains("are not joined"), "{:?}", outcome.issues);
    assert!(collected.incomplete.contains(&id_of(0, 0)));
}

#[test]
fn more_than_the_memory_for_a_trace_is_not_joined() {
    let wide = Wide::new(0, 500);
    too_much(&wide, with_memory(60_000), 3_501);
    // As much as that memory has room for four times is.
    let bytes = otlp::prefixed(&messages(&wide.parts.concat(), 500));
    let (collected, outcome) = read_with(with_memory(100_000), &[("a", &bytes)]);
    assert_eq!((outcome.traces, kinds(&outcome)), (1, vec![]));
    assert_eq!(collected.traces, expected(&messages(&wide.joined, 5_000)));
}

#[test]
fn more_than_a_million_spans_are_not_joined() {
    too_much(&Wide::new(0, 150_000), ReadOptions::default(), 1_050_001);
}
