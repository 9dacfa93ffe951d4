//! The transport beside receivers as they are: connections that are kept or closed, compression, requests at once, and
//! the accounts when a receiver is slow, dies, comes back, or only seems to be there. (OpenTelemetry's variables, each for
//! itself, are in `variables`.)

use std::collections::HashSet;
use std::time::{Duration, Instant};

use stepscope_core::attr;

use crate::common::collector::{Answer, Collector};
use crate::common::recording::Attribute;
use crate::common::{Ended, Program, Recording, check};

fn budget(steps: &str, url: &str) -> Program {
    Program::new(&["budget", steps]).env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
}

/// What arrived lies between what was acknowledged and what may have been, and the sums are right.
pub(crate) fn account(ended: &Ended, arrived: &Recording) {
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.emitted(), ended.truth()["spans"]);
    let ids: HashSet<u64> = arrived.spans.iter().map(|span| span.id).collect();
    let acknowledged = recording.exported("otlp");
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(
        (acknowledged..=acknowledged + unknown).contains(&(ids.len() as u64)),
        "{} arrived, {acknowledged} acknowledged, {unknown} unknown",
        ids.len()
    );
}

#[test]
fn a_connection_is_kept_for_all_requests() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = budget("3000", &collector.url()).succeed();
    let requests = collector.requests().len();
    assert!(requests > 10, "{requests}");
    // One for each request that may be under way at once, at most.
    assert!(collector.connections() <= 4, "{} for {requests}", collector.connections());
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    account(&ended, &arrived);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_connection_that_the_receiver_closes_is_replaced() {
    let collector = Collector::start(|_, _| Answer::AcceptOnce);
    let ended = budget("1000", &collector.url()).succeed();
    let arrived = collector.recording();
    // (It closes it without a warning, so a request may be on its way already.)
    assert!(collector.connections() >= collector.requests().len());
    account(&ended, &arrived);
}

#[test]
fn messages_are_compressed_where_it_is_asked_for() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended =
        budget("300", &collector.url()).env("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip").succeed();
    account(&ended, &collector.recording());
    for head in collector.heads() {
        assert_eq!(head.contains("content-encoding: gzip"), head.starts_with("POST /v1/metrics"), "{head}");
    }
    let ended = budget("300", &collector.url()).env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip").succeed();
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    account(&ended, &arrived);
}

#[cfg(feature = "zstd")]
#[test]
fn messages_are_compressed_by_zstd_where_it_is_asked_for() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended =
        budget("300", &collector.url()).env("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd").succeed();
    assert_eq!(ended.stderr, "");
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    account(&ended, &arrived);
    for head in collector.heads() {
        assert_eq!(head.contains("content-encoding: zstd"), head.starts_with("POST /v1/traces"), "{head}");
    }
}

#[test]
fn several_requests_are_under_way_to_a_slow_receiver() {
    let late = Duration::from_millis(60);
    let collector = Collector::start(move |_, _| Answer::Late(late));
    // 30,000 spans, flushed every 64 steps without waiting for the answers: more requests than 2 s hold one by one.
    let ended = budget("3000", &collector.url()).succeed();
    let arrived = collector.recording();
    account(&ended, &arrived);
    assert!((2..=4).contains(&collector.most_at_once()), "{}", collector.most_at_once());
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
}

#[test]
fn a_pause_that_the_receiver_names_is_kept() {
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 0) => Answer::Status("429 Too Many Requests\r\nretry-after: 1"),
        _ => Answer::Accept,
    });
    let start = Instant::now();
    let ended = budget("100", &collector.url()).succeed();
    assert!(start.elapsed() >= Duration::from_secs(1));
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    account(&ended, &arrived);
}

#[test]
fn a_receiver_that_is_killed_and_comes_back_gets_the_rest() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let url = collector.url();
    let mut program = budget("6000", &url);
    let child = program.start();
    while collector.requests().len() < 4 {
        std::thread::yield_now();
    }
    collector.kill();
    let first = collector.recording();
    let second = Collector::start_at(collector.port(), |_, _| Answer::Accept);
    let ended = program.end(child.wait_with_output().unwrap());
    assert!(ended.status.success(), "{}", ended.stderr);
    let mut arrived = second.recording();
    assert!(!first.spans.is_empty() && !arrived.spans.is_empty());
    arrived.spans.extend(first.spans);
    arrived.spans.extend(collector.recording().spans);
    account(&ended, &arrived);
}

#[test]
fn a_receiver_that_only_seems_to_be_there_leaves_a_doubt_and_no_more() {
    // It takes the third and later requests, and never answers: as behind a connection that is half open.
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 2..) => Answer::Silence,
        _ => Answer::Accept,
    });
    let start = Instant::now();
    let ended = budget("1000", &collector.url()).env("OTEL_EXPORTER_OTLP_TIMEOUT", "300").hurried().succeed();
    assert!(start.elapsed() < Duration::from_secs(60));
    let recording = ended.recording();
    assert!(recording.dropped("otlp", "export_unknown") > 0);
    account(&ended, &collector.recording());
}

/// All that it was sent has arrived, and nobody was told: what is in doubt is there.
#[test]
fn a_receiver_that_takes_and_only_begins_to_answer_leaves_in_doubt_what_has_arrived() {
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 2..) => Answer::Begun,
        _ => Answer::Accept,
    });
    let ended = budget("1000", &collector.url()).env("OTEL_EXPORTER_OTLP_TIMEOUT", "300").hurried().succeed();
    let (recording, arrived) = (ended.recording(), collector.recording());
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0);
    let ids: HashSet<u64> = arrived.spans.iter().map(|span| span.id).collect();
    assert_eq!(ids.len() as u64, recording.exported("otlp") + unknown);
    account(&ended, &arrived);
}

/// What is missing of the answer may be that some were rejected.
#[test]
fn an_answer_that_breaks_off_leaves_a_doubt() {
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 1) => Answer::Torn,
        _ => Answer::Accept,
    });
    let ended = budget("1000", &collector.url()).succeed();
    let (recording, arrived) = (ended.recording(), collector.recording());
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0);
    assert_eq!(recording.exported("otlp") + unknown, ended.truth()["spans"]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("its end did not come"), "{}", ended.stderr);
    account(&ended, &arrived);
}

/// A receiver, or something in front of it, that says that it has taken what it has not read.
#[test]
fn an_answer_before_the_end_of_the_request_leaves_a_doubt() {
    let collector = Collector::start(|path, _| match path {
        "/v1/traces" => Answer::Early,
        _ => Answer::Accept,
    });
    let ended = budget("3000", &collector.url()).succeed();
    let (recording, arrived) = (ended.recording(), collector.recording());
    assert!(recording.dropped("otlp", "export_unknown") > 0);
    assert_eq!(recording.exported("otlp"), arrived.spans.len() as u64);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("before the end of the request"), "{}", ended.stderr);
    account(&ended, &arrived);
}

#[test]
fn each_kind_of_trouble_is_said_once() {
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 0 | 3) => Answer::Status("400 Bad Request"),
        ("/v1/traces", 1 | 4) => Answer::Torn,
        ("/v1/traces", 2 | 5) => Answer::Status("503 Service Unavailable"),
        _ => Answer::Accept,
    });
    let ended = budget("1000", &collector.url()).succeed();
    assert_eq!(ended.warnings().len(), 3, "{}", ended.stderr);
    for text in ["refused a request for good", "its end did not come", "could not send to"] {
        assert_eq!(ended.stderr.matches(text).count(), 1, "{}", ended.stderr);
    }
    account(&ended, &collector.recording());
}

#[test]
fn an_answer_of_another_program_leaves_a_doubt() {
    let collector = Collector::start(|_, _| Answer::With(b"<html>hello</html>".to_vec()));
    let ended = budget("1000", &collector.url()).succeed();
    let recording = ended.recording();
    assert_eq!(recording.exported("otlp"), 0);
    assert_eq!(recording.dropped("otlp", "export_unknown"), ended.truth()["spans"]);
    assert!(ended.stderr.contains("is the endpoint right?"), "{}", ended.stderr);
}

#[test]
fn what_is_rejected_after_it_was_perhaps_taken_is_in_doubt() {
    // partial_success { rejected_spans: 1 << 20 }
    let all_rejected = [0x0a, 4, 8, 0x80, 0x80, 0x40].to_vec();
    let collector = Collector::start(move |path, before| match (path, before) {
        ("/v1/traces", 0) => Answer::Status("504 Gateway Timeout\r\nretry-after: 0"),
        ("/v1/traces", 1) => Answer::With(all_rejected.clone()),
        _ => Answer::Accept,
    });
    let ended = budget("1000", &collector.url()).succeed();
    let recording = ended.recording();
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0 && recording.dropped("otlp", "export_rejected") == 0);
    assert_eq!(recording.exported("otlp") + unknown, ended.truth()["spans"]);
}

#[test]
fn each_signal_goes_where_its_own_variables_say() {
    let (traces, metrics) =
        (Collector::start(|_, _| Answer::Accept), Collector::start(|_, _| Answer::Accept));
    let ended = budget("100", &metrics.url())
        .env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/in/traces", traces.url()))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-all=a%20b")
        .env("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-own=1")
        .succeed();
    assert_eq!(ended.stderr, "");
    assert!(traces.requests().iter().all(|path| path == "/in/traces"));
    assert!(metrics.requests().iter().all(|path| path == "/v1/metrics"));
    assert!(traces.heads().iter().all(|head| head.contains("x-own: 1") && !head.contains("x-all")));
    assert!(metrics.heads().iter().all(|head| head.contains("x-all: a b")));
    let arrived = traces.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    assert!(metrics.recording().emitted() > 0);
    account(&ended, &arrived);
}

#[test]
fn the_resource_is_what_the_variables_say() {
    let ended = Program::new(&["order"])
        .env("OTEL_SERVICE_NAME", "trainer")
        .env(
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=no,deployment.environment.name=a%2Cb,team=x,service.version=7",
        )
        .succeed();
    let recording = ended.recording();
    check::all(&recording);
    let text = |text: &str| Some(Attribute::Str(text.to_owned()));
    let get = |key: &str| recording.resource.get(key).cloned();
    assert_eq!((get(attr::SERVICE_NAME), get("team")), (text("trainer"), text("x")));
    assert_eq!((get("deployment.environment.name"), get(attr::SERVICE_VERSION)), (text("a,b"), text("7")));
}

#[test]
fn a_disabled_sdk_records_nothing() {
    let ended = Program::new(&["order"]).env("OTEL_SDK_DISABLED", "true").succeed();
    assert!(!ended.path().join("profiles").exists());
    assert_eq!(ended.stderr, "");
}

#[test]
fn what_is_not_read_changes_nothing() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = budget("100", &collector.url())
        .env("OTEL_TRACES_EXPORTER", "none")
        .env("OTEL_METRICS_EXPORTER", "none")
        .env("OTEL_TRACES_SAMPLER", "always_off")
        .env("OTEL_BSP_MAX_QUEUE_SIZE", "1")
        .env("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "0")
        .succeed();
    assert_eq!(ended.stderr, "");
    let arrived = collector.recording();
    check::traces(&arrived);
    check::aggregates(&arrived);
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(arrived.steps().last().unwrap().int(attr::STEP), Some(99));
    account(&ended, &arrived);
}

#[test]
fn what_is_not_spoken_is_said_once() {
    let collector = Collector::start(|_, _| Answer::Accept);
    for (name, value) in [
        ("PROTOCOL", "http/json"),
        ("COMPRESSION", "snappy"),
        #[cfg(not(feature = "tls"))]
        ("CERTIFICATE", "/ca.pem"),
    ] {
        let name = format!("OTEL_EXPORTER_OTLP_{name}");
        let ended = budget("10", &collector.url()).env(&name, value).succeed();
        assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(&name));
        account(&ended, &collector.recording());
    }
}
