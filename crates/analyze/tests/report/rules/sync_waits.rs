//! Fixtures of `sync_waits`.

use stepscope_analyze::summary::FigureSum;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "sync_waits";

#[test]
fn waiting_for_a_result_is_found() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Forward, "forward", 5 * MS)
        .phase(Phase::Synchronization, "read_loss", 2 * MS)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "20 % of the step time goes into waiting for threads, locks or devices.");
    assert_eq!((finding.severity, finding.section.as_deref()), (20.0, Some("step/read_loss")));
    assert!(finding.recommendation.contains("2.00 ms a step"), "{}", finding.recommendation);
}

#[test]
fn a_wait_for_a_device_may_be_its_work() {
    let summary = Run::of(100, 10 * MS).phase(Phase::Synchronization, "hipDeviceSynchronize", 9 * MS).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let expected = "The device may work all of the 9.00 ms a step: then the gain is nothing";
    assert!(finding.recommendation.starts_with(expected), "{}", finding.recommendation);
}

#[test]
fn waits_between_steps_count() {
    let summary = Run::of(100, 9 * MS)
        .phase(Phase::Forward, "forward", 5 * MS)
        .between(Phase::Synchronization, "barrier", &[MS; 100])
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "10 % of the training time goes into waiting for threads, locks or devices.");
    assert_eq!(finding.section.as_deref(), Some("barrier"));
    assert_eq!(finding.predicted_gain.unwrap().step_time_ns, 9 * MS);
}

#[test]
fn threads_that_ran_all_the_time_waited_for_nothing() {
    let because = "the steps' own threads were blocked for 0.50 % of 2.00 s of steps; limit 10 %";
    assert_eq!(fine(RULE, &healthy().build()), because);
}

#[test]
fn sections_of_other_phases_may_wait_inside() {
    let run = || Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 10 * MS);
    assert!(unknown(RULE, &run().build()).starts_with("no section has the phase `synchronization`"));
    assert!(
        unknown(RULE, &run().blocked(MS).build()).starts_with("no section has the phase `synchronization`")
    );
    let mut some = run().blocked(0).build();
    some.sections
        .iter_mut()
        .for_each(|row| row.cpu_ns = row.cpu_ns.map(|ran| FigureSum { spans: 99, ..ran }));
    assert!(unknown(RULE, &some).starts_with("no section has the phase `synchronization`"));
}

#[test]
fn one_step_is_enough() {
    let one = Run::of(1, 10 * MS).phase(Phase::Synchronization, "sync", 5 * MS).build();
    assert!(found(RULE, &one)[0].title.starts_with("50 % of the step time"));
}
