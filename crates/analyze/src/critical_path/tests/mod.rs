//! Laws of the walk over random trees, against a search through every chain; fixtures of single rules.

pub(crate) mod search;
pub(crate) mod storm;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::critical_path::*;

fn member(start_ns: u64, end_ns: u64, parent: u32, id: u64) -> Member {
    Member {
        start_ns,
        end_ns,
        parent,
        id,
        process: 0,
        thread: None,
        is_suspended: false,
        is_detached: false,
        awaits: NO_PARENT,
    }
}

fn on(thread: i64, member: Member) -> Member {
    Member { thread: Some(thread), ..member }
}

fn walk(members: &[Member]) -> (Vec<(u32, u64, u64)>, Vec<Standing>) {
    walk_with(Walk::default(), members, &[])
}

fn walk_with(
    mut walk: Walk,
    members: &[Member],
    run_intervals: &[RunInterval],
) -> (Vec<(u32, u64, u64)>, Vec<Standing>) {
    let (mut pieces, mut standing) = (Vec::new(), Vec::new());
    walk.run_with(members, run_intervals, 0, &mut pieces, &mut standing);
    (pieces.iter().map(|piece| (piece.member, piece.start_ns, piece.end_ns)).collect(), standing)
}

/// Trees of up to ten spans on a coarse grid, so that equal times are common. Parents come first.
fn trees(longest: usize) -> impl Strategy<Value = Vec<Member>> {
    vec((0u64..24, 0u64..16, any::<prop::sample::Index>(), prop::bool::weighted(0.1)), 1..longest).prop_map(
        |spans| {
            let mut members = vec![member(4, 20, NO_PARENT, 1)];
            for (start, length, parent, is_detached) in spans {
                let parent = parent.index(members.len()) as u32;
                let id = members.len() as u64 + 1;
                members.push(Member { is_detached, ..member(start, start + length, parent, id) });
            }
            members
        },
    )
}

/// Whether a member is below the one with an id.
fn is_below(members: &[Member], at: usize, id: u64) -> bool {
    let above = members.get(members[at].parent as usize);
    above.is_some_and(|above| above.id == id || is_below(members, members[at].parent as usize, id))
}

/// The same in several processes and on several threads, some suspended. Times are so far apart that the tolerances are
/// not nothing, and some are off by less than these.
fn places(longest: usize) -> impl Strategy<Value = Vec<Member>> {
    let thread = prop::option::weighted(0.8, 1i64..4);
    let awaits = prop::option::weighted(0.2, any::<prop::sample::Index>());
    let place = (0u32..2, thread, prop::bool::weighted(0.2), 0u64..3, 0u64..3, awaits);
    (trees(longest), vec(place, longest)).prop_map(|(mut members, places)| {
        let all = members.clone();
        for (member, (process, thread, is_suspended, late, longer, awaits)) in members.iter_mut().zip(places)
        {
            (member.process, member.thread, member.is_suspended) = (process, thread, is_suspended);
            let awaited = awaits.map(|awaits| awaits.index(all.len()));
            // Whoever waits for whom, himself included, but for what is inside of it.
            let may_be = |at: &usize| !is_below(&all, *at, member.id);
            member.awaits = awaited.filter(may_be).map_or(NO_PARENT, |at| at as u32);
            member.end_ns = member.end_ns * 1_000 + late + longer;
            member.start_ns = member.start_ns * 1_000 + late;
        }
        members
    })
}

/// The same on few threads of one process, many suspended, of some of which it is known when they ran.
fn polled(longest: usize) -> impl Strategy<Value = (Vec<Member>, Vec<RunInterval>)> {
    let place = (prop::option::weighted(0.9, 1i64..3), prop::bool::weighted(0.6));
    let ran = (
        any::<prop::sample::Index>(),
        4u64..20,
        1u64..6,
        prop::option::weighted(0.9, 1i64..3),
        any::<bool>(),
    );
    (trees(longest), vec(place, longest), vec(ran, 0..10)).prop_map(|(mut members, places, ran)| {
        for (member, (thread, is_suspended)) in members.iter_mut().zip(places) {
            (member.thread, member.is_suspended) = (thread, is_suspended);
        }
        let stint = |(at, start_ns, length_ns, thread, is_whole): (prop::sample::Index, u64, u64, _, _)| {
            let at = at.index(members.len());
            let member = &members[at];
            let (start_ns, end_ns) =
                (start_ns.max(member.start_ns), (start_ns + length_ns).min(member.end_ns));
            let stint = RunInterval { member: at as u32, start_ns, end_ns, thread, is_whole };
            (member.is_suspended && start_ns < end_ns).then_some(stint)
        };
        let mut run_intervals: Vec<RunInterval> = ran.into_iter().filter_map(stint).collect();
        run_intervals.sort_by_key(|stint| (stint.member, stint.start_ns, stint.end_ns));
        (members, run_intervals)
    })
}

proptest! {
    #[test]
    fn the_path_is_the_greatest_of_all_chains_of_suspended_sections((members, run_intervals) in polled(8)) {
        let (pieces, _) = walk_with(Walk::default(), &members, &run_intervals);
        prop_assert_eq!(pieces, search::path_with(&members, &run_intervals));
    }

    #[test]
    fn the_path_is_the_greatest_of_all_chains(members in trees(10)) {
        prop_assert_eq!(walk(&members).0, search::path(&members));
    }

    #[test]
    fn the_path_is_the_greatest_of_all_chains_across_processes_and_threads(members in places(9)) {
        prop_assert_eq!(walk(&members).0, search::path(&members));
    }

    #[test]
    fn pieces_are_exactly_the_window(members in places(60)) {
        let (pieces, _) = walk(&members);
        let mut point_ns = members[0].end_ns;
        for &(_, start_ns, end_ns) in &pieces {
            prop_assert_eq!(end_ns, point_ns);
            prop_assert!(start_ns < end_ns);
            point_ns = start_ns;
        }
        prop_assert_eq!(point_ns, members[0].start_ns);
    }

    #[test]
    fn slack_is_what_may_be_added_before_the_path_changes(members in trees(12), which in any::<prop::sample::Index>()) {
        let (before, standing) = walk(&members);
        let at = which.index(members.len());
        let Standing::Slack(slack_ns) = standing[at] else { return Ok(()) };
        // A longer span must not be cut by its ancestors, and must have room below.
        let mut longer = members.clone();
        longer[at].end_ns += slack_ns;
        let mut above = members[at].parent;
        while above != NO_PARENT {
            let parent = members[above as usize];
            if longer[at].end_ns > parent.end_ns || members[at].end_ns > parent.end_ns {
                return Ok(());
            }
            above = parent.parent;
        }
        longer[at].id = 0; // Loses every tie.
        longer[at].start_ns = longer[at].start_ns.min(members[at].start_ns);
        if slack_ns == 0 || longer.iter().any(|other| other.end_ns == longer[at].end_ns && other.id != 0) {
            return Ok(());
        }
        prop_assert_eq!(before, walk(&longer).0);
    }
}

#[test]
fn slack_adds_up_from_the_path_outwards() {
    let members = [
        member(0, 100, NO_PARENT, 1),
        member(0, 90, 0, 2), // on the path
        member(0, 70, 0, 3), // 20 earlier
        member(0, 60, 2, 4), // what held up that one: as much room as it
        member(0, 50, 2, 5), // 10 earlier still
    ];
    let (_, standing) = walk(&members);
    use Standing::{On, Slack};
    assert_eq!(standing, [On, On, Slack(20), Slack(20), Slack(30)]);
}

#[test]
fn what_overlaps_a_little_came_before_unless_it_is_known_to_have_run_beside() {
    let path = |one: Option<i64>, process: u32, end_ns: u64, is_suspended: bool| {
        let members = [
            member(0, 1000, NO_PARENT, 1),
            Member { thread: one, is_suspended, ..member(100, end_ns, 0, 2) },
            Member { process, ..on(3, member(500, 900, 0, 3)) },
        ];
        assert_eq!(walk(&members).0, search::path(&members));
        walk(&members).0
    };
    let before = [(0, 900, 1000), (2, 500, 900), (1, 95, 500), (0, 0, 95)];
    let beside = [(0, 900, 1000), (2, 500, 900), (0, 0, 500)];
    // One thread, or one that is not known: times are rounded. Another process: clocks disagree.
    for (thread, process) in [(Some(3), 0), (None, 0), (None, 1), (Some(2), 1)] {
        assert_eq!(path(thread, process, 505, false), before, "{thread:?} {process}");
        // 1 % and more is neither.
        assert_eq!(path(thread, process, 510, false), beside, "{thread:?} {process}");
    }
    assert_eq!(path(Some(2), 0, 505, false), beside);
    assert_eq!(path(Some(3), 0, 505, true), beside);
}

#[test]
fn many_overlapping_children_of_a_hostile_trace_are_walked_at_once() {
    // Each overlaps the next by little enough to have come before it, and so do many others.
    let mut members = vec![member(0, 20_000_000, NO_PARENT, 1)];
    for index in 0..200_000u64 {
        let child = member(index * 10, index * 10 + 1000, 0, index + 2);
        members.push(Member { process: index as u32 % 2, ..child });
    }
    let (pieces, _) = walk(&members);
    assert_eq!(pieces.iter().map(|(_, start, end)| end - start).sum::<u64>(), 20_000_000);
}

/// What the members of a fixture are on the path, and the kind of edge that it is about.
type Fixture = (&'static str, Vec<Member>, Vec<RunInterval>, &'static [(u32, u64, u64)]);

/// A time in which a member ran on the first thread.
fn stint(member: u32, start_ns: u64, end_ns: u64) -> RunInterval {
    RunInterval { member, start_ns, end_ns, thread: Some(1), is_whole: true }
}

/// A step that needs each kind of edge.
fn fixtures() -> [Fixture; 10] {
    let root = on(1, member(0, 1000, NO_PARENT, 1));
    let suspended = Member { is_suspended: true, ..on(1, member(0, 1000, 0, 2)) };
    let far = Member { process: 1, ..member(500, 900, 0, 3) };
    [
        (
            "child",
            vec![root, on(1, member(100, 900, 0, 2))],
            vec![],
            &[(0, 900, 1000), (1, 100, 900), (0, 0, 100)],
        ),
        (
            "order",
            vec![root, on(1, member(0, 500, 0, 2)), on(1, member(500, 1000, 0, 3))],
            vec![],
            &[(2, 500, 1000), (1, 0, 500)],
        ),
        (
            "clocks",
            vec![root, member(100, 505, 0, 2), far],
            vec![],
            &[(0, 900, 1000), (2, 500, 900), (1, 95, 500), (0, 0, 95)],
        ),
        (
            "same thread",
            vec![
                root,
                on(1, member(0, 100, 0, 2)),
                // Goes on after its parent: nobody waits for it, but for the thread that it holds.
                Member { is_detached: true, ..on(2, member(60, 699, 1, 3)) },
                on(1, member(100, 1000, 0, 4)),
                on(2, member(700, 1000, 3, 5)),
            ],
            vec![],
            &[(4, 700, 1000), (3, 699, 700), (2, 100, 699), (1, 0, 100)],
        ),
        (
            "begun",
            vec![
                root,
                on(1, member(0, 980, 0, 2)),
                on(1, member(100, 950, 1, 3)),
                on(1, member(200, 400, 2, 4)),
                on(3, member(300, 970, 2, 5)), // beside it
                // Written beside the rest of the step, and done after it.
                on(2, member(900, 1000, 0, 6)),
            ],
            vec![],
            &[(5, 900, 1000), (2, 400, 900), (3, 200, 400), (2, 100, 200), (1, 0, 100)],
        ),
        (
            "suspended",
            vec![root, suspended, on(1, member(100, 900, 0, 3)), on(2, member(100, 950, 0, 4))],
            vec![],
            &[(1, 900, 1000), (2, 100, 900), (1, 0, 100)],
        ),
        (
            "polls",
            vec![root, suspended, Member { id: 3, start_ns: 90, end_ns: 950, ..suspended }],
            vec![
                stint(1, 0, 100),
                stint(1, 400, 500),
                stint(1, 900, 1000),
                stint(2, 100, 300),
                stint(2, 500, 850),
            ],
            &[(1, 850, 1000), (2, 500, 850), (1, 300, 500), (2, 100, 300), (1, 0, 100)],
        ),
        (
            "link",
            vec![
                root,
                on(1, member(0, 100, 0, 2)),
                // Begun by the section before, on another thread; the one after it joins it.
                Member { is_detached: true, ..on(2, member(100, 900, 1, 3)) },
                Member { awaits: 2, ..on(1, member(100, 901, 0, 4)) },
                on(2, member(400, 800, 2, 5)),
            ],
            vec![],
            &[(0, 901, 1000), (3, 900, 901), (2, 800, 900), (4, 400, 800), (2, 100, 400), (1, 0, 100)],
        ),
        (
            "hand over",
            vec![
                root,
                on(1, member(0, 100, 0, 2)),
                Member { is_detached: true, ..on(2, member(100, 1200, 1, 3)) },
                // Made, and handed over before the end of the section around it.
                on(2, member(120, 850, 2, 4)),
                on(2, member(850, 1100, 2, 5)),
                Member { awaits: 2, ..on(1, member(100, 900, 0, 6)) },
            ],
            vec![],
            &[(0, 900, 1000), (4, 850, 900), (3, 120, 850), (2, 100, 120), (1, 0, 100)],
        ),
        (
            "before",
            vec![
                root,
                on(1, member(0, 100, 0, 2)),
                // A thread that produces one after the other; the last is waited for.
                Member { is_detached: true, ..on(2, member(100, 1200, 1, 3)) },
                on(2, member(110, 400, 2, 4)),
                on(2, member(420, 800, 2, 5)),
                on(3, member(110, 900, 2, 6)), // beside it
                on(2, member(800, 1200, 2, 7)),
                Member { awaits: 4, ..on(1, member(100, 1000, 0, 8)) },
            ],
            vec![],
            &[(7, 800, 1000), (4, 420, 800), (2, 400, 420), (3, 110, 400), (2, 100, 110), (1, 0, 100)],
        ),
    ]
}

#[test]
fn each_kind_of_edge_is_followed() {
    for (edge, members, run_intervals, expected) in fixtures() {
        assert_eq!(walk_with(Walk::default(), &members, &run_intervals).0, expected, "{edge}");
        assert_eq!(search::path_with(&members, &run_intervals), expected, "{edge}");
    }
}

#[test]
fn a_thread_that_lay_idle_or_changed_between_sections_kept_nobody_waiting() {
    let step = |held: Member| {
        let members = [
            on(1, member(0, 1000, NO_PARENT, 1)),
            on(1, member(0, 100, 0, 2)),
            Member { is_detached: true, ..held },
            on(1, member(100, 1000, 0, 4)),
            on(2, member(700, 1000, 3, 5)),
        ];
        assert_eq!(walk(&members).0, search::path(&members));
        walk(&members).0.iter().any(|piece| piece.0 == 2)
    };
    assert!(step(on(2, member(60, 692, 1, 3))));
    // Free 1 % of the parent before; another thread; the same number in another process; suspended.
    assert!(!step(on(2, member(60, 691, 1, 3))));
    // Free for a tenth of the time for which it was held.
    assert!(step(on(2, member(619, 693, 1, 3))));
    assert!(!step(on(2, member(623, 693, 1, 3))));
    assert!(!step(on(3, member(60, 700, 1, 3))));
    assert!(!step(Member { process: 1, ..on(2, member(60, 700, 1, 3)) }));
    assert!(!step(Member { is_suspended: true, ..on(2, member(60, 700, 1, 3)) }));
}

#[test]
fn an_empty_window_and_a_missing_root_have_no_path() {
    assert_eq!(walk(&[member(5, 5, NO_PARENT, 1), member(5, 5, 0, 2)]).0, []);
    assert_eq!(walk(&[]).0, []);
}
