//! OpenTelemetry's variables, each as the table in docs/recording.md says, seen by a receiver. A variable that is documented
//! and has no case fails. Built with the features `grpc` and `tls` only, as the workspace's tests are.

use std::collections::BTreeSet;
use std::path::Path;

use stepscope_core::attr;

use crate::common::collector::{Answer, Collector};
use crate::common::grpc::{Grpc, Reply};
use crate::common::recording::Attribute;
use crate::common::tls::{Authority, End, Manner, Valid};
use crate::common::{Ended, Program, check};
use crate::tls::{Trust, manner};
use crate::transport::account;

/// What is the same in the names of all that are about sending.
const PREFIX: &str = "OTEL_EXPORTER_OTLP_";

/// A test for each kind of variable, which is run for all variables of that kind.
macro_rules! cases {
    ($($test:ident($case:path): $($name:literal),+;)*) => {
        /// All that have a case.
        const CASES: &[&str] = &[$($($name),+),*];
        $(
            #[test]
            fn $test() {
                [$($name),+].into_iter().for_each($case);
            }
        )*
    };
}

cases! {
    a_signal_goes_to_its_endpoint(endpoint):
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
    headers_go_with_the_messages_of_their_signal(headers):
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS";
    messages_of_a_signal_are_compressed(compression):
        "OTEL_EXPORTER_OTLP_COMPRESSION",
        "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
        "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION";
    a_call_of_a_signal_has_its_time(timeout):
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
        "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT";
    a_signal_is_sent_by_its_protocol(protocol):
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL";
    an_endpoint_without_a_scheme_may_do_without_tls(insecure):
        "OTEL_EXPORTER_OTLP_INSECURE",
        "OTEL_EXPORTER_OTLP_TRACES_INSECURE",
        "OTEL_EXPORTER_OTLP_METRICS_INSECURE";
    a_signal_trusts_its_own_authority(certificate):
        "OTEL_EXPORTER_OTLP_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE";
    a_signal_shows_its_own_certificate(client):
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_CLIENT_KEY",
        "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
        "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY";
    the_resource_says_who_it_is(resource): "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES";
    sums_are_published_as_often_as_it_is_asked_for(interval): "OTEL_METRIC_EXPORT_INTERVAL";
    nothing_is_recorded_where_all_is_turned_off(disabled): "OTEL_SDK_DISABLED";
    others_change_nothing(unread):
        "OTEL_TRACES_EXPORTER",
        "OTEL_METRICS_EXPORTER",
        "OTEL_EXPORTER_PROMETHEUS_HOST",
        "OTEL_EXPORTER_PROMETHEUS_PORT",
        "OTEL_TRACES_SAMPLER",
        "OTEL_LOGS_EXPORTER",
        "OTEL_PROPAGATORS",
        "OTEL_BSP_*",
        "OTEL_SPAN_*_LIMIT",
        "OTEL_ATTRIBUTE_*_LIMIT",
        "OTEL_EVENT_*_LIMIT",
        "OTEL_LINK_*_LIMIT",
        "OTEL_METRIC_EXPORT_TIMEOUT",
        "OTEL_METRICS_EXEMPLAR_FILTER",
        "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
        "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION";
}

/// The names in the first column of the table.
fn documented() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, table) = page.split_once("\n| variable | what it does here |\n|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| "));
    let columns = rows.map(|row| row.split(" | ").next().unwrap());
    // What is between backticks.
    let names = columns.flat_map(|column| column.split('`').skip(1).step_by(2));
    names.map(|name| name.replace("…_", PREFIX)).collect()
}

#[test]
fn each_documented_variable_has_its_case() {
    let cases: BTreeSet<String> = CASES.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(cases.len(), CASES.len());
    assert_eq!(documented(), cases);
}

/// Whether a variable is about messages to this path, or of this signal.
fn is_about(name: &str, path: &str) -> bool {
    let other = if path.ends_with("metrics") { "_TRACES_" } else { "_METRICS_" };
    !name.contains(other)
}

/// The signal that a variable is about, if it is about one alone, and the other one.
fn signals(name: &str) -> Option<[&'static str; 2]> {
    match (is_about(name, "traces"), is_about(name, "metrics")) {
        (true, false) => Some(["TRACES", "METRICS"]),
        (false, true) => Some(["METRICS", "TRACES"]),
        _ => None,
    }
}

/// The variable for both signals, of one for whichever.
fn of_both(name: &str) -> String {
    name.replace("_TRACES_", "_").replace("_METRICS_", "_")
}

/// A short program that sends to `url`.
fn program(url: &str) -> Program {
    Program::new(&["budget", "20"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
}

/// The same, whose messages of what `name` is about go to `own`, and others to `other`.
fn program_to(name: &str, own: &str, other: &str) -> Program {
    let Some([signal, other_signal]) = signals(name) else { return program(own) };
    program(other)
        .env(&format!("{PREFIX}{signal}_ENDPOINT"), own)
        .env(&format!("{PREFIX}{other_signal}_ENDPOINT"), other)
}

fn quietly(program: Program) -> Ended {
    let ended = program.succeed();
    assert_eq!(ended.stderr, "");
    ended
}

fn well() -> Collector {
    Collector::start(|_, _| Answer::Accept)
}

fn path_of(head: &str) -> &str {
    head.split_whitespace().nth(1).unwrap()
}

/// That there were messages of both signals, with `line` in the heads of those that `name` is about and in no others.
#[track_caller]
fn assert_heads(collector: &Collector, name: &str, line: &str) {
    let heads = collector.heads();
    for signal in ["traces", "metrics"] {
        assert!(heads.iter().any(|head| path_of(head).ends_with(signal)), "{name}: no {signal}");
    }
    for head in heads {
        assert_eq!(head.contains(line), is_about(name, path_of(&head)), "{name}: {head}");
    }
}

fn endpoint(name: &str) {
    let (own, other) = (well(), well());
    let Some([signal, _]) = signals(name) else {
        let ended = quietly(program(&other.url()).env(name, &own.url()));
        let paths: BTreeSet<String> = own.requests().into_iter().collect();
        assert_eq!(paths, BTreeSet::from(["/v1/metrics", "/v1/traces"].map(str::to_owned)));
        assert_eq!(other.requests(), [""; 0]);
        account(&ended, &own.recording());
        return;
    };
    let signal = signal.to_lowercase();
    let ended = quietly(program(&other.url()).env(name, &format!("{}/in/{signal}", own.url())));
    let (inner, rest) = (own.requests(), other.requests());
    assert!(
        !inner.is_empty() && inner.iter().all(|path| *path == format!("/in/{signal}")),
        "{name}: {inner:?}"
    );
    assert!(!rest.is_empty() && rest.iter().all(|path| !is_about(name, path)), "{name}: {rest:?}");
    let (own, other) = (own.recording(), other.recording());
    let (traces, metrics) = if signal == "traces" { (own, other) } else { (other, own) };
    assert_eq!((traces.spans.len() as u64, metrics.spans.len()), (ended.truth()["spans"], 0));
    assert_eq!(metrics.emitted(), ended.truth()["spans"]);
}

fn headers(name: &str) {
    let collector = well();
    let ended = quietly(program(&collector.url()).env(&of_both(name), "x-who=all").env(name, "x-who=a%20b"));
    assert_heads(&collector, name, "x-who: a b\r\n");
    let others = collector.heads().iter().filter(|head| head.contains("x-who: all\r\n")).count();
    assert_eq!(others > 0, signals(name).is_some());
    account(&ended, &collector.recording());
}

fn compression(name: &str) {
    let collector = well();
    let ended = quietly(program(&collector.url()).env(name, "gzip"));
    assert_heads(&collector, name, "content-encoding: gzip\r\n");
    account(&ended, &collector.recording());
}

fn timeout(name: &str) {
    // Calls say how long they may take.
    let collector = Grpc::start(|_, _| Reply::Accept);
    let program = program(&collector.url()).env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let ended = quietly(program.env(&of_both(name), "8500").env(name, "7500"));
    let calls = collector.calls();
    assert_eq!(calls.iter().map(|(signal, _)| signal.as_str()).collect::<BTreeSet<_>>().len(), 2);
    for (signal, metadata) in calls {
        let expected = if is_about(name, &signal) { "7500m" } else { "8500m" };
        assert_eq!(metadata["grpc-timeout"], expected, "{name}: {signal}");
    }
    account(&ended, &collector.recording());
}

fn protocol(name: &str) {
    let (own, other) = (Grpc::start(|_, _| Reply::Accept), well());
    let other_url =
        format!("{}/v1/{}", other.url(), if name.contains("_TRACES_") { "metrics" } else { "traces" });
    let ended = quietly(program_to(name, &own.url(), &other_url).env(name, "grpc"));
    let (calls, requests) = (own.calls(), other.requests());
    assert!(!calls.is_empty() && calls.iter().all(|(signal, _)| is_about(name, signal)), "{name}");
    assert_eq!(requests.is_empty(), signals(name).is_none(), "{name}");
    assert!(requests.iter().all(|path| !is_about(name, path)), "{name}: {requests:?}");
    let arrived = own.recording().spans.len() + other.recording().spans.len();
    assert_eq!(arrived as u64, ended.truth()["spans"], "{name}");
}

fn insecure(name: &str) {
    let own = Grpc::start(|_, _| Reply::Accept);
    let without_scheme = own.url().replace("http://", "");
    let other = Grpc::start(|_, _| Reply::Accept);
    let to_both = || {
        let program = program_to(name, &without_scheme, &other.url());
        program.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    };
    let ended = quietly(to_both().env(name, "true"));
    let calls = own.calls();
    assert!(!calls.is_empty() && calls.iter().all(|(signal, _)| is_about(name, signal)), "{name}");
    let arrived = own.recording().spans.len() + other.recording().spans.len();
    assert_eq!(arrived as u64, ended.truth()["spans"], "{name}");
    // Of nothing, and of the other signal, it does not hold.
    let program = to_both().hurried().env(name, "false");
    let program = match signals(name) {
        Some([_, other]) => program.env(&format!("{PREFIX}{other}_INSECURE"), "true"),
        None => program,
    };
    let ended = program.succeed();
    assert!(ended.stderr.contains(&without_scheme), "{name}: {}", ended.stderr);
    assert_eq!(own.calls().len(), calls.len(), "{name}");
}

/// An end of TLS in front of a collector has all that `name` is about, of a program that is set up as told.
fn assert_trusted(name: &str, manner: &Manner<'_>, set_up: impl FnOnce(Program) -> Program) {
    let (own, other) = (well(), well());
    let end = End::start(own.port(), manner);
    let url = |base: &str, signal: &str| format!("{base}/v1/{}", signal.to_lowercase());
    let inner = format!("https://localhost:{}", end.port);
    let program = match signals(name) {
        Some([signal, rest]) => program_to(name, &url(&inner, signal), &url(&other.url(), rest)),
        None => program(&inner),
    };
    let ended = quietly(set_up(program));
    let requests = own.requests();
    assert!(!requests.is_empty() && requests.iter().all(|path| is_about(name, path)), "{name}: {requests:?}");
    let arrived = own.recording().spans.len() + other.recording().spans.len();
    assert_eq!(arrived as u64, ended.truth()["spans"], "{name}");
}

fn certificate(name: &str) {
    let (trust, another) = (Trust::new(), Trust::new());
    assert_trusted(name, &manner(trust.local()), |program| {
        program.env(&of_both(name), &another.file).env(name, &trust.file)
    });
}

/// Certificate and key, which there are only both.
fn client(name: &str) {
    let (trust, clients, strangers) = (Trust::new(), Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let shown = clients.sign(&["trainer"], Valid::Now).write(folder.path());
    let strange = strangers.sign(&["trainer"], Valid::Now).write(trust.folder.path());
    let names = ["CERTIFICATE", "KEY"].map(|what| name.replace("KEY", what).replace("CERTIFICATE", what));
    let manner = Manner { wants: Some(&clients), ..manner(trust.local()) };
    assert_trusted(name, &manner, |program| {
        let program = program.env("OTEL_EXPORTER_OTLP_CERTIFICATE", &trust.file);
        let all = names.iter().zip(&strange).map(|(name, file)| (of_both(name), file));
        let own = names.iter().zip(&shown).map(|(name, file)| (name.clone(), file));
        all.chain(own).fold(program, |program, (name, file)| program.env(&name, file))
    });
}

fn resource(name: &str) {
    let collector = well();
    let (value, key, expected) = match name {
        "OTEL_SERVICE_NAME" => ("trainer", attr::SERVICE_NAME, "trainer"),
        _ => ("service.name=no,team=a%2Cb", "team", "a,b"),
    };
    let ended = quietly(program(&collector.url()).env("OTEL_SERVICE_NAME", "other").env(name, value));
    let arrived = collector.recording();
    assert_eq!(arrived.resource.get(key), Some(&Attribute::Str(expected.to_owned())), "{name}");
    account(&ended, &arrived);
}

fn interval(name: &str) {
    let sent = |ms: &str| {
        let collector = well();
        let program = Program::new(&["hot", "700", "1"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
        quietly(program.env("STEPSCOPE_LEVEL", "basic").env(name, ms));
        collector.requests().iter().filter(|path| *path == "/v1/metrics").count()
    };
    // Some at the end, and fourteen or so meanwhile.
    let (rarely, often) = (sent("3600000"), sent("50"));
    assert!((1..=3).contains(&rarely) && often >= rarely + 3, "{rarely} and {often}");
}

fn disabled(name: &str) {
    let collector = well();
    let ended = quietly(
        Program::new(&["order"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url()).env(name, "true"),
    );
    assert_eq!(collector.requests(), [""; 0]);
    assert!(!ended.path().join("profiles").exists());
}

fn unread(name: &str) {
    let (name, value) = match name {
        "OTEL_TRACES_SAMPLER" => (name, "always_off"),
        "OTEL_BSP_*" => ("OTEL_BSP_MAX_QUEUE_SIZE", "1"),
        "OTEL_SPAN_*_LIMIT" => ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "0"),
        "OTEL_ATTRIBUTE_*_LIMIT" => ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1"),
        "OTEL_EVENT_*_LIMIT" => ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "0"),
        "OTEL_LINK_*_LIMIT" => ("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "0"),
        "OTEL_METRIC_EXPORT_TIMEOUT" => (name, "1"),
        "OTEL_METRICS_EXEMPLAR_FILTER" => (name, "always_on"),
        "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE" => (name, "delta"),
        "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION" => (name, "explicit_bucket_histogram"),
        _ => (name, "none"),
    };
    let collector = well();
    let ended = quietly(program(&collector.url()).env(name, value));
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"], "{name}");
    assert_eq!(arrived.steps().last().unwrap().int(attr::STEP), Some(19));
    // Sums from the start of the run, as ever.
    assert_eq!(arrived.emitted(), ended.truth()["spans"], "{name}");
    check::aggregates(&arrived);
}
