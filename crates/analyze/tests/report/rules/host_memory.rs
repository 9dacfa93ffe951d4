//! Fixtures of `host_memory`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set};

const RULE: &str = "host_memory";

#[test]
fn memory_near_its_limit_is_found_by_its_worst_reading() {
    let mut summary = healthy().build();
    let mut row = figure("memory_used_share", |_| 0.6);
    row.max = Some(0.97);
    set(&mut summary, row);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Memory was in use for up to 97 % of 16.0 GiB.");
    assert_eq!(finding.severity, 15.0);
    assert_eq!(finding.evidence.get("used_share"), Some(&0.97.into()));
}

#[test]
fn of_several_machines_the_worst_is_named() {
    let mut summary = healthy().build();
    let mut other = summary.metrics.hosts[0].clone();
    other.name = Some("host-b".into());
    summary.metrics.hosts.push(other);
    set(&mut summary, figure("memory_used_share", |_| 0.9));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.title.ends_with(" of 16.0 GiB on host-a."), "{}", finding.title);
}

#[test]
fn fine_names_the_figure_and_without_metrics_it_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "at most 41 % of 16.0 GiB was in use (limit 85 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
    let mut seldom = healthy().build();
    seldom.metrics.hosts[0].steps_measured = 249;
    assert!(unknown(RULE, &seldom).starts_with("only 249 of 500 steps were measured; in these at most 41 %"));
}
