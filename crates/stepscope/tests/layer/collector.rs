//! The OTLP/HTTP sink beside collectors of every mood. Durations are bounded by what the program promises, the exit
//! timeout (2 s by default) and the half second that the end waits beyond it, and what a busy machine may add.

use std::time::{Duration, Instant};

use stepscope_core::attr;

use crate::common::collector::{Answer, Collector, closed_port, deaf};
use crate::common::{Ended, Program, check};

/// Less than what a single request may take, 10 s.
const END: Duration = Duration::from_secs(8);

/// 300 steps of 10 spans, into a directory and to `url`.
fn program(url: &str) -> Program {
    Program::new(&["budget", "300"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
}

fn run(url: &str) -> Ended {
    program(url).succeed()
}

#[test]
fn a_collector_gets_every_span_and_the_figures() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = Program::new(&["budget", "300"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue, Authorization=Bearer abc")
        .without_directory()
        .succeed();
    assert_eq!(ended.stderr, "");
    let recording = collector.recording();
    check::traces(&recording);
    check::aggregates(&recording);
    assert_eq!(recording.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(recording.emitted(), ended.truth()["spans"]);
    // What the sending has come to is said to the one who took it.
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"]);
    // Nothing is written where nobody asked for it.
    assert!(!ended.path().join("profiles").exists());
    for head in collector.heads() {
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("post /v1/"), "{head}");
        for line in ["content-type: application/x-protobuf", "x-tenant: blue", "authorization: bearer abc"] {
            assert!(head.contains(line), "{head}");
        }
    }
}

#[test]
fn both_sinks_get_the_same() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = run(&collector.url());
    let stored = ended.recording();
    check::all(&stored);
    check::account(&stored, "otlp");
    assert_eq!(stored.exported("otlp"), ended.truth()["spans"]);
    let mut sent = collector.recording().spans;
    let mut kept = stored.spans;
    let order = |a: &crate::common::Span, b: &crate::common::Span| a.id.cmp(&b.id);
    sent.sort_by(order);
    kept.sort_by(order);
    assert_eq!(format!("{sent:?}"), format!("{kept:?}"));
}

#[test]
fn what_a_collector_rejects_is_counted() {
    // ExportTraceServiceResponse { partial_success { rejected_spans: 7, error_message: "too old" } }
    let partial = [&[0x0a, 0x0b, 0x08, 0x07, 0x12, 0x07][..], b"too old"].concat();
    let collector = Collector::start(move |path, before| match (path, before) {
        // The first request only says that the run has started.
        ("/v1/traces", 1) => Answer::With(partial.clone()),
        _ => Answer::Accept,
    });
    let ended = run(&collector.url());
    let recording = ended.recording();
    assert_eq!(recording.dropped("otlp", "export_rejected"), 7);
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"] - 7);
    check::account(&recording, "otlp");
    check::account(&recording, "directory");
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("too old"));
}

#[test]
fn a_busy_collector_is_asked_again() {
    let collector = Collector::start(|_, before| match before {
        0 => Answer::Status("503 Service Unavailable\r\nretry-after: 0"),
        1 => Answer::Status("429 Too Many Requests"),
        _ => Answer::Accept,
    });
    let ended = run(&collector.url());
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"]);
    assert_eq!(recording.all_dropped("otlp"), 0);
    assert_eq!(collector.recording().spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
}

#[test]
fn a_refusal_for_good_is_not_repeated() {
    let collector = Collector::start(|path, _| match path {
        "/v1/traces" => Answer::Status("400 Bad Request"),
        _ => Answer::Accept,
    });
    let ended = run(&collector.url());
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END);
}

#[test]
fn without_a_collector_the_program_goes_on_and_ends_in_time() {
    let start = Instant::now();
    let ended = program(&format!("http://127.0.0.1:{}", closed_port())).hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
    assert_eq!(recording.exported("otlp"), 0);
    check::account(&recording, "otlp");
    check::account(&recording, "directory");
    assert_eq!(recording.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_collector_that_never_answers_cannot_hold_the_program() {
    let collector = Collector::start(|_, _| Answer::Silence);
    let ended = program(&collector.url()).hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), 0);
    // The request under way may have arrived; what waited behind it has not.
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0, "{:?}", collector.requests());
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert_eq!(unknown + recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
}

#[test]
fn what_was_never_sent_is_in_no_doubt() {
    let (url, _held) = deaf();
    let ended = program(&url).env("OTEL_EXPORTER_OTLP_TIMEOUT", "300").hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
}

#[test]
fn a_queue_that_is_full_lets_the_oldest_go() {
    let collector = Collector::start(|_, _| Answer::Silence);
    // 150,000 spans of some 200 bytes, and 16 MiB for those that wait.
    let program = Program::new(&["budget", "15000"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    let ended = program.hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    check::account(&recording, "otlp");
    check::account(&recording, "directory");
    assert_eq!(recording.exported("otlp"), 0);
    assert_eq!(recording.spans.len() as u64, ended.truth()["spans"]);
}

#[test]
fn a_connection_that_breaks_before_the_answer_leaves_a_doubt() {
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 0) => Answer::HangUp,
        _ => Answer::Accept,
    });
    let ended = run(&collector.url());
    let recording = ended.recording();
    check::account(&recording, "otlp");
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0);
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"] - unknown);
    assert_eq!(collector.recording().spans.len() as u64, ended.truth()["spans"] - unknown);
}

/// 50 steps of two spans and the mark of the start, a flush, and a program that is gone right after it.
fn deliver(how: &str, url: &str) -> Ended {
    Program::new(&["process", how])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
        .hurried()
        .succeed()
}

#[test]
fn a_flush_waits_until_everything_is_acknowledged() {
    let late = Duration::from_millis(300);
    let collector = Collector::start(move |_, _| Answer::Late(late));
    let ended = deliver("deliver", &collector.url());
    assert_eq!((ended.truth()["timed_out"], ended.truth()["dropped"]), (0, 0));
    assert!(Duration::from_millis(ended.truth()["flush_ms"]) < Duration::from_secs(10));
    assert_eq!(collector.recording().spans.len(), 101);
    assert_eq!(ended.recording().spans.len(), 101);
}

#[test]
fn a_flush_says_when_the_time_is_over_and_what_was_refused() {
    for collector in
        [Collector::start(|_, _| Answer::Silence), Collector::start(|_, _| Answer::Status("503 Busy"))]
    {
        let ended = deliver("deliver_soon", &collector.url());
        assert_eq!((ended.truth()["timed_out"], ended.truth()["dropped"]), (1, 0));
        let took = Duration::from_millis(ended.truth()["flush_ms"]);
        assert!((Duration::from_millis(200)..END).contains(&took), "{took:?}");
        // The directory has had everything at once.
        assert_eq!(ended.recording().spans.len(), 101);
    }
    let collector = Collector::start(|path, before| match (path, before) {
        ("/v1/traces", 1..) => Answer::Status("400 Bad Request"),
        _ => Answer::Accept,
    });
    let ended = deliver("deliver", &collector.url());
    assert_eq!((ended.truth()["timed_out"], ended.truth()["dropped"]), (0, 100));
    assert_eq!(collector.recording().spans.len(), 1);
}

#[test]
fn a_panic_waits_for_a_collector_that_is_well() {
    let late = Duration::from_millis(200);
    let collector = Collector::start(move |_, _| Answer::Late(late));
    let program = Program::new(&["process", "abort"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    assert_eq!(program.run().signal(), Some(libc::SIGABRT));
    // Five steps of two spans, and the mark of the start.
    assert_eq!(collector.recording().spans.len(), 11);
}

#[test]
fn a_panic_does_not_wait_for_a_collector_that_never_answers() {
    let collector = Collector::start(|_, _| Answer::Silence);
    let program =
        Program::new(&["process", "caught_unanswered"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    let ended = program.env("OTEL_EXPORTER_OTLP_TIMEOUT", "1800").without_directory().hurried().succeed();
    // Whoever had waited would have seen the next request fail, too.
    assert_eq!(ended.truth()["lost"], 0);
}

#[test]
fn an_endpoint_that_makes_no_sense_is_one_warning() {
    for url in [
        #[cfg(not(feature = "tls"))]
        "https://127.0.0.1:4318",
        "nonsense",
        "http://:1",
        "http://",
        "http://[::1",
        "http://a b:4318",
        "http://localhost:4318/a b",
    ] {
        let ended = run(url);
        assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
        // Nothing was tried: where, why, and what becomes of it.
        let said = format!("stepscope: the endpoint {url} ");
        assert!(
            ended.warnings()[0].starts_with(&said) && ended.warnings()[0].ends_with("; nothing is sent"),
            "{}",
            ended.stderr
        );
        let recording = ended.recording();
        check::all(&recording);
        assert_eq!(recording.steps().last().unwrap().int(attr::STEP), Some(299));
    }
}
