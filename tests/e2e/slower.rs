//! A real program that becomes slower at a step, five seeds: found there, in the phase that takes the time, with the
//! gain that leaving it out brings. In the same program without, no phase of it is blamed for what the machine does.

use serde_json::Value;

use crate::planted::{SEEDS, STEPS, findings, mean_ns, train};
use crate::program::alone;

/// The first slow step.
const FROM: u64 = STEPS * 3 / 5;

fn named(report: &Value) -> Vec<&Value> {
    let is_named = |finding: &&Value| finding["rule"] == "slower_since" && !finding["phase"].is_null();
    findings(report).iter().filter(is_named).collect()
}

#[test]
fn a_slowdown_is_found_where_it_begins() {
    let _alone = alone();
    for seed in SEEDS {
        let without = train("none", seed);
        assert_eq!(named(&without), Vec::<&Value>::new(), "seed {seed}");
        let with = train("slower", seed);
        let changes = &with["detailed_metrics"]["changes"];
        let [finding] = named(&with)[..] else { panic!("seed {seed}: {changes:#}") };
        assert_eq!(finding["phase"], "preprocessing", "seed {seed}: {finding}");
        let since = finding["evidence"]["since_step"].as_u64().expect("a step");
        assert!(since.abs_diff(FROM) <= 5, "seed {seed}: since {since}, {changes:#}");
        let predicted = finding["predicted_gain"]["share"].as_f64().expect("a share");
        let measured = 1.0 - mean_ns(&without) / mean_ns(&with);
        println!(
            "seed {seed}: since step {since}, {:.1} % predicted, {:.1} % gained",
            predicted * 100.0,
            measured * 100.0
        );
        assert!((predicted - measured).abs() <= 0.3 * measured, "seed {seed}: {predicted}, {measured}");
    }
}
