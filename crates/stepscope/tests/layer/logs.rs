//! The user's other layers must not notice ours: the log of a program is the same, byte for byte, with and
//! without it.

use crate::common::collector::{Answer, Collector};
use crate::common::{Program, check};

fn log(with: &str, filter: &str, directives: &str) -> String {
    let ended = Program::new(&["logs", with, filter]).env("RUST_LOG", directives).succeed();
    assert_eq!(ended.warnings(), [""; 0]);
    ended.stdout
}

#[test]
fn a_log_without_a_filter_is_unchanged() {
    let plain = log("without", "none", "");
    // Every level is there: nobody has asked for less.
    for text in
        ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "inside of forward", "tiny{depth=2}:tiny{depth=1}"]
    {
        assert!(plain.contains(text), "{text}");
    }
    assert_eq!(log("with", "none", ""), plain);
    assert_eq!(log("with", "below", ""), plain);
    let off = Program::new(&["logs", "with", "none"]).env("STEPSCOPE_LEVEL", "off").succeed();
    assert_eq!(off.stdout, plain);
}

#[test]
fn a_log_with_a_filter_says_what_it_says_beside_any_layer() {
    let [beside, beside_nothing, alone] = ["beside", "beside_nothing", "without"]
        .map(|with| Program::new(&["outlived", "log", with]).succeed().stderr);
    assert_eq!(beside, beside_nothing);
    assert_ne!(beside_nothing, alone, "spans that the filter hides are there as soon as another layer is");
}

#[test]
fn a_log_with_a_filter_is_unchanged() {
    let directives = [
        "",
        "off",
        "error",
        "warn",
        "info",
        "debug",
        "trace",
        "programs::logs::net=trace",
        "warn,elsewhere=off",
        "info,[train_step]=trace",
        "[outside{answer=42}]=debug",
        "debug,programs::logs::net=off",
    ];
    let mut different = std::collections::BTreeSet::new();
    for directives in directives {
        for filter in ["global", "layer"] {
            let plain = log("without", filter, directives);
            assert_eq!(log("with", filter, directives), plain, "{filter}: {directives}");
            different.insert(plain);
        }
    }
    // The settings do matter to this program.
    assert!(different.len() > 8, "{}", different.len());
    assert_eq!(log("with", "level", ""), log("without", "level", ""));
}

#[test]
fn our_own_thread_leaves_no_trace_in_any_log() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = Program::new(&["logs", "with", "everything"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .succeed();
    // Everything is logged, the births and ends of spans included, with the names of threads and targets.
    assert!(ended.stdout.contains("TRACE main train_step"), "{}", ended.stdout);
    for line in ended.stdout.lines() {
        assert!(line.split_whitespace().nth(1) == Some("main"), "{line}");
        assert!(line.contains("programs::logs") || line.contains("elsewhere"), "{line}");
    }
    let recording = collector.recording();
    check::traces(&recording);
    assert_eq!(recording.spans.len() as u64, recording.emitted());
    // 2 steps and what is outside, the run and its mark: nothing of hyper, tokio or ourselves.
    let mut names: Vec<&str> = recording.spans.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["outside", "run", "run.started", "train_step", "train_step"]);
}
