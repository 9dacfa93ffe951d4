//! A real program that becomes slower at a step, five seeds: found there, in the phase that takes the time, however busy
//! the machine is. The gain is the one which leaving the cause out brings, by as much as the machine lets the program be; where
//! it does, no phase of the same program without the cause is blamed.

use serde_json::Value;

use crate::planted::{SEEDS, STEPS, findings, mean_ns, train};
use crate::program::{Judged, alone};

/// The first slow step.
const FROM: u64 = STEPS * 3 / 5;

fn named(report: &Value) -> Vec<&Value> {
    let is_named = |finding: &&Value| finding["rule"] == "slower_since" && !finding["phase"].is_null();
    findings(report).iter().filter(is_named).collect()
}

#[test]
fn a_slowdown_is_found_where_it_begins() {
    let _alone = alone();
    let (mut gains, mut blamed) = (Judged::new("slower"), Judged::new("the program that stays as fast"));
    for seed in SEEDS {
        let (without, unsure_without) = train("none", seed);
        let (with, unsure_with) = train("slower", seed);
        let unsure = unsure_with.max(unsure_without);
        let changes = &with["detailed_metrics"]["changes"];
        let since = |finding: &&&Value| finding["evidence"]["since_step"].as_u64().expect("a step");
        let all = named(&with);
        let finding = all.iter().find(|finding| since(finding).abs_diff(FROM) <= 5);
        let finding = finding.unwrap_or_else(|| panic!("seed {seed}: {all:#?}, {changes:#}"));
        assert_eq!(finding["phase"], "preprocessing", "seed {seed}: {finding}");
        let predicted = finding["predicted_gain"]["share"].as_f64().expect("a share");
        let measured = 1.0 - mean_ns(&without) / mean_ns(&with);
        println!(
            "seed {seed}: since step {}, {:.1} % predicted, {:.1} % gained, +- {:.1} %",
            since(&finding),
            predicted * 100.0,
            measured * 100.0,
            unsure * 100.0
        );
        gains.gain(measured, unsure);
        assert!(
            (predicted - measured).abs() <= 0.3 * measured + unsure,
            "seed {seed}: {predicted}, {measured}, {unsure}"
        );
        blamed.run(unsure_without == 0.0);
        if unsure_without == 0.0 {
            assert_eq!(named(&without), Vec::<&Value>::new(), "seed {seed}");
        }
    }
}
