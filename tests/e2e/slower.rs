//! A real program that becomes slower at a step, five seeds: found there, in the phase that takes the time, however busy
//! the machine is. The gain is the one which leaving the cause out brings, by as much as the machine lets the program be; where
//! it does, nothing is found in the same program without the cause.

use serde_json::Value;

use crate::planted::{SEEDS, STEPS, findings, gained, train};
use crate::program::{Judged, again, alone, holds};

/// The first slow step.
const FROM: u64 = STEPS * 3 / 5;

fn found(report: &Value) -> Vec<&Value> {
    findings(report).iter().filter(|finding| finding["rule"] == "slower_since").collect()
}

fn named(report: &Value) -> Vec<&Value> {
    found(report).into_iter().filter(|finding| !finding["phase"].is_null()).collect()
}

/// What is wrong with a report on a run that becomes slower.
fn judge(seed: u64, with: &Value, without: &Value, unsure: f64) -> Result<(), String> {
    let since = |finding: &Value| finding["evidence"]["since_step"].as_u64().expect("a step");
    let all = named(with);
    let finding = all.iter().find(|finding| since(finding).abs_diff(FROM) <= 5);
    let finding = finding.ok_or_else(|| format!("{all:#?}, {:#}", with["detailed_metrics"]["changes"]))?;
    holds(finding["phase"] == "preprocessing", || finding.to_string())?;
    let predicted = finding["predicted_gain"]["share"].as_f64().expect("a share");
    let measured = gained(with, without);
    println!(
        "seed {seed}: since step {}, {:.1} % predicted, {:.1} % gained, +- {:.1} %",
        since(finding),
        predicted * 100.0,
        measured * 100.0,
        unsure * 100.0
    );
    let is_close = (predicted - measured).abs() <= 0.3 * measured + unsure;
    holds(is_close, || format!("{predicted} predicted, {measured} gained"))
}

#[test]
fn a_slowdown_is_found_where_it_begins() {
    let _alone = alone();
    let (mut gains, mut blamed) = (Judged::new("slower"), Judged::new("the program that stays as fast"));
    for seed in SEEDS {
        let (without, unsure_without) = train("none", seed);
        again(&format!("seed {seed}"), &mut gains, |gains| {
            let (with, unsure) = train("slower", seed);
            let unsure = unsure.max(unsure_without);
            gains.gain(gained(&with, &without), unsure);
            (judge(seed, &with, &without, unsure), unsure)
        });
        blamed.run(unsure_without == 0.0);
        if unsure_without == 0.0 {
            assert_eq!(found(&without), Vec::<&Value>::new(), "seed {seed}");
        }
    }
}
