//! Tests of the module above.

use super::*;
use proptest::prelude::*;

fn member(start_ns: u64, end_ns: u64, parent: u32, rank: u64) -> Member {
    Member { start_ns, end_ns, parent, rank, id: 0 }
}

/// A rank of a class and a phase.
const fn rank(class: u64, phase: u64) -> u64 {
    (class << 32) | phase
}

fn run(members: &[Member]) -> Vec<u64> {
    run_with(members, &[])
}

/// Of the members, then of what they joined.
fn run_with(members: &[Member], joins: &[Joined]) -> Vec<u64> {
    let mut exposed = Vec::new();
    Sweep::default().run(members, joins, &mut exposed);
    exposed
}

fn joined(start_ns: u64, end_ns: u64, waiter: u32, rank: u64) -> Joined {
    Joined { start_ns, end_ns, waiter, rank }
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
    assert!(sweep.run(&members, &[], &mut Vec::new()));
    assert_eq!(sweep.own(), [50, 20, 20, 8, 2]);
    // The same where a sibling makes them no calls.
    let mut overlapping = members.to_vec();
    overlapping.push(member(45, 60, 0, rank(2, 0)));
    assert_eq!(run(&overlapping), [40, 40, 0, 8, 2, 10]);
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
    assert_eq!(run_with(&members, &joins), [50 - 30, 50 - 10 - 15, 10, 15, 30]);
    // Of a lower class than the section that joins.
    assert_eq!(run_with(&members, &[joined(30, 60, 1, rank(5, 0))]), [50, 40, 10, 0]);
}

#[test]
fn who_synchronizes_waits_for_something_and_who_waits_for_data_waits_for_data() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(0, 40, 0, SYNCHRONIZATION),
        member(40, 100, 0, DATA_WAIT),
    ];
    let joins = [joined(10, 40, 1, rank(5, 0)), joined(40, 90, 2, rank(1, 0))];
    assert_eq!(run_with(&members, &joins), [0, 10, 60, 30, 0]);
}

/// The definition, one nanosecond at a time.
fn by_the_nanosecond(members: &[Member], joins: &[Joined]) -> Vec<u64> {
    let mut exposed = vec![0; members.len() + joins.len()];
    let active = |index: usize, time: u64| members[index].start_ns <= time && time < members[index].end_ns;
    for time in members[0].start_ns..members[0].end_ns {
        let open: Vec<usize> = (0..members.len()).filter(|&index| active(index, time)).collect();
        let highest = open.iter().map(|&index| members[index].rank >> 32).min();
        let of_class: Vec<usize> =
            open.iter().copied().filter(|&index| Some(members[index].rank >> 32) == highest).collect();
        let is_inside = |inner: usize, outer: usize| {
            let mut at = members[inner].parent;
            while at != NO_PARENT && at as usize != outer {
                at = members[at as usize].parent;
            }
            at != NO_PARENT
        };
        let best = of_class
            .iter()
            .copied()
            .filter(|&index| !of_class.iter().any(|&inner| inner != index && is_inside(inner, index)))
            .min_by_key(|&index| (members[index].rank, members[index].id, index));
        let Some(best) = best else { continue };
        let is_waiting = |waiter: usize| {
            open.contains(&waiter)
                && !open.iter().any(|&inner| is_inside(inner, waiter))
                && (best == waiter || is_inside(waiter, best))
        };
        let of = members[best].rank;
        let given = joins.iter().position(|joined| {
            (joined.start_ns..joined.end_ns).contains(&time)
                && is_waiting(joined.waiter as usize)
                && of != DATA_WAIT
                && (of == SYNCHRONIZATION || joined.rank >> 32 <= of >> 32)
        });
        exposed[given.map_or(best, |joined| members.len() + joined)] += 1;
    }
    exposed
}

fn forests() -> impl Strategy<Value = Vec<Member>> {
    let span = (0u64..60, 0u64..30, any::<u32>(), (0u64..4, 0u64..2), 0u64..3);
    (1u64..50, prop::collection::vec(span, 0..12), any::<bool>()).prop_map(|(length, spans, is_nested)| {
        let window = member(10, 10 + length, NO_PARENT, NO_PHASE);
        let mut members = vec![window];
        for (start, length, parent, (class, phase), id) in spans {
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
                    _ => rank(class, phase),
                },
                id,
            });
        }
        members
    })
}

fn joins() -> impl Strategy<Value = Vec<Joined>> {
    let stretch = (0u64..9, 0u64..20, any::<u32>(), 0u64..6);
    prop::collection::vec(stretch, 0..6).prop_map(|stretches| {
        let mut now_ns = 5;
        let place = |(gap, length, waiter, class): (u64, u64, u32, u64)| {
            let start_ns = now_ns + gap;
            now_ns = start_ns + length;
            joined(start_ns, now_ns, waiter % 13, if class == 5 { NO_PHASE } else { rank(class, 0) })
        };
        stretches.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn the_sweep_is_the_definition(members in forests(), joins in joins()) {
        let exposed = run_with(&members, &joins);
        prop_assert_eq!(exposed.iter().sum::<u64>(), members[0].end_ns - members[0].start_ns);
        prop_assert_eq!(exposed, by_the_nanosecond(&members, &joins));
    }

    #[test]
    fn sorted_members_take_the_short_way_to_the_same_result(members in forests(), joins in joins()) {
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
        prop_assert_eq!(run_with(&sorted, &joins), by_the_nanosecond(&sorted, &joins));
    }
}
