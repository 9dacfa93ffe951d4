//! Fixtures of `throttling`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set_gpu, slower_at_last};

const RULE: &str = "throttling";

#[test]
fn lowered_clocks_are_found_with_their_reason() {
    let mut summary = healthy().build();
    set_gpu(&mut summary, figure("throttled_share", |at| if at < 6 { 0.0 } else { 0.5 }));
    set_gpu(&mut summary, figure("throttled_by_heat_share", |at| if at < 6 { 0.0 } else { 0.5 }));
    set_gpu(&mut summary, figure("throttled_by_power_share", |_| 0.0));
    slower_at_last(&mut summary);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let expected = "Clocks of GPU `gpu0` were lowered for 20 % of the time, mostly for heat; steps took 31.0 ms meanwhile, \
                    22.0 ms else.";
    assert_eq!(finding.title, expected);
    assert_eq!(finding.severity, 12.0);
    assert!(finding.recommendation.starts_with("Look at cooling"), "{}", finding.recommendation);
}

#[test]
fn no_lowered_clocks_are_fine_and_nothing_measured_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "clocks of GPUs were lowered for 0 % of the time (limit 1.0 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
}
