//! The collector dies and comes back while a program trains: the program goes on, and what was lost is counted.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use stepscope_stack_tests::account::Fate;
use stepscope_stack_tests::program::{LIMIT, example, output, parse, report_text, stepscope};
use stepscope_stack_tests::stack::Stack;
use stepscope_stack_tests::traces::{self, Traces};
use stepscope_stack_tests::trial::Protocol;
use stepscope_testkit::folder::{TempFolder, files_below};
use stepscope_testkit::process;

use crate::jaeger::open;

/// Waits until the collector has taken `spans` spans since it started.
fn wait_for_accepted(stack: &Stack, protocol: Protocol, spans: u64) {
    let deadline = Instant::now() + LIMIT;
    let transport = format!("transport=\"{}\"", protocol.transport());
    while stack.collector_count("otelcol_receiver_accepted_spans", &transport).expect("a count") < spans {
        assert!(Instant::now() < deadline, "the collector got nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the program wrote to its directory, as JSON lines.
fn sent(profiles: &Path) -> Traces {
    let mut sent = Traces::new();
    for file in files_below(profiles).expect("files") {
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")) {
            traces::of_json_lines(&file, &mut sent).expect("JSON lines");
        }
    }
    sent
}

/// Spans of `sent` that Jaeger has, each counted once.
fn stored_of(stack: &Stack, sent: &Traces) -> u64 {
    let mut stored = 0;
    for (trace, spans) in sent {
        // What was lost whole does not open.
        let found = open(stack, trace).unwrap_or_default();
        let Some(found) = found.get(trace) else { continue };
        stored += spans.keys().filter(|id| found.contains_key(*id)).count() as u64;
    }
    stored
}

#[test]
fn a_collector_that_is_killed_twice_costs_what_the_report_says() {
    killed_twice(Protocol::Http);
}

#[test]
fn a_collector_that_is_killed_twice_costs_what_the_report_says_over_grpc() {
    killed_twice(Protocol::Grpc);
}

fn killed_twice(protocol: Protocol) {
    let stack = Stack::start(&[], &[]).expect("the stack starts");
    let folder = TempFolder::new("restart").expect("a folder");
    let profiles = folder.join("profiles");
    let out = profiles.to_string_lossy().into_owned();
    let mut demo =
        stepscope(&["--quiet", "demo", "--epochs", "1000", "--steps", "2500", "--out", &out]).expect("built");
    demo.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", protocol.address(&stack)))
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.name())
        .env("STEPSCOPE_FORMAT", "json");
    let mut demo = demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the demo starts");
    for _ in 0..2 {
        wait_for_accepted(&stack, protocol, 2_000);
        stack.change("kill", "collector").expect("killed");
        // Long enough for several tries that fail.
        std::thread::sleep(Duration::from_millis(1_200));
        assert!(demo.try_wait().expect("a state").is_none(), "the demo goes on without a collector");
        stack.change("start", "collector").expect("starts again");
    }
    let (status, timed_out) = process::wait(&mut demo, LIMIT).expect("waited for");
    assert!(status.success() && !timed_out, "{status}");

    let report = parse(&report_text(&[&profiles]).expect("a report")).expect("JSON");
    let fate = Fate::of(&report).expect("an account");
    let sent = sent(&profiles);
    assert_eq!(
        sent.values().map(|spans| spans.len() as u64).sum::<u64>(),
        fate.emitted,
        "the directory has all"
    );
    stack.wait_for_stored(1).expect("Jaeger answers");
    let deadline = Instant::now() + LIMIT;
    let mut stored = stored_of(&stack, &sent);
    while stored < fate.acknowledged && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
        stored = stored_of(&stack, &sent);
    }
    println!("killed twice, {}: {fate}; {stored} in Jaeger", protocol.name());
    // What the collector has acknowledged survives its death in its queue, and what was not sent cannot be there.
    fate.check(stored).expect("the account is right");

    stack.change("stop", "collector").expect("stops");
    for way in ["json", "proto", "zstd"] {
        let report = parse(&report_text(&[&stack.data(way)]).expect("a report")).expect("JSON");
        let spans = report["run"]["spans"].as_u64().expect("spans");
        println!(
            "{way}: {spans} spans, {} missing in {} incomplete traces, issues {}",
            report["losses"]["missing_spans"], report["losses"]["incomplete_traces"], report["read_issues"]
        );
        assert_eq!(report["losses"]["emitted"], fate.emitted, "{way}");
        assert!(spans <= fate.emitted, "{way}: nothing is counted twice");
        // What is given up at the very end can be told to the directory alone.
        let told = report["losses"]["dropped_total"].as_u64().expect("a number");
        assert!((fate.unknown..=fate.unknown + fate.dropped).contains(&told), "{way}: {told}");
        // A file without its queue: what the dead collector had not written yet is gone, and is known to be.
        let has_notice = !report["read_issues"].as_array().expect("a list").is_empty()
            || report["losses"]["missing_spans"] != 0;
        assert!(spans == fate.emitted || has_notice, "{way}: {spans} of {} without a word", fate.emitted);
    }
}

#[test]
fn a_flood_is_counted_to_the_last_span() {
    let stack = Stack::start(&[], &[]).expect("the stack starts");
    let folder = TempFolder::new("flood").expect("a folder");
    let profiles = folder.join("profiles");
    let mut flood = example("programs", &["flood", "30000"]).expect("built");
    flood.env("OTEL_EXPORTER_OTLP_ENDPOINT", stack.endpoint()).env("STEPSCOPE_DIR", &profiles);
    let said = output(&mut flood).expect("the program succeeds");
    let emitted: u64 = 30_000 * 21 + 2;
    assert!(said.contains(&emitted.to_string()), "{said}");
    let fate =
        Fate::of(&parse(&report_text(&[&profiles]).expect("a report")).expect("JSON")).expect("an account");
    let accepted =
        stack.collector_count("otelcol_receiver_accepted_spans", "transport=\"http\"").expect("a count");
    println!("flood: {fate}; the collector took {accepted}");
    assert_eq!(fate.emitted, emitted);
    assert!(fate.dropped > 0, "more than fits");
    fate.check(accepted).expect("the account is right");
    let stored = stack.wait_for_stored(accepted).expect("all that was accepted");
    assert_eq!(stored, accepted);
}
