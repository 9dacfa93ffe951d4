//! Clients that know no OTLP: HTTP/1.1 by hand on a socket, gRPC on hyper's HTTP/2 with frames made by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use stepscope_server::{Limits, Receiver};
use stepscope_testkit::TempFolder;

/// No answer takes longer than this on two busy cores.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) const PROTOBUF: &str = "application/x-protobuf";
/// Names and values of headers.
pub(crate) type Headers<'h> = &'h [(&'h str, &'h str)];

pub(crate) const JSON: &str = "application/json";

/// A receiver and its folder.
pub(crate) fn receiver(label: &str, limits: Limits) -> (TempFolder, Receiver) {
    let folder = TempFolder::new(label).expect("a folder");
    let receiver = Receiver::start(folder.path(), limits).expect("a receiver");
    (folder, receiver)
}

/// An answer of HTTP/1.1.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a timeout can be set");
    stream
}

/// Reads until the connection ends, whatever comes.
pub(crate) fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Reads one answer.
pub(crate) fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut byte).expect("an answer within the limit");
        assert!(read > 0, "the connection ended before the answer: {:?}", String::from_utf8_lossy(&bytes));
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).expect("headers are text").to_ascii_lowercase();
    let status = head.get(9..12).and_then(|code| code.parse().ok()).expect("a status");
    let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; len.map_or(0, |len| len.parse().expect("a length"))];
    stream.read_exact(&mut body).expect("the whole body");
    Answer { status, head, body }
}

/// Sends one request on a connection of its own.
pub(crate) fn post(address: SocketAddr, path: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
    let mut stream = connect(address);
    send(&mut stream, path, headers, body);
    answer(&mut stream)
}

/// Sends one request.
pub(crate) fn send(stream: &mut TcpStream, path: &str, headers: Headers<'_>, body: &[u8]) {
    let mut request = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).expect("headers are taken");
    // Who is refused early may be cut off.
    let _ = stream.write_all(body);
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) body: Vec<u8>,
}

/// Calls the `Export` of a service, `trace`, `metrics` or `logs`, with a body made by hand.
pub(crate) fn call(address: SocketAddr, service: &str, headers: Headers<'_>, body: Vec<u8>) -> Called {
    let name = match service {
        "trace" => "TraceService",
        "metrics" => "MetricsService",
        _ => "LogsService",
    };
    let path = format!("/opentelemetry.proto.collector.{service}.v1.{name}/Export");
    call_path(address, &path, headers, body)
}

/// Calls whatever is at `path`.
pub(crate) fn call_path(address: SocketAddr, path: &str, headers: Headers<'_>, body: Vec<u8>) -> Called {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let work = async {
            let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                    .await
                    .expect("it speaks HTTP/2");
            tokio::spawn(connection);
            let mut request = Request::post(format!("http://{address}{path}"))
                .header("content-type", "application/grpc")
                .header("te", "trailers");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(Full::new(Bytes::from(body))).expect("a request");
            let response = sender.send_request(request).await.expect("an answer");
            assert_eq!(response.status(), 200, "gRPC speaks of errors in its own words");
            let head = response.headers().clone();
            let collected = response.into_body().collect().await.expect("the whole answer");
            let trailers = collected.trailers().cloned().unwrap_or_default();
            outcome(&head, &trailers, collected.to_bytes().to_vec())
        };
        tokio::time::timeout(LIMIT, work).await.expect("an answer within the limit")
    })
}

fn outcome(head: &HeaderMap, trailers: &HeaderMap, body: Vec<u8>) -> Called {
    let find = |name| trailers.get(name).or_else(|| head.get(name)).and_then(|value| value.to_str().ok());
    let code = find("grpc-status").and_then(|code| code.parse().ok()).expect("a status");
    Called { code, message: find("grpc-message").unwrap_or_default().to_owned(), body }
}
