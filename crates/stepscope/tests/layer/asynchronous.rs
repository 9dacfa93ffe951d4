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
}
