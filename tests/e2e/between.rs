//! A real program that does something between its steps, in no section, five times: found, with a gain that is the one
//! which leaving it out has brought; and not found without it.

use serde_json::Value;

use crate::planted::{SEEDS, findings, late_us, recorded};
use crate::program::{Judged, again, alone, holds, quietest};

const STEPS: u64 = 200;
const STEP_US: u64 = 3_000;
const PAUSE_US: u64 = 3_000;

/// Share of the time by which waits may end late in a quiet run.
const QUIET: f64 = 0.05;

/// The report on a run with so long a pause between steps, and the share by which its times are uncertain.
fn run(pause_us: u64) -> (Value, f64) {
    quietest(QUIET, || {
        let (said, report) = recorded(&["between", &pause_us.to_string(), &STEPS.to_string()], None);
        (report, late_us(&said) as f64 / (STEPS * (STEP_US + pause_us)) as f64)
    })
}

/// What the rule has found, if anything.
fn found(report: &Value) -> Option<&Value> {
    findings(report).iter().find(|finding| finding["rule"] == "between_steps")
}

fn elapsed_ns(report: &Value) -> f64 {
    report["run"]["elapsed_ns"].as_f64().expect("a run that took time")
}

/// By what share the run is shorter without pauses.
fn gained(with: &Value, without: &Value) -> f64 {
    1.0 - elapsed_ns(without) / elapsed_ns(with)
}

/// What is wrong with a report on a run with pauses.
fn judge(with: &Value, without: &Value, unsure: f64) -> Result<(), String> {
    let finding = found(with).ok_or_else(|| format!("not found: {:#?}", findings(with)))?;
    holds(finding["section"].is_null(), || finding.to_string())?;
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
fn time_between_steps_is_found_with_its_gain() {
    let _alone = alone();
    let mut judged = Judged::new("between_steps");
    for seed in SEEDS {
        let (without, unsure_without) = run(0);
        again(&format!("seed {seed}"), &mut judged, |judged| {
            let (with, unsure) = run(PAUSE_US);
            let unsure = unsure.max(unsure_without);
            judged.gain(gained(&with, &without), unsure);
            (judge(&with, &without, unsure), unsure)
        });
        let beyond =
            |finding: &Value| finding["severity"].as_f64().is_none_or(|it| it >= unsure_without * 100.0);
        assert!(!found(&without).is_some_and(beyond), "seed {seed}: {:#?}", found(&without));
    }
}
