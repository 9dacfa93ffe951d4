//! Laws of the walk over random trees, against a search through every chain; fixtures of single rules.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn member(start_ns: u64, end_ns: u64, parent: u32, id: u64) -> Member {
    Member { start_ns, end_ns, parent, id, process: 0, is_detached: false }
}

fn walk(members: &[Member]) -> (Vec<(u32, u64, u64)>, Vec<Standing>) {
    let (mut pieces, mut standing) = (Vec::new(), Vec::new());
    Walk::default().run(members, 0, &mut pieces, &mut standing);
    (pieces.iter().map(|piece| (piece.member, piece.start_ns, piece.end_ns)).collect(), standing)
}

/// The path by definition: of all chains of children that follow each other, the one whose sequence of
/// (end, start, id), latest first, is the greatest; the rest of the window is the member's own.
fn search(members: &[Member], at: u32, start_ns: u64, end_ns: u64, path: &mut Vec<(u32, u64, u64)>) {
    let children: Vec<(u64, u64, u64, u32)> = (0u32..)
        .zip(members)
        .filter(|(index, child)| child.parent == at && !child.is_detached && *index != at)
        .filter(|(_, child)| {
            (child.start_ns < end_ns && child.end_ns > start_ns)
                || (child.start_ns == child.end_ns && (start_ns..=end_ns).contains(&child.start_ns))
        })
        .map(|(index, child)| (child.end_ns.min(end_ns), child.start_ns.max(start_ns), child.id, index))
        .collect();
    let mut best: Vec<(u64, u64, u64, u32)> = Vec::new();
    for subset in 0u32..1 << children.len() {
        let mut chain: Vec<_> = (0..)
            .zip(&children)
            .filter(|(bit, _)| subset & (1 << bit) != 0)
            .map(|(_, &child)| child)
            .collect();
        chain.sort_by(|a, b| b.cmp(a));
        if chain.windows(2).all(|pair| pair[1].0 <= pair[0].1) && chain > best {
            best = chain;
        }
    }
    let mut point_ns = end_ns;
    for (end, start, _, index) in best {
        if end < point_ns {
            path.push((at, end, point_ns));
        }
        search(members, index, start, end, path);
        point_ns = start;
    }
    if start_ns < point_ns {
        path.push((at, start_ns, point_ns));
    }
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

proptest! {
    #[test]
    fn the_path_is_the_greatest_of_all_chains(members in trees(10)) {
        let mut expected = Vec::new();
        search(&members, 0, members[0].start_ns, members[0].end_ns, &mut expected);
        expected.sort_by_key(|piece| Reverse(piece.1));
        prop_assert_eq!(walk(&members).0, expected);
    }

    #[test]
    fn pieces_are_exactly_the_window(
        mut members in trees(60),
        processes in vec(0u32..3, 60),
    ) {
        for (member, process) in members.iter_mut().zip(processes) {
            member.process = process;
            // Long enough that the tolerance between processes is not nothing.
            member.start_ns *= 50;
            member.end_ns *= 50;
        }
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
fn siblings_back_to_back_are_both_on_the_path() {
    let members = [member(0, 100, NO_PARENT, 1), member(0, 50, 0, 2), member(50, 100, 0, 3)];
    assert_eq!(walk(&members).0, [(2, 50, 100), (1, 0, 50)]);
}

#[test]
fn chains_side_by_side_keep_their_own_children() {
    // Two asynchronous chains of calls: what the shorter waited for did not hold up the longer.
    let members = [
        member(0, 500, NO_PARENT, 1),
        member(0, 500, 0, 2),   // the longer chain
        member(0, 100, 1, 3),   // its first call
        member(200, 500, 1, 4), // its second, after a pause
        member(0, 199, 0, 5),   // the shorter chain
        member(0, 199, 4, 6),   // its only call
    ];
    let (pieces, standing) = walk(&members);
    assert_eq!(pieces, [(3, 200, 500), (1, 100, 200), (2, 0, 100)]);
    assert_eq!(standing[4], Standing::Slack(301));
    assert_eq!(standing[5], Standing::Slack(301));
}

#[test]
fn what_nobody_waits_for_is_apart_with_all_that_it_caused() {
    let mut members =
        [member(0, 100, NO_PARENT, 1), member(10, 90, 0, 2), member(20, 80, 1, 3), member(5, 30, 0, 4)];
    members[1].is_detached = true;
    let (pieces, standing) = walk(&members);
    assert_eq!(pieces, [(0, 30, 100), (3, 5, 30), (0, 0, 5)]);
    assert_eq!(standing[1..3], [Standing::Apart, Standing::Apart]);
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
fn clocks_of_two_processes_may_disagree_a_little_and_those_of_one_may_not() {
    let mut members = [member(0, 1000, NO_PARENT, 1), member(100, 505, 0, 2), member(500, 900, 0, 3)];
    assert_eq!(walk(&members).0, [(0, 900, 1000), (2, 500, 900), (0, 0, 500)]);
    members[2].process = 1;
    assert_eq!(walk(&members).0, [(0, 900, 1000), (2, 500, 900), (1, 95, 500), (0, 0, 95)]);
    // 1 % and more is no disagreement of clocks.
    members[1].end_ns = 510;
    assert_eq!(walk(&members).0, [(0, 900, 1000), (2, 500, 900), (0, 0, 500)]);
}

#[test]
fn many_overlapping_children_of_a_hostile_trace_are_walked_at_once() {
    // Each overlaps the next by too much for one process, by little enough for two.
    let mut members = vec![member(0, 20_000_000, NO_PARENT, 1)];
    for index in 0..200_000u64 {
        let child = member(index * 10, index * 10 + 1000, 0, index + 2);
        members.push(Member { process: index as u32 % 2, ..child });
    }
    let (pieces, _) = walk(&members);
    assert_eq!(pieces.iter().map(|(_, start, end)| end - start).sum::<u64>(), 20_000_000);
}

#[test]
fn an_empty_window_and_a_missing_root_have_no_path() {
    assert_eq!(walk(&[member(5, 5, NO_PARENT, 1), member(5, 5, 0, 2)]).0, []);
    assert_eq!(walk(&[]).0, []);
}
