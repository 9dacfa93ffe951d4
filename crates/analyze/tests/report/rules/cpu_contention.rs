//! Fixtures of `cpu_contention`.

use stepscope_core::ThreadState;

use stepscope_analyze::report::Finding;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::planted::{OWN, Planted, Section};

const RULE: &str = "cpu_contention";

#[test]
fn steps_that_wait_for_a_processor_are_found_from_what_they_say_alone() {
    let [finding] = found(RULE, &healthy().threads(60, 40).build()).try_into().unwrap();
    assert_eq!(finding.title, "40 % of the step time is waiting for a processor.");
    // It may be the machine's doing.
    assert_eq!(finding.severity, 9.0);
}

#[test]
fn other_programs_are_named_by_the_processors_that_they_take_and_are_no_fault() {
    let planted = Planted { cpu: 50, runnable: 50, others: 350, ..Planted::default() };
    let [finding] = found(RULE, &planted.run(|_| vec![(OWN, ThreadState::Running, 0)])).try_into().unwrap();
    let title =
        "50 % of the step time is waiting for a processor: other programs take 88 % of the processors.";
    assert_eq!((finding.title.as_str(), finding.severity), (title, 9.0));
    assert_eq!(finding.evidence.get("used_by_other_processes"), Some(&3.5.into()));
}

#[test]
fn threads_of_the_program_beside_the_step_are_counted() {
    let planted = Planted { cpu: 50, runnable: 50, ..Planted::default() };
    let looks = |_| (1..8).map(|thread| (thread, ThreadState::Running, 0)).collect();
    let [finding] = found(RULE, &planted.run(looks)).try_into().unwrap();
    let title =
        "50 % of the step time is waiting for a processor: 6.0 threads of the program compute beside it.";
    assert_eq!((finding.title.as_str(), finding.severity), (title, 50.0));
}

/// Seven threads beside the step's own run in sections with this path, but for so many rounds at first.
fn seven(path: &'static str, rounds: u64) -> Finding {
    let of = |thread| Section(path, thread, 2 * rounds, 100, 50, 0);
    let planted = Planted { cpu: 50, runnable: 50, sections: (2..9).map(of).collect(), ..Planted::default() };
    let looks = |_| (OWN..9).map(|thread| (thread, ThreadState::Running, 0)).collect();
    let [finding] = found(RULE, &planted.run(looks)).try_into().unwrap();
    finding
}

#[test]
fn threads_of_the_step_that_outnumber_the_processors_make_it_no_longer() {
    let title = "50 % of the step time is waiting for a processor: 7.0 more threads compute in the step.";
    // Or such as begin and end with it.
    for path in ["share", "/share"] {
        let finding = seven(path, 0);
        assert_eq!((finding.title.as_str(), finding.severity), (title, 9.0));
    }
}

#[test]
fn threads_in_sections_that_began_before_the_step_are_beside_it() {
    let finding = seven("/unpack", 5);
    let title =
        "50 % of the step time is waiting for a processor: 7.0 threads compute beside it, most in `unpack`.";
    assert_eq!((finding.title.as_str(), finding.severity), (title, 50.0));
}

#[test]
fn what_threads_without_sections_take_may_be_the_step_s_own_work() {
    let planted = Planted { cpu: 50, runnable: 50, unseen: 150, ..Planted::default() };
    let [finding] = found(RULE, &planted.run(|_| vec![(OWN, ThreadState::Running, 0)])).try_into().unwrap();
    let title = "50 % of the step time is waiting for a processor: threads of the program without sections use 1.5 processors.";
    assert_eq!((finding.title.as_str(), finding.severity), (title, 19.0));
}

#[test]
fn fine_names_what_was_looked_at_and_without_the_delay_it_is_unknown() {
    assert_eq!(fine(RULE, &healthy().build()), "1.0 % of 2.00 s of steps runnable without a processor");
    let mut summary = healthy().build();
    let threads = summary.modes[0].threads.as_mut().unwrap();
    (threads.run_queue_ns, threads.blocked_ns) = (None, None);
    assert!(unknown(RULE, &summary).starts_with("needs the run-queue delay"));
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs the CPU time of steps"));
}
