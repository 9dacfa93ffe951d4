//! Honest clients: every message is in the files as it was sent, whichever way it came, and is counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_model::{ReadOptions, Reader, Sink, Trace};
use stepscope_otlp::{Signal, detect};
use stepscope_server::{Limits, Receiver, Way};
use stepscope_testkit::folder::files_below;
use stepscope_testkit::wire::grpc_message;
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder};

use crate::client::{JSON, PROTOBUF, answer, call, connect, gzip, post, receiver, send};

fn run(format: Format) -> (Vec<Vec<u8>>, u64) {
    let options = ForestOptions { steps: 40, ..ForestOptions::default() };
    let (messages, truth) = Forest::new(options).messages(format);
    (messages, truth.spans)
}

fn is_metrics(message: &[u8]) -> bool {
    match detect(message).and_then(|found| found.signal) {
        Some(Signal::Metrics) => true,
        Some(Signal::Traces) => false,
        other => panic!("a generated message holds {other:?}"),
    }
}

/// The messages in the files, by the beginning of the files' names.
fn stored(folder: &TempFolder, ending: &str) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut stored = BTreeMap::<String, Vec<Vec<u8>>>::new();
    for path in files_below(folder.path()).expect("a folder that can be read") {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.ends_with(ending) {
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file that can be read");
        let messages = stored.entry(name.split('-').next().unwrap_or_default().to_owned()).or_default();
        if ending == ".jsonl" {
            messages.extend(
                bytes
                    .split_inclusive(|&byte| byte == b'\n')
                    .map(|line| line.strip_suffix(b"\n").expect("every line ends").to_vec()),
            );
            continue;
        }
        let mut rest = bytes.as_slice();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (message, after) = after.split_at(u32::from_be_bytes(*length) as usize);
            messages.push(message.to_vec());
            rest = after;
        }
    }
    stored
}

fn split(messages: Vec<Vec<u8>>) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut split = BTreeMap::<String, Vec<Vec<u8>>>::new();
    for message in messages {
        let name = if is_metrics(&message) { "metrics" } else { "traces" };
        split.entry(name.to_owned()).or_default().push(message);
    }
    split
}

#[derive(Default)]
struct Spans(u64);

impl Sink for Spans {
    fn trace(&mut self, trace: &Trace) {
        self.0 += trace.spans.len() as u64;
    }
}

/// The spans that our reader finds, and how many things it complains about.
fn read(folder: &TempFolder) -> (u64, usize) {
    let mut spans = Spans::default();
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_path(folder.path(), &mut spans).expect("a folder that can be read");
    let outcome = reader.finish(&mut spans);
    (spans.0, outcome.issues.len())
}

fn assert_taken(folder: &TempFolder, receiver: Receiver, way: Way, requests: u64, spans: u64) {
    let counts = receiver.stop();
    assert_eq!(counts.requests, BTreeMap::from([(way, requests)]));
    assert_eq!((counts.spans, counts.rejected, counts.refused), (spans, 0, 0), "{counts:?}");
    assert_eq!(read(folder), (spans, 0));
}

#[test]
fn protobuf_over_http_plain_and_compressed_on_one_connection() {
    let (folder, receiver) = receiver("http-protobuf", Limits::default());
    let (messages, spans) = run(Format::Proto);
    let mut stream = connect(receiver.address());
    for (number, message) in messages.iter().enumerate() {
        let path = if is_metrics(message) { "/v1/metrics" } else { "/v1/traces" };
        if number % 2 == 0 {
            send(&mut stream, path, &[("content-type", PROTOBUF)], message);
        } else {
            let headers = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
            send(&mut stream, path, &headers, &gzip(message));
        }
        let answer = answer(&mut stream);
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b""[..]));
        assert!(answer.head.contains("content-type: application/x-protobuf"), "{}", answer.head);
    }
    assert_eq!(receiver.counts().compressed, messages.len() as u64 / 2);
    assert_taken(&folder, receiver, Way::HttpProtobuf, messages.len() as u64, spans);
    assert_eq!(stored(&folder, ".otlp"), split(messages));
}

#[test]
fn json_is_stored_on_lines_of_its_own() {
    let (folder, receiver) = receiver("http-json", Limits::default());
    let (messages, spans) = run(Format::Json);
    for message in &messages {
        let path = if is_metrics(message) { "/v1/metrics" } else { "/v1/traces" };
        // As writers that like to be read by people have it.
        let pretty = [b"\n".as_slice(), message, b"\r\n\n"].concat();
        let answer =
            post(receiver.address(), path, &[("content-type", "Application/JSON; charset=utf-8")], &pretty);
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"{}"[..]));
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    }
    assert_taken(&folder, receiver, Way::HttpJson, messages.len() as u64, spans);
    let mut trimmed = stored(&folder, ".jsonl");
    trimmed.values_mut().flatten().for_each(|line| *line = line.trim_ascii().to_vec());
    assert_eq!(trimmed, split(messages));
}

#[test]
fn grpc_plain_and_compressed() {
    let (folder, receiver) = receiver("grpc", Limits::default());
    let (messages, spans) = run(Format::Proto);
    for (number, message) in messages.iter().enumerate() {
        let service = if is_metrics(message) { "metrics" } else { "trace" };
        let called = if number % 2 == 0 {
            call(receiver.address(), service, &[], grpc_message(0, message))
        } else {
            call(receiver.address(), service, &[("grpc-encoding", "gzip")], grpc_message(1, &gzip(message)))
        };
        assert_eq!((called.code, called.body.as_slice()), (0, &[0; 5][..]), "{called:?}");
    }
    assert_taken(&folder, receiver, Way::Grpc, messages.len() as u64, spans);
    assert_eq!(stored(&folder, ".otlp"), split(messages));
}

#[test]
fn empty_messages_are_fine_and_leave_nothing() {
    let (folder, receiver) = receiver("empty", Limits::default());
    for path in ["/v1/traces", "/v1/metrics", "/v1/logs"] {
        assert_eq!(post(receiver.address(), path, &[("content-type", PROTOBUF)], b"").status, 200);
        assert_eq!(post(receiver.address(), path, &[("content-type", JSON)], b"{}").status, 200);
    }
    for service in ["trace", "metrics", "logs"] {
        assert_eq!(call(receiver.address(), service, &[], grpc_message(0, b"")).code, 0);
    }
    assert_eq!(receiver.stop().taken(), 9);
    assert_eq!(files_below(folder.path()).expect("a folder").len(), 0);
}

#[test]
fn logs_are_kept_and_disturb_nobody() {
    let (folder, receiver) = receiver("logs", Limits::default());
    // A resource with one scope with one record: observed time and body "hi".
    let record = b"\x59\x01\x00\x00\x00\x00\x00\x00\x00\x2a\x04\x0a\x02hi";
    let scope = [&[0x12, record.len() as u8], &record[..]].concat();
    let resource = [&[0x12, scope.len() as u8], &scope[..]].concat();
    let message = [&[0x0a, resource.len() as u8], &resource[..]].concat();
    assert_eq!(post(receiver.address(), "/v1/logs", &[("content-type", PROTOBUF)], &message).status, 200);
    let json = br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"hi"}}]}]}]}"#;
    assert_eq!(post(receiver.address(), "/v1/logs", &[("content-type", JSON)], json).status, 200);
    assert_eq!(receiver.stop().log_messages, 2);
    assert_eq!(stored(&folder, ".otlp")["logs"], [message]);
    assert_eq!(stored(&folder, ".jsonl")["logs"], [json.to_vec()]);
    // Without a span anywhere, each file is named as what it is.
    assert_eq!(read(&folder), (0, 2));
}

#[test]
fn many_clients_at_once_lose_nothing() {
    let (folder, receiver) = receiver("many", Limits { file_bytes: 100_000, ..Limits::default() });
    let (messages, spans) = run(Format::Proto);
    let (address, messages) = (receiver.address(), Arc::new(messages));
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let messages = Arc::clone(&messages);
            let work = move || {
                for message in messages.iter().skip(client).step_by(8) {
                    let path = if is_metrics(message) { "/v1/metrics" } else { "/v1/traces" };
                    assert_eq!(post(address, path, &[("content-type", PROTOBUF)], message).status, 200);
                }
            };
            std::thread::Builder::new().name(format!("client {client}")).spawn(work).expect("a thread")
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().expect("no client fails"));
    assert_taken(&folder, receiver, Way::HttpProtobuf, messages.len() as u64, spans);
    let mut found = stored(&folder, ".otlp");
    let mut sent = split(Arc::unwrap_or_clone(messages));
    found.values_mut().chain(sent.values_mut()).for_each(|messages| messages.sort());
    assert!(found == sent, "every message is there, whatever the order");
}
