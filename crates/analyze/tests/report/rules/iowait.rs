//! Fixtures of `iowait`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set, slower_at_last};

const RULE: &str = "iowait";

#[test]
fn idle_processors_are_found_with_what_disks_did() {
    let mut summary = healthy().build();
    set(&mut summary, figure("cpu_iowait_share", |at| if at < 6 { 0.01 } else { 0.35 }));
    slower_at_last(&mut summary);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let expected = "Processors stood idle for storage for 40 % of the time (up to 35 % of them); steps took 31.0 ms meanwhile, \
                    22.0 ms else.";
    assert_eq!(finding.title, expected);
    assert!(
        finding.recommendation.ends_with("Disks read up to 8.58 MiB/s and wrote up to 0 B/s."),
        "{finding:?}"
    );
}

#[test]
fn a_little_is_fine_and_nothing_measured_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "processors were idle for storage for at most 1.0 %, above 20 % for 0 % of the time (limit 5.0 %); measured in 500 of \
         500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
    let mut summary = healthy().build();
    summary.metrics.hosts[0].figures.clear();
    assert!(unknown(RULE, &summary).starts_with("nobody measured what processors did: "));
}
