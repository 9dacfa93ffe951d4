//! Conversations in memory: how the bytes of a connection are cut changes nothing, and whatever they are, each request
//! is answered or ends with its connection, and nothing of it is held.

use proptest::collection::vec;
use proptest::prelude::*;
use stepscope_server::{InMemory, Limits, Way};
use stepscope_testkit::wire::{grpc_message, http1_chunked, http1_post, http2_call, http2_preface};
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder};

use crate::client::{JSON, PROTOBUF, gzip};

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// Bounds that a few hundred bytes reach.
fn small() -> Limits {
    Limits { message_bytes: 2_000, in_flight_bytes: 20_000, stored_bytes: 1 << 20, ..Limits::default() }
}

fn receiver() -> (TempFolder, InMemory) {
    let folder = TempFolder::new("memory").expect("a folder");
    let receiver = InMemory::new(folder.path(), Limits::default()).expect("a receiver");
    (folder, receiver)
}

/// The first message of a generated run, which is one of traces, and its spans.
fn message() -> (Vec<u8>, u64) {
    let options = ForestOptions { steps: 3, ..ForestOptions::default() };
    let (messages, _) = Forest::new(options).messages(Format::Proto);
    let message = messages.into_iter().next().expect("a run has messages");
    let mut spans = 0;
    let request = stepscope_otlp::proto::decode_traces(&message, &mut Spans(&mut spans));
    assert!(request.is_ok() && spans > 0, "{request:?}");
    (message, spans)
}

struct Spans<'s>(&'s mut u64);

impl stepscope_otlp::Visitor for Spans<'_> {
    fn span(&mut self, _: &stepscope_otlp::SpanHead<'_>) {
        *self.0 += 1;
    }
}

/// Three requests of HTTP/1.1 on a connection, or three calls of HTTP/2.
fn conversation(message: &[u8], is_grpc: bool) -> Vec<u8> {
    if !is_grpc {
        let zipped = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
        return [
            http1_post("/v1/traces", &[("content-type", PROTOBUF)], message),
            http1_chunked("/v1/traces", &zipped, &gzip(message), 100),
            http1_post("/v1/metrics", &[("content-type", JSON)], b"{}"),
        ]
        .concat();
    }
    [
        http2_preface(),
        http2_call(1, EXPORT, &[], &grpc_message(0, message), 1_000),
        http2_call(3, EXPORT, &[("grpc-encoding", "gzip")], &grpc_message(1, &gzip(message)), 100),
        http2_call(5, EXPORT, &[], &grpc_message(0, &[]), 100),
    ]
    .concat()
}

#[test]
fn a_conversation_is_taken_as_from_a_socket() {
    let (message, spans) = message();
    for is_grpc in [false, true] {
        let (_folder, receiver) = receiver();
        let answer = receiver.converse(&[&conversation(&message, is_grpc)]);
        let counts = receiver.counts();
        assert_eq!((counts.taken(), counts.refused, counts.compressed), (3, 0, 1), "{counts:?}");
        assert_eq!(counts.spans, 2 * spans, "{counts:?}");
        assert_eq!(counts.requests.contains_key(&Way::Grpc), is_grpc);
        assert_eq!((receiver.in_flight(), receiver.held_bytes()), (0, 0));
        let text = String::from_utf8_lossy(&answer);
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), if is_grpc { 0 } else { 3 }, "{text}");
    }
}

/// HTTP/2 lets a client pay nine bytes of frame for one of message; the connection ends before that adds up.
#[test]
fn a_flood_of_tiny_frames_ends_the_connection() {
    let (_folder, receiver) = receiver();
    let call = http2_call(1, EXPORT, &[], &grpc_message(0, &message().0), 1);
    let answer = receiver.converse(&[&http2_preface(), &call]);
    assert!(String::from_utf8_lossy(&answer).contains("too_many_data_frames"), "{answer:?}");
    assert_eq!((receiver.counts().taken(), receiver.in_flight(), receiver.held_bytes()), (0, 0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing(is_grpc: bool, cuts in vec(any::<prop::sample::Index>(), 0..40)) {
        let (message, spans) = message();
        let bytes = conversation(&message, is_grpc);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        let (_folder, receiver) = receiver();
        let answer = receiver.converse(&pieces);
        let counts = receiver.counts();
        prop_assert_eq!((counts.taken(), counts.refused, counts.spans), (3, 0, 2 * spans));
        prop_assert!(!answer.is_empty());
    }

    #[test]
    fn damage_is_refused_and_nothing_is_held(
        is_grpc: bool,
        cut: prop::sample::Index,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let (message, _) = message();
        let mut bytes = conversation(&message, is_grpc);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()));
        let folder = TempFolder::new("memory").expect("a folder");
        let receiver = InMemory::new(folder.path(), small()).expect("a receiver");
        let _ = receiver.converse(&[&bytes]);
        let counts = receiver.counts();
        prop_assert!(counts.taken() + counts.refused <= 3, "{:?}", counts);
        prop_assert_eq!((receiver.in_flight(), receiver.held_bytes()), (0, 0));
    }
}
