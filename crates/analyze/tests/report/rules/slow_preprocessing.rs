//! Fixtures of `slow_preprocessing`.

use serde_json::json;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "slow_preprocessing";

#[test]
fn the_section_that_holds_the_step_up_is_named() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Collate, "collate", MS)
        .phase(Phase::Preprocessing, "preprocessing", 5 * MS)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "60 % of the step time goes into preprocessing on the training thread.");
    assert_eq!(finding.severity, 60.0);
    assert_eq!(finding.section.as_deref(), Some("step/preprocessing"));
    assert_eq!(finding.evidence.get("collate_share"), Some(&json!(0.1)));
    assert_eq!(finding.evidence.get("section_per_step_ns"), Some(&json!(5 * MS)));
    assert_eq!(finding.predicted_gain.unwrap().step_time_ns, 4 * MS);
}

#[test]
fn a_little_preparation_is_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "1.0 % of the step time is preparation on the training thread"
    );
}

#[test]
fn few_steps_are_not_judged() {
    let summary = Run::of(3, 10 * MS).phase(Phase::Collate, "collate", 5 * MS).build();
    assert!(unknown(RULE, &summary).starts_with("3 steps"));
}
