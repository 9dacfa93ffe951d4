//! Fixtures of `gpu_underutilised`.

use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, quiet, set_gpu};

const RULE: &str = "gpu_underutilised";

#[test]
fn an_idle_gpu_is_found_and_input_is_named_first() {
    let mut summary = Run::of(200, 10 * MS).phase(Phase::DataWait, "data_wait", 4 * MS).build();
    quiet(&mut summary);
    set_gpu(&mut summary, figure("utilization_share", |_| 0.35));
    set_gpu(&mut summary, figure("memory_used_share", |_| 0.2));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "GPU `gpu0` was busy for 35 % of the time while steps ran.");
    // Half of what is wanted is missing.
    assert_eq!(finding.severity, 20.0);
    assert!(finding.recommendation.starts_with("Steps wait for input for 40 % of their time"), "{finding:?}");
    assert!(finding.recommendation.contains("At most 20 % of its memory was in use"), "{finding:?}");
}

#[test]
fn a_busy_gpu_is_fine_and_none_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "the least busy of 1 GPU was busy for 93 % of the time while steps ran (limit 70 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
    let mut summary = healthy().build();
    summary.metrics.gpus.clear();
    assert!(unknown(RULE, &summary).starts_with("no GPU was measured"));
}
