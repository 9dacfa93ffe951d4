//! Endpoints with TLS, trusted and not, over HTTP and gRPC: what arrives, what is said where nothing can, and that every
//! span is accounted for. Built with the feature `tls` only, as the workspace's tests are.

use std::io::{Read, Write};
use std::net::TcpListener;

use rustls::version::{TLS12, TLS13};
use tempfile::TempDir;

use crate::common::collector::{Answer, Collector};
#[cfg(feature = "grpc")]
use crate::common::grpc::{Grpc, Reply};
use crate::common::tls::{Authority, End, Manner, Pair, Valid, write};
use crate::common::{Ended, Program, check};
use crate::transport::account;

/// An authority with its certificate in a file, and a folder for others.
pub(crate) struct Trust {
    authority: Authority,
    pub(crate) file: String,
    pub(crate) folder: TempDir,
}

impl Trust {
    pub(crate) fn new() -> Self {
        let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
        let file = write(folder.path(), "authority.pem", &authority.pem());
        Self { authority, file, folder }
    }

    /// For a server on this machine.
    pub(crate) fn local(&self) -> Pair {
        self.authority.sign(&["localhost", "127.0.0.1"], Valid::Now)
    }
}

pub(crate) fn manner(shows: Pair) -> Manner<'static> {
    Manner { shows, wants: None, versions: vec![&TLS13, &TLS12], protocol: "http/1.1" }
}

/// 300 steps of 10 spans to the end of TLS on `port`.
fn budget(port: u16, trust: &Trust) -> Program {
    Program::new(&["budget", "300"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("https://localhost:{port}"))
        .env("OTEL_EXPORTER_OTLP_CERTIFICATE", &trust.file)
}

/// The same, for ends of TLS that take nothing.
fn refused(port: u16, trust: &Trust) -> Program {
    budget(port, trust).hurried()
}

/// Everything arrived and was acknowledged, and the account is right.
fn assert_complete(ended: &Ended, collector: &Collector) {
    assert_eq!(ended.stderr, "");
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(ended.recording().exported("otlp"), ended.truth()["spans"]);
    account(ended, &arrived);
}

/// Nothing arrived and nothing is in doubt, and one line says why with these words.
fn assert_told(ended: &Ended, words: &[&str]) {
    let recording = ended.recording();
    check::account(&recording, "otlp");
    assert_eq!((recording.exported("otlp"), recording.emitted()), (0, ended.truth()["spans"]));
    assert_eq!(recording.dropped("otlp", "export_failed"), ended.truth()["spans"], "{}", ended.stderr);
    assert_one_line(ended, words);
}

fn assert_one_line(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
}

#[test]
fn a_collector_gets_every_span() {
    let trust = Trust::new();
    for versions in [vec![&TLS13], vec![&TLS12]] {
        let collector = Collector::start(|_, _| Answer::Accept);
        let end = End::start(collector.port(), &Manner { versions, ..manner(trust.local()) });
        let ended = budget(end.port, &trust).env("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue").succeed();
        assert!(collector.heads().iter().all(|head| head.contains(&format!("host: localhost:{}", end.port))));
        assert!(collector.heads().iter().all(|head| head.contains("x-tenant: blue")));
        // A connection is kept for all requests, of which several may be under way.
        assert!(collector.connections() <= 4, "{}", collector.connections());
        assert_complete(&ended, &collector);
    }
}

#[test]
fn an_address_is_a_name_too() {
    let trust = Trust::new();
    let collector = Collector::start(|_, _| Answer::Accept);
    let end = End::start(collector.port(), &manner(trust.local()));
    let url = format!("https://127.0.0.1:{}", end.port);
    let ended = budget(end.port, &trust).env("OTEL_EXPORTER_OTLP_ENDPOINT", &url).succeed();
    assert_complete(&ended, &collector);
}

#[cfg(feature = "grpc")]
#[test]
fn a_grpc_collector_gets_every_span() {
    let trust = Trust::new();
    let collector = Grpc::start(|_, _| Reply::Accept);
    let end = End::start(collector.port(), &Manner { protocol: "h2", ..manner(trust.local()) });
    // Without a scheme, an endpoint of gRPC is one with TLS.
    for url in [format!("https://localhost:{}", end.port), format!("localhost:{}", end.port)] {
        let ended = budget(end.port, &trust)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
            .succeed();
        assert_eq!(ended.stderr, "");
        let arrived = collector.recording();
        assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
        account(&ended, &arrived);
    }
}

#[cfg(feature = "grpc")]
#[test]
fn a_receiver_of_another_protocol_is_told_from_it() {
    let trust = Trust::new();
    let collector = Collector::start(|_, _| Answer::Accept);
    let end = End::start(collector.port(), &manner(trust.local()));
    let ended = refused(end.port, &trust).env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").succeed();
    assert_told(&ended, &["4317", "could not send to localhost"]);
    assert!(collector.requests().is_empty());
}

#[test]
fn what_the_system_trusts_is_trusted_where_no_file_is_named() {
    let trust = Trust::new();
    let collector = Collector::start(|_, _| Answer::Accept);
    let end = End::start(collector.port(), &manner(trust.local()));
    let blank = budget(end.port, &trust).env("OTEL_EXPORTER_OTLP_CERTIFICATE", "");
    // As OpenSSL has it: this names the file of the system's authorities.
    assert_complete(&blank.env("SSL_CERT_FILE", &trust.file).succeed(), &collector);
    let other = write(trust.folder.path(), "other.pem", &Authority::new().pem());
    let blank = refused(end.port, &trust).env("OTEL_EXPORTER_OTLP_CERTIFICATE", "");
    let ended = blank.env("SSL_CERT_FILE", &other).succeed();
    assert_told(&ended, &["OTEL_EXPORTER_OTLP_CERTIFICATE", &format!("localhost:{}", end.port)]);
}

#[test]
fn who_is_not_trusted_gets_nothing_and_is_told_with_the_reason() {
    let trust = Trust::new();
    let (sign, names) = (|names: &[&str], valid| trust.authority.sign(names, valid), &["localhost"]);
    for (shows, words) in [
        (Authority::new().sign(names, Valid::Now), ["no authority that is trusted", "OTLP_CERTIFICATE"]),
        (sign(&["collector.example"], Valid::Now), ["not one for localhost", "collector.example"]),
        (sign(names, Valid::Before), ["has expired", "renew it"]),
        (sign(names, Valid::Later), ["not valid yet", "clock"]),
        (trust.authority.itself(), ["authority's own", "CA:FALSE"]),
    ] {
        let collector = Collector::start(|_, _| Answer::Accept);
        let end = End::start(collector.port(), &manner(shows));
        let ended = refused(end.port, &trust).succeed();
        assert_told(&ended, &words);
        assert_told(&ended, &[&format!("could not send to localhost:{}", end.port)]);
        assert!(collector.requests().is_empty());
    }
}

#[test]
fn a_client_shows_its_certificate_where_one_is_wanted() {
    let (trust, clients, strangers) = (Trust::new(), Authority::new(), Authority::new());
    for versions in [vec![&TLS13], vec![&TLS12]] {
        let collector = Collector::start(|_, _| Answer::Accept);
        let wants = Some(&clients);
        let end = End::start(collector.port(), &Manner { wants, versions, ..manner(trust.local()) });
        let shown = |by: &Authority| {
            let [certificate, key] = by.sign(&["trainer"], Valid::Now).write(trust.folder.path());
            let program = budget(end.port, &trust).env("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &certificate);
            program.env("OTEL_EXPORTER_OTLP_CLIENT_KEY", &key)
        };
        assert_complete(&shown(&clients).succeed(), &collector);
        for (program, words) in [
            (
                refused(end.port, &trust),
                ["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"],
            ),
            (shown(&strangers).hurried(), ["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "does not take"]),
        ] {
            let before = collector.requests().len();
            let ended = program.succeed();
            // In TLS 1.3 the refusal follows the handshake: what is on its way then was not taken either.
            assert_told(&ended, &words);
            assert_eq!(collector.requests().len(), before);
        }
    }
}

#[cfg(feature = "grpc")]
#[test]
fn a_client_shows_its_certificate_over_grpc_too() {
    let (trust, clients) = (Trust::new(), Authority::new());
    let collector = Grpc::start(|_, _| Reply::Accept);
    let wants = Some(&clients);
    let end = End::start(collector.port(), &Manner { wants, protocol: "h2", ..manner(trust.local()) });
    let program = || budget(end.port, &trust).env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    assert_told(&program().hurried().succeed(), &["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"]);
    let [certificate, key] = clients.sign(&["trainer"], Valid::Now).write(trust.folder.path());
    let ended = program()
        .env("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &certificate)
        .env("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", &key)
        .env("OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", &key)
        .succeed();
    assert_eq!(ended.stderr, "");
    let arrived = collector.recording();
    assert_eq!(arrived.spans.len() as u64, ended.truth()["spans"]);
    account(&ended, &arrived);
}

/// A server of a few lines that takes a connection, hears the beginning of what comes, and goes on as told.
fn server(go_on: impl Fn(std::net::TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with the test process.
    let serve = move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 64]);
            go_on(stream);
        }
    };
    std::thread::Builder::new().name("server".into()).spawn(serve).unwrap();
    port
}

#[test]
fn a_handshake_that_breaks_leaves_no_doubt() {
    let trust = Trust::new();
    let port = server(drop);
    assert_told(&refused(port, &trust).succeed(), &["TLS handshake"]);
}

#[test]
fn a_handshake_without_an_answer_leaves_no_doubt() {
    let trust = Trust::new();
    let held = std::sync::Mutex::new(Vec::new());
    let port = server(move |stream| held.lock().unwrap().push(stream));
    let ended = refused(port, &trust).env("OTEL_EXPORTER_OTLP_TIMEOUT", "200").succeed();
    assert_told(&ended, &["TLS handshake within 200ms"]);
    // One that is still under way at the end.
    let ended = budget(port, &trust).env("STEPSCOPE_EXIT_TIMEOUT", "300").succeed();
    assert_told(&ended, &["did not take everything"]);
}

#[test]
fn who_speaks_no_tls_is_told_from_those_who_do() {
    let trust = Trust::new();
    let port = server(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    assert_told(&refused(port, &trust).succeed(), &["does not speak TLS", "http://"]);
}

#[test]
fn a_connection_that_breaks_is_made_anew() {
    let trust = Trust::new();
    let collector = Collector::start(|_, _| Answer::Accept);
    let first = End::start(collector.port(), &manner(trust.local()));
    let mut program = Program::new(&["budget", "6000"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("https://localhost:{}", first.port))
        .env("OTEL_EXPORTER_OTLP_CERTIFICATE", &trust.file);
    let mut child = program.start();
    while collector.requests().len() < 4 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was heard of");
        std::thread::yield_now();
    }
    first.kill();
    // Authority and certificate are renewed meanwhile.
    let renewed = Authority::new();
    write(trust.folder.path(), "authority.pem", &renewed.pem());
    let shows = renewed.sign(&["localhost"], Valid::Now);
    let _second = End::start_at(first.port, collector.port(), &manner(shows));
    let ended = program.end(child.wait_with_output().unwrap());
    assert!(ended.status.success(), "{}", ended.stderr);
    account(&ended, &collector.recording());
    let recording = ended.recording();
    assert_eq!(recording.dropped("otlp", "export_failed"), 0);
    assert!(recording.exported("otlp") > 0);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let trust = Trust::new();
    let folder = trust.folder.path();
    let [certificate, key] = trust.local().write(folder);
    let text = write(folder, "text", "not PEM at all");
    let another = write(folder, "another.key", &trust.local().key);
    let absent = folder.join("absent.pem").into_os_string().into_string().unwrap();
    for (ca, client, private, words) in [
        (&absent, "", "", ["OTEL_EXPORTER_OTLP_CERTIFICATE", "cannot be read"]),
        (&text, "", "", ["OTEL_EXPORTER_OTLP_CERTIFICATE", "no certificate"]),
        (&trust.file, certificate.as_str(), "", ["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "_CLIENT_KEY"]),
        (&trust.file, "", key.as_str(), ["OTEL_EXPORTER_OTLP_CLIENT_KEY", "_CLIENT_CERTIFICATE"]),
        (&trust.file, &certificate, &text, ["OTEL_EXPORTER_OTLP_CLIENT_KEY", "no private key"]),
        (&trust.file, &certificate, &another, ["OTEL_EXPORTER_OTLP_CLIENT_KEY", "cannot be shown"]),
    ] {
        let ended = refused(1, &trust)
            .env("OTEL_EXPORTER_OTLP_CERTIFICATE", ca)
            .env("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", client)
            .env("OTEL_EXPORTER_OTLP_CLIENT_KEY", private)
            .succeed();
        assert_one_line(&ended, &words);
        assert_one_line(&ended, &["nothing is sent"]);
        check::all(&ended.recording());
    }
}
