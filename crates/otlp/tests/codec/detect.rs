//! Telling messages apart.

use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use proptest::prelude::*;
use prost::Message;
use stepscope_otlp::{Detected, Encoding, Signal, detect, json, proto};

use crate::common::to_visitor;
use crate::golden;

fn found(encoding: Encoding, signal: impl Into<Option<Signal>>) -> Option<Detected> {
    Some(Detected { encoding, signal: signal.into() })
}

/// A log record of `time_unix_nano`, `severity_number`, `body` in its frame, by hand: the log types are not
/// among the features tested with.
fn logs() -> Vec<u8> {
    let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8][..], bytes].concat();
    let record =
        [&b"\x09\x01\x02\x03\x04\x05\x06\x07\x18\x10\x09"[..], &field(0x2a, b"\x0a\x05hello")].concat();
    field(0x0a, &[field(0x0a, b""), field(0x12, &field(0x12, &record))].concat())
}

#[test]
fn messages_of_every_signal() {
    let (traces, metrics) = (golden::traces().encode_to_vec(), golden::metrics().encode_to_vec());
    assert_eq!(detect(&traces), found(Encoding::Proto, Signal::Traces));
    assert_eq!(detect(&metrics), found(Encoding::Proto, Signal::Metrics));
    assert_eq!(detect(&logs()), found(Encoding::Proto, Signal::Logs));
    assert!(proto::validate(&logs(), Signal::Logs));
    assert!(!proto::validate(&logs(), Signal::Traces) && !proto::validate(&logs(), Signal::Metrics));
    assert!(!proto::validate(&traces, Signal::Logs) && !proto::validate(&traces, Signal::Metrics));
    assert!(!proto::validate(&metrics, Signal::Logs) && !proto::validate(&metrics, Signal::Traces));
    for (text, signal) in [
        ("{\"resourceSpans\":[]}", Signal::Traces),
        (" \n{ \"resource_spans\" : [ {", Signal::Traces),
        ("\u{feff}{\"resourceMetrics\":[{\"resource\":{", Signal::Metrics),
        ("{\"other\":{\"a\":[1]},\"resourceLogs\":[]}", Signal::Logs),
    ] {
        assert_eq!(detect(text.as_bytes()), found(Encoding::Json, signal), "{text}");
    }
}

#[test]
fn a_beginning_is_enough() {
    let mut text = json::Encoder::traces();
    to_visitor::traces(&golden::traces(), &mut text);
    assert_eq!(detect(&text.finish()[..40]), found(Encoding::Json, Signal::Traces));
    let traces = golden::traces().encode_to_vec();
    // The first span ends well before half of the message.
    assert_eq!(detect(&traces[..traces.len() / 2]), found(Encoding::Proto, Signal::Traces));
}

#[test]
fn messages_without_items() {
    let resource = trace::TracesData {
        resource_spans: vec![trace::ResourceSpans {
            resource: Some(Resource { dropped_attributes_count: 3, ..Resource::default() }),
            scope_spans: vec![trace::ScopeSpans::default()],
            schema_url: "s".into(),
        }],
    };
    assert_eq!(detect(&resource.encode_to_vec()), found(Encoding::Proto, None));
    assert_eq!(detect(b"\x0a\x00"), found(Encoding::Proto, None));
    assert_eq!(detect(b" {} \n"), found(Encoding::Json, None));
}

#[test]
fn other_files_are_none() {
    for bytes in [
        &b""[..],
        b"\n",
        b"\n\n\n",
        b"\x0a",
        b"\x0a\x02",
        b"hello\n",
        b"[]",
        b"{\"data\":[{\"traceID\":\"1\"}]}",
        b"{\"traceEvents\":[]}",
        b"{\"resourceSpans\":1}",
        b"{",
        b"\x28\xb5\x2f\xfd\x04\x00",
        b"\x1f\x8b\x08\x00",
        b"\x00\x00\x00\x05\x0a\x03",
        b"\x89PNG\r\n\x1a\n",
        // A span without an id, and an item that is no signal's.
        b"\x0a\x0d\x12\x0b\x12\x09\x39\x01\x02\x03\x04\x05\x06\x07\x08",
        b"\x0a\x06\x12\x04\x12\x02\x08\x01",
    ] {
        assert_eq!(detect(bytes), None, "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn random_bytes_are_none(mut bytes in prop::collection::vec(any::<u8>(), 20..200)) {
        prop_assert_eq!(detect(&bytes), None);
        bytes[0] = 0x0a;
        prop_assert_eq!(detect(&bytes).and_then(|detected| detected.signal), None);
    }
}
