//! The text report: snapshots of whole reports, and lines that fit whatever the names hold.
//! `BLESS=1 cargo test -p stepscope-analyze --test report` writes the snapshots anew.

use std::path::Path;

use stepscope_analyze::Summary;
use stepscope_analyze::render::{self, Options};
use stepscope_analyze::report::{Input, Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{
    ChangeKind, Coverage, FigureSum, LossRow, OtherRun, PhaseName, RunIdentity, SectionRow, Shortfall,
};
use stepscope_core::{LossReason, Phase, SectionKind, Signal};
use stepscope_model::{IssueKind, ReadIssue};

use crate::fixture::{MS, Run, healthy, nothing, same};

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
            .live(3_000_000, 134_000.0, 133_000.0, 1e-12)
            .rss(30_000_000, 140_000.0, 140_000.0, 1e-12)
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
fn suspended_sections_say_how_long_they_were_idle() {
    let mut summary = healthy().build();
    assert!(!text(&summary).contains("Suspended"));
    let mut suspend = |path: &str, busy: Option<u64>, idle: u64| {
        let row = summary.sections.iter_mut().find(|row| row.path == path).unwrap();
        row.busy_ns = busy.map(|sum| FigureSum { spans: 150, sum });
        row.idle_ns = Some(FigureSum { spans: 150, sum: idle });
    };
    suspend("step/metrics", Some(5 * MS), 15 * MS);
    suspend("step/data_wait", None, 10 * MS);
    // Never suspended, and hardly.
    suspend("step/forward", Some(800 * MS), 0);
    suspend("step/backward", Some(800 * MS), MS);
    // Longer than any column.
    suspend("step", Some(90_000_000 * MS), 10_000_000 * MS);
    let text = text(&summary);
    let start = text.find("Suspended").unwrap();
    let block: Vec<&str> = text[start..].lines().take(6).collect();
    assert_eq!(
        block,
        [
            "Suspended sections (open, but not running: async, mostly)",
            "                  calls    busy    idle  idle %",
            "  step              150   1d01h   2h46m     10%",
            "  step/metrics      150  5.00ms  15.0ms     75%",
            "  step/data_wait    150       -  10.0ms       -",
            "",
        ]
    );
}

#[test]
fn rows_that_hold_nothing_are_not_shown_and_names_that_are_empty_say_so() {
    let mut summary = healthy().between(Phase::DataWait, "data_wait", &[MS]).build();
    assert!(text(&summary).contains("Between the steps"));
    summary.between_steps[0].stats = crate::fixture::stats([]);
    summary.sections[0].path = String::new();
    summary.sections[0].name = String::new();
    let text = text(&summary);
    assert!(!text.contains("Between the steps") && !text.contains("in 0 sections"), "{text}");
    assert!(text.contains("(no name)"), "{text}");
}

#[test]
fn live_memory_that_only_the_process_tells_is_not_called_unrecorded() {
    let mut summary = Run::of(7, MS).build();
    let gauge = |live_max_bytes| stepscope_analyze::summary::ProcessMemory {
        rank: Some(0),
        host: "host-a".into(),
        rss_last_bytes: Some(1),
        rss_max_bytes: Some(2_000_000),
        live_last_bytes: live_max_bytes,
        live_max_bytes,
    };
    for (live, is_unrecorded) in [(Some(1_000_000), false), (None, true)] {
        summary.memory.processes = vec![gauge(live)];
        assert_eq!(text(&summary).contains("not recorded: install"), is_unrecorded);
    }
}

#[test]
fn input_without_steps_or_runs_says_so() {
    assert_eq!(text(&nothing()).lines().next(), Some("Nothing to report: the input holds no run."));
    let mut summary = healthy().build();
    summary.modes.clear();
    // The sums know of steps of which no span is there.
    let first: String = text(&summary).lines().take(2).collect::<Vec<_>>().join(" ");
    assert_eq!(
        first.trim_end(),
        "None of the 200 steps that the run counted could be read: see Recording for what was lost."
    );
    let other = summary.sections.iter().find(|row| row.kind != SectionKind::Step).unwrap().clone();
    summary.sections.clear();
    assert!(text(&summary).starts_with("No steps were found: mark them with `step!`"), "{}", text(&summary));
    // Programs that others recorded have their own means.
    summary.state.is_ours = false;
    let flat = |summary: &Summary| text(summary).split_whitespace().collect::<Vec<_>>().join(" ");
    let marked =
        "No steps were found: mark their spans with the attribute `stepscope.section.kind` = `step`, ";
    assert!(flat(&summary).starts_with(marked), "{}", text(&summary));
    summary.sections = vec![SectionRow { name: "aten::mm".into(), ..other }];
    let marked = "No steps were found: mark them by calling the profiler's `step()` after each step";
    assert!(flat(&summary).starts_with(marked), "{}", text(&summary));
    assert!(
        text(&Run::of(7, MS).build()).starts_with("Too few steps to judge: 7 after warm-up, 20 are needed.")
    );
    let mut waits = Run::of(7, MS).build();
    waits.input.share = Some(0.4);
    let first: String = text(&waits).lines().take(2).collect::<Vec<_>>().join(" ");
    assert!(first.trim_end().ends_with("20 are needed. So far 40 % of their time is input."), "{first}");
}

#[test]
fn the_first_line_is_the_verdict() {
    let first = |summary: &Summary| text(summary).lines().next().unwrap().to_owned();
    assert_eq!(
        first(&healthy().build()),
        "Not input bound: 1.5 % of the step time is input; backward 45 %, forward 40 %."
    );
    let waiting = Run::of(100, 10 * MS).phase(Phase::DataWait, "data_wait", 4_700_000).build();
    assert_eq!(first(&waiting), "Input bound: 47 % of the step time is spent waiting for batches.");
    let preparing = Run::of(100, 10 * MS).phase(Phase::Augmentation, "augment", MS).build();
    assert_eq!(first(&preparing), "Moderately input bound: 10 % of the step time goes into preparing data.");
    let both = Run::of(100, 10 * MS)
        .phase(Phase::DataWait, "data_wait", 3 * MS)
        .phase(Phase::Collate, "collate", MS)
        .build();
    assert_eq!(first(&both), "Input bound: 40 % of the step time is input, 30 % waiting for batches.");
    let slow =
        Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 6 * MS).untagged("log", 1, 3 * MS).build();
    assert_eq!(first(&slow), "30 % of the step time goes into step/log itself.");
    let mut durations = vec![10 * MS; 100];
    durations[90..].fill(40 * MS);
    let varying = Run::with_durations(durations).phase(Phase::Forward, "forward", 9 * MS).build();
    assert!(first(&varying).starts_with("Steps vary: "), "{}", first(&varying));
}

#[test]
fn colours_are_escapes_and_nothing_else() {
    let plain = text_of(&troubled(), damaged(), false);
    let colored = text_of(&troubled(), damaged(), true);
    assert!(!plain.contains('\u{1b}'));
    assert!(colored.contains("\u{1b}[1;31m"));
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = escape.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
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
            assert!(columns(line) <= 100, "{line}");
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
            assert!(columns(line) <= 100, "{} columns: {line:?}", columns(line));
            assert!(!line.chars().any(|letter| letter.is_control()), "{line:?}");
        }
        assert!(!text.contains('\u{202e}'));
    }
}

#[test]
fn the_signal_that_ended_a_run_is_named() {
    let said = |ended: u64, signal: Option<Signal>| {
        let mut summary = healthy().build();
        (summary.state.ended, summary.state.ended_by) = (ended, signal);
        text(&summary).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said(1, Some(Signal::Interrupt)).contains(", ended by SIGINT Step time"));
    assert!(said(1, None).contains(", ended Step time"));
    assert!(said(0, Some(Signal::Terminate)).contains("did not end (some ranks ended by SIGTERM)"));
}

#[test]
fn a_change_that_no_phase_explains_is_told_so() {
    let said = |after_ns: u64| {
        let mut summary = troubled();
        let mut change = crate::schema::change(ChangeKind::Sudden, 120);
        // Of a step that took 10 ms and takes 12.
        change.cause.as_mut().unwrap().after_ns = after_ns;
        summary.changes = vec![change];
        text(&summary).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said(3_800_023).contains("; most of it: preprocessing 2.00 ms → 3.80 ms"), "{}", said(3_800_023));
    // 0.9 ms of 2: less than half.
    let told = "; no phase explains it, the one that moved most: preprocessing 2.00 ms → 2.90 ms";
    assert!(said(2_900_000).contains(told), "{}", said(2_900_000));
}

#[test]
fn input_before_the_steps_is_told_as_such() {
    let mut summary = crate::schema::full();
    let mut change = crate::schema::change(ChangeKind::Sudden, 120);
    (change.duration_before_ns, change.duration_after_ns) = (Some(9_980_000), Some(6 * MS));
    let cause = change.cause.as_mut().unwrap();
    (cause.phase, cause.is_between) = (Some(PhaseName::Known(Phase::DataWait)), true);
    (cause.before_ns, cause.after_ns, cause.section) = (20_000, 6 * MS, None);
    summary.changes = vec![change];
    let report = build(&summary, Reading::default(), &Config::default());
    let said = |format| {
        let text = render::find(format).unwrap().text(&report, Options::default()).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = "20 % slower, with its input, 10.0 ms → 12.0 ms; most of it: waiting for input before the \
                step 20.0 µs → 6.00 ms";
    assert!(said("text").contains(told), "{}", said("text"));
    let page = said("html");
    for part in ["data_wait</code> before the step", ", with the input before each step, which is not drawn."]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_makes_steps_periodic_is_told_with_its_section_and_its_share() {
    let told = |steps: u64| {
        let run = Run::of(400, 20 * MS).phase(Phase::Checkpoint, "save", MS);
        let mut summary = run.phase(Phase::Checkpoint, "mark", MS / 10).build();
        let row = summary.sections.iter_mut().find(|row| row.path == "step/save").unwrap();
        row.in_steps[0].steps = steps;
        let mut periodic = crate::schema::every_50th(summary.modes[0].steady);
        periodic.usual = same(392, 20 * MS);
        summary.periodic = vec![periodic];
        text(&summary).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // 336 ms of 400 usual steps and of that: 4 %.
    let beside = "; what they take more is 4.0 % of the time of all steps";
    let because = "most of it: checkpoint 11 ns → 42.0 ms";
    let seldom = told(200);
    assert!(seldom.contains(&format!("{because} in step/save{beside}")), "{seldom}");
    // Sections that run in more than half of the steps are none that make some of them longer.
    let often = told(201);
    assert!(often.contains(&format!("{because}{beside}")), "{often}");
}

#[test]
fn periodic_steps_are_told_and_marked() {
    let mut summary = troubled();
    summary.periodic = vec![crate::schema::every_50th(summary.modes[0].steady)];
    let text = text(&summary);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "every 50th step is 3.1 times as long: 62.0 ms instead of 20.1 ms, 8 steps, from step 47 on; most of it: \
                checkpoint 11 ns → 42.0 ms";
    assert!(words.contains(told), "{text}");
    let marked = |text: &str| {
        let lines = text.lines().filter(|line| line.contains(", every 50th step"));
        lines
            .filter_map(|line| line.split(['|', ' ']).find(|word| !word.is_empty()).map(String::from))
            .collect()
    };
    let of_47: Vec<String> = marked(&text);
    assert_eq!(of_47, ["47"], "{text}");
}

#[test]
fn the_error_that_is_a_signal_is_told_from_those_of_the_program() {
    let said = |errors: u64, signal: Option<Signal>| {
        let mut summary = healthy().build();
        summary.state.errors = errors;
        summary.instances[0].ended_by = signal;
        text(&summary).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let signal = Some(Signal::Terminate);
    assert!(said(1, signal).contains("1 span with an error (the end by a signal)"), "{}", said(1, signal));
    assert!(said(3, signal).contains("3 spans with errors (1 of them the end by a signal)"));
    assert!(said(1, None).contains("1 span with an error") && !said(1, None).contains("by a signal"));
}

#[test]
fn another_attempt_is_named_so_that_it_can_be_selected() {
    let mut summary = troubled();
    assert!(text(&summary).contains("--run run-0\n"));
    summary.other_runs[0].run.id.clone_from(&summary.run.id);
    summary.other_runs[0].run.attempt = summary.run.attempt + 3;
    let hint = format!("--run {}/{}\n", summary.run.id, summary.run.attempt + 3);
    assert!(text(&summary).contains(&hint), "{hint}");
}
