//! Fixtures of `slow_preprocessing`.

use serde_json::json;
use stepscope_core::Phase;

use super::{fine, found};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "slow_preprocessing";

#[test]
fn the_section_that_holds_the_step_up_is_named() {
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Collate, "collate", MS)
        .phase(Phase::Preprocessing, "preprocessing", 5 * MS)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(
        finding.title,
        "60 % of the step time goes into preparation, 50 % into preprocessing on the training thread."
    );
    assert_eq!(finding.severity, 60.0);
    assert_eq!(finding.section.as_deref(), Some("step/preprocessing"));
    assert_eq!(finding.evidence.get("collate_share"), Some(&json!(0.1)));
    assert_eq!(finding.evidence.get("section_per_step_ns"), Some(&json!(5 * MS)));
    // Of the 4 ms that remain a tenth of 60 % may be cold caches.
    let gain = finding.predicted_gain.unwrap();
    assert_eq!((gain.step_time_ns, gain.direct_share), (3_760_000, 0.6));
    assert_eq!(
        gain.because.as_deref(),
        Some("60 % is preparation; 2.4 % is what it may cost the rest in caches")
    );
}

#[test]
fn a_little_preparation_is_fine() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "1.0 % of 2.00 s of steps is preparation on the training thread, 99 % has a phase; limit 5.0 %"
    );
}

#[test]
fn long_preparation_is_a_finding_whatever_its_share() {
    let run = |preparation_ms| {
        let run = Run::of(100, 60_000 * MS).phase(Phase::Collate, "collate", preparation_ms * MS);
        run.phase(Phase::Forward, "forward", (60_000 - preparation_ms) * MS).build()
    };
    let [finding] = found(RULE, &run(600)).try_into().unwrap();
    assert_eq!((finding.severity, finding.section.as_deref()), (1.0, Some("step/collate")));
    assert_eq!(
        fine(RULE, &run(400)),
        "0.67 % of 1 h 40 min of steps is preparation on the training thread, 100 % has a phase; limit 5.0 %"
    );
}
