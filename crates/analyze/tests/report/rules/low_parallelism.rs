//! Fixtures of `low_parallelism`.

use stepscope_core::ThreadState;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::planted::{OWN, Planted, Section, blocked, blocked_looks, lock, pool};

const RULE: &str = "low_parallelism";

#[test]
fn a_step_that_waits_for_one_thread_beside_free_processors_is_found() {
    let [finding] = found(RULE, &pool(0)).try_into().unwrap();
    let title = "For 94 % of the step time the step waits for other threads: 1.0 run at a time, and there are processors for 4.0.";
    assert_eq!(finding.title, title);
    // Three quarters of the rounds in which it waits: 47 of 50.
    assert_eq!((finding.section.as_deref(), finding.severity), (Some("step/draw"), 71.0));
    assert_eq!(finding.evidence.get("working_section"), Some(&"step/draw/render".into()));
    // Work may become less, too.
    assert_eq!(finding.predicted_gain.unwrap().method.as_str(), "about");
}

#[test]
fn processors_that_others_use_are_not_free() {
    let because = fine(RULE, &pool(300));
    assert!(because.ends_with(": 1.0 run at a time, and there are processors for 1.0"), "{because}");
}

#[test]
fn rounds_in_which_more_run_than_there_are_processors_for_are_left_out() {
    let threads = || (2..8).map(|thread| Section("draw/render", thread, 0, 100, 60, 0));
    let sections = std::iter::once(Section("draw", OWN, 5, 100, 0, 0)).chain(threads()).collect();
    let planted = Planted { cpu: 5, sections, ..Planted::default() };
    // Six threads run at first, and one of them for longer than the others.
    let summary = planted.run(|round| {
        let running = if round < 20 { 2..8 } else { 2..3 };
        std::iter::once((OWN, ThreadState::Futex, 8))
            .chain(running.map(|thread| (thread, ThreadState::Running, 0)))
            .collect()
    });
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let title = "For 60 % of the step time the step waits for other threads: 1.0 run at a time, and there are processors for 4.0.";
    assert_eq!(finding.title, title);
}

#[test]
fn waiting_for_a_lock_or_for_nobody_is_none_of_it() {
    assert!(fine(RULE, &lock(|_| 4_096)).starts_with("the step waits for other threads of its own for 0 %"));
    let sleep = blocked(ThreadState::Sleep).run(blocked_looks(ThreadState::Sleep));
    assert_eq!(fine(RULE, &sleep), "the step waits for other threads of its own for 0 % of 560 ms of steps");
    assert_eq!(fine(RULE, &healthy().build()), "1.0 % of 2.00 s of steps blocked");
}

#[test]
fn without_deep_steps_it_is_unknown() {
    let without = Planted { has_deep: false, ..blocked(ThreadState::Futex) };
    assert!(unknown(RULE, &without.run(|_| Vec::new())).contains("needs deep steps"));
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs the CPU time of steps"));
}
