//! Futures that are polled on several threads: what is busy and what is idle.

use stepscope_core::attr;

use crate::common::check;
use crate::common::{Program, Span};

fn busy(span: &Span) -> u64 {
    u64::try_from(span.int(attr::BUSY_NS).unwrap()).unwrap()
}

fn idle(span: &Span) -> u64 {
    u64::try_from(span.int(attr::IDLE_NS).unwrap()).unwrap()
}

/// Thread, start after the span's, length and entries of each interval.
fn polls(span: &Span) -> Vec<[u64; 4]> {
    let numbers: Vec<u64> =
        span.ints(attr::POLLS).unwrap().iter().map(|&number| u64::try_from(number).unwrap()).collect();
    assert!(numbers.len().is_multiple_of(4));
    numbers.as_chunks().0.to_vec()
}

/// Those of a span that was entered so often, each time for itself.
fn each_poll(span: &Span, enters: usize) -> Vec<[u64; 4]> {
    let polls = polls(span);
    assert_eq!(polls.len(), enters, "{span:?}");
    assert!(polls.iter().all(|&[_, _, _, count]| count == 1), "{span:?}");
    assert!(polls.windows(2).all(|pair| pair[0][1] + pair[0][2] <= pair[1][1]), "{span:?}");
    // On one thread at a time: what is busy is what they are long. The last exit is the end.
    assert_eq!(polls.iter().map(|poll| poll[2]).sum::<u64>(), busy(span));
    assert_eq!(polls[enters - 1][1] + polls[enters - 1][2], span.duration_ns());
    polls
}

#[test]
fn busy_and_idle_lie_within_what_the_program_measured() {
    let ended = Program::new(&["futures"]).succeed();
    let (recording, truth) = (ended.recording(), ended.truth());
    check::all(&recording);

    // 4 polls of its own, 4 of the inner one and 2 more; the last of each part goes on to the next.
    assert_eq!((truth["outer.polls"], truth["outer.threads"]), (8, 2));
    let outer = recording.only("outer");
    assert_eq!(busy(outer) + idle(outer), outer.duration_ns());
    assert!(busy(outer) >= truth["outer.inside"] + truth["inner.inside"], "{outer:?} {truth:?}");
    assert!(busy(outer) <= truth["outer.outside"], "{outer:?} {truth:?}");
    // The first pause of eight lies before the span, which begins at the first poll.
    assert!(idle(outer) > 0 && idle(outer) <= truth["outer.suspended"] + truth["outer.outside"]);
    assert!(idle(outer) >= 7 * 500_000, "{outer:?} {truth:?}");

    let inner = recording.only("inner");
    assert_eq!(inner.parent, Some(outer.id));
    assert_eq!(busy(inner) + idle(inner), inner.duration_ns());
    assert!(busy(inner) >= truth["inner.inside"] && busy(inner) <= busy(outer));
    assert!(idle(inner) >= 3 * 500_000);

    // 8 polls in turn on two threads, and the end of the future: two of 9 are one.
    let whole = polls(outer);
    assert_eq!((whole.len(), whole.iter().map(|poll| poll[3]).sum::<u64>()), (8, 9));
    assert_eq!(whole[7][1] + whole[7][2], outer.duration_ns());
    // Within one poll of the outer one each, on its thread; the last of them also ends it.
    let mut parts = each_poll(inner, 5);
    let [_, last_start, last_length, _] = parts.pop().unwrap();
    parts[3][2] = last_start + last_length - parts[3][1];
    assert!(parts.windows(2).all(|pair| pair[0][0] != pair[1][0]));
    let after_ns = inner.start_ns - outer.start_ns;
    for [thread, start, length, _] in parts {
        let around = |&&[other, from, long, _]: &&[u64; 4]| {
            from <= start + after_ns
                && start + after_ns + length <= from + long
                && [thread, 0].contains(&other)
        };
        assert_eq!(whole.iter().filter(around).count(), 1, "{inner:?} {outer:?}");
    }
}

#[test]
fn a_span_that_waits_for_its_only_poll_is_idle() {
    let ended = Program::new(&["futures"]).succeed();
    let (recording, truth) = (ended.recording(), ended.truth());
    let patient = recording.only("patient");
    assert!(patient.duration_ns() >= truth["patient.waited"]);
    assert!(idle(patient) >= truth["patient.waited"]);
    assert!(busy(patient) >= truth["patient.inside"] && busy(patient) <= truth["patient.outside"]);
    // The same without a future: created, and entered once much later.
    let late = recording.only("entered_late");
    assert!(idle(late) >= truth["entered_late.waited"] && busy(late) + idle(late) == late.duration_ns());
    // Dropped before it was ready: an ordinary span of one poll and the drop.
    let given_up = recording.only("given_up");
    assert_eq!(busy(given_up) + idle(given_up), given_up.duration_ns());
    assert_eq!(each_poll(given_up, 2)[0][0], each_poll(given_up, 2)[1][0]);
    // The end of a future is an entry, too.
    assert!(each_poll(patient, 2)[0][1] >= truth["patient.waited"]);
    assert_eq!(late.ints(attr::POLLS), None);
}
