//! A real program that becomes slower at a step, five seeds: found there, in the phase that takes the time, however busy
//! the machine is. The gain is the one which leaving the cause out brings, by as much as the machine lets the program be; where
//! it does, nothing is found in the same program without the cause. And one whose batches come later from a step on, before its steps.

use serde_json::Value;

use crate::planted::{SEEDS, STEPS, findings, gained, late_us, recorded, train};
use crate::program::{Judged, again, alone, holds, quietest};

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

/// What a step takes, and how much later batches come from three fifths of the steps on.
const STEP_US: u64 = 3_000;
const LATER_US: u64 = 3_000;

/// Share of the time by which waits may end late in a quiet run.
const QUIET: f64 = 0.05;

/// The report on a run whose batches come so much later, and the share by which its times are uncertain.
fn fed(later_us: u64) -> (Value, f64) {
    quietest(QUIET, || {
        let (said, report) = recorded(&["fed", &later_us.to_string(), &STEPS.to_string()], None);
        let waited_us = STEPS * STEP_US + (STEPS - FROM) * later_us;
        (report, late_us(&said) as f64 / waited_us as f64)
    })
}

/// What is wrong with a report on a run whose batches come later from a step on.
fn judge_input(with: &Value, without: &Value, unsure: f64) -> Result<(), String> {
    let since = |finding: &Value| finding["evidence"]["since_step"].as_u64().expect("a step");
    let all = named(with);
    let finding = all.iter().find(|finding| since(finding).abs_diff(FROM) <= 5);
    let finding = finding.ok_or_else(|| format!("{all:#?}, {:#}", with["detailed_metrics"]["changes"]))?;
    let is_it = finding["phase"] == "data_wait" && finding["evidence"]["wait_before_ns"].is_u64();
    holds(is_it, || finding.to_string())?;
    let title = finding["title"].as_str().unwrap_or_default();
    holds(title.ends_with(" longer than before, with the input before them."), || title.to_owned())?;
    let elapsed = |report: &Value| report["run"]["elapsed_ns"].as_f64().expect("a run that took time");
    let predicted = finding["predicted_gain"]["share"].as_f64().expect("a share");
    let measured = 1.0 - elapsed(without) / elapsed(with);
    println!(
        "since step {}, {:.1} % predicted, {:.1} % gained, +- {:.1} %",
        since(finding),
        predicted * 100.0,
        measured * 100.0,
        unsure * 100.0
    );
    let is_close = (predicted - measured).abs() <= 0.3 * measured + unsure;
    holds(is_close, || format!("{predicted} predicted, {measured} gained"))
}

#[test]
fn batches_that_come_later_before_the_steps_are_found() {
    let _alone = alone();
    let (mut gains, mut blamed) = (Judged::new("late batches"), Judged::new("the program with batches"));
    for seed in SEEDS {
        let (without, unsure_without) = fed(0);
        again(&format!("seed {seed}"), &mut gains, |gains| {
            let (with, unsure) = fed(LATER_US);
            let unsure = unsure.max(unsure_without);
            gains.run(unsure == 0.0);
            (judge_input(&with, &without, unsure), unsure)
        });
        blamed.run(unsure_without == 0.0);
        if unsure_without == 0.0 {
            assert_eq!(found(&without), Vec::<&Value>::new(), "seed {seed}");
        }
    }
}
