//! A real program whose evaluation waits for its batches, five times: found, with its section and a gain that is the one
//! which leaving the waits out has brought; and not found without them.

use serde_json::Value;

use crate::planted::{SEEDS, findings, late_us, recorded};
use crate::program::{Judged, again, alone, holds, quietest};

/// As the program has it: five evaluation steps after every ten of training, which take as long.
const STEPS: u64 = 200;
const STEP_US: u64 = 2_000;
const EVALUATION_STEPS: u64 = STEPS / 2;
const WAIT_US: u64 = 5_000;

/// Share of the time by which waits may end late in a quiet run.
const QUIET: f64 = 0.05;

/// The report on a run whose evaluation steps wait for so long, and the share by which its times are uncertain.
fn run(wait_us: u64) -> (Value, f64) {
    quietest(QUIET, || {
        let (said, report) = recorded(&["evaluated", &wait_us.to_string(), &STEPS.to_string()], None);
        let usual_us = STEPS * STEP_US + EVALUATION_STEPS * (STEP_US + wait_us);
        (report, late_us(&said) as f64 / usual_us as f64)
    })
}

/// What the rule has found, if anything.
fn found(report: &Value) -> Option<&Value> {
    findings(report).iter().find(|finding| finding["rule"] == "evaluation_stalls")
}

/// By what share the run is shorter without the waits.
fn gained(with: &Value, without: &Value) -> f64 {
    let elapsed_ns = |report: &Value| report["run"]["elapsed_ns"].as_f64().expect("a run that took time");
    1.0 - elapsed_ns(without) / elapsed_ns(with)
}

/// What is wrong with a report on a run whose evaluation waits.
fn judge(with: &Value, without: &Value, unsure: f64) -> Result<(), String> {
    let finding = found(with).ok_or_else(|| format!("not found: {:#?}", findings(with)))?;
    holds(finding["section"] == "step/read_held_out", || finding.to_string())?;
    let gain = |name: &str| finding["predicted_gain"][name].as_f64().expect("a share");
    let (bound, direct) = (gain("share"), gain("direct_share"));
    let measured = gained(with, without);
    println!(
        "{:.1} % itself, at most {:.1} %; {:.1} % gained, +- {:.1} %",
        direct * 100.0,
        bound * 100.0,
        measured * 100.0,
        unsure * 100.0
    );
    let is_close = (direct - measured).abs() <= 0.3 * measured + unsure;
    holds(is_close, || format!("{direct} itself, {measured} gained"))?;
    holds(bound >= 0.7 * measured - unsure, || format!("at most {bound}, {measured} gained"))
}

#[test]
fn evaluation_that_waits_is_found_with_its_gain() {
    let _alone = alone();
    let mut judged = Judged::new("evaluation_stalls");
    for seed in SEEDS {
        let (without, unsure_without) = run(0);
        again(&format!("seed {seed}"), &mut judged, |judged| {
            let (with, unsure) = run(WAIT_US);
            let unsure = unsure.max(unsure_without);
            judged.gain(gained(&with, &without), unsure);
            (judge(&with, &without, unsure), unsure)
        });
        assert!(found(&without).is_none(), "seed {seed}: {:#?}", found(&without));
    }
}
