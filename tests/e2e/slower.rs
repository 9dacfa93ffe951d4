//! A real program that becomes slower at a step, five seeds: found there, in the phase that takes the time, however busy
//! the machine is. What needs a machine that lets the program be, is judged where it did: that the gain is the one which
//! leaving the cause out brings, and that no phase of the same program without is blamed for what the machine does.

use serde_json::Value;

use crate::planted::{SEEDS, STEPS, findings, mean_ns, train_once};
use crate::program::alone;

/// The first slow step.
const FROM: u64 = STEPS * 3 / 5;

/// A run, of several the first that the machine let be, or the last; and whether it did.
fn train(plant: &str, seed: u64) -> (Value, bool) {
    let mut run = train_once(plant, seed);
    for _ in 0..4 {
        if run.1 {
            run = train_once(plant, seed);
        }
    }
    (run.0, !run.1)
}

fn named(report: &Value) -> Vec<&Value> {
    let is_named = |finding: &&Value| finding["rule"] == "slower_since" && !finding["phase"].is_null();
    findings(report).iter().filter(is_named).collect()
}

#[test]
fn a_slowdown_is_found_where_it_begins() {
    let _alone = alone();
    for seed in SEEDS {
        let (without, is_quiet) = train("none", seed);
        let (with, is_quiet_with) = train("slower", seed);
        let changes = &with["detailed_metrics"]["changes"];
        let since = |finding: &&&Value| finding["evidence"]["since_step"].as_u64().expect("a step");
        let all = named(&with);
        let finding = all.iter().find(|finding| since(finding).abs_diff(FROM) <= 5);
        let finding = finding.unwrap_or_else(|| panic!("seed {seed}: {all:#?}, {changes:#}"));
        assert_eq!(finding["phase"], "preprocessing", "seed {seed}: {finding}");
        let predicted = finding["predicted_gain"]["share"].as_f64().expect("a share");
        let measured = 1.0 - mean_ns(&without) / mean_ns(&with);
        println!(
            "seed {seed}: since step {}, {:.1} % predicted, {:.1} % gained{}",
            since(&finding),
            predicted * 100.0,
            measured * 100.0,
            if is_quiet && is_quiet_with { "" } else { ", beside others" }
        );
        if is_quiet && is_quiet_with {
            assert!((predicted - measured).abs() <= 0.3 * measured, "seed {seed}: {predicted}, {measured}");
        }
        if is_quiet {
            assert_eq!(named(&without), Vec::<&Value>::new(), "seed {seed}");
        }
    }
}
