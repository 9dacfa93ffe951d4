//! Fixtures of `gpu_memory`.

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set_gpu};

const RULE: &str = "gpu_memory";

#[test]
fn memory_that_is_nearly_used_up_is_found() {
    let mut summary = healthy().build();
    set_gpu(&mut summary, figure("memory_used_share", |at| if at == 7 { 0.95 } else { 0.5 }));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Memory of GPU `gpu0` was in use for up to 95 % (60.0 GiB).");
    // Half of the way from 90 % to 100 %: half of the way from 10 to 30.
    assert_eq!(finding.severity, 20.0);
}

#[test]
fn fine_names_the_figure_and_nothing_measured_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "at most 75 % of a GPU's memory was in use (60.0 GiB) (limit 90 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
}
