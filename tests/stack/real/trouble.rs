//! The real collector in trouble, or what lies before it: absent, slow, refusing, half open; over HTTP and over gRPC. Each
//! span has one fate, and as many arrive as the program says. Killed and restarted: `restart`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use stepscope_stack_tests::program::LIMIT;
use stepscope_stack_tests::proxy::{Manner, Proxy};
use stepscope_stack_tests::stack::Stack;
use stepscope_stack_tests::trial::{Ended, Protocol, Trial, collector, written_by};
use stepscope_testkit::TempFolder;

use crate::jaeger::open;

/// What `Trial` says to a receiver for the first time that does not take what it is sent.
const COULD_NOT: &str = "could not send to";

/// As long as a program that is not to wait for its receiver waits at its end, in milliseconds.
const SHORTLY: (&str, &str) = ("STEPSCOPE_EXIT_TIMEOUT", "1500");

/// Bytes of requests after which a connection becomes half open: some requests, and far from all.
const SOME: u64 = 40_000;

/// Checks the account and prints it.
fn told(trouble: &str, protocol: Protocol, ended: &Ended, arrived: &BTreeSet<(String, String)>) {
    println!("{trouble}, {}: {}; {} arrived", protocol.name(), ended.fate, arrived.len());
    ended
        .check(arrived)
        .unwrap_or_else(|problem| panic!("{trouble}, {protocol:?}: {problem}\n{}", ended.said));
}

/// Everything arrived, and was acknowledged.
fn assert_whole(ended: &Ended) {
    assert_eq!(ended.fate.acknowledged, ended.made, "{}\n{}", ended.fate, ended.said);
}

#[test]
fn a_collector_that_is_absent_all_along_gets_nothing() {
    let stack = collector(&[]).expect("it starts");
    stack.change("kill", "collector").expect("killed");
    for protocol in Protocol::ALL {
        let trial = Trial::start(&["budget", "300"], protocol, protocol.address(&stack), &[SHORTLY]);
        let ended = trial.expect("it starts").end().expect("it ends");
        told("absent", protocol, &ended, &BTreeSet::new());
        assert_eq!((ended.fate.dropped, ended.fate.unknown), (ended.made, 0));
    }
    stack.change("start", "collector").expect("starts");
    assert_eq!(written_by(&stack).expect("files").len(), 0);
}

#[test]
fn a_collector_that_comes_late_gets_everything() {
    for protocol in Protocol::ALL {
        let stack = collector(&[]).expect("it starts");
        stack.change("kill", "collector").expect("killed");
        let trial = Trial::start(&["budget", "2000"], protocol, protocol.address(&stack), &[]);
        let mut trial = trial.expect("it starts");
        trial.wait_until_said(COULD_NOT).expect("it notices");
        stack.change("start", "collector").expect("starts");
        let ended = trial.end().expect("it ends");
        told("late", protocol, &ended, &written_by(&stack).expect("files"));
        assert_whole(&ended);
    }
}

#[test]
fn a_slow_collector_gets_everything() {
    for protocol in Protocol::ALL {
        let stack = collector(&[]).expect("it starts");
        let late = Manner::Late(Duration::from_millis(100));
        let proxy = Proxy::start(protocol.address(&stack), late).expect("it listens");
        let trial = Trial::start(&["budget", "2000"], protocol, &proxy.address(), &[]).expect("it starts");
        let ended = trial.end().expect("it ends");
        told("slow", protocol, &ended, &written_by(&stack).expect("files"));
        assert_whole(&ended);
        assert_eq!(ended.said, "", "nothing is wrong");
    }
}

#[test]
fn a_collector_that_is_slower_than_spans_come_costs_what_does_not_fit() {
    for protocol in Protocol::ALL {
        let stack = collector(&[]).expect("it starts");
        let proxy = Proxy::start(protocol.address(&stack), Manner::Hold).expect("it listens");
        let trial = Trial::start(&["budget", "15000"], protocol, &proxy.address(), &[]);
        let mut trial = trial.expect("it starts");
        trial.wait_until_said("more slowly than they come").expect("more than fits");
        proxy.turn(Manner::Forward);
        let ended = trial.end().expect("it ends");
        told("too slow", protocol, &ended, &written_by(&stack).expect("files"));
        assert!(ended.fate.dropped > 0 && ended.fate.acknowledged > 0);
        assert_eq!(ended.fate.unknown, 0, "no connection broke");
    }
}

#[test]
fn a_collector_that_answers_when_nobody_waits_any_more_leaves_a_doubt() {
    for protocol in Protocol::ALL {
        let stack = collector(&[]).expect("it starts");
        let proxy = Proxy::start(protocol.address(&stack), Manner::Forward).expect("it listens");
        proxy.turn_after(SOME, Manner::Late(Duration::from_secs(3)));
        let ended = unanswered(&stack, protocol, proxy);
        let arrived = written_by(&stack).expect("files");
        told("answers late", protocol, &ended, &arrived);
        // Only the answers were late: the doubt is about what has arrived.
        assert_eq!(arrived.len() as u64, ended.made, "{}", ended.fate);
    }
}

#[test]
fn a_connection_that_is_half_open_leaves_a_doubt_of_what_arrived_and_what_did_not() {
    for protocol in Protocol::ALL {
        for manner in [Manner::SwallowAnswers, Manner::SwallowAll] {
            let stack = collector(&[]).expect("it starts");
            let proxy = Proxy::start(protocol.address(&stack), Manner::Forward).expect("it listens");
            proxy.turn_after(SOME, manner);
            let ended = unanswered(&stack, protocol, proxy);
            let arrived = written_by(&stack).expect("files");
            told(&format!("half open, {manner:?}"), protocol, &ended, &arrived);
            let in_doubt = arrived.len() as u64 - ended.fate.acknowledged;
            // What has come to the collector it has taken, and nobody was told. Where requests vanish, too, those that were
            // before the one in whose middle it began may have.
            let expected = match manner {
                Manner::SwallowAnswers => 1..=ended.fate.unknown,
                _ => 0..=ended.fate.unknown - 1,
            };
            assert!(expected.contains(&in_doubt), "{in_doubt}: {}", ended.fate);
        }
    }
}

/// Runs a program whose answers fail to come from some time on, and whose connections are well again after two further
/// ones that are not. Nothing but a doubt is lost. What the proxy holds open ends here: a collector that is told to stop
/// would wait for it.
fn unanswered(stack: &Stack, protocol: Protocol, proxy: Proxy) -> Ended {
    let (name, traces) = protocol.traces_to(&proxy.address());
    let settings = [
        // Metrics go elsewhere, so that it is spans that are under way when it begins.
        (name, traces.as_str()),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "1000"),
        // Requests that a receiver takes before it has said how much it takes.
        ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
    ];
    let trial = Trial::start(&["budget", "3000"], protocol, protocol.address(stack), &settings);
    let trial = trial.expect("it starts");
    proxy.wait_for_connections(2, LIMIT).expect("it tries again");
    proxy.turn(Manner::Forward);
    let ended = trial.end().expect("it ends");
    assert!(ended.fate.unknown > 0 && ended.fate.acknowledged > 0, "{}\n{}", ended.fate, ended.said);
    assert_eq!(ended.fate.dropped + ended.fate.rejected, 0, "{}\n{}", ended.fate, ended.said);
    ended
}

#[test]
fn a_collector_short_of_memory_gets_nothing_and_the_program_ends_in_time() {
    let limit = "yaml:processors::memory_limiter: {check_interval: 100ms, limit_mib: 2, spike_limit_mib: 1}";
    let stack = collector(&["--config", limit]).expect("it starts");
    let deadline = Instant::now() + LIMIT;
    while !stack.log("collector").contains("Refusing data") {
        assert!(Instant::now() < deadline, "it refuses nothing: {}", stack.log("collector"));
        std::thread::sleep(Duration::from_millis(20));
    }
    for protocol in Protocol::ALL {
        let trial = Trial::start(&["budget", "300"], protocol, protocol.address(&stack), &[SHORTLY]);
        let ended = trial.expect("it starts").end().expect("it ends");
        assert!(ended.said.contains("503") || ended.said.contains("UNAVAILABLE"), "{}", ended.said);
        told("short of memory", protocol, &ended, &BTreeSet::new());
        // (The last try may be under way when the program ends.)
        assert_eq!(ended.fate.dropped + ended.fate.unknown, ended.made);
    }
    assert_eq!(written_by(&stack).expect("files").len(), 0);
}

#[test]
fn a_collector_whose_queue_is_full_for_a_while_gets_everything() {
    // It takes two requests, for a store that is not there.
    let exporter = "yaml:exporters::otlp_grpc/small: {endpoint: \"${env:JAEGER_OTLP_GRPC}\", tls: {insecure: true}, \
                    sending_queue: {queue_size: 1, num_consumers: 1}, \
                    retry_on_failure: {initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0}}";
    let pipeline = "yaml:service::pipelines::traces::exporters: [otlp_grpc/small]";
    for protocol in Protocol::ALL {
        let stack = collector(&["--config", exporter, "--config", pipeline]).expect("it starts");
        let trial = Trial::start(&["budget", "640"], protocol, protocol.address(&stack), &[]);
        let mut trial = trial.expect("it starts");
        trial.wait_until_said(COULD_NOT).expect("it is refused");
        stack.change("start", "jaeger").expect("starts");
        let ended = trial.end().expect("it ends");
        stack.wait_for_stored(ended.made).expect("Jaeger gets what the collector has taken");
        let traces: BTreeSet<&str> = ended.recorded.iter().map(|(trace, _)| trace.as_str()).collect();
        let mut arrived = BTreeSet::new();
        for trace in traces {
            for (trace, spans) in open(&stack, trace).expect("it opens") {
                arrived.extend(spans.into_keys().map(|span| (trace.clone(), span)));
            }
        }
        told("full", protocol, &ended, &arrived);
        assert_whole(&ended);
    }
}

#[test]
fn a_collector_that_takes_no_traces_costs_each_span_once() {
    let folder = TempFolder::new("no-traces").expect("a folder");
    let config = folder.join("metrics.yaml");
    let text = "
receivers: {otlp: {protocols: {http: {endpoint: \"${env:COLLECTOR_OTLP_HTTP}\"},
                               grpc: {endpoint: \"${env:COLLECTOR_OTLP_GRPC}\"}}}}
extensions: {health_check: {endpoint: \"${env:COLLECTOR_HEALTH}\"}}
exporters: {debug: {}}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}
";
    std::fs::write(&config, text).expect("written");
    let stack = Stack::start(&["collector", "--config", &config.to_string_lossy()], &[]).expect("it starts");
    for protocol in Protocol::ALL {
        let trial = Trial::start(&["budget", "300"], protocol, protocol.address(&stack), &[]);
        let ended = trial.expect("it starts").end().expect("it ends");
        assert!(ended.said.contains("404") || ended.said.contains("UNIMPLEMENTED"), "{}", ended.said);
        // It has nowhere to write spans to.
        told("no traces", protocol, &ended, &BTreeSet::new());
        assert_eq!((ended.fate.dropped, ended.fate.unknown), (ended.made, 0));
    }
}

#[test]
fn a_collector_that_takes_no_large_requests_gets_the_small_ones() {
    let limits = "yaml:receivers::otlp::protocols: {http: {max_request_body_size: 1000000}, grpc: {max_recv_msg_size_mib: 1}}";
    for protocol in Protocol::ALL {
        let stack = collector(&["--config", limits]).expect("it starts");
        let trial = Trial::start(&["flood", "8000"], protocol, protocol.address(&stack), &[]);
        let ended = trial.expect("it starts").end().expect("it ends");
        told("only small ones", protocol, &ended, &written_by(&stack).expect("files"));
        assert!(ended.said.contains("refused a request for good"), "{}", ended.said);
        assert!(ended.fate.acknowledged > 0 && ended.fate.dropped > 0);
    }
}
