//! Fixtures of `cpu_contention`.

use stepscope_core::ThreadState;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::planted::{OWN, Planted};

const RULE: &str = "cpu_contention";

#[test]
fn steps_that_wait_for_a_processor_are_found_from_what_they_say_alone() {
    let [finding] = found(RULE, &healthy().threads(60, 40).build()).try_into().unwrap();
    assert_eq!(finding.title, "40 % of the step time is waiting for a processor.");
    assert_eq!(finding.severity, 40.0);
}

#[test]
fn other_processes_are_named_by_the_processors_that_they_use() {
    let planted = Planted { cpu: 50, runnable: 50, others: 350, ..Planted::default() };
    let [finding] = found(RULE, &planted.run(|_| vec![(OWN, ThreadState::Running, 0)])).try_into().unwrap();
    let title = "50 % of the step time is waiting for a processor: other processes use 3.5 processors.";
    assert_eq!(finding.title, title);
    assert_eq!(finding.evidence.get("used_by_other_processes"), Some(&3.5.into()));
}

#[test]
fn threads_of_the_program_beside_the_step_are_counted() {
    let planted = Planted { cpu: 50, runnable: 50, ..Planted::default() };
    let looks = |_| (1..8).map(|thread| (thread, ThreadState::Running, 0)).collect();
    let [finding] = found(RULE, &planted.run(looks)).try_into().unwrap();
    let title =
        "50 % of the step time is waiting for a processor: 6.0 threads of the program compute beside it.";
    assert_eq!(finding.title, title);
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
