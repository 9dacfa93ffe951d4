//! Self time, exposed time and phase totals against their definitions, one nanosecond at a time, on random
//! small forests: overlapping, asynchronous, on several threads, with parents that start late or are missing. Critical
//! paths are held against their own definition elsewhere.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stepscope_analyze::critical_path::{Member, NO_PARENT, Piece, RunInterval, Walk};
use stepscope_core::{Mode, Phase, PhaseClass};
use stepscope_model::{Figure, Link, PhaseTag, Poll, Span, Trace};

use crate::build::{Build, summarise};

const PHASES: [Option<Phase>; 9] = [
    None,
    None,
    Some(Phase::Forward),
    Some(Phase::Backward),
    Some(Phase::DataWait),
    Some(Phase::Communication),
    Some(Phase::Synchronization),
    Some(Phase::Io),
    Some(Phase::Other),
];

/// After how long it was entered, and for how long; on which thread, or 0 for several, and whether once.
type Entered = (u64, u64, i64, bool);

/// When one was entered that is suspended between, half of which are entered at once.
fn entered() -> impl Strategy<Value = Vec<Entered>> {
    let poll = (0u64..40, 0u64..20, 0i64..4, prop::bool::weighted(0.8));
    prop_oneof![Just(Vec::new()), prop::collection::vec(poll, 0..4)]
}

/// Says when the last span was entered.
fn enter(build: &mut Build, entered: &[Entered]) {
    let Some(span) = build.0.spans.last_mut().filter(|_| !entered.is_empty()) else { return };
    span.set_figure(Figure::IdleNs, 1);
    let (from, to) = (span.start_ns, span.end_ns);
    let poll = |&(after, length, thread, is_whole): &Entered| {
        let start = (from + after).min(to);
        (start, (start + length).min(to), thread, if is_whole { 1 } else { 2 })
    };
    let mut polls: Vec<_> = entered.iter().map(poll).collect();
    polls.sort_unstable();
    build.polls(&polls);
}

/// Says how long the last span used a processor, if that is known.
fn use_processor(build: &mut Build, cpu_ns: Option<i64>) {
    if let Some((span, cpu_ns)) = build.0.spans.last_mut().zip(cpu_ns) {
        span.set_figure(Figure::CpuNs, cpu_ns);
    }
}

/// A step from 10 on, and spans anywhere around it, with links to any of them. Names are distinct, so that each span is a
/// section.
fn steps() -> impl Strategy<Value = Trace> {
    let cpu = || prop::option::weighted(0.3, 0i64..60);
    let place = (any::<prop::sample::Index>(), 0usize..PHASES.len(), 0i64..4);
    let span = (0u64..70, 0u64..40, place, entered(), cpu());
    let links = prop::collection::vec((1u64..12, 1u64..12), 0..8);
    (1u64..60, entered(), cpu(), prop::collection::vec(span, 0..10), links).prop_map(
        |(length, own, own_cpu, spans, links)| {
            let mut build = Build::new(1);
            build.step(0, 10, 10 + length).thread(1);
            use_processor(&mut build, own_cpu);
            enter(&mut build, &own);
            for (index, (start, length, place, entered, cpu)) in spans.into_iter().enumerate() {
                let (parent, phase, thread) = place;
                let parent = parent.index(index + 1) as u64 + 1;
                let mut span = build.span(parent, &format!("s{index}"), start, start + length);
                if let Some(phase) = PHASES[phase] {
                    span = span.phase(phase);
                }
                if thread > 0 {
                    // Thread 1 and 3 are the driving one.
                    span.thread(if thread == 2 { 2 } else { 1 });
                }
                use_processor(&mut build, cpu);
                enter(&mut build, &entered);
            }
            let trace = build.0.id;
            build.0.links = links.into_iter().map(|(span, target)| Link { span, trace, target }).collect();
            build.trace()
        },
    )
}

fn active(span: &Span, time: u64) -> bool {
    span.start_ns <= time && time < span.end_ns
}

fn parent<'a>(trace: &'a Trace, span: &Span) -> Option<&'a Span> {
    trace.spans.iter().find(|other| Some(other.id) == span.parent)
}

fn phase(trace: &Trace, span: &Span) -> Option<Phase> {
    match span.phase {
        PhaseTag::Known(phase) => Some(phase),
        _ => parent(trace, span).and_then(|parent| phase(trace, parent)),
    }
}

/// Whether a span is on the thread of the step, or begins on one on which that, or the span around it that drives the step as
/// well, is entered then. Where that was entered on several threads then, on any on which something that says when it was
/// entered was, or began.
fn drives(trace: &Trace, span: &Span) -> bool {
    let thread = span.figure(Figure::ThreadId);
    let polls = |other: &Span| {
        let polls = trace.polls(other.polls);
        let began_there = !polls.is_empty() && other.figure(Figure::ThreadId) == thread;
        began_there || polls.iter().any(|poll| poll.thread == thread)
    };
    let is_there = |around: &Span| {
        let begins = |poll: &&Poll| poll.start_ns <= span.start_ns && span.start_ns < poll.end_ns;
        let fits = |poll: &Poll| match poll.thread {
            Some(_) => poll.thread == thread,
            None => trace.spans.iter().any(polls),
        };
        trace.polls(around.polls).iter().filter(begins).any(fits)
    };
    let by_step = || trace.spans.iter().any(|root| root.parent.is_none() && is_there(root));
    let by_parent = || parent(trace, span).is_some_and(|outer| drives(trace, outer) && is_there(outer));
    span.parent.is_none() || thread.is_none_or(|thread| thread == 1) || by_step() || by_parent()
}

/// Whether a span is an ancestor of another.
fn is_inside(trace: &Trace, inner: &Span, outer: &Span) -> bool {
    parent(trace, inner).is_some_and(|around| around.id == outer.id || is_inside(trace, around, outer))
}

/// Class and phase, those without one last.
fn class(trace: &Trace, span: &Span) -> (bool, Option<PhaseClass>) {
    let phase = phase(trace, span);
    (phase.is_none(), phase.map(Phase::class))
}

/// As [`class`], among sections of one thread: what a host does itself is one class.
fn class_within_thread(trace: &Trace, span: &Span) -> (bool, Option<PhaseClass>) {
    let (is_absent, class) = class(trace, span);
    let is_own = |class: PhaseClass| class == PhaseClass::Other;
    (is_absent, class.map(|class| if is_own(class) { PhaseClass::CpuOperation } else { class }))
}

/// For how many moments both were active.
fn common_ns(one: &Span, other: &Span) -> u64 {
    (one.start_ns..one.end_ns).filter(|&time| active(other, time)).count() as u64
}

/// What a section waited for.
fn waited_for<'a>(trace: &'a Trace, root: &Span, own: &Span) -> Option<&'a Span> {
    linked_to(trace, own).or_else(|| worked_for(trace, root, own))
}

/// What a section that waits links to: the last that ended meanwhile, else the last that went on then.
fn linked_to<'a>(trace: &'a Trace, own: &Span) -> Option<&'a Span> {
    const WAITS: [Phase; 3] = [Phase::DataWait, Phase::Synchronization, Phase::Communication];
    phase(trace, own).filter(|phase| WAITS.contains(phase))?;
    let links = |other: &&Span| {
        trace.links.iter().any(|link| (link.span, link.target) == (own.id, other.id))
            && other.id != own.id
            && !is_inside(trace, own, other)
            && own.start_ns < other.end_ns
    };
    let ended = |other: &Span| other.end_ns <= own.end_ns;
    let linked = trace.spans.iter().filter(links).filter(|other| ended(other) || other.start_ns < own.end_ns);
    linked.max_by_key(|other| (ended(other), other.end_ns, other.start_ns, other.id))
}

/// For how long the driving thread used no processor in the next section around one of which that is known.
fn idle_around_ns(trace: &Trace, own: &Span) -> u64 {
    let Some(around) = parent(trace, own) else { return 0 };
    match around.amount(Figure::CpuNs).filter(|_| drives(trace, around)) {
        Some(cpu_ns) => around.duration_ns().saturating_sub(cpu_ns),
        None => idle_around_ns(trace, around),
    }
}

/// What a section of the driving thread waited for on another one, where nothing says so.
fn worked_for<'a>(trace: &'a Trace, root: &Span, own: &Span) -> Option<&'a Span> {
    let around = |span: &Span| parent(trace, span).map(|around| around.id);
    let has_parts = trace.spans.iter().any(|part| around(part) == Some(own.id) && common_ns(part, own) > 0);
    let is_suspended = own.amount(Figure::IdleNs).is_some();
    if own.id == root.id || !drives(trace, own) || has_parts || is_suspended {
        return None;
    }
    let phase = |span: &Span| phase(trace, span);
    let works = |other: &&Span| {
        let Some(outer) = parent(trace, other).filter(|outer| drives(trace, outer)) else { return false };
        let loads = outer.id == root.id && phase(other) == Some(Phase::DataWait);
        !drives(trace, other) && !loads
    };
    let may_be = |other: &&Span| {
        let Some(outer) = parent(trace, other).filter(|_| works(other)) else { return false };
        let waits = [None, Some(Phase::Synchronization), Some(Phase::Communication), phase(other)];
        let is_beside = is_inside(trace, own, outer) && !is_inside(trace, own, other);
        is_beside && waits.contains(&phase(own))
    };
    let ended = |other: &&Span| {
        other.start_ns < other.end_ns && own.start_ns < other.end_ns && other.end_ns <= own.end_ns
    };
    let is_wait = matches!(phase(own), Some(Phase::Synchronization | Phase::Communication));
    let may_have_waited = match own.amount(Figure::CpuNs) {
        Some(cpu_ns) => cpu_ns * 2 < own.duration_ns(),
        None => is_wait || idle_around_ns(trace, own) * 2 >= own.duration_ns(),
    };
    let others: Vec<&Span> = trace.spans.iter().filter(may_be).filter(ended).collect();
    let others = if may_have_waited { others } else { Vec::new() };
    let last = *others.iter().max_by_key(|other| (other.end_ns, other.start_ns, other.id))?;
    if own.amount(Figure::CpuNs).is_some_and(|cpu_ns| cpu_ns * 10 < own.duration_ns()) {
        return Some(last);
    }
    let is_covered = |&time: &u64| others.iter().any(|other| active(other, time));
    let worked_ns = (own.start_ns..own.end_ns).filter(is_covered).count() as u64;
    // There is one other thread, and all is so short that a quarter of it is less than 50 µs.
    let is_at_end = own.end_ns - last.end_ns <= own.duration_ns() / 4;
    let goes_on = |other: &Span| {
        other.start_ns < other.end_ns && last.end_ns <= other.start_ns && other.start_ns < own.end_ns
    };
    let goes_on = trace.spans.iter().filter(works).any(goes_on);
    (is_at_end && worked_ns * 2 >= own.duration_ns() && !goes_on).then_some(last)
}

/// The critical path of the step.
fn path(trace: &Trace, root: &Span) -> Vec<Piece> {
    let place = |id: u64| trace.spans.iter().position(|span| span.id == id);
    let thread = |span: &Span| span.figure(Figure::ThreadId).unwrap_or(1);
    let members: Vec<Member> = trace
        .spans
        .iter()
        .map(|span| {
            let around = parent(trace, span).filter(|around| thread(around) != thread(span));
            let past_ns = around.map_or(0, |around| span.end_ns.saturating_sub(around.end_ns));
            Member {
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                parent: span.parent.and_then(place).map_or(NO_PARENT, |at| at as u32),
                id: span.id,
                process: span.process,
                thread: Some(thread(span)),
                is_suspended: span.amount(Figure::IdleNs).is_some(),
                is_detached: 10 * past_ns > span.duration_ns(),
                awaits: waited_for(trace, root, span)
                    .and_then(|last| place(last.id))
                    .map_or(NO_PARENT, |at| at as u32),
            }
        })
        .collect();
    let run_intervals: Vec<RunInterval> = trace
        .spans
        .iter()
        .zip(0..)
        .flat_map(|(span, member)| trace.polls(span.polls).iter().map(move |poll| (member, poll)))
        .map(|(member, poll)| RunInterval {
            member,
            start_ns: poll.start_ns,
            end_ns: poll.end_ns,
            thread: poll.thread,
            is_whole: poll.count == 1,
        })
        .collect();
    let (mut pieces, mut standing) = (Vec::new(), Vec::new());
    let root = place(root.id).unwrap() as u32;
    Walk::default().run_with(&members, &run_intervals, root, &mut pieces, &mut standing);
    pieces
}

/// Whether a span runs at a moment in which it is open: it does all the time, or was entered then, once, on the thread of
/// the step or one on which the step's own span was, as far as is known.
fn runs(trace: &Trace, root: &Span, span: &Span, time: u64) -> bool {
    let polls = trace.polls(span.polls);
    let is_one = |one: Option<i64>, other: Option<i64>| one.is_none() || other.is_none() || one == other;
    let is_driving = |thread| {
        is_one(thread, Some(1)) || trace.polls(root.polls).iter().any(|own| is_one(thread, own.thread))
    };
    let is_in = |poll: &Poll| {
        poll.start_ns <= time && time < poll.end_ns && poll.count == 1 && is_driving(poll.thread)
    };
    polls.is_empty() || polls.iter().any(is_in)
}

/// What waits for a section of another thread at a moment, and that one with those that are around it there all the while.
fn joined<'a>(
    trace: &'a Trace,
    root: &Span,
    pieces: &[Piece],
    time: u64,
) -> Option<(&'a Span, Vec<&'a Span>)> {
    let piece = pieces.iter().find(|piece| (piece.start_ns..piece.end_ns).contains(&time))?;
    let mut chain = vec![trace.spans.get(piece.member as usize)?];
    while !drives(trace, chain.last()?) {
        chain.push(parent(trace, chain.last()?)?);
    }
    let driver = chain.pop()?;
    // One inside of it that waited for what is beside it.
    let waits = |span: &&Span| {
        let is_own = span.id != root.id && drives(trace, span) && span.start_ns <= time;
        is_own && waited_for(trace, root, span).is_some()
    };
    let within =
        trace.spans.iter().rfind(waits).filter(|span| driver.start_ns <= span.start_ns && time < span.end_ns);
    let waiter = within.unwrap_or(driver);
    let is_running =
        |span: &&Span| drives(trace, span) && active(span, time) && runs(trace, root, span, time);
    let has_work = trace.spans.iter().filter(is_running).any(|inner| is_inside(trace, inner, waiter));
    let waits_for_data = |span: &&Span| phase(trace, span) == Some(Phase::DataWait);
    let is_beside = waiter.id == root.id && chain.iter().any(waits_for_data);
    // What is not open all the while is not around it.
    let (start_ns, end_ns) = (chain.first()?.start_ns, chain.first()?.end_ns);
    chain.retain(|outer| outer.start_ns <= start_ns && end_ns <= outer.end_ns);
    (active(waiter, time) && !chain.is_empty() && !has_work && !is_beside).then_some((waiter, chain))
}

/// Whose a moment of the step is.
fn spender<'a>(trace: &'a Trace, root: &Span, pieces: &[Piece], time: u64) -> Option<&'a Span> {
    let within_thread = |span: &&Span| class_within_thread(trace, span);
    let is_around = |outer: &Span, inner: &Span| outer.id == inner.id || is_inside(trace, inner, outer);
    let open = || trace.spans.iter().filter(|span| drives(trace, span) && active(span, time));
    let running: Vec<&Span> = open().filter(|span| runs(trace, root, span, time)).collect();
    let joined = joined(trace, root, pieces, time);
    let waits = |span: &Span| joined.as_ref().is_some_and(|(waiter, _)| is_around(span, waiter));
    let competes = |span: &Span| {
        let has_running = running.iter().any(|inner| is_around(span, inner));
        let is_all_around = running.iter().all(|outer| is_inside(trace, span, outer));
        let innermost =
            running.iter().rfind(|outer| !running.iter().any(|inner| is_inside(trace, inner, outer)));
        let may_be_waited_for = joined.is_none()
            && is_all_around
            && innermost.is_none_or(|innermost| trace.polls(innermost.polls).is_empty());
        has_running || waits(span) || may_be_waited_for
    };
    let open = || open().filter(|span| competes(span));
    let highest = open().map(|span| within_thread(&span)).min();
    let of_class = || open().filter(|span| Some(within_thread(span)) == highest);
    let best = of_class().filter(|span| !of_class().any(|inner| is_inside(trace, inner, span))).min_by_key(
        |span| {
            let phase = phase(trace, span);
            (phase.is_none(), phase.map(|phase| (phase.class(), phase)), span.id)
        },
    )?;
    let is = |phase_: Phase| phase(trace, best) == Some(phase_);
    // The innermost of the highest class; they are there from inside out. Between threads the highest of them counts.
    let chain = || joined.iter().flat_map(|(_, chain)| chain.iter().copied());
    let first = chain().min_by_key(within_thread);
    let elsewhere = chain().map(|span| class(trace, span)).min();
    let may_be = is(Phase::Synchronization) || elsewhere <= Some(class(trace, best));
    first.filter(|_| waits(best) && !is(Phase::DataWait) && may_be).or(Some(best))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn self_time_is_time_without_active_children(trace in steps()) {
        let summary = summarise([&trace]);
        for span in &trace.spans {
            let children: Vec<&Span> =
                trace.spans.iter().filter(|other| other.parent == Some(span.id)).collect();
            let expected = (span.start_ns..span.end_ns)
                .filter(|&time| !children.iter().any(|child| active(child, time)))
                .count() as u64;
            let name = trace.text(span.name);
            let row = summary.sections.iter().find(|row| row.name == name).unwrap();
            prop_assert_eq!(row.self_ns, Some(expected), "{}", name);
            prop_assert_eq!(row.stats.total, span.duration_ns());
        }
    }

    #[test]
    fn exposed_time_partitions_the_step_as_defined(trace in steps()) {
        let root = *trace.spans.iter().find(|span| span.parent.is_none()).unwrap();
        let mut exposed: BTreeMap<Option<Phase>, u64> = BTreeMap::new();
        let mut total: BTreeMap<Phase, u64> = BTreeMap::new();
        let pieces = path(&trace, &root);
        for time in root.start_ns..root.end_ns {
            let best = spender(&trace, &root, &pieces, time);
            *exposed.entry(best.and_then(|span| phase(&trace, span))).or_default() += 1;
            for &known in Phase::ALL {
                if trace.spans.iter().any(|span| active(span, time) && phase(&trace, span) == Some(known)) {
                    *total.entry(known).or_default() += 1;
                }
            }
        }
        let summary = summarise([&trace]);
        let mode = summary.mode(Mode::Train).unwrap();
        let sum: u64 = mode.phases.iter().map(|row| row.exposed_ns).sum();
        prop_assert_eq!(sum + mode.unattributed_ns, root.duration_ns());
        prop_assert_eq!(mode.unattributed_ns, exposed.get(&None).copied().unwrap_or(0));
        for row in &mode.phases {
            let phase = Phase::parse(row.phase.as_str()).unwrap();
            prop_assert_eq!(row.exposed_ns, exposed.get(&Some(phase)).copied().unwrap_or(0), "{}", phase);
            prop_assert_eq!(row.total_ns, total.get(&phase).copied().unwrap_or(0), "{}", phase);
            prop_assert!(row.exposed_ns <= row.total_ns);
        }
        // What sections expose is what the step exposes.
        let sections: u64 =
            summary.sections.iter().filter_map(|row| row.in_mode(Mode::Train)).map(|part| part.exposed_ns).sum();
        prop_assert_eq!(sections, root.duration_ns());
    }
}
