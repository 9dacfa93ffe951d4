//! What the thinner keeps, and that every record comes out or is counted, in whatever order records come.

use super::*;
use crate::shared::attrs::LeftOut;
use crate::shared::record::RootRecord;
use stepscope_core::Mode;

/// A span of trace `trace`; the root has `spans`.
fn record(trace: u64, spans: Option<u32>, duration_ns: u64) -> SectionRecord {
    let mut trace_id = [0; 16];
    // Sampling bits that are never a multiple of 20.
    trace_id[8..].copy_from_slice(&(trace * 20 + 1).to_be_bytes());
    SectionRecord {
        trace_id,
        span_id: 1,
        parent_span_id: u64::from(spans.is_none()),
        start_ns: 0,
        end_ns: duration_ns,
        busy_ns: 0,
        enters: 1,
        kind: if spans.is_some() { SectionKind::Step } else { SectionKind::Section },
        phase: None,
        is_error: false,
        callsite: 0,
        thread: 0,
        left_out: LeftOut::default(),
        on_foreign_thread: false,
        root: spans.map(|spans| RootRecord {
            mode: Mode::Train,
            announces: true,
            is_deep: false,
            trace_spans: spans,
            trace_dropped: 0,
            left_out: None,
            step: Some(trace),
            epoch: None,
            trace_parts: None,
            continues: None,
        }),
        memory: None,
        cpu_ns: None,
        peak_bytes: None,
        live_bytes: None,
        rss_bytes: None,
        rss_delta_bytes: None,
        rss_peak_bytes: None,
    }
}

fn feed(thinner: &mut Thinner, record: &SectionRecord) -> Decision {
    let is_first = thinner.observe(record);
    thinner.add(record, &[], is_first, false)
}

/// One in which records wait for longer than a tick.
fn begun() -> Thinner {
    Thinner { begun: Begun::Before, ..Thinner::default() }
}

/// A moment at which no trace of these tests has waited for long.
const SOON_NS: u64 = 1_000;

#[test]
fn first_and_slow_steps_stay_whole_and_others_keep_their_root() {
    let mut thinner = Thinner::default();
    for step in 0..1_000 {
        assert!(feed(&mut thinner, &record(step, None, 10)).write.is_empty());
        let duration_ns = if step == 900 { 1_000 } else { 100 };
        let decision = feed(&mut thinner, &record(step, Some(2), duration_ns));
        assert!(decision.write.iter().all(|waiting| waiting.is_first == (step < FIRST_STEPS)), "{step}");
        if step < FIRST_STEPS || step == 900 {
            assert_eq!((decision.write.len(), decision.thinned), (2, 0), "{step}");
        } else {
            assert_eq!((decision.write.len(), decision.thinned), (1, 1), "{step}");
            let root = decision.write[0].record.root.unwrap();
            assert_eq!((root.trace_spans, root.trace_dropped), (1, 1));
        }
    }
    assert_eq!((thinner.waiting.len(), thinner.waiting_words), (0, 0));
}

#[test]
fn a_root_waits_for_its_late_children() {
    let mut thinner = Thinner { steps: FIRST_STEPS, ..begun() };
    assert!(feed(&mut thinner, &record(1, Some(3), 10)).write.is_empty());
    assert!(feed(&mut thinner, &record(1, None, 10)).write.is_empty());
    let decision = feed(&mut thinner, &record(1, None, 10));
    assert_eq!((decision.write.len(), decision.thinned), (1, 2));
}

#[test]
fn what_does_not_become_complete_is_kept_in_time() {
    let mut thinner = Thinner { steps: FIRST_STEPS, ..begun() };
    // A child of it was written before thinning began.
    feed(&mut thinner, &record(1, Some(3), 10));
    feed(&mut thinner, &record(1, None, 10));
    feed(&mut thinner, &record(2, None, 10));
    assert!(thinner.tick(SOON_NS, 1).write.is_empty());
    assert_eq!(thinner.tick(SOON_NS, 1).write.len(), 2);
    // The other one is still open.
    assert!(thinner.tick(SOON_NS, 1).write.is_empty());
    assert_eq!(thinner.release().write.len(), 1);
    assert_eq!((thinner.waiting.len(), thinner.waiting_words), (0, 0));
}

/// What was written, in order: whether each is a root, and how many spans it announces.
fn written(decision: &Decision) -> Vec<Option<u32>> {
    assert_eq!(decision.thinned, 0);
    decision.write.iter().map(|waiting| waiting.record.root.map(|root| root.trace_spans)).collect()
}

#[test]
fn what_somebody_waits_for_does_not_wait_here() {
    let mut thinner = Thinner { steps: FIRST_STEPS, ..begun() };
    // Of one the root has come and a child is still to come, of the other one the other way round.
    feed(&mut thinner, &record(1, Some(3), 10));
    feed(&mut thinner, &record(1, None, 10));
    feed(&mut thinner, &record(2, None, 10));
    feed(&mut thinner, &record(2, None, 10));
    assert_eq!(thinner.flush(1).write.len(), 4);
    assert!(thinner.flush(1).write.is_empty());
    assert_eq!(written(&feed(&mut thinner, &record(1, None, 10))), [None]);
    // What comes before the root waits again; the trace is kept whole.
    assert!(feed(&mut thinner, &record(2, None, 10)).write.is_empty());
    assert_eq!(thinner.first_file(&record(2, None, 10).trace_id), Some(1));
    assert_eq!(written(&thinner.flush(3)), [None]);
    assert!(feed(&mut thinner, &record(2, None, 10)).write.is_empty());
    assert_eq!(thinner.first_file(&record(2, None, 10).trace_id), Some(1));
    assert!(feed(&mut thinner, &record(2, Some(6), 100)).write.is_empty());
    assert_eq!(written(&feed(&mut thinner, &record(2, None, 10))), [None, None, Some(6)]);
    assert_eq!((thinner.waiting.len(), thinner.waiting_words), (0, 0));
}

#[test]
fn what_will_be_slow_is_written_before_it_ends() {
    let begin_ns = |trace| SectionRecord { start_ns: 5 * WAIT_NS, ..record(trace, None, 5 * WAIT_NS + 10) };
    // Usual steps take less than a second, or two, or are not known yet.
    for (median_ns, limit_ns) in [(Some(10), WAIT_NS), (Some(2 * WAIT_NS), 3 * WAIT_NS), (None, WAIT_NS)] {
        let mut thinner = Thinner { steps: FIRST_STEPS, median_ns, ..Thinner::default() };
        feed(&mut thinner, &begin_ns(1));
        assert!(thinner.tick(5 * WAIT_NS + limit_ns - 2, 1).write.is_empty());
        // One that began just now waits beside it.
        feed(&mut thinner, &SectionRecord { start_ns: 5 * WAIT_NS + limit_ns, ..begin_ns(2) });
        assert_eq!(thinner.tick(5 * WAIT_NS + limit_ns + 6, 1).write.len(), 1, "{median_ns:?}");
        feed(&mut thinner, &begin_ns(1));
        assert_eq!(thinner.tick(5 * WAIT_NS + limit_ns + 7, 1).write.len(), 1, "{median_ns:?}");
        feed(&mut thinner, &begin_ns(1));
        // Whatever the root says then.
        assert_eq!(written(&feed(&mut thinner, &record(1, Some(4), 20))), [None, Some(4)]);
        let decision = feed(&mut thinner, &record(2, Some(2), 20));
        assert_eq!((decision.write.len(), decision.thinned), (1, 1));
        assert_eq!((thinner.waiting.len(), thinner.waiting_words), (0, 0));
    }
}

#[test]
fn what_is_only_taken_in_late_waits_for_its_root() {
    let mut thinner = Thinner { steps: FIRST_STEPS, median_ns: Some(10), ..Thinner::default() };
    // Taken in long after it has ended, its root with the next records.
    feed(&mut thinner, &record(1, None, 10));
    assert!(thinner.tick(5 * WAIT_NS, 1).write.is_empty());
    let decision = feed(&mut thinner, &record(1, Some(2), 10));
    assert_eq!((decision.write.len(), decision.thinned), (1, 1));
}

#[test]
fn what_is_marked_stays_whole_and_says_so_where_that_is_why() {
    let mut thinner = Thinner { steps: FIRST_STEPS, median_ns: Some(100), ..Thinner::default() };
    for (duration_ns, is_marked, expected) in
        [(100, false, (1, false)), (100, true, (2, true)), (1_000, true, (2, false))]
    {
        thinner.add(&record(1, None, 10), &[], false, false);
        let decision = thinner.add(&record(1, Some(2), duration_ns), &[], false, is_marked);
        assert!(decision.write.iter().all(|waiting| waiting.is_marked == expected.1), "{duration_ns}");
        assert_eq!((decision.write.len(), decision.thinned), (expected.0, 2 - expected.0 as u64));
    }
}

#[test]
fn children_of_a_trace_that_was_written_do_not_wait() {
    let mut thinner = Thinner { steps: FIRST_STEPS, ..begun() };
    for step in 0..100 {
        // Two spans are open for longer than their step.
        feed(&mut thinner, &record(step, None, 10));
        assert!(feed(&mut thinner, &record(step, Some(4), 100)).write.is_empty());
    }
    thinner.tick(SOON_NS, 1);
    assert_eq!(thinner.tick(SOON_NS, 1).write.len(), 200);
    for step in 0..100 {
        for _ in 0..2 {
            let decision = feed(&mut thinner, &record(step, None, 1_000));
            assert_eq!((decision.write.len(), decision.thinned), (1, 0));
        }
    }
    assert_eq!((thinner.waiting.len(), thinner.waiting_words), (0, 0));
}

#[test]
fn a_root_whose_children_were_written_right_before_follows_them_at_once() {
    let mut thinner = Thinner::default();
    thinner.tick(SOON_NS, 1);
    // The first record that waits is the last of its trace.
    let written = feed(&mut thinner, &record(300, Some(3), 100)).write;
    assert_eq!(written.len(), 1);
    // One that comes later, of another thread, follows; what begins from now on waits until it is complete.
    assert_eq!(feed(&mut thinner, &record(300, None, 10)).write.len(), 1);
    assert_eq!(feed(&mut thinner, &record(300, None, 10)).write.len(), 1);
    assert_eq!((thinner.waiting.len(), thinner.waiting_words), (0, 0));
    thinner.tick(SOON_NS, 1);
    assert_eq!(feed(&mut thinner, &record(301, Some(3), 100)).write.len(), 0);
}

/// What everything that waits takes, but for what allocators add.
fn taken_bytes(thinner: &Thinner) -> usize {
    // An eighth of a table stays free, and each place has a byte.
    let table = thinner.waiting.capacity() * 8 / 7 * (size_of::<(TraceId, Trace)>() + 1);
    let order = thinner.order.capacity() * size_of::<(TraceId, u64)>();
    let lists = thinner.waiting.values().map(|trace| {
        let entries = trace.children.iter().map(|waiting| waiting.entries.capacity());
        trace.children.capacity() * size_of::<Waiting>() + entries.sum::<usize>()
    });
    table + order + lists.sum::<usize>()
}

#[test]
fn beyond_the_bound_those_go_that_have_waited_longest_and_no_more() {
    let mut thinner = Thinner::default();
    // More than twice as many as there is room for, whose roots do not come, and as many that are soon complete.
    let traces = (2 * MAX_WAITING_WORDS / WORDS_OF_RECORD) as u64;
    let mut next = 0;
    for trace in 0..traces {
        let complete = record(traces + trace, Some(1), 100);
        assert!(feed(&mut thinner, &complete).write.len() <= 1);
        let decision = feed(&mut thinner, &record(trace, None, 10));
        assert!(thinner.waiting_words <= MAX_WAITING_WORDS, "{trace}");
        if trace.is_multiple_of(10_007) {
            assert!(taken_bytes(&thinner) <= 8 * MAX_WAITING_WORDS, "{trace}: {}", taken_bytes(&thinner));
        }
        assert!(thinner.order.len() <= 2 * thinner.waiting.len() + MAX_GONE + 1, "{trace}");
        assert!(decision.write.len() <= 1, "{trace}: {}", decision.write.len());
        for gone in decision.write {
            assert_eq!(gone.record.trace_id, record(next, None, 10).trace_id);
            next += 1;
        }
    }
    assert!(next > traces / 2, "{next} of {traces}");
    assert_eq!(thinner.release().write.len() as u64, traces - next);
}
