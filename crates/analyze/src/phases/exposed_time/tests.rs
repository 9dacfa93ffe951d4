//! Tests of the module above.

use crate::phases::exposed_time::*;

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

fn joined(start_ns: u64, end_ns: u64, waiter: u32, rank: u64) -> BlockedOn {
    BlockedOn { start_ns, end_ns, waiter, rank }
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
fn spans_without_time_own_nothing() {
    assert_eq!(run(&[member(5, 5, NO_PARENT, 0), member(5, 5, 0, 0)]), [0, 0]);
    assert_eq!(run(&[]), Vec::<u64>::new());
    assert_eq!(run(&[member(0, 9, NO_PARENT, 0), member(3, 3, 0, 0)]), [9, 0]);
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
