//! Profiles of PyTorch that others published, of few steps or none: each gets a verdict, or the reason why not.

use stepscope_analyze::loaders::InputVerdict;
use stepscope_analyze::report::{self, Report};
use stepscope_analyze::rules::Config;
use stepscope_testkit::published;

use crate::through_readers::summary;

/// The report on a profile, if the published ones are there.
fn report(path: &str) -> Option<Report> {
    let path = published::folder()?.join(path);
    let bytes = std::fs::read(&path).unwrap();
    let summary = summary(&path.display().to_string(), &bytes);
    Some(report::build(&summary, report::Reading::default(), &Config::default()))
}

/// Steps, what is said of their certainty, and the verdict on input.
const WITH_STEPS: [(&str, u64, &str, InputVerdict); 7] = [
    (
        "hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
        1,
        "1 step: others may differ",
        InputVerdict::No,
    ),
    ("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 2, "2 steps: shares ± ", InputVerdict::No),
    (
        "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        5,
        "5 steps: shares ± ",
        InputVerdict::No,
    ),
    ("hta/trace_diff/control/control.json.gz", 6, "6 steps: shares ± ", InputVerdict::Unknown),
    ("hta/trace_diff/test/test.json.gz", 6, "6 steps: shares ± ", InputVerdict::Unknown),
    (
        "kineto/resnet50_workers0/worker0.1623143089861.pt.trace.json.gz",
        6,
        "6 steps: shares ± ",
        InputVerdict::High,
    ),
    (
        "kineto/resnet50_workers4/worker0.1623212756351.pt.trace.json.gz",
        6,
        "6 steps: shares ± ",
        InputVerdict::Unknown,
    ),
];

#[test]
fn each_profile_with_steps_gets_a_verdict_and_how_sure_it_is() {
    for (path, steps, certainty, input) in WITH_STEPS {
        let Some(report) = report(path) else { return };
        let summary = &report.summary;
        assert_eq!((summary.steps, summary.input.verdict), (steps, input), "{path}: {}", summary.verdict);
        assert!(summary.verdict.contains(certainty), "{path}: {}", summary.verdict);
        let judged = report.detailed_metrics.rules.iter().filter(|rule| rule.state != "unknown").count();
        assert!(judged >= 3, "{path}: {judged}");
        let severe = report.findings.iter().filter(|found| found.severity > 19.0);
        let rules: Vec<&str> = severe.map(|found| found.rule).collect();
        // TensorBoard's plugin finds the same: 33.4 % of steps that end with their last kernel are in the loader, and it says so
        // of no other of these.
        let expected: &[&str] = if input == InputVerdict::High { &["input_bound"] } else { &[] };
        assert_eq!(rules, expected, "{path}");
    }
}

#[test]
fn profiles_without_steps_say_how_steps_come_into_them() {
    for path in [
        "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
        "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
        "kineto/linear_kineto.json.gz",
        "kineto/resnet_kineto.json.gz",
    ] {
        let Some(report) = report(path) else { return };
        let verdict = &report.summary.verdict;
        assert!(
            verdict.starts_with("No steps were found: mark them by calling the profiler's `step()`"),
            "{path}: {verdict}"
        );
    }
}
