//! Fixtures of `lock_contention`.

use stepscope_core::ThreadState;

use super::{check, fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::planted::{OWN, Planted, Section, blocked, lock, lock_beside, pool};
use stepscope_analyze::report::Verdict;

const RULE: &str = "lock_contention";

#[test]
fn threads_that_take_turns_at_one_address_are_found_with_their_section() {
    let [finding] = found(RULE, &lock(|_| 4_096)).try_into().unwrap();
    let title = "Lock contention: for 100 % of the step time threads take turns in `step/share/update`, one at a time.";
    assert_eq!(finding.title, title);
    // One of four runs where all could.
    assert_eq!((finding.section.as_deref(), finding.severity), (Some("step/share/update"), 75.0));
    assert_eq!(finding.evidence.get("threads"), Some(&4.into()));
}

#[test]
fn without_processors_for_them_nothing_is_lost_by_turns() {
    let because = fine(RULE, &lock_beside(300, |_| 4_096));
    assert!(because.contains("for 100 % of its time, and there are processors for 1.0 of them"), "{because}");
}

#[test]
fn so_are_threads_that_each_wait_at_an_address_of_their_own() {
    // As those of parking_lot do.
    let [finding] = found(RULE, &lock(|thread| 100 + thread.cast_unsigned())).try_into().unwrap();
    assert_eq!(finding.section.as_deref(), Some("step/share/update"));
}

#[test]
fn two_threads_at_two_addresses_may_be_a_channel() {
    let of = |thread| Section("stage", thread, 0, 100, 50, 0);
    let planted = Planted { cpu: 5, sections: vec![of(2), of(3)], ..Planted::default() };
    let summary = planted.run(|round| {
        let running = 2 + (round % 2).cast_signed();
        let of = |thread: i64| match thread == running {
            true => (thread, ThreadState::Running, 0),
            false => (thread, ThreadState::Futex, 10 + thread.cast_unsigned()),
        };
        vec![(OWN, ThreadState::Futex, 1), of(2), of(3)]
    });
    let because = unknown(RULE, &summary);
    assert!(because.contains("in a lock, channel or condition variable"), "{because}");
}

#[test]
fn who_waits_in_one_section_for_another_one_is_not_known_and_not_fine() {
    // A writer holds what two readers wait for.
    let of = |name, thread| Section(name, thread, 0, 100, 50, 0);
    let sections = vec![of("write", 2), of("read", 3), of("read", 4)];
    let planted = Planted { cpu: 5, sections, ..Planted::default() };
    let summary = planted.run(|_| {
        let readers = [3, 4].map(|thread| (thread, ThreadState::Futex, 4_096));
        [vec![(OWN, ThreadState::Futex, 1), (2, ThreadState::Running, 0)], readers.to_vec()].concat()
    });
    let because = unknown(RULE, &summary);
    assert!(because.ends_with("for whom they wait is not known"), "{because}");
}

#[test]
fn idle_threads_outside_of_sections_never_count() {
    let summary = blocked(ThreadState::Futex).run(|round| {
        let own = if round < 16 { ThreadState::Running } else { ThreadState::Futex };
        let idle = (10..18).map(|thread| (thread, ThreadState::Futex, 4_096));
        std::iter::once((OWN, own, 5)).chain(idle).collect()
    });
    assert!(matches!(check(RULE, &summary), Verdict::Fine { .. }));
}

#[test]
fn a_pool_is_no_lock_and_what_is_not_blocked_is_fine() {
    assert!(fine(RULE, &pool(0)).starts_with("the step waits for threads that wait for each other for 0 %"));
    assert_eq!(fine(RULE, &healthy().build()), "1.0 % of 2.00 s of steps blocked");
}

#[test]
fn without_deep_steps_it_is_unknown() {
    let without = Planted { has_deep: false, ..blocked(ThreadState::Futex) };
    assert!(unknown(RULE, &without.run(|_| Vec::new())).contains("needs deep steps"));
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs the CPU time of steps"));
}
