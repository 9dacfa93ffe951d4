//! The text report: snapshots of whole reports, and lines that fit whatever the names hold.
//! `BLESS=1 cargo test -p stepscope-analyze --test report` writes the snapshots anew.

use std::path::Path;

use stepscope_analyze::Summary;
use stepscope_analyze::render::{self, Options};
use stepscope_analyze::report::{Input, Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{Coverage, LossRow, OtherRun, PhaseName, RunIdentity, Shortfall};
use stepscope_core::{LossReason, Phase};
use stepscope_model::{IssueKind, ReadIssue};

use crate::fixture::{MS, Run, healthy};

fn text_of(summary: &Summary, reading: Reading, color: bool) -> String {
    let report = build(summary, reading, &Config::default());
    render::find("text").unwrap().text(&report, Options { color }).unwrap()
}

fn text(summary: &Summary) -> String {
    text_of(summary, Reading::default(), false)
}

pub(crate) fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/snapshots").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs from its snapshot; this is the text now:\n{text}");
}

/// A run with most of what can be wrong.
pub(crate) fn troubled() -> Summary {
    let mut summary =
        Run::with_durations((0..400).map(|step| if step % 20 == 7 { 80 * MS } else { 20 * MS }).collect())
            .phase(Phase::DataWait, "data_wait", 9 * MS)
            .phase(Phase::Preprocessing, "preprocessing", 2 * MS)
            .phase(Phase::Forward, "forward", 4 * MS)
            .phase(Phase::Backward, "backward", 4 * MS)
            .untagged("log_metrics", 2, 2 * MS)
            .between(Phase::Checkpoint, "checkpoint", &[400 * MS, 600 * MS])
            .loader(1, 20 * MS, 0.97)
            .waits(9 * MS, 20 * MS, 1)
            .live(3_000_000, 134_000.0)
            .rss(30_000_000, 140_000.0)
            .leaves("step/forward", 1_000)
            .leaves("step/log_metrics", 133_632)
            .slow_because(Phase::DataWait)
            .build();
    summary.state.ended = 0;
    summary.state.epochs_ended = 1;
    summary.modes[0].warmup.steps = 3;
    summary.modes[0].throughput.samples_per_second = Some(2_718.0);
    summary.modes[0].throughput.samples_per_step_second = Some(3_141.0);
    summary.losses.dropped = vec![LossRow {
        sink: "directory".into(),
        reason: Some(LossReason::SizeBound),
        spans: 40,
        is_missing_here: true,
    }];
    summary.losses.absent = Some(40);
    summary.state.incomplete_traces = 8;
    summary.state.missing_spans = 40;
    let other = RunIdentity { id: "run-0".into(), attempt: 0, is_foreign: false };
    summary.other_runs = vec![OtherRun { run: other, first_ns: Some(1), steps: 12 }];
    summary
}

pub(crate) fn damaged() -> Reading {
    Reading {
        inputs: vec![Input { path: "profiles/a".into(), format: Some("otlp".into()), bytes: 9, spans: 2 }],
        issues: vec![ReadIssue {
            file: "profiles/run-1/0/host-1-r0/traces-000001.otlp".into(),
            kind: IssueKind::Truncated,
            offset: Some(1_234_567),
            count: 2,
            lost_bytes: None,
            reason: "the file ends inside a record; what came before was read".into(),
        }],
    }
}

#[test]
fn a_healthy_run_reads_well() {
    snapshot("healthy.txt", &text(&healthy().build()));
}

#[test]
fn a_troubled_run_reads_well() {
    snapshot("troubled.txt", &text_of(&troubled(), damaged(), false));
}

/// A thinned and sampled run beside a collector that was not there.
pub(crate) fn partly_read() -> Summary {
    let mut summary = healthy().build();
    summary.coverage = Coverage {
        recorded_steps: Some(20_000),
        read_steps: 200,
        whole_steps: 120,
        unread_because: Some(Shortfall::NotRead),
        parts_because: Some(Shortfall::Lost(LossReason::Thinned)),
    };
    summary.modes[0].whole.steps = 120;
    let row = |sink: &str, reason, spans, is_missing_here| LossRow {
        sink: sink.into(),
        reason: Some(reason),
        spans,
        is_missing_here,
    };
    summary.losses.dropped = vec![
        row("directory", LossReason::Thinned, 320, true),
        row("otlp", LossReason::ExportFailed, 99_320, false),
    ];
    summary.losses.emitted = Some(100_320);
    summary.losses.absent = Some(99_320);
    summary.state.errors = 1;
    summary
}

#[test]
fn a_run_read_in_part_says_so_beside_its_figures() {
    snapshot("partly_read.txt", &text(&partly_read()));
}

#[test]
fn every_rule_is_explained_within_the_page() {
    let list = render::rule_list(Options::default());
    for rule in stepscope_analyze::rules::RULES {
        assert!(list.contains(&format!("\n  {} ", rule.id)), "{}", rule.id);
        let text = render::explanation(rule, &Config::default(), Options::default());
        for heading in ["What it finds", "How it judges", "What to do", "Limits", "Thresholds"] {
            assert!(text.contains(&format!("\n{heading}\n")), "{}: {heading}", rule.id);
        }
        for threshold in Config::default().thresholds(rule.id) {
            assert!(text.contains(&format!("\n  {} = {}\n", threshold.key, threshold.value)), "{}", rule.id);
        }
        for line in text.lines() {
            assert!(columns(line) <= 80, "{line}");
            // A line that does not fit would lose its middle.
            assert!(!line.contains('…') || line.contains("(\"…\""), "{line}");
        }
    }
    snapshot(
        "explain.txt",
        &render::explanation(
            stepscope_analyze::rules::find("input_bound").unwrap(),
            &Config::default(),
            Options::default(),
        ),
    );
}

/// Columns by a rule of its own: the characters used below are ASCII, box drawing, Latin and Greek of one
/// column, and CJK and emoji of two.
fn columns(line: &str) -> usize {
    let wide = |letter: char| {
        ('\u{2e80}'..='\u{9fff}').contains(&letter) || ('\u{1f300}'..='\u{1faff}').contains(&letter)
    };
    line.chars().map(|letter| if wide(letter) { 2 } else { 1 }).sum()
}

#[test]
fn every_line_fits_whatever_the_names_hold() {
    let names = [
        "x".repeat(5_000),
        "数据加载器预处理".repeat(40),
        "🚀🔥".repeat(100),
        "\u{1b}[2J\u{1b}[31mred\r\n\tnewline\u{0}".to_owned(),
        "\u{202e}right to left\u{2066}".to_owned(),
        "a/b\\c ".repeat(60),
        " ".repeat(300),
        String::new(),
    ];
    for name in &names {
        let mut summary = troubled();
        summary.run.id.clone_from(name);
        summary.instances[0].resource.host_name.clone_from(name);
        summary.instances[0].resource.service_name = format!("{name}!");
        summary.other_runs[0].run.id.clone_from(name);
        for row in &mut summary.sections {
            row.path = stepscope_core::path::join([row.path.as_str(), name.as_str()]);
            row.name.clone_from(name);
        }
        summary.most_variable = (0..summary.sections.len()).collect();
        summary.batches.loaders[0].name.clone_from(name);
        summary.modes[0].phases[0].phase = PhaseName::Custom(name.clone());
        for step in &mut summary.modes[0].slowest {
            step.phases[0].phase = PhaseName::Custom(name.clone());
        }
        let mut reading = damaged();
        reading.issues[0].file.clone_from(name);
        reading.issues[0].reason.clone_from(name);
        let text = text_of(&summary, reading, false);
        for line in text.lines() {
            assert!(columns(line) <= 80, "{} columns: {line:?}", columns(line));
            assert!(!line.chars().any(|letter| letter.is_control()), "{line:?}");
        }
        assert!(!text.contains('\u{202e}'));
    }
}
