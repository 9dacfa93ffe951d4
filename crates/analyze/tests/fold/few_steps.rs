//! Few steps: how sure shares of their time are, and what reports say of it.

use stepscope_analyze::Summary;
use stepscope_analyze::report::{self, Report};
use stepscope_analyze::rules::Config;
use stepscope_core::Phase;

use crate::build::{Build, summarise};

const MS: u64 = 1_000_000;

/// Steps of 100 ms, of which such parts are a section of I/O, and the others computing.
fn steps(io_ms: &[u64]) -> Summary {
    let traces = (0..).zip(io_ms).map(|(number, &io_ms)| {
        let start = number * 101 * MS;
        let mut step = Build::new(number);
        step.step(i64::try_from(number).unwrap(), start, start + 100 * MS).thread(1);
        step.span(1, "write", start, start + io_ms * MS).thread(1).phase(Phase::Io);
        step.span(1, "forward", start + io_ms * MS, start + 100 * MS).thread(1).phase(Phase::Forward);
        step.trace()
    });
    summarise(&traces.collect::<Vec<_>>())
}

fn report(summary: &Summary) -> Report {
    report::build(summary, report::Reading::default(), &Config::default())
}

/// The severity of the finding on I/O, and its interval in per cent.
fn io(io_ms: &[u64]) -> (f64, f64, f64) {
    let report = report(&steps(io_ms));
    let found = report.findings.iter().find(|found| found.rule == "io_stalls").unwrap();
    let per_cent = |name| 100.0 * found.evidence.get(name).unwrap().as_f64().unwrap();
    (found.severity, per_cent("at_least_share"), per_cent("at_most_share"))
}

#[test]
fn shares_have_the_interval_of_their_steps() {
    let summary = steps(&[30, 40, 50, 40]);
    let [few] = summary.few_steps.as_slice() else { panic!("{:?}", summary.few_steps) };
    // Deviations -10, 0, 10, 0: error √(200 / 12) = 4.082 points, t of three degrees 3.182.
    for error in [few.by_phase["io"], few.by_phase["forward"], few.by_section["step/write"]] {
        assert!((error - 0.12992).abs() < 1e-4, "{few:?}");
    }
    assert_eq!((few.steps, few.by_phase[""]), (4, 0.0));
}

#[test]
fn a_severe_finding_is_certain_or_of_many_steps() {
    let (severity, least, most) = io(&[30, 40, 50, 40]);
    assert!(
        severity == 40.0 && (least - 27.01).abs() < 0.02 && (most - 52.99).abs() < 0.02,
        "{least} {most}"
    );
    assert_eq!(io(&[10, 40, 70, 40]).0, 19.0);
    assert_eq!(io(&[40]), (19.0, 0.0, 100.0));
    let many = report(&steps(&[10, 40, 70, 40].repeat(5)));
    let found = many.findings.iter().find(|found| found.rule == "io_stalls").unwrap();
    assert_eq!((found.severity, found.evidence.get("at_least_share")), (40.0, None));
}

#[test]
fn the_verdict_and_what_is_fine_say_how_sure_they_are() {
    let few = report(&steps(&[30, 40, 50, 40]));
    assert!(few.summary.verdict.ends_with(" 4 steps: shares ± 13 points."), "{}", few.summary.verdict);
    assert_eq!(few.summary.share_error, Some(0.1299));
    let because = |report: &Report, rule| {
        let state = report.detailed_metrics.rules.iter().find(|state| state.rule == rule).unwrap();
        (state.state, state.because.clone().unwrap())
    };
    let (state, said) = because(&few, "input_bound");
    assert!(state == "fine" && said.ends_with(" (4 steps: shares ± 13 points)"), "{said}");
    let (state, said) = because(&few, "step_jitter");
    assert!(state == "fine" && !said.contains("shares"), "{said}");
    let many = report(&steps(&[30, 40, 50, 40].repeat(5)));
    assert!(!many.summary.verdict.contains("points"), "{}", many.summary.verdict);
    assert_eq!(many.summary.share_error, None);
    let (state, said) = because(&many, "input_bound");
    assert!(state == "fine" && !said.contains("points"), "{said}");
}

#[test]
fn no_share_is_known_of_other_steps_by_one() {
    let one = report(&steps(&[40]));
    assert!(one.summary.verdict.ends_with(" 1 step: others may differ."), "{}", one.summary.verdict);
}

#[test]
fn steps_of_any_number_get_a_word_from_every_rule() {
    for count in [1, 2, 3, 6] {
        let report = report(&steps(&vec![10; count]));
        for state in &report.detailed_metrics.rules {
            let is_over_time = ["slower_since", "memory_growth"].contains(&state.rule);
            let said = state.because.clone().unwrap_or_default();
            assert!(
                is_over_time || !said.contains("after warm-up: needs"),
                "{count}, {}: {said}",
                state.rule
            );
        }
        assert!(report.findings.iter().all(|found| found.severity <= 19.0), "{count}");
        assert!(report.findings.iter().any(|found| found.rule == "io_stalls"), "{count}");
    }
}
