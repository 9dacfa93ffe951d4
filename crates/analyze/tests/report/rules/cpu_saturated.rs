//! Fixtures of `cpu_saturated`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set, slower_at_last};

const RULE: &str = "cpu_saturated";

#[test]
fn busy_processors_are_found_with_what_steps_took_meanwhile() {
    let mut summary = healthy().build();
    set(&mut summary, figure("cpu_busy_share", |at| if at < 6 { 0.5 } else { 0.99 }));
    slower_at_last(&mut summary);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let expected = "All processors were busy (above 95 %) for 40 % of the time; steps took 31.0 ms meanwhile, 22.0 ms else.";
    assert_eq!(finding.title, expected);
    // 9 of 31 ms, for 40 % of the time.
    assert_eq!(finding.severity, 12.0);
    assert_eq!(finding.evidence.get("beyond_limit_share"), Some(&0.4.into()));
    assert_eq!(finding.evidence.get("step_time_else_ns"), Some(&(22 * MS).into()));
}

#[test]
fn where_steps_take_as_long_it_is_modest() {
    let mut summary = healthy().build();
    set(&mut summary, figure("cpu_busy_share", |_| 0.99));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(
        finding.title.ends_with("for 100 % of the time; steps took 10.0 ms, all the while."),
        "{}",
        finding.title
    );
    assert_eq!(finding.severity, 10.0);
}

#[test]
fn fine_names_the_figure_and_without_metrics_it_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "processors were busy for at most 44 %, above 95 % for 0 % of the time (limit 10 %); measured in 500 of 500 steps"
    );
    let because = unknown(RULE, &Run::of(100, MS).build());
    assert!(
        because.starts_with("needs metrics of the host and its GPUs: run `stepscope monitor"),
        "{because}"
    );
}

#[test]
fn warm_up_does_not_count() {
    let mut summary = healthy().build();
    set(&mut summary, figure("cpu_busy_share", |at| if at < 2 { 1.0 } else { 0.3 }));
    for stretch in &mut summary.metrics.hosts[0].stretches[..2] {
        stretch.is_warmup = true;
    }
    assert!(fine(RULE, &summary).starts_with("processors were busy"));
}
