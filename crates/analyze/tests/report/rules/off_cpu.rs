//! Fixtures of `off_cpu`.

use stepscope_core::{Phase, ThreadState};

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::planted::{OWN, Planted, blocked, blocked_looks, pool};

const RULE: &str = "off_cpu";

#[test]
fn a_section_is_found_with_what_it_is_blocked_in() {
    let cases = [
        (ThreadState::Sleep, "sleep"),
        (ThreadState::Futex, "a lock, channel or condition variable"),
        (ThreadState::File, "a file"),
        (ThreadState::Pipe, "a pipe"),
    ];
    for (state, words) in cases {
        let summary = blocked(state).run(blocked_looks(state));
        let [finding] = found(RULE, &summary).try_into().unwrap();
        assert_eq!(finding.title, format!("66 % of the step time is blocked: {words}."));
        assert_eq!((finding.section.as_deref(), finding.severity), (Some("step/settle"), 66.0));
        assert_eq!(finding.evidence.get("blocked_on"), Some(&state.as_str().into()));
    }
}

#[test]
fn a_section_with_a_phase_that_says_it_is_that_rule_s() {
    let summary = Planted { phase: Some(("settle", Phase::Io)), ..blocked(ThreadState::File) };
    let because = fine(RULE, &summary.run(blocked_looks(ThreadState::File)));
    assert_eq!(
        because,
        "66 % of 560 ms of steps blocked, all but a little of it in waits that other rules judge"
    );
}

#[test]
fn a_wait_for_threads_of_the_step_is_not_told_here() {
    assert!(fine(RULE, &pool(0)).starts_with("95 % of 560 ms of steps blocked, all but"));
}

#[test]
fn a_thread_beside_the_step_makes_it_no_wait_for_its_own() {
    let summary = blocked(ThreadState::Futex).run(|round| {
        let own = if round < 16 { ThreadState::Running } else { ThreadState::Futex };
        vec![(OWN, own, 5), (9, ThreadState::Running, 0)]
    });
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.title.ends_with("blocked: a lock, channel or condition variable."), "{}", finding.title);
}

#[test]
fn fine_names_what_was_looked_at_and_without_deep_steps_it_is_unknown() {
    assert_eq!(fine(RULE, &healthy().build()), "1.0 % of 2.00 s of steps blocked");
    let without = Planted { has_deep: false, ..blocked(ThreadState::Sleep) };
    let because = unknown(RULE, &without.run(|_| Vec::new()));
    assert!(
        because
            .starts_with("66 % of 640 ms of steps blocked, and in which sections is not known: needs deep"),
        "{because}"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs the CPU time of steps"));
}
