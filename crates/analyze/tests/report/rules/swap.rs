//! Fixtures of `swap`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set, slower_at_last};

const RULE: &str = "swap";

#[test]
fn pages_from_swap_space_are_found() {
    let mut summary = healthy().build();
    set(&mut summary, figure("swap_in_per_s", |at| if at < 6 { 0.0 } else { 800.0 }));
    slower_at_last(&mut summary);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let expected = "Memory went to and from swap space for 40 % of the time; steps took 31.0 ms meanwhile, 22.0 ms else.";
    assert_eq!((finding.title.as_str(), finding.severity), (expected, 15.0));
}

#[test]
fn what_is_read_seldom_is_found_without_the_time() {
    let mut summary = healthy().build();
    let mut row = figure("swap_out_per_s", |_| 50.0);
    row.values.iter_mut().for_each(|value| *value = None);
    set(&mut summary, row);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Memory went to and from swap space at times; in which steps is not known.");
    assert_eq!(finding.evidence.get("beyond_limit_share"), None);
}

#[test]
fn nothing_swapped_is_fine_and_nothing_measured_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "at most 0 pages a second were swapped, any for 0 % of the time (limit 1.0 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
}
