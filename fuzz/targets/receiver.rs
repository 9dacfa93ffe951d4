//! Bytes as what a connection of HTTP/1.1 sends to the receiver: as they are, or as the body of a request.
#![no_main]

use std::cell::RefCell;

use stepscope_fuzz::{Conversations, Look};
use stepscope_otlp::{json, proto};
use stepscope_testkit::wire::{http1_chunked, http1_post};

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

thread_local! {
    static RECEIVER: RefCell<Conversations> = RefCell::new(Conversations::new("fuzz-receiver"));
}

// The first byte says what is around the rest, the second how it is cut.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (Some((&around, rest)), true) = (bytes.split_first(), bytes.len() >= 2) else { return };
    let (piece, body) = (usize::from(rest[0]) + 1, &rest[1..]);
    let request = match around % 8 {
        0 => http1_post("/v1/traces", &[PROTOBUF], body),
        1 => http1_post("/v1/metrics", &[PROTOBUF], body),
        2 => http1_post("/v1/traces", &[JSON], body),
        3 => http1_post("/v1/logs", &[JSON], body),
        4 => http1_post("/v1/traces", &[PROTOBUF, GZIP], body),
        5 => http1_chunked("/v1/metrics", &[JSON, GZIP], body, piece),
        6 => http1_chunked("/v1/logs", &[PROTOBUF], body, piece),
        _ => body.to_vec(),
    };
    let (answer, taken, refused) = RECEIVER.with_borrow_mut(|receiver| receiver.hold(&request, piece));
    if around % 8 == 7 {
        return;
    }
    assert_eq!(taken + refused, 1, "each request is taken or refused: {}", String::from_utf8_lossy(&answer));
    let is_taken = answer.starts_with(b"HTTP/1.1 200 OK\r\n");
    assert_eq!(is_taken, taken == 1, "and the client is told which: {}", String::from_utf8_lossy(&answer));
    assert!(is_taken || answer.starts_with(b"HTTP/1.1 4") || answer.starts_with(b"HTTP/1.1 503"));
    // What is taken, readers can read.
    let mut look = Look::default();
    match around % 8 {
        0 if is_taken => assert!(proto::decode_traces(body, &mut look).is_ok()),
        1 if is_taken => assert!(proto::decode_metrics(body, &mut look).is_ok()),
        2 if is_taken => assert!(json::decode_traces(body, &mut look).is_ok()),
        _ => {}
    }
});
