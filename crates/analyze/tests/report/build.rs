//! How a report is put together: order and identity of findings, the highest severity, what rules say.

use serde_json::json;
use stepscope_analyze::report::{Input, Reading, Report, build};
use stepscope_analyze::rules::{Config, RULES};
use stepscope_analyze::summary::PhaseName;
use stepscope_core::{Phase, ThreadState};
use stepscope_model::{CHROME, IssueKind, ReadIssue};

use crate::fixture::{MS, Run, healthy, nothing};
use crate::planted::{OWN, Planted, lock};
use crate::text::troubled;

fn report(run: &stepscope_analyze::Summary) -> Report {
    build(run, Reading::default(), &Config::default())
}

#[test]
fn the_worst_finding_comes_first() {
    let report = report(&troubled());
    let rules: Vec<&str> = report.findings.iter().map(|found| found.rule).collect();
    let expected = [
        "memory_growth",
        "input_bound",
        "slow_section",
        "step_jitter",
        "checkpoint_stalls",
        "slow_preprocessing",
        "spans_lost",
        "spans_lost",
    ];
    assert_eq!(rules, expected);
    let ids: Vec<&str> = report.findings.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(ids[1], "input_bound:step/data_wait");
    assert_eq!(&ids[6..], ["spans_lost", "spans_lost#2"]);
    assert_eq!(report.max_severity(), Some(60.0));
}

#[test]
fn a_loose_bound_raises_no_finding() {
    // 2 ms of waiting, of which the bound says 6 ms; 3 ms of preparation.
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::DataWait, "data_wait", 2 * MS)
        .phase(Phase::Preprocessing, "prepare", 3 * MS)
        .loader(1, 10 * MS, 1.0)
        .build();
    let found = report(&summary).findings;
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["slow_preprocessing", "input_bound"]);
    assert_eq!(found[1].predicted_gain.as_ref().map(|gain| gain.share), Some(0.6));
    assert_eq!(found[1].severity, 20.0);
}

#[test]
fn what_was_read_of_a_damaged_file_is_doubtful() {
    let issue = |file: &str, kind, offset| ReadIssue {
        file: file.into(),
        kind,
        offset: Some(offset),
        count: 1,
        lost_bytes: None,
        reason: "the gzip stream is damaged".into(),
    };
    let of = |inputs: Vec<Input>, issues: Vec<ReadIssue>| {
        let reading = Reading { inputs, issues };
        build(&healthy().build(), reading, &Config::default()).summary.verdict
    };
    let verdict = |issues: Vec<ReadIssue>| of(Vec::new(), issues);
    let sound = verdict(Vec::new());
    // What is cut off is right as far as it goes, and of what is damaged at its start nothing was read.
    let harmless = vec![issue("a.gz", IssueKind::Truncated, 90), issue("b.gz", IssueKind::BadCompression, 0)];
    assert_eq!(verdict(harmless), sound);
    let damaged = issue("profiles/b.gz", IssueKind::BadCompression, 90);
    let expected = format!("{sound} Figures may be wrong: b.gz is damaged (see Recording).");
    assert_eq!(verdict(vec![damaged.clone()]), expected);
    let expected =
        format!("{sound} Figures may be wrong: a.gz and 1 other file are damaged (see Recording).");
    assert_eq!(verdict(vec![damaged, issue("a.gz", IssueKind::BadCompression, 1)]), expected);
    // Events of a profiler come in no order: behind the cut are some of any step.
    let profile =
        || vec![Input { path: "k.json".into(), format: Some(CHROME.into()), bytes: 1_000, spans: 9 }];
    let expected = format!("{sound} Figures may be wrong: k.json is damaged (see Recording).");
    assert_eq!(of(profile(), vec![issue("k.json", IssueKind::Truncated, 990)]), expected);
    let hole = |lost| ReadIssue { lost_bytes: Some(lost), ..issue("k.json", IssueKind::Corrupt, 50) };
    assert_eq!(of(profile(), vec![hole(10)]), expected);
    assert_eq!(of(profile(), vec![hole(9)]), sound);
}

#[test]
fn without_phases_the_verdict_rests_on_what_was_found() {
    assert_eq!(
        report(&lock(|_| 4_096)).summary.verdict,
        "Lock contention: for 100 % of the step time threads take turns in `step/share/update`, one at a time."
    );
    let some = Planted { allocations: 30_000, costs: Some((60, 500)), ..Planted::default() };
    let running = |_| vec![(OWN, ThreadState::Running, 0)];
    assert_eq!(
        report(&some.run(running)).summary.verdict,
        "Memory churn: 30,000 allocations a step take at least 18 % of its time; whether steps wait for input is not known."
    );
    let nothing = Planted { cpu: 99, ..Planted::default() };
    assert_eq!(
        report(&nothing.run(running)).summary.verdict,
        "Steps hardly wait: their thread is on a CPU for 99 % of the step time. What it does there no phase says."
    );
}

#[test]
fn every_rule_has_its_say() {
    for summary in [nothing(), healthy().build(), troubled()] {
        let report = report(&summary);
        let said: Vec<&str> = report.detailed_metrics.rules.iter().map(|rule| rule.rule).collect();
        assert_eq!(said, RULES.iter().map(|rule| rule.id).collect::<Vec<_>>());
        for rule in &report.detailed_metrics.rules {
            let found = report.findings.iter().any(|finding| finding.rule == rule.rule);
            assert_eq!(rule.state == "found", found, "{}", rule.rule);
            assert_eq!(rule.because.is_none(), found, "{}", rule.rule);
        }
    }
}

#[test]
fn what_the_slow_calls_of_a_section_do_to_the_steps_is_said_once() {
    let durations: Vec<u64> = (0..300).map(|step| if step % 15 == 7 { 50 * MS } else { 10 * MS }).collect();
    let calls: Vec<u64> = (0..15).map(|call| if call == 7 { 41 * MS } else { MS }).collect();
    let with = |phase| {
        let run = Run::with_durations(durations.clone()).slow_because(Phase::Forward);
        let mut summary = run.varying("log", &calls).build();
        let row = summary.sections.iter_mut().find(|row| row.name == "log").unwrap();
        row.phase = Some(PhaseName::Known(phase));
        report(&summary)
    };
    let rules = |report: &Report| -> Vec<_> {
        let found =
            report.findings.iter().filter(|found| ["step_jitter", "slow_calls"].contains(&found.rule));
        found.map(|found| (found.rule, found.evidence.get("stands_for").cloned())).collect()
    };
    let one = with(Phase::Forward);
    assert_eq!(rules(&one), [("slow_calls", Some(json!(["step_jitter"])))]);
    let state = one.detailed_metrics.rules.iter().find(|state| state.rule == "step_jitter").unwrap();
    let because = "what it finds is said by `slow_calls:step/log`";
    assert_eq!((state.state, state.because.as_deref()), ("found", Some(because)));
    // Of another phase than the one in which the slow steps take longer.
    let both = rules(&with(Phase::Io));
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|(_, stands_for)| stands_for.is_none()));
}

#[test]
fn equal_severities_are_ordered_by_what_their_causes_take() {
    // 20.0 % and 20.3 %: a severity is whole, what the causes take is not, and the larger is last by its name.
    let summary = Run::of(100, 10 * MS)
        .phase(Phase::Forward, "forward", 5 * MS)
        .untagged("a", 1, 2 * MS)
        .untagged("b", 1, 2 * MS + 3 * MS / 100)
        .build();
    let found = report(&summary).findings;
    let told: Vec<_> = found.iter().map(|one| (one.section.as_deref(), one.severity)).collect();
    assert_eq!(told, [(Some("step/b"), 20.0), (Some("step/a"), 20.0)]);
}

#[test]
fn an_input_without_a_run_has_a_report() {
    let report = report(&nothing());
    assert_eq!((report.run.id, report.memory, report.summary.step_time), (None, None, None));
    assert_eq!(report.summary.verdict, "Nothing to report: the input holds no run.");
    assert!(report.findings.is_empty());
}
