//! Damaged input: never a panic, never an endless loop, and everything whole before the damage is there.

use opentelemetry_proto::tonic::trace::v1 as trace;
use proptest::prelude::*;
use prost::Message;
use stepscope_otlp::{DecodeError, DecodeErrorKind, DecodeStats, Signal, Visitor, detect, json, proto};

use crate::common::generate::{self, Doubles};
use crate::common::{Metrics, Traces, from_visitor, to_visitor};
use crate::golden;

/// Every decoder over the same bytes; visitors check the order of calls.
fn decode_all(bytes: &[u8]) {
    let mut traces = Traces::default();
    let results = [
        proto::decode_traces(bytes, &mut traces),
        json::decode_traces(bytes, &mut traces),
        proto::decode_metrics(bytes, &mut Metrics::default()),
        json::decode_metrics(bytes, &mut Metrics::default()),
    ];
    traces.assert_settled();
    let at = results[0].as_ref().map_or_else(DecodeError::offset, |_| bytes.len() / 2);
    if let Some(behind) = proto::behind(bytes, at) {
        let mut whole = Traces::default();
        assert!(proto::decode_traces(&behind.message, &mut whole).is_ok_and(|stats| stats.items > 0));
        whole.assert_settled();
    }
    for error in results.into_iter().filter_map(Result::err) {
        assert!(error.offset() <= bytes.len(), "{error} lies in {} bytes", bytes.len());
        assert!(
            !error.to_string().is_empty()
                && error.is_truncated() == (error.kind() == DecodeErrorKind::Truncated)
        );
    }
    let signals = [Signal::Traces, Signal::Metrics, Signal::Logs];
    let valid = signals.map(|signal| proto::validate(bytes, signal));
    if valid[0] {
        assert!(proto::decode_traces(bytes, &mut Traces::default()).is_ok(), "valid is decodable");
    }
    if valid[1] {
        assert!(proto::decode_metrics(bytes, &mut Metrics::default()).is_ok(), "valid is decodable");
    }
    let _ = (detect(bytes), proto::decode_export_response(bytes), proto::decode_retry_delay(bytes));
}

fn json_of(data: &trace::TracesData) -> Vec<u8> {
    let mut encoder = json::Encoder::traces();
    to_visitor::traces(data, &mut encoder);
    encoder.take()
}

proptest! {
    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        decode_all(&bytes);
    }

    #[test]
    fn bytes_that_look_like_protobuf(
        bytes in prop::collection::vec(prop::sample::select(vec![0x0a_u8, 0x12, 0x1a, 0x2a, 0x32, 0x4a, 0x09, 0x80, 0, 1, 2, 3, 5, 8]), 0..100),
    ) {
        decode_all(&bytes);
    }

    #[test]
    fn bytes_that_look_like_json(
        parts in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\\", " ", "1", "-", "e", "null", "true", "\"resourceSpans\":[",
            "\"scopeSpans\":[", "\"spans\":[", "\"attributes\":[", "\"key\":\"k\"", "\"value\":", "{\"intValue\":\"1\"}",
            "\"name\":\"n\"", "\"schemaUrl\":\"u\"", "\"resource\":{", "\"arrayValue\":{\"values\":[", "\\u00", "\u{e9}",
        ]), 0..60),
        open: bool,
    ) {
        let text = parts.concat();
        decode_all(text.as_bytes());
        if open {
            decode_all(format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{{text}").as_bytes());
        }
    }

    #[test]
    fn cut_and_flipped_messages(
        data in generate::traces(Doubles::All),
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 0..4),
    ) {
        for mut bytes in [data.encode_to_vec(), json_of(&data)] {
            if bytes.is_empty() {
                continue;
            }
            decode_all(&bytes[..cut.index(bytes.len())]);
            for (at, bit) in &flips {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            decode_all(&bytes);
        }
    }

    #[test]
    fn cut_and_flipped_metrics(
        data in generate::metrics(Doubles::All),
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 0..4),
    ) {
        let mut text = json::Encoder::metrics();
        to_visitor::metrics(&data, &mut text);
        for mut bytes in [data.encode_to_vec(), text.take()] {
            if bytes.is_empty() {
                continue;
            }
            decode_all(&bytes[..cut.index(bytes.len())]);
            for (at, bit) in &flips {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            decode_all(&bytes);
        }
    }
}

/// A field of length and bytes.
fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    [&out, bytes].concat()
}

/// The end of every span of the golden message, found by looking for the bytes that prost writes for it.
fn span_ends(message: &[u8]) -> Vec<usize> {
    let data = golden::traces();
    let mut from = 0;
    let end = |span: &&trace::Span| {
        let field = field(0x12, &span.encode_to_vec());
        let at = message[from..].windows(field.len()).position(|window| window == field).expect("the span");
        from += at + field.len();
        from
    };
    from_visitor::spans(&data).iter().map(end).collect()
}

#[test]
fn a_message_cut_anywhere_gives_the_spans_that_are_whole() {
    let message = golden::traces().encode_to_vec();
    let ends = span_ends(&message);
    assert_eq!(ends.len(), 5);
    let all = golden::traces();
    let all = from_visitor::spans(&all);
    for cut in 0..=message.len() {
        let mut read = Traces::default();
        let result = proto::decode_traces(&message[..cut], &mut read);
        read.assert_settled();
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(read.spans(), all[..whole], "cut at {cut}");
        assert!(read.abandoned <= 1);
        match result {
            // The last resource is empty, two bytes: without it the message is whole too.
            Ok(_) => assert!([0, message.len() - 2, message.len()].contains(&cut), "cut at {cut}"),
            Err(error) => assert!(error.is_truncated() && error.offset() == cut, "{error}, cut at {cut}"),
        }
        if whole > 0 {
            assert_eq!(read.data.resource_spans[0].resource, golden::traces().resource_spans[0].resource);
        }
    }
}

#[test]
fn json_cut_anywhere_gives_the_spans_that_are_whole() {
    let message = json_of(&golden::traces());
    // A span ends where the number of spans read grows, which happens at a closing brace only; how many there
    // are before each byte is counted from the marks that only spans have.
    let all = golden::traces();
    let all = from_visitor::spans(&all);
    let mut seen = 0;
    for cut in 0..message.len() {
        let mut read = Traces::default();
        let error = json::decode_traces(&message[..cut], &mut read).expect_err("half a message");
        read.assert_settled();
        assert!(error.is_truncated() && error.offset() == cut, "{error}, cut at {cut}");
        let spans = read.spans();
        assert_eq!(spans, all[..spans.len()], "cut at {cut}");
        if spans.len() != seen {
            assert_eq!((spans.len(), message[cut - 1]), (seen + 1, b'}'), "cut at {cut}");
            assert_eq!(read.abandoned, 0);
            seen += 1;
        }
    }
    assert_eq!(seen, all.len());
}

#[test]
fn metrics_cut_anywhere_give_what_is_whole() {
    let data = golden::metrics();
    let mut text = json::Encoder::metrics();
    to_visitor::metrics(&data, &mut text);
    let whole = &data.resource_metrics[0].scope_metrics[0].metrics;
    type Decode = fn(&[u8], &mut Metrics) -> Result<DecodeStats, DecodeError>;
    let cases: [(Vec<u8>, Decode); 2] = [
        (data.encode_to_vec(), |bytes, v| proto::decode_metrics(bytes, v)),
        (text.take(), |bytes, v| json::decode_metrics(bytes, v)),
    ];
    for (message, decode) in cases {
        let mut most = 0;
        for cut in 1..message.len() {
            let mut read = Metrics::default();
            let error = decode(&message[..cut], &mut read).expect_err("half a message");
            assert!(error.is_truncated(), "{error}, cut at {cut}");
            read.assert_settled();
            let metrics: Vec<_> = read
                .data
                .resource_metrics
                .iter()
                .flat_map(|r| &r.scope_metrics)
                .flat_map(|s| &s.metrics)
                .collect();
            assert!(metrics.iter().zip(whole).all(|(read, whole)| *read == whole), "cut at {cut}");
            assert!(metrics.len() >= most, "more bytes never give less");
            most = metrics.len();
        }
        assert_eq!(most, whole.len());
    }
}

/// One span inside a scope inside a resource.
fn framed(span: &[u8]) -> Vec<u8> {
    field(0x0a, &field(0x12, &field(0x12, span)))
}

fn decode_span(span: &[u8]) -> (Result<DecodeStats, DecodeError>, Traces) {
    let mut read = Traces::default();
    let result = proto::decode_traces(&framed(span), &mut read);
    read.assert_settled();
    (result, read)
}

#[test]
fn protobuf_damage_is_told_with_its_place() {
    for (span, offset, kind, reason) in [
        (&b"\x28\x01"[..], 7, DecodeErrorKind::Type, "field 5 of span has the wrong wire type"),
        (b"\x38\x01", 7, DecodeErrorKind::Type, "field 7 of span has the wrong wire type"),
        (b"\x13\x14", 7, DecodeErrorKind::Type, "field 2 of span has the wrong wire type"),
        (b"\x9b\x06\x9c\x06", 8, DecodeErrorKind::Malformed, "groups are not part of OTLP"),
        (b"\x9e\x06", 8, DecodeErrorKind::Malformed, "a wire type does not exist"),
        (b"\x00\x01", 7, DecodeErrorKind::Malformed, "a field number is zero"),
        (b"\x2a\x05ab", 8, DecodeErrorKind::Malformed, "a field reaches beyond its message"),
        (
            b"\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
            7,
            DecodeErrorKind::Malformed,
            "a varint overflows 64 bits",
        ),
        (
            b"\x30\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00",
            7,
            DecodeErrorKind::Malformed,
            "a varint overflows 64 bits",
        ),
        (b"\xff\xff\xff\xff\xff\x01", 6, DecodeErrorKind::Malformed, "a field number is out of range"),
        (b"\x39\x01\x02", 7, DecodeErrorKind::Malformed, "a field reaches beyond its message"),
    ] {
        let (result, read) = decode_span(span);
        let error = result.expect_err("damage");
        assert_eq!((error.offset(), error.kind()), (offset, kind), "{error} in {span:?}");
        assert!(error.to_string().starts_with(reason), "{error} in {span:?}");
        assert_eq!((read.spans().len(), read.abandoned), (0, 1));
    }
}

#[test]
fn fields_of_the_future_are_skipped_and_counted() {
    let (result, read) = decode_span(b"\x2a\x01n\x88\x06\x05\x91\x06\x01\x02\x03\x04\x05\x06\x07\x08\x9a\x06\x02xy\xa5\x06\x01\x02\x03\x04\x30\x02");
    assert_eq!(result.expect("a span").unknown_fields, 4);
    assert_eq!((read.spans()[0].name.as_str(), read.spans()[0].kind), ("n", 2));
}

#[test]
fn scalars_given_twice_have_the_last_value_and_messages_are_merged() {
    // Two names, two statuses each with one field, an attribute whose array comes in two pieces.
    let span = b"\x2a\x01a\x2a\x01b\x7a\x03\x12\x01m\x7a\x02\x18\x02\x4a\x15\x0a\x01k\x12\x06\x2a\x04\x0a\x02\x18\x01\x12\x08\x2a\x06\x0a\x04\x0a\x02xy";
    let (result, read) = decode_span(span);
    result.expect("a span");
    let theirs = trace::TracesData::decode(&framed(span)[..]).expect("prost reads it");
    assert_eq!(
        read.spans()[0].attributes[0].value,
        theirs.resource_spans[0].scope_spans[0].spans[0].attributes[0].value
    );
    assert_eq!(read.data.resource_spans[0].scope_spans, theirs.resource_spans[0].scope_spans);
    assert_eq!(read.spans()[0].name, "b");
}

#[test]
fn headers_may_follow_their_items() {
    // Of a scope with the span "n": schema URL "s", scope {name "x"}; then of the resource: its attribute.
    let scope = b"\x12\x03\x2a\x01n\x1a\x01s\x0a\x03\x0a\x01x";
    let resource =
        [&[0x12, scope.len() as u8][..], scope, b"\x0a\x0b\x0a\x09\x0a\x01k\x12\x04\x0a\x02vw\x1a\x01r"]
            .concat();
    let message = [&[0x0a, resource.len() as u8][..], &resource].concat();
    let mut read = Traces::default();
    proto::decode_traces(&message, &mut read).expect("a whole message");
    assert_eq!(read.data, trace::TracesData::decode(&message[..]).expect("prost reads it"));
    assert_eq!(read.data.resource_spans[0].schema_url, "r");
}

#[test]
fn damage_in_a_header_is_told_and_does_not_cost_the_items() {
    let header = field(0x0a, &field(0x0a, b"\x0a\x01k\x12\x01\xff"));
    let items = field(0x12, &field(0x12, b"\x2a\x01n"));
    for resource in [[&header[..], &items].concat(), [&items[..], &header].concat()] {
        let message = field(0x0a, &resource);
        let mut read = Traces::default();
        let error = proto::decode_traces(&message, &mut read).expect_err("damage");
        read.assert_settled();
        assert_eq!((error.kind(), read.spans().len()), (DecodeErrorKind::Malformed, 1), "{error}");
    }
}

#[test]
fn text_that_is_not_utf8_is_replaced_and_counted() {
    let (result, read) = decode_span(b"\x2a\x03a\xffb\x4a\x0b\x0a\x02\xc3(\x12\x05\x0a\x03x\xe9y");
    assert_eq!(result.expect("a span").invalid_utf8, 3);
    assert_eq!(read.spans()[0].name, "a\u{fffd}b");
    assert!(!proto::validate(&framed(b"\x2a\x03a\xffb"), Signal::Traces));

    let mut read = Traces::default();
    let text = b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"a\xffb\",\"traceState\":\"fine\"}]}]}]}";
    let stats = json::decode_traces(text, &mut read).expect("a span");
    assert_eq!((stats.invalid_utf8, read.spans()[0].name.as_str()), (1, "a\u{fffd}b"));
    assert_eq!(read.spans()[0].trace_state, "fine");
}

/// `depth` arrays around an integer.
fn nested_proto(depth: usize) -> Vec<u8> {
    let value = (0..depth).fold(vec![0x18, 1], |inner, _| field(0x2a, &field(0x0a, &inner)));
    let attribute = [&b"\x0a\x01k"[..], &field(0x12, &value)].concat();
    field(0x0a, &field(0x12, &field(0x12, &field(0x4a, &attribute))))
}

fn nested_json(depth: usize) -> Vec<u8> {
    let value = (0..depth).fold(r#"{"intValue":1}"#.to_owned(), |inner, _| {
        format!(r#"{{"arrayValue":{{"values":[{inner}]}}}}"#)
    });
    let attribute = format!(r#"{{"key":"k","value":{value}}}"#);
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"attributes":[{attribute}]}}]}}]}}]}}"#).into()
}

#[test]
fn nesting_is_limited() {
    for depth in [1, 31, 32] {
        proto::decode_traces(&nested_proto(depth), &mut Traces::default()).expect("within the limit");
        json::decode_traces(&nested_json(depth), &mut Traces::default()).expect("within the limit");
    }
    for depth in [33, 100, 20_000] {
        let limited = |result: Result<DecodeStats, DecodeError>| {
            assert_eq!(result.expect_err("too deep").kind(), DecodeErrorKind::Limit, "{depth}");
        };
        limited(proto::decode_traces(&nested_proto(depth), &mut Traces::default()));
        limited(json::decode_traces(&nested_json(depth), &mut Traces::default()));
        assert!(depth < 100 || !proto::validate(&nested_proto(depth), Signal::Traces));
    }
    // Brackets without end in a member that is skipped.
    let skipped = format!("{{\"unknown\":{}", "[{\"a\":".repeat(500_000));
    assert!(json::decode_traces(skipped.as_bytes(), &mut Traces::default()).expect_err("cut").is_truncated());
}

#[test]
fn a_flood_of_values_in_one_attribute_is_refused() {
    let flood = |count: usize| {
        let list = field(0x2a, &b"\x0a\x00".repeat(count));
        field(0x0a, &field(0x12, &field(0x12, &field(0x4a, &field(0x12, &list)))))
    };
    proto::decode_traces(&flood(1000), &mut Traces::default()).expect("a long list");
    let error = proto::decode_traces(&flood(1 << 21), &mut Traces::default()).expect_err("a flood");
    assert_eq!(error.kind(), DecodeErrorKind::Limit);
}

/// A visitor that counts nothing: the default methods take everything.
struct Nobody;
impl Visitor for Nobody {}

#[test]
fn a_decoder_is_good_again_after_damage() {
    let message = golden::traces().encode_to_vec();
    let text = json_of(&golden::traces());
    let (mut binary, mut json) = (proto::Decoder::new(), json::Decoder::new());
    binary.decode_traces(&message[..200], &mut Nobody).expect_err("half a message");
    json.decode_traces(&text[..400], &mut Nobody).expect_err("half a message");
    let mut read = Traces::default();
    binary.decode_traces(&message, &mut read).expect("a whole message");
    assert_eq!(read.data, golden::traces());
    let mut read = Traces::default();
    json.decode_traces(&text, &mut read).expect("a whole message");
    assert_eq!(read.data, golden::traces());
}
