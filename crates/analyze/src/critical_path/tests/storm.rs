//! Storms of sections that wait for each other, in circles as well: the walk ends, and its pieces are the window. What each
//! piece is, on few members, is held by the search.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::critical_path::tests::{Member, NO_PARENT, RunInterval, Walk, member, walk, walk_with};

/// More sections than a search can try, on few threads, of which most wait for any other.
fn storms() -> impl Strategy<Value = (Vec<Member>, Vec<RunInterval>)> {
    let index = any::<prop::sample::Index>;
    let times = (0u64..4_000, 0u64..2_000, 0u64..3);
    let place = (0u32..2, prop::option::weighted(0.9, 1i64..5), prop::bool::weighted(0.2), any::<bool>());
    let waits = prop::option::weighted(0.7, index());
    let runs = (index(), 0u64..3_000, 1u64..500, 1i64..5, any::<bool>());
    (vec((times, index(), place, waits), 1..200), vec(runs, 0..40)).prop_map(|(sections, runs)| {
        let mut members = vec![Member { thread: Some(1), ..member(500, 4_500, NO_PARENT, 1) }];
        for ((start_ns, length_ns, late_ns), parent, place, _) in &sections {
            let (parent, id) = (parent.index(members.len()) as u32, members.len() as u64 + 1);
            let (process, thread, is_suspended, is_detached) = *place;
            let own = member(*start_ns, start_ns + length_ns + late_ns, parent, id);
            members.push(Member { process, thread, is_suspended, is_detached, ..own });
        }
        let all = members.len();
        for (member, (.., waits)) in members.iter_mut().skip(1).zip(&sections) {
            member.awaits = waits.map_or(NO_PARENT, |waits| waits.index(all) as u32);
        }
        let stint = |(at, after_ns, length_ns, thread, is_whole): (prop::sample::Index, u64, u64, i64, _)| {
            let at = at.index(members.len());
            let own = &members[at];
            let start_ns = (own.start_ns + after_ns).min(own.end_ns);
            let end_ns = (start_ns + length_ns).min(own.end_ns);
            let stint = RunInterval { member: at as u32, start_ns, end_ns, thread: Some(thread), is_whole };
            (own.is_suspended && start_ns < end_ns).then_some(stint)
        };
        let mut run_intervals: Vec<RunInterval> = runs.into_iter().filter_map(stint).collect();
        run_intervals.sort_by_key(|stint| (stint.member, stint.start_ns, stint.end_ns));
        (members, run_intervals)
    })
}

fn assert_whole(members: &[Member], pieces: &[(u32, u64, u64)]) {
    let mut point_ns = members[0].end_ns;
    for &(_, start_ns, end_ns) in pieces {
        assert!(start_ns < end_ns && end_ns == point_ns, "{start_ns} to {end_ns}, behind {point_ns}");
        point_ns = start_ns;
    }
    assert_eq!(point_ns, members[0].start_ns);
}

proptest! {
    #[test]
    fn whoever_waits_for_whom_pieces_are_exactly_the_window((members, run_intervals) in storms()) {
        let (pieces, standing) = walk_with(Walk::default(), &members, &run_intervals);
        assert_whole(&members, &pieces);
        prop_assert_eq!(standing.len(), members.len());
        // Each section is walked once, and some as often again as there are sections and times in which they ran.
        prop_assert!(pieces.len() <= 4 * (members.len() + run_intervals.len()), "{} pieces", pieces.len());
    }
}

#[test]
fn a_ring_of_many_that_wait_for_each_other_is_walked_once() {
    const MANY: u64 = 200_000;
    // Each waits for the next, and the last for the first: the same time each, or each beginning before it.
    for apart_ns in [0, 1] {
        let mut members = vec![member(0, 10 * MANY, NO_PARENT, 1)];
        for at in 0..MANY {
            let awaits = if at + 1 < MANY { at as u32 + 2 } else { 1 };
            let own = member(10 + apart_ns * (MANY - at), 9 * MANY, 0, at + 2);
            members.push(Member { awaits, ..own });
        }
        let (pieces, _) = walk(&members);
        assert_whole(&members, &pieces);
        assert!(pieces.len() <= members.len(), "{} pieces", pieces.len());
    }
}
