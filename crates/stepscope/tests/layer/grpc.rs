//! OTLP/gRPC beside receivers of every mood: every span is accounted for as over HTTP. Built with the feature `grpc`
//! only, as the workspace is.

use std::io::Write;
use std::time::{Duration, Instant};

use stepscope_core::attr;

use crate::common::collector::{Answer, Collector, closed_port, deaf};
use crate::common::grpc::{Grpc, Reply};
use crate::common::{Ended, Program, check};
use crate::transport::account;

/// `google.rpc.Status` with a `RetryInfo` of no time, and of one second.
const AT_ONCE: &str = "Gi4KKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SAgoA";
const IN_A_SECOND: &str = "GjAKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SBAoCCAE=";

/// The exit timeout and what a busy machine may add; less than what a single call may take, 10 s.
const END: Duration = Duration::from_secs(8);

fn budget(steps: &str, url: &str) -> Program {
    Program::new(&["budget", steps])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
}

/// Everything arrived and was acknowledged, and the account is right.
fn assert_complete(ended: &Ended, collector: &Grpc) {
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(ended.recording().exported("otlp"), ended.truth()["spans"]);
    account(ended, &arrived);
}

#[test]
fn a_collector_gets_every_span_and_the_figures() {
    let collector = Grpc::start(|_, _| Reply::Accept);
    let ended = budget("300", &collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue, Authorization=Bearer%20abc")
        .env("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "7500")
        .without_directory()
        .succeed();
    assert_eq!(ended.stderr, "");
    let recording = collector.recording();
    check::traces(&recording);
    check::aggregates(&recording);
    assert_eq!(recording.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(recording.emitted(), ended.truth()["spans"]);
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"]);
    assert!(!ended.path().join("profiles").exists());
    for (signal, metadata) in collector.calls() {
        assert_eq!(metadata["x-tenant"], "blue");
        assert_eq!(metadata["authorization"], "Bearer abc");
        assert_eq!(metadata["grpc-timeout"], if signal == "metrics" { "7500m" } else { "10000m" });
        assert!(metadata["user-agent"].to_str().unwrap().starts_with("stepscope/"));
    }
}

#[test]
fn both_sinks_get_the_same() {
    let collector = Grpc::start(|_, _| Reply::Accept);
    let ended = budget("300", &collector.url()).succeed();
    let stored = ended.recording();
    check::all(&stored);
    let (mut sent, mut kept) = (collector.recording().spans, stored.spans);
    sent.sort_by_key(|span| span.id);
    kept.sort_by_key(|span| span.id);
    assert_eq!(format!("{sent:?}"), format!("{kept:?}"));
}

#[test]
fn a_connection_is_kept_for_all_calls() {
    let collector = Grpc::start(|_, _| Reply::Accept);
    let ended = budget("3000", &collector.url()).succeed();
    let calls = collector.calls().len();
    assert!(calls > 10, "{calls}");
    assert!(collector.connections() <= 4, "{} for {calls}", collector.connections());
    assert_complete(&ended, &collector);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_connection_that_the_receiver_takes_leave_of_is_replaced_without_a_doubt() {
    let collector = Grpc::start(|_, before| if before % 3 == 1 { Reply::AcceptLast } else { Reply::Accept });
    let ended = budget("1000", &collector.url()).succeed();
    assert!(collector.connections() > 1);
    assert_complete(&ended, &collector);
    assert_eq!(ended.stderr, "");
}

#[test]
fn messages_are_compressed_where_it_is_asked_for() {
    let collector = Grpc::start(|_, _| Reply::Accept);
    let ended =
        budget("300", &collector.url()).env("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip").succeed();
    assert_complete(&ended, &collector);
    for (signal, metadata) in collector.calls() {
        assert_eq!(metadata.get("grpc-encoding").is_some_and(|name| name == "gzip"), signal == "traces");
    }
}

#[cfg(feature = "zstd")]
#[test]
fn messages_are_compressed_by_zstd_where_it_is_asked_for() {
    let collector = Grpc::start(|_, _| Reply::Accept);
    let ended = budget("300", &collector.url()).env("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd").succeed();
    assert_eq!(ended.stderr, "");
    assert_complete(&ended, &collector);
    for (_, metadata) in collector.calls() {
        assert_eq!(metadata["grpc-encoding"], "zstd");
    }
}

#[test]
fn several_calls_are_under_way_to_a_slow_receiver() {
    let late = Duration::from_millis(60);
    let collector = Grpc::start(move |_, _| Reply::Late(late));
    let ended = budget("3000", &collector.url()).succeed();
    assert!((2..=4).contains(&collector.most_at_once()), "{}", collector.most_at_once());
    assert_complete(&ended, &collector);
}

#[test]
fn messages_stay_far_below_the_bound_of_receivers() {
    // 150,000 spans of some 200 bytes, all recorded before the first flush by size.
    let collector = Grpc::start(|_, _| Reply::Accept);
    let ended = budget("15000", &collector.url()).succeed();
    let longest = collector.longest_message();
    assert!((100_000..2 << 20).contains(&longest), "{longest}");
    account(&ended, &collector.recording());
}

#[test]
fn what_a_collector_rejects_is_counted() {
    // ExportTraceServiceResponse { partial_success { rejected_spans: 7, error_message: "too old" } }
    let partial = [&[0x0a, 0x0b, 0x08, 0x07, 0x12, 0x07][..], b"too old"].concat();
    let collector = Grpc::start(move |signal, before| match (signal, before) {
        // The first call only says that the run has started.
        ("traces", 1) => Reply::With(partial.clone()),
        _ => Reply::Accept,
    });
    let ended = budget("300", &collector.url()).succeed();
    let recording = ended.recording();
    assert_eq!(recording.dropped("otlp", "export_rejected"), 7);
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"] - 7);
    check::account(&recording, "otlp");
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("too old"));
}

#[test]
fn a_busy_collector_is_asked_again() {
    let collector = Grpc::start(|_, before| match before {
        0 => Reply::Status("14", ""),
        1 => Reply::Status("8", AT_ONCE),
        2 => Reply::Http(503),
        3 => Reply::Status("4", ""),
        _ => Reply::Accept,
    });
    let ended = budget("300", &collector.url()).succeed();
    assert_complete(&ended, &collector);
    assert_eq!(ended.recording().all_dropped("otlp"), 0);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("UNAVAILABLE: as told"), "{}", ended.stderr);
}

#[test]
fn a_pause_that_the_receiver_names_is_kept() {
    let collector = Grpc::start(|signal, before| match (signal, before) {
        ("traces", 0) => Reply::Status("8", IN_A_SECOND),
        _ => Reply::Accept,
    });
    let start = Instant::now();
    let ended = budget("100", &collector.url()).succeed();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_complete(&ended, &collector);
}

#[test]
fn a_refusal_for_good_is_not_repeated() {
    // Neither 3, INVALID_ARGUMENT, nor 8, RESOURCE_EXHAUSTED, where no pause is named; nor who speaks no gRPC.
    for refusal in [Reply::Status("3", ""), Reply::Status("8", ""), Reply::Http(404)] {
        let collector = Grpc::start(move |signal, _| match signal {
            "traces" => refusal.clone(),
            _ => Reply::Accept,
        });
        let ended = budget("300", &collector.url()).succeed();
        let recording = ended.recording();
        check::account(&recording, "otlp");
        assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
        assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    }
}

#[test]
fn what_was_perhaps_taken_before_it_was_given_up_is_in_doubt() {
    // 10, ABORTED, is tried again; whether something was taken before is not known.
    let collector = Grpc::start(|signal, before| match (signal, before) {
        ("traces", 0) => Reply::Accept,
        ("traces", _) => Reply::Status("10", ""),
        _ => Reply::Accept,
    });
    let ended = budget("300", &collector.url()).hurried().succeed();
    let recording = ended.recording();
    assert!(recording.dropped("otlp", "export_unknown") > 0);
    account(&ended, &collector.recording());
}

#[test]
fn without_a_collector_the_program_goes_on_and_ends_in_time() {
    let ended = budget("300", &format!("http://127.0.0.1:{}", closed_port())).hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
    check::account(&recording, "otlp");
    check::account(&recording, "directory");
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
}

#[test]
fn what_was_never_sent_is_in_no_doubt() {
    let (url, _held) = deaf();
    let ended = budget("300", &url).env("OTEL_EXPORTER_OTLP_TIMEOUT", "300").hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
}

#[test]
fn a_collector_that_never_answers_cannot_hold_the_program() {
    let collector = Grpc::start(|_, _| Reply::Silence);
    let ended = budget("300", &collector.url()).hurried().succeed();
    assert!(Duration::from_millis(ended.truth()["end_ms"]) < END, "{}", ended.stdout);
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), 0);
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0, "{:?}", collector.calls());
    assert_eq!(unknown + recording.dropped("otlp", "export_failed"), ended.truth()["spans"]);
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
}

#[test]
fn a_receiver_that_only_seems_to_be_there_leaves_a_doubt_and_no_more() {
    let collector = Grpc::start(|signal, before| match (signal, before) {
        ("traces", 2..) => Reply::Silence,
        _ => Reply::Accept,
    });
    let ended = budget("1000", &collector.url()).env("OTEL_EXPORTER_OTLP_TIMEOUT", "300").hurried().succeed();
    assert!(ended.recording().dropped("otlp", "export_unknown") > 0);
    account(&ended, &collector.recording());
}

#[test]
fn a_connection_that_breaks_before_the_answer_leaves_a_doubt() {
    let collector = Grpc::start(|signal, before| match (signal, before) {
        ("traces", 0) => Reply::HangUp,
        _ => Reply::Accept,
    });
    let ended = budget("300", &collector.url()).succeed();
    let recording = ended.recording();
    check::account(&recording, "otlp");
    let unknown = recording.dropped("otlp", "export_unknown");
    assert!(unknown > 0);
    assert_eq!(recording.exported("otlp"), ended.truth()["spans"] - unknown);
    assert_eq!(collector.recording().spans.len() as u64, ended.truth()["spans"] - unknown);
}

#[test]
fn a_receiver_that_is_killed_and_comes_back_gets_the_rest() {
    let collector = Grpc::start(|_, _| Reply::Accept);
    let mut program = budget("6000", &collector.url());
    let mut child = program.start();
    while collector.calls().len() < 4 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was heard of");
        std::thread::yield_now();
    }
    collector.kill();
    let first = collector.recording();
    let second = Grpc::start_at(collector.port(), |_, _| Reply::Accept);
    let ended = program.end(child.wait_with_output().unwrap());
    assert!(ended.status.success(), "{}", ended.stderr);
    let mut arrived = second.recording();
    assert!(!first.spans.is_empty() && !arrived.spans.is_empty());
    arrived.spans.extend(first.spans);
    account(&ended, &arrived);
}

#[test]
fn who_does_not_speak_grpc_gets_nothing_and_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Ends with the test process. A server of HTTP/1 takes the beginning of HTTP/2 for a request that it does not know.
    let refuse = move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    };
    std::thread::Builder::new().name("server".into()).spawn(refuse).unwrap();
    let ended = budget("100", &url).succeed();
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), 0);
    // How it shows, as a request in doubt or one to try again, is a matter of time; each is said once.
    let warnings = ended.warnings();
    assert!((1..=2).contains(&warnings.len()), "{}", ended.stderr);
    assert!(warnings.iter().all(|warning| warning.contains("4317")), "{}", ended.stderr);
}

#[test]
fn each_signal_may_have_its_own_protocol() {
    let traces = Grpc::start(|_, _| Reply::Accept);
    let metrics = Collector::start(|_, _| Answer::Accept);
    let ended = Program::new(&["budget", "100"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &metrics.url())
        .env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("127.0.0.1:{}", traces.port()))
        .env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")
        .env("OTEL_EXPORTER_OTLP_TRACES_INSECURE", "true")
        .succeed();
    assert_eq!(ended.stderr, "");
    assert!(traces.calls().iter().all(|(signal, _)| signal == "traces"));
    assert!(metrics.requests().iter().all(|path| path == "/v1/metrics"));
    assert!(metrics.recording().emitted() > 0);
    assert_complete(&ended, &traces);
}

#[test]
fn an_endpoint_that_makes_no_sense_is_one_warning() {
    for url in [
        #[cfg(not(feature = "tls"))]
        "https://127.0.0.1:4317",
        #[cfg(not(feature = "tls"))]
        "127.0.0.1:4317",
        "http://:1",
        "http://host:port",
    ] {
        let ended = budget("300", url).succeed();
        assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
        let recording = ended.recording();
        check::all(&recording);
        assert_eq!(recording.steps().last().unwrap().int(attr::STEP), Some(299));
    }
}
