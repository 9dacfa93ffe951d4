//! Bytes as what a connection of HTTP/2 sends to the receiver: as frames, as the body of a call, or as its message.
#![no_main]

use std::cell::RefCell;

use stepscope_fuzz::{Conversations, Look};
use stepscope_otlp::proto;
use stepscope_testkit::wire::{grpc_message, http2_call, http2_preface};

const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
const GZIP: (&str, &str) = ("grpc-encoding", "gzip");

thread_local! {
    static RECEIVER: RefCell<Conversations> = RefCell::new(Conversations::new("fuzz-grpc"));
}

// The first byte says what is around the rest, the second how it is cut.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (Some((&around, rest)), true) = (bytes.split_first(), bytes.len() >= 2) else { return };
    // Smaller frames than these may end the connection.
    let (piece, body) = (usize::from(rest[0]) + 64, &rest[1..]);
    let call = match around % 8 {
        0 => http2_call(1, TRACES, &[], &grpc_message(0, body), piece),
        1 => http2_call(1, METRICS, &[], &grpc_message(0, body), piece),
        2 => http2_call(1, TRACES, &[GZIP], &grpc_message(1, body), piece),
        3 => http2_call(1, TRACES, &[], body, piece),
        4 => http2_call(1, METRICS, &[GZIP], body, piece),
        5 => http2_call(1, LOGS, &[("grpc-encoding", "snappy")], body, piece),
        // A sound call, and frames behind it.
        6 => [http2_call(1, TRACES, &[], &grpc_message(0, &[]), piece), body.to_vec()].concat(),
        _ => body.to_vec(),
    };
    let conversation = [http2_preface(), call].concat();
    let pieces = if around & 8 == 0 { conversation.len() } else { piece };
    let (answer, taken, refused) = RECEIVER.with_borrow_mut(|receiver| receiver.hold(&conversation, pieces));
    assert!(!answer.is_empty(), "the receiver's own settings at least");
    if around % 8 >= 6 {
        return;
    }
    assert_eq!(taken + refused, 1, "each call is taken or refused");
    let mut look = Look::default();
    match around % 8 {
        0 if taken == 1 => assert!(proto::decode_traces(body, &mut look).is_ok()),
        1 if taken == 1 => assert!(proto::decode_metrics(body, &mut look).is_ok()),
        _ => {}
    }
});
