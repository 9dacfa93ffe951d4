//! Tests of the module above.

use crate::phases::exposed_time::*;
use proptest::prelude::*;

fn member(start_ns: u64, end_ns: u64, parent: u32, rank: u64) -> Member {
    Member { start_ns, end_ns, parent, rank, id: 0, takes_turns: false }
}

/// A rank of a class and a phase.
const fn rank(class: u64, phase: u64) -> u64 {
    (class << 32) | phase
}

fn run(members: &[Member]) -> Vec<u64> {
    run_with(members, &[], &[])
}

/// Of the members, then of what they joined.
fn run_with(members: &[Member], poll_slices: &[PollSlice], joins: &[BlockedOn]) -> Vec<u64> {
    let mut exposed = Vec::new();
    Sweep::default().run(members, poll_slices, joins, &mut exposed);
    exposed
}

/// One that takes turns.
fn suspended(start_ns: u64, end_ns: u64, parent: u32, rank: u64) -> Member {
    Member { takes_turns: true, ..member(start_ns, end_ns, parent, rank) }
}

/// Of each its member, start and end.
fn poll_slices<const N: usize>(poll_slices: [(u32, u64, u64); N]) -> [PollSlice; N] {
    poll_slices.map(|(member, start_ns, end_ns)| PollSlice { member, start_ns, end_ns })
}

fn joined(start_ns: u64, end_ns: u64, waiter: u32, rank: u64) -> BlockedOn {
    BlockedOn { start_ns, end_ns, waiter, rank }
}

#[test]
fn nested_calls_own_what_their_children_do_not() {
    let members = [
        member(10, 110, NO_PARENT, NO_PHASE),
        member(20, 60, 0, rank(1, 5)),
        member(30, 40, 1, rank(1, 9)),
        member(60, 90, 0, rank(0, 1)),
    ];
    assert_eq!(run(&members), [30, 30, 10, 30]);
}

#[test]
fn a_higher_class_keeps_what_lower_ones_inside_it_take() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(0, 50, 0, rank(1, 0)),
        // Of a lower class: the time stays with the span around it.
        member(10, 40, 1, rank(2, 0)),
        // Of that span's class again, however deep.
        member(20, 30, 2, rank(1, 1)),
        member(22, 24, 3, rank(0, 0)),
    ];
    assert_eq!(run(&members), [50, 40, 0, 8, 2]);
    let mut sweep = Sweep::default();
    assert!(sweep.run(&members, &[], &[], &mut Vec::new()));
    assert_eq!(sweep.own(), [50, 20, 20, 8, 2]);
    // The same where a sibling makes them no calls.
    let mut overlapping = members.to_vec();
    overlapping.push(member(45, 60, 0, rank(2, 0)));
    assert_eq!(run(&overlapping), [40, 40, 0, 8, 2, 10]);
}

#[test]
fn what_a_thread_does_inside_a_computation_hides_behind_nothing() {
    let (forward, io, saving) = (rank(6, 8), rank(7, 17), rank(7, 16));
    // Three deep: a forward pass that writes, and in that calls a model again, which has a part without a phase.
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(0, 90, 0, forward),
        member(10, 70, 1, io),
        member(20, 40, 2, forward),
        member(25, 30, 3, NO_PHASE),
        member(50, 60, 2, saving),
    ];
    assert_eq!(run(&members), [10, 30, 30, 20, 0, 10]);
    // A wait for data has its time, whatever is read in it.
    let waits = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(0, 90, 0, forward),
        member(10, 70, 1, DATA_WAIT),
        member(20, 40, 2, io),
    ];
    assert_eq!(run(&waits), [10, 30, 60, 0]);
    // What another thread writes meanwhile stays behind the computation that waits for it.
    assert_eq!(run_with(&members, &[], &[joined(70, 90, 1, io)]), [10, 30, 30, 20, 0, 10, 0]);
    assert_eq!(run_with(&members, &[], &[joined(60, 90, 2, io)]), [10, 30, 20, 20, 0, 10, 10]);
}

#[test]
fn what_is_done_beside_a_computation_is_behind_it() {
    let (forward, io) = (rank(6, 8), rank(7, 17));
    // Of asynchronous siblings nobody knows which one ran: the computation has the time, until it ends.
    let beside = [member(0, 100, NO_PARENT, NO_PHASE), member(10, 60, 0, forward), member(40, 80, 0, io)];
    assert_eq!(run(&beside), [30, 50, 20]);
    // It goes on behind the end of what it is inside of, and beside another computation.
    let outlives = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(10, 50, 0, forward),
        member(40, 90, 1, io),
        member(60, 70, 0, forward),
    ];
    assert_eq!(run(&outlives), [20, 30, 40, 10]);
}

#[test]
fn of_overlapping_siblings_the_higher_rank_wins() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(10, 50, 0, rank(0, 7)),
        member(30, 70, 0, rank(0, 3)),
        // A child that outlives its parent.
        member(60, 80, 2, rank(0, 9)),
    ];
    // 0–10 window, 10–30 first, 30–60 second, 60–70 its child (the second has one of its class open inside),
    // 70–80 the child alone, 80–100 window.
    assert_eq!(run(&members), [30, 20, 30, 20]);
}

#[test]
fn spans_without_time_own_nothing() {
    assert_eq!(run(&[member(5, 5, NO_PARENT, 0), member(5, 5, 0, 0)]), [0, 0]);
    assert_eq!(run(&[]), Vec::<u64>::new());
    assert_eq!(run(&[member(0, 9, NO_PARENT, 0), member(3, 3, 0, 0)]), [9, 0]);
}

#[test]
fn time_without_work_of_ones_own_is_that_of_what_is_joined() {
    let members =
        [member(0, 100, NO_PARENT, NO_PHASE), member(10, 60, 0, rank(4, 0)), member(20, 30, 1, rank(4, 1))];
    // Of a higher class than 10–60, but not while 20–30 runs inside that; then of the window itself.
    let joins = [joined(15, 40, 1, rank(1, 0)), joined(50, 90, 0, rank(1, 0))];
    assert_eq!(run_with(&members, &[], &joins), [50 - 30, 50 - 10 - 15, 10, 15, 30]);
    // Of a lower class than the section that joins.
    assert_eq!(run_with(&members, &[], &[joined(30, 60, 1, rank(5, 0))]), [50, 40, 10, 0]);
}

#[test]
fn who_synchronizes_waits_for_something_and_who_waits_for_data_waits_for_data() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(0, 40, 0, SYNCHRONIZATION),
        member(40, 100, 0, DATA_WAIT),
    ];
    let joins = [joined(10, 40, 1, rank(5, 0)), joined(40, 90, 2, rank(1, 0))];
    assert_eq!(run_with(&members, &[], &joins), [0, 10, 60, 30, 0]);
}

#[test]
fn what_was_suspended_is_exposed_while_nothing_else_runs() {
    let fetch = |end_ns| suspended(0, end_ns, 0, rank(1, 0));
    let root = member(0, 100, NO_PARENT, NO_PHASE);
    let ran = poll_slices([(1, 0, 10), (1, 90, 100)]);
    // Hidden behind 10–60, waited for until 90.
    let members = [root, fetch(100), member(10, 60, 0, rank(4, 0))];
    assert_eq!(run_with(&members, &ran, &[]), [0, 50, 50]);
    // It is waited for inside a section that is around it, and not inside another one.
    let members = [root, fetch(100), member(10, 60, 0, NO_PHASE), suspended(20, 40, 2, rank(5, 0))];
    assert_eq!(run_with(&members, &ran, &[]), [0, 50, 30, 20]);
    // Not while what is around it runs itself.
    let members = [suspended(0, 100, NO_PARENT, NO_PHASE), fetch(100)];
    assert_eq!(run_with(&members, &poll_slices([(0, 0, 40), (1, 0, 10)]), &[]), [30, 70]);
    // Of several the highest, which is the innermost of its class.
    let members = [root, fetch(100), suspended(20, 80, 1, rank(1, 1)), suspended(30, 50, 0, rank(4, 0))];
    assert_eq!(run_with(&members, &ran, &[]), [0, 40, 60, 0]);
}

#[test]
fn who_has_something_running_inside_is_not_suspended() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        suspended(0, 90, 0, rank(1, 0)),
        // A part of it, whatever it is; and while it runs, the other one is suspended.
        member(20, 50, 1, rank(6, 0)),
        suspended(0, 100, 0, rank(0, 0)),
        member(60, 80, 0, rank(4, 0)),
    ];
    assert_eq!(run_with(&members, &poll_slices([(1, 0, 10), (3, 10, 20)]), &[]), [0, 40, 0, 40, 20]);
}

#[test]
fn what_is_joined_runs() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        suspended(0, 100, 0, rank(1, 0)),
        suspended(40, 100, 0, rank(4, 0)),
    ];
    // Of the window itself, and of one that is suspended for most of that time.
    let joins = [joined(10, 30, 0, rank(4, 1)), joined(50, 70, 2, rank(4, 1))];
    let ran = poll_slices([(1, 0, 5), (2, 60, 65)]);
    assert_eq!(run_with(&members, &ran, &joins), [0, 60, 0, 20, 20]);
}

/// The definition, one nanosecond at a time.
fn by_the_nanosecond(members: &[Member], poll_slices: &[PollSlice], joins: &[BlockedOn]) -> Vec<u64> {
    let mut exposed = vec![0; members.len() + joins.len()];
    let active = |index: usize, time: u64| members[index].start_ns <= time && time < members[index].end_ns;
    let is_inside = |inner: usize, outer: usize| {
        let mut at = members[inner].parent;
        while at != NO_PARENT && at as usize != outer {
            at = members[at as usize].parent;
        }
        at != NO_PARENT
    };
    for time in members[0].start_ns..members[0].end_ns {
        let open: Vec<usize> = (0..members.len()).filter(|&index| active(index, time)).collect();
        let has_turn = |index: usize| {
            poll_slices
                .iter()
                .any(|turn| turn.member as usize == index && (turn.start_ns..turn.end_ns).contains(&time))
        };
        let runs = |index: usize| !members[index].takes_turns || has_turn(index);
        let running: Vec<usize> = open.iter().copied().filter(|&index| runs(index)).collect();
        let has_running = |index: usize| running.iter().any(|&inner| is_inside(inner, index));
        let join = joins.iter().position(|joined| {
            let waiter = joined.waiter as usize;
            (joined.start_ns..joined.end_ns).contains(&time) && open.contains(&waiter) && !has_running(waiter)
        });
        let waits = |index: usize| {
            join.map(|join| joins[join].waiter as usize)
                .is_some_and(|waiter| waiter == index || is_inside(waiter, index))
        };
        let may_wait = |index: usize| {
            let all_around = running.iter().all(|&around| is_inside(index, around));
            let mut innermost = running.iter().filter(|&&index| !has_running(index));
            join.is_none() && all_around && innermost.all(|&around| !members[around].takes_turns)
        };
        let competes = |index: usize| runs(index) || has_running(index) || waits(index) || may_wait(index);
        let open: Vec<usize> = open.iter().copied().filter(|&index| competes(index)).collect();
        // What the host computes and what else it does are one class on its own thread.
        let class = |index: usize| match members[index].rank >> 32 {
            7 => 6,
            class => class,
        };
        let highest = open.iter().map(|&index| class(index)).min();
        let of_class: Vec<usize> =
            open.iter().copied().filter(|&index| Some(class(index)) == highest).collect();
        let best = of_class
            .iter()
            .copied()
            .filter(|&index| !of_class.iter().any(|&inner| inner != index && is_inside(inner, index)))
            .min_by_key(|&index| (members[index].rank, members[index].id, index));
        let Some(best) = best else { continue };
        let of = members[best].rank;
        let given = join.filter(|&join| {
            waits(best) && of != DATA_WAIT && (of == SYNCHRONIZATION || joins[join].rank >> 32 <= of >> 32)
        });
        exposed[given.map_or(best, |joined| members.len() + joined)] += 1;
    }
    exposed
}

fn forests() -> impl Strategy<Value = Vec<Member>> {
    let span = (0u64..60, 0u64..30, any::<u32>(), (0u64..6, 0u64..2), 0u64..3, 0u64..5);
    let shape = (any::<bool>(), any::<bool>(), 0u64..5);
    (1u64..50, prop::collection::vec(span, 0..12), shape).prop_map(|(length, spans, shape)| {
        let (is_nested, are_suspended, often) = shape;
        let takes_turns = |often: u64| are_suspended && often < 2;
        let window =
            Member { takes_turns: takes_turns(often), ..member(10, 10 + length, NO_PARENT, NO_PHASE) };
        let mut members = vec![window];
        for (start, length, parent, (class, phase), id, often) in spans {
            let parent = parent % members.len() as u32;
            let around = if is_nested { members[parent as usize] } else { window };
            let start_ns = (10 + start).clamp(around.start_ns, around.end_ns);
            let end_ns = (start_ns + length).clamp(around.start_ns, around.end_ns);
            members.push(Member {
                start_ns,
                end_ns,
                parent,
                rank: match (class, phase) {
                    (3, 0) => NO_PHASE,
                    (3, _) => SYNCHRONIZATION,
                    (2, 1) => DATA_WAIT,
                    (4 | 5, _) => rank(class + 2, phase),
                    _ => rank(class, phase),
                },
                id,
                takes_turns: takes_turns(often),
            });
        }
        members
    })
}

/// Turns of whoever takes them, perhaps at once.
fn ran(members: &[Member], poll_slices: &[(usize, u64, u64)]) -> Vec<PollSlice> {
    let takers: Vec<usize> = (0..members.len()).filter(|&index| members[index].takes_turns).collect();
    let turn = |&(place, start, length): &(usize, u64, u64)| {
        let taker = *takers.get(place % takers.len().max(1))?;
        let Member { start_ns, end_ns, .. } = members[taker];
        let start_ns = (10 + start).clamp(start_ns, end_ns);
        let end_ns = (start_ns + length).clamp(start_ns, end_ns);
        Some(PollSlice { member: taker as u32, start_ns, end_ns })
    };
    poll_slices.iter().filter_map(turn).collect()
}

fn places() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
    prop::collection::vec((any::<usize>(), 0u64..60, 0u64..15), 0..12)
}

fn joins() -> impl Strategy<Value = Vec<BlockedOn>> {
    let stretch = (0u64..9, 0u64..20, any::<u32>(), 0u64..9);
    prop::collection::vec(stretch, 0..6).prop_map(|stretches| {
        let mut now_ns = 5;
        let place = |(gap, length, waiter, class): (u64, u64, u32, u64)| {
            let start_ns = now_ns + gap;
            now_ns = start_ns + length;
            joined(start_ns, now_ns, waiter % 13, if class == 8 { NO_PHASE } else { rank(class, 0) })
        };
        stretches.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn the_sweep_is_the_definition(
        before in forests(), members in forests(), places in places(), joins in joins()
    ) {
        let mut sweep = Sweep::default();
        // What is left in its memory of others changes nothing.
        sweep.run(&before, &ran(&before, &places), &joins, &mut Vec::new());
        let poll_slices = ran(&members, &places);
        let mut exposed = Vec::new();
        sweep.run(&members, &poll_slices, &joins, &mut exposed);
        prop_assert_eq!(exposed.iter().sum::<u64>(), members[0].end_ns - members[0].start_ns);
        prop_assert_eq!(exposed, by_the_nanosecond(&members, &poll_slices, &joins));
    }

    #[test]
    fn sorted_members_take_the_short_way_to_the_same_result(
        members in forests(), places in places(), joins in joins()
    ) {
        let mut order: Vec<usize> = (1..members.len()).collect();
        order.sort_by_key(|&i| (members[i].start_ns, std::cmp::Reverse(members[i].end_ns), i));
        order.insert(0, 0);
        let place: Vec<u32> = (0..members.len())
            .map(|i| order.iter().position(|&o| o == i).unwrap() as u32)
            .collect();
        let sorted: Vec<Member> = order
            .iter()
            .map(|&i| Member { parent: place.get(members[i].parent as usize).copied().unwrap_or(NO_PARENT), ..members[i] })
            .collect();
        let poll_slices = ran(&sorted, &places);
        prop_assert_eq!(run_with(&sorted, &poll_slices, &joins), by_the_nanosecond(&sorted, &poll_slices, &joins));
    }
}
