//! Clocks that were set between the traces of a run are told, whatever the order and the partition of the
//! input.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use common::*;
use stepscope_core::{SCOPE_NAME, attr};
use stepscope_model::{IssueKind, ReadIssue, Reader};

/// A run of steps a second apart, whose clock is moved by `jump_s` seconds from step 30 on.
fn run_with_jump(rank: i64, jump_s: i64) -> Vec<GenMessage> {
    let mut messages = separate_run(rank);
    for (number, message) in messages.iter_mut().enumerate() {
        let jump_ns = if number < 30 { 0 } else { jump_s * 1_000_000_000 };
        for span in &mut message.spans {
            span.start = span.start.saturating_add_signed(jump_ns);
            span.end = span.end.saturating_add_signed(jump_ns);
        }
    }
    messages
}

fn separate_run(rank: i64) -> Vec<GenMessage> {
    let mut random = Random(40);
    (0..60)
        .map(|number| {
            let spans = step(rank, number, 3, &mut random);
            GenMessage { resource: resource(rank), scope: SCOPE_NAME.into(), spans }
        })
        .collect()
}

/// Reads a third of the messages with each of three readers, and lets one more go on with what they left.
fn by_partials(messages: &[GenMessage]) -> Vec<ReadIssue> {
    let mut collected = Collected::default();
    let mut merged = Reader::default();
    for part in messages.chunks(messages.len().div_ceil(3)) {
        let mut reader = Reader::default();
        reader.read_stream("input", otlp::prefixed(part).as_slice(), &mut collected).unwrap();
        let bytes = postcard::to_stdvec(&reader.suspend().unwrap()).unwrap();
        merged.absorb(postcard::from_bytes(&bytes).unwrap(), &mut collected);
    }
    merged.finish(&mut collected).issues
}

#[test]
fn clocks_set_between_the_steps_of_a_run_are_told_in_any_order() {
    let mixed = |jump_s: i64, seed: Option<u64>| {
        let mut messages = run_with_jump(0, jump_s);
        messages.extend(run_with_jump(1, 0));
        if let Some(seed) = seed {
            Random(seed).shuffle(&mut messages);
        }
        messages
    };
    let told = |jump_s: i64, seed: Option<u64>| read(&otlp::prefixed(&mixed(jump_s, seed))).1.issues;
    assert_eq!(told(0, None), []);
    for jump_s in [-7_200, -45, 20_000_000] {
        let issues = told(jump_s, None);
        assert_eq!((issues.len(), issues[0].kind, issues[0].count), (1, IssueKind::ClockJump, 1));
        assert_eq!(told(jump_s, Some(3)), issues);
        assert_eq!(by_partials(&mixed(jump_s, Some(4))), issues);
    }
}

#[test]
fn traces_from_before_their_process_are_told() {
    let mut messages = separate_run(0);
    for message in &mut messages {
        // 2023-11-14T22:13:20Z is the base of the generated times.
        message.resource.push(text(attr::PROCESS_CREATION_TIME, "2023-11-15T00:13:20Z"));
    }
    let (_, outcome) = read(&otlp::prefixed(&messages));
    assert_eq!(kinds(&outcome), [(IssueKind::ClockJump, 60)]);
    assert!(outcome.issues[0].reason.contains("before their process did"));
}

/// Steps of 8 ms, a wait and two stages in each, all of it moved by `skew_ns` against the step. Times of the sections
/// are those of process `of`.
fn skewed(scope: &str, skew_ns: i64, of: i64) -> Vec<GenMessage> {
    let inside =
        [("data_wait", 0, 100_000), ("forward", 100_000, 3_000_000), ("backward", 3_000_000, 8_000_000)];
    (0..50)
        .flat_map(|number| {
            let trace = ids(0).trace_id(number, Some(u64::from(number)));
            let begin = 1_000_000_000 + u64::from(number) * 8_000_000;
            let mut root = span(trace, 1, 0, "step", begin, begin + 8_000_000);
            root.attributes = vec![text(attr::SECTION_KIND, "step"), int(attr::TRACE_SPANS, 4)];
            let sections = inside.iter().zip(2u64..).map(|(&(name, from, to), id)| {
                let at = |ns: u64| (begin + ns).saturating_add_signed(skew_ns);
                span(trace, id, 1, name, at(from), at(to))
            });
            let message = |rank, spans| GenMessage { resource: resource(rank), scope: scope.into(), spans };
            [message(of, sections.collect()), message(0, vec![root])]
        })
        .collect()
}

#[test]
fn sections_that_begin_before_their_step_are_told_with_how_much_it_is() {
    for (of, advice) in [(0, "start times from one clock"), (1, "synchronise the clocks of their hosts")] {
        for scope in ["other", SCOPE_NAME] {
            // 7 ms early: wait and forward begin 7.0 and 6.9 ms before the step, backward 4 ms.
            let messages = skewed(scope, -7_000_000, of);
            let (_, outcome) = read(&otlp::prefixed(&messages));
            assert_eq!(kinds(&outcome), [(IssueKind::ClockSkew, 150)]);
            let reason = &outcome.issues[0].reason;
            // (7.0 + 6.9 + 4.0) / 3 = 5.97
            assert!(reason.contains("by 5.9 ms on average and 7.0 ms at most"), "{reason}");
            assert!(reason.contains(advice), "{reason}");
            assert_eq!(by_partials(&messages), outcome.issues);
        }
    }
}

#[test]
fn what_goes_on_after_its_parent_is_no_skew_and_neither_is_rounding() {
    for skew_ns in [7_000_000, 20_000_000, 0, -5_000, -70_000] {
        let (_, outcome) = read(&otlp::prefixed(&skewed("other", skew_ns, 1)));
        assert_eq!(outcome.issues, [], "{skew_ns}");
    }
}
