//! Traces are closed, continued, reused and left, in one thread and in many.

use super::pool::KEPT_HOLDS;
use super::*;
use crate::shared::record::RootRecord;

fn about(number: u8) -> About {
    About { step: Some(u64::from(number)), ..About::new([number; 16], SectionKind::Step) }
}

#[test]
fn a_closed_or_full_trace_takes_nobody() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let trace = pool.start(&table, &about(1)).unwrap();
    for _ in 1..stepscope_core::MAX_TRACE_SPANS {
        assert!(table.join(trace).is_some());
    }
    assert!(table.join(trace).is_none());
    table.get(trace).unwrap().lose_one();
    assert_eq!(table.get(trace).unwrap().close(), (stepscope_core::MAX_TRACE_SPANS - 1, 1));
    let second = About { root_leaves: false, ..about(2) };
    let trace = pool.start(&table, &second).unwrap();
    table.get(trace).unwrap().close();
    assert!(table.join(trace).is_none());
    // What it is about stays known to those that are in it.
    assert!(table.hold(trace));
    assert_eq!(table.about(trace), Some(second));
}

#[test]
fn a_run_counts_what_has_ended() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let run = pool.start(&table, &About::new([1; 16], SectionKind::Run)).unwrap();
    // Two markers, two epochs and the run; one epoch is open when the run ends, one marker is lost.
    (1..5).for_each(|_| assert!(table.join(run).is_some()));
    let run = table.get(run).unwrap();
    (0..4).for_each(|_| run.end_one());
    run.lose_one();
    assert_eq!(run.close_run(), (3, 1));
}

fn ended(span_id: u64) -> Ended {
    let root = RootRecord {
        mode: Mode::Train,
        announces: false,
        is_deep: false,
        trace_spans: 0,
        trace_dropped: 0,
        left_out: None,
        step: None,
        epoch: None,
        continues: Some((1, [1; 16], 1)),
    };
    Box::new((SectionRecord { span_id, root: Some(root), ..SectionRecord::default() }, Vec::new()))
}

/// The span, and the number of spans that it announces.
fn written(ended: Option<Ended>) -> Option<(u64, Option<u32>)> {
    let (record, _) = *ended?;
    Some((record.span_id, record.root.filter(|root| root.announces).map(|root| root.trace_spans)))
}

#[test]
fn the_root_that_ends_last_announces_a_continuing_trace() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let mut with_joined = |joined: u32| {
        let trace = pool.start(&table, &about(1).continuation([2; 16], 0)).unwrap();
        (1..joined).for_each(|_| assert!(table.join(trace).is_some()));
        (trace, table.get(trace).unwrap())
    };
    let (trace, place) = with_joined(4);
    assert_eq!(written(place.end_root(ended(1))), None);
    assert_eq!(written(place.end_root(ended(2))), Some((1, None)));
    assert_eq!(written(place.end_root(ended(3))), Some((2, None)));
    assert_eq!(written(place.end_continuation()), Some((3, Some(4))));
    // One that outlives the section around it.
    assert_eq!(written(place.end_root(ended(4))), Some((4, None)));
    assert_eq!(written(place.end_continuation()), None);
    assert!(table.join(trace).is_none());
    // None has ended when nothing joins any more: the next one announces.
    let (_, place) = with_joined(2);
    assert_eq!(written(place.end_continuation()), None);
    assert_eq!(written(place.end_root(ended(5))), Some((5, Some(2))));
    assert_eq!(written(place.end_root(ended(6))), Some((6, None)));
}

#[test]
fn nothing_is_held_back_once_the_run_has_ended() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let other = pool.start(&table, &about(1)).unwrap();
    // More than one chunk of them; one has ended in every other trace.
    let continuing: Vec<_> = (1..=200).map(|_| pool.start(&table, &about(2)).unwrap()).collect();
    for (trace, number) in continuing.iter().zip(1..).step_by(2) {
        assert_eq!(written(table.get(*trace).unwrap().end_root(ended(number))), None);
    }
    let released: Vec<_> = table.places().flatten().filter_map(|place| written(place.release())).collect();
    assert_eq!(released, (1..=200).step_by(2).map(|number| (number, Some(1))).collect::<Vec<_>>());
    // What ends after it waits for nobody, and only the first one announces.
    for (trace, number) in continuing.iter().zip(1..) {
        let announced = (number % 2 == 0).then_some(1);
        let place = table.get(*trace).unwrap();
        assert_eq!(written(place.end_root(ended(number))), Some((number, announced)));
        assert_eq!(written(place.end_root(ended(number))), Some((number, None)));
    }
    assert!(table.places().flatten().all(|place| place.release().is_none()));
    // Another one goes on.
    assert!(table.join(other).is_some());
}

#[test]
fn a_place_is_reused_only_when_nobody_holds_it() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let first = pool.start(&table, &about(1)).unwrap();
    assert!(table.hold(first));
    pool.leave(&table, first);
    let second = pool.start(&table, &about(2)).unwrap();
    assert_ne!(second.index(), first.index());
    assert_eq!(table.about(first), Some(about(1)));
    pool.leave(&table, first);
    let again = pool.start(&table, &about(3)).unwrap();
    assert_eq!((again.index(), table.about(again)), (first.index(), Some(about(3))));
    // Who still knows the first one does not get into the third.
    assert_eq!(table.about(first), None);
    assert!(table.join(first).is_none() && !table.hold(first));
    assert_eq!(TraceRef::from_word(again.to_word()), Some(again));
    assert_eq!(TraceRef::from_word(0), None);
}

#[test]
fn what_is_taken_ahead_is_in_no_count() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    for (own, others) in [(0, 0), (1, 0), (16, 1), (17, 2), (100, 40)] {
        let trace = pool.start(&table, &about(1)).unwrap();
        pool.adopt(&table, trace);
        (0..own).for_each(|_| assert!(pool.join(&table, trace).is_some()));
        // Half of them end before, some on another thread.
        let mut other = TracePool::default();
        (0..others).for_each(|_| assert!(other.join(&table, trace).is_some()));
        (0..own / 2).for_each(|_| pool.leave(&table, trace));
        (0..others).for_each(|_| other.leave(&table, trace));
        pool.settle(&table, trace);
        let place = table.get(trace).unwrap();
        assert_eq!(place.close(), (1 + own + others, 0));
        assert!(pool.join(&table, trace).is_none());
        // The root, and those that outlive it.
        (0..own - own / 2).for_each(|_| pool.leave(&table, trace));
        assert_eq!(table.about(trace), Some(about(1)));
        pool.leave(&table, trace);
        assert_eq!(table.about(trace), None);
    }
    assert_eq!(table.used.load(Ordering::Relaxed), 1);
}

#[test]
fn what_ends_here_and_began_elsewhere_is_not_held_for_long() {
    let (table, mut pool, mut other) = (TraceTable::new(), TracePool::default(), TracePool::default());
    let trace = pool.start(&table, &about(1)).unwrap();
    pool.adopt(&table, trace);
    for _ in 0..1_000 {
        assert!(other.join(&table, trace).is_some_and(|place| place.take_back_one()));
        pool.leave(&table, trace);
    }
    // The root's, and what is kept for sections that join here.
    let held = table.get(trace).unwrap().state.load(Ordering::Relaxed) & HOLDS;
    assert!(held <= (1 + KEPT_HOLDS) * HOLD, "{}", held / HOLD);
    pool.settle(&table, trace);
    assert_eq!(table.get(trace).unwrap().close(), (1, 0));
    pool.leave(&table, trace);
    assert_eq!(table.about(trace), None);
}

#[test]
fn a_trace_is_full_for_who_takes_ahead_as_for_others() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let trace = pool.start(&table, &about(1)).unwrap();
    pool.adopt(&table, trace);
    for _ in 1..stepscope_core::MAX_TRACE_SPANS {
        assert!(pool.join(&table, trace).is_some());
    }
    assert!(pool.join(&table, trace).is_none() && table.join(trace).is_none());
    // Another root is next on this thread's stack: what was taken of the first trace is its own again.
    let next = pool.start(&table, &about(2)).unwrap();
    pool.adopt(&table, next);
    assert_eq!(table.get(trace).unwrap().close(), (stepscope_core::MAX_TRACE_SPANS, 0));
    pool.settle(&table, next);
    assert_eq!(table.get(next).unwrap().close(), (1, 0));
}

#[test]
fn places_go_from_thread_to_thread() {
    let (table, mut pool) = (TraceTable::new(), TracePool::default());
    let traces: Vec<_> = (0..20).map(|_| pool.start(&table, &about(1)).unwrap()).collect();
    traces.iter().for_each(|&trace| pool.leave(&table, trace));
    pool.give_back(&table);
    let mut other = TracePool::default();
    (0..20).for_each(|_| assert!(other.start(&table, &about(2)).is_some()));
    assert_eq!(table.used.load(Ordering::Relaxed), 20);
}
