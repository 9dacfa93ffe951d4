//! Tests of the module above.

use super::*;
use proptest::prelude::*;

fn member(start_ns: u64, end_ns: u64, parent: u32, rank: u64) -> Member {
    Member { start_ns, end_ns, parent, rank, id: 0 }
}

fn run(members: &[Member]) -> Vec<u64> {
    let mut exposed = Vec::new();
    Sweep::default().run(members, &mut exposed);
    exposed
}

#[test]
fn nested_calls_own_what_their_children_do_not() {
    let members = [
        member(10, 110, NO_PARENT, NO_PHASE),
        member(20, 60, 0, 5),
        member(30, 40, 1, 9),
        member(60, 90, 0, 1),
    ];
    assert_eq!(run(&members), [30, 30, 10, 30]);
}

#[test]
fn of_overlapping_siblings_the_higher_rank_wins() {
    let members = [
        member(0, 100, NO_PARENT, NO_PHASE),
        member(10, 50, 0, 7),
        member(30, 70, 0, 3),
        // A child that outlives its parent.
        member(60, 80, 2, 9),
    ];
    // 0–10 window, 10–30 first, 30–60 second, 60–70 its child (the second has an active child), 70–80 the
    // child alone, 80–100 window.
    assert_eq!(run(&members), [30, 20, 30, 20]);
}

#[test]
fn spans_without_time_own_nothing() {
    assert_eq!(run(&[member(5, 5, NO_PARENT, 0), member(5, 5, 0, 0)]), [0, 0]);
    assert_eq!(run(&[]), Vec::<u64>::new());
    assert_eq!(run(&[member(0, 9, NO_PARENT, 0), member(3, 3, 0, 0)]), [9, 0]);
}

/// The definition, one nanosecond at a time.
fn by_the_nanosecond(members: &[Member]) -> Vec<u64> {
    let mut exposed = vec![0; members.len()];
    let active = |index: usize, time: u64| members[index].start_ns <= time && time < members[index].end_ns;
    for time in members[0].start_ns..members[0].end_ns {
        let best = (0..members.len())
            .filter(|&index| active(index, time))
            .filter(|&index| {
                !(0..members.len()).any(|child| members[child].parent == index as u32 && active(child, time))
            })
            .min_by_key(|&index| (members[index].rank, members[index].id, index));
        if let Some(best) = best {
            exposed[best] += 1;
        }
    }
    exposed
}

fn forests() -> impl Strategy<Value = Vec<Member>> {
    let span = (0u64..60, 0u64..30, any::<u32>(), 0u64..4, 0u64..3);
    (1u64..50, prop::collection::vec(span, 0..12), any::<bool>()).prop_map(|(length, spans, is_nested)| {
        let window = member(10, 10 + length, NO_PARENT, NO_PHASE);
        let mut members = vec![window];
        for (start, length, parent, rank, id) in spans {
            let parent = parent % members.len() as u32;
            let around = if is_nested { members[parent as usize] } else { window };
            let start_ns = (10 + start).clamp(around.start_ns, around.end_ns);
            let end_ns = (start_ns + length).clamp(around.start_ns, around.end_ns);
            members.push(Member {
                start_ns,
                end_ns,
                parent,
                rank: if rank == 3 { NO_PHASE } else { rank },
                id,
            });
        }
        members
    })
}

proptest! {
    #[test]
    fn the_sweep_is_the_definition(members in forests()) {
        let exposed = run(&members);
        prop_assert_eq!(exposed.iter().sum::<u64>(), members[0].end_ns - members[0].start_ns);
        prop_assert_eq!(exposed, by_the_nanosecond(&members));
    }

    #[test]
    fn sorted_members_take_the_short_way_to_the_same_result(members in forests()) {
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
        prop_assert_eq!(run(&sorted), by_the_nanosecond(&sorted));
    }
}
