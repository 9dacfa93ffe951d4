//! What is made ready once, and spans of the usual kind: the bytes that prost writes, at every length at which another
//! way of writing begins, and the same JSON as from attributes one by one.

use opentelemetry_proto::tonic::common::v1::any_value::Value as ProstValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use proptest::prelude::*;
use prost::Message;
use stepscope_otlp::{
    Constants, Key, ResourceHead, ScopeHead, SpanHead, SpanKind, StatusCode, Value, Visitor, json, proto,
};

/// A text that is as good as a constant; tests are short.
fn leaked(text: String) -> &'static str {
    text.leak()
}

fn key_value(key: &str, value: ProstValue) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), key_strindex: 0 }
}

/// A message with these spans, as prost writes it.
fn expected(spans: Vec<Span>) -> Vec<u8> {
    let scope = Some(InstrumentationScope { name: "scope".into(), ..InstrumentationScope::default() });
    let scope_spans = vec![ScopeSpans { scope, spans, schema_url: String::new() }];
    TracesData { resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }] }
        .encode_to_vec()
}

fn begin(visitor: &mut impl Visitor) {
    visitor.resource(&ResourceHead::default());
    visitor.scope(&ScopeHead { name: "scope", ..ScopeHead::default() });
}

fn head(span: &Span) -> SpanHead<'_> {
    let (status_message, status) =
        span.status.as_ref().map_or(("", 0), |status| (&status.message, status.code));
    SpanHead {
        trace_id: &span.trace_id,
        span_id: &span.span_id,
        parent_span_id: &span.parent_span_id,
        flags: span.flags,
        trace_state: &span.trace_state,
        name: &span.name,
        kind: SpanKind(span.kind),
        start_unix_ns: span.start_time_unix_nano,
        end_unix_ns: span.end_time_unix_nano,
        status: StatusCode(status),
        status_message,
        dropped_attributes_count: span.dropped_attributes_count,
        dropped_events_count: span.dropped_events_count,
        dropped_links_count: span.dropped_links_count,
    }
}

/// What nearly every span is like.
fn usual() -> Span {
    Span {
        trace_id: (1..=16).collect(),
        span_id: (21..=28).collect(),
        parent_span_id: (31..=38).collect(),
        name: "forward".into(),
        kind: 1,
        start_time_unix_nano: 1_753_000_000_123_456_789,
        end_time_unix_nano: 1_753_000_000_123_999_999,
        flags: 0x103,
        ..Span::default()
    }
}

#[test]
fn prepared_names_change_nothing() {
    let ints = [0, 1, 127, 128, 16_383, 16_384, i64::from(u32::MAX), (1 << 56) - 1, 1 << 56, i64::MAX];
    let ints = ints.into_iter().flat_map(|int| [int, -int, i64::MIN]);
    let mut values: Vec<ProstValue> = ints.map(ProstValue::IntValue).collect();
    values.extend([0.0, -0.5, f64::MAX, f64::INFINITY].map(ProstValue::DoubleValue));
    values.extend([true, false].map(ProstValue::BoolValue));
    let text = |len: usize| ProstValue::StringValue("é\"\\\n".chars().cycle().take(len).collect());
    values.extend((0..70).chain([126, 127, 128, 300, 20_000]).map(text));
    values.push(ProstValue::BytesValue(vec![0, 255]));
    for key_len in (0..70).chain([127, 128, 300]) {
        let key = Key::new(leaked("k".repeat(key_len)));
        let (mut encoder, mut prepared, mut plain) =
            (proto::Encoder::traces(), json::Encoder::traces(), json::Encoder::traces());
        begin(&mut encoder);
        begin(&mut prepared);
        begin(&mut plain);
        for value in &values {
            let value = match value {
                ProstValue::IntValue(value) => Value::Int(*value),
                ProstValue::DoubleValue(value) => Value::Double(*value),
                ProstValue::BoolValue(value) => Value::Bool(*value),
                ProstValue::StringValue(value) => Value::Str(value),
                ProstValue::BytesValue(value) => Value::Bytes(value),
                _ => Value::Empty,
            };
            encoder.prepared_attribute(&key, value);
            prepared.prepared_attribute(&key, value);
            plain.span_attribute(key.text(), value);
        }
        let attributes = values.iter().map(|value| key_value(key.text(), value.clone())).collect();
        let span = Span { attributes, ..usual() };
        encoder.span(&head(&span));
        prepared.span(&head(&span));
        plain.span(&head(&span));
        assert!(encoder.finish() == expected(vec![span]), "a key of {key_len} bytes");
        assert!(prepared.finish() == plain.finish(), "a key of {key_len} bytes");
    }
}

#[test]
fn constants_are_their_attributes() {
    let mut constants = Constants::default();
    let (mut encoder, mut prepared, mut plain) =
        (proto::Encoder::traces(), json::Encoder::traces(), json::Encoder::traces());
    begin(&mut encoder);
    begin(&mut prepared);
    begin(&mut plain);
    let mut spans = Vec::new();
    let long = leaked("a long text, ".repeat(100));
    for (key, text, int) in [("", "", 0), ("file", "C:\\src\\\"é\".rs", i64::MIN), (long, long, 300)] {
        let mut attributes = Vec::new();
        // Behind others, before others, and alone; none at first.
        for (before, after) in [(false, false), (true, false), (false, true), (true, true)] {
            attributes.clear();
            if before {
                encoder.span_attribute("before", Value::Bool(true));
                prepared.span_attribute("before", Value::Bool(true));
                plain.span_attribute("before", Value::Bool(true));
                attributes.push(key_value("before", ProstValue::BoolValue(true)));
            }
            encoder.constant_attributes(&constants);
            prepared.constant_attributes(&constants);
            for (key, value) in constants.iter() {
                plain.span_attribute(key, value);
                let value = match value {
                    Value::Str(text) => ProstValue::StringValue(text.into()),
                    Value::Int(int) => ProstValue::IntValue(int),
                    other => panic!("{other:?}"),
                };
                attributes.push(key_value(key, value));
            }
            if after {
                encoder.span_attribute("after", Value::Int(1));
                prepared.span_attribute("after", Value::Int(1));
                plain.span_attribute("after", Value::Int(1));
                attributes.push(key_value("after", ProstValue::IntValue(1)));
            }
            let span = Span { attributes: attributes.clone(), ..usual() };
            encoder.span(&head(&span));
            prepared.span(&head(&span));
            plain.span(&head(&span));
            spans.push(span);
        }
        constants.push_str(key, text);
        constants.push_int(key, int);
        assert_eq!(constants.iter().last(), Some((key, Value::Int(int))));
    }
    assert!(encoder.finish() == expected(spans));
    assert!(prepared.finish() == plain.finish());
}

fn write(spans: &[Span]) -> Vec<u8> {
    let mut encoder = proto::Encoder::traces();
    begin(&mut encoder);
    for span in spans {
        for attribute in &span.attributes {
            let value = attribute.value.as_ref().and_then(|any| any.value.as_ref());
            if let Some(ProstValue::StringValue(text)) = value {
                encoder.span_attribute(&attribute.key, Value::Str(text));
            }
        }
        encoder.span(&head(span));
    }
    encoder.take()
}

#[test]
fn lengths_of_names_and_spans_may_be_any() {
    let names = [0, 1, 126, 127, 128, 300].map(|len| Span { name: "n".repeat(len), ..usual() });
    // Around the lengths at which a span's own length takes one more byte.
    let spans = (0..90).chain(16_200..16_400).map(|len| Span {
        attributes: vec![key_value("text", ProstValue::StringValue("t".repeat(len)))],
        ..usual()
    });
    let spans: Vec<Span> = names.into_iter().chain(spans).collect();
    assert!(write(&spans) == expected(spans));
}

proptest! {
    /// A usual span with a few of its fields as they seldom are.
    #[test]
    fn spans_that_are_almost_usual(changes in proptest::collection::vec(0..18_usize, 0..3), number in any::<u32>()) {
        let mut span = usual();
        for change in changes {
            match change {
                0 => span.trace_id.truncate(number as usize % 17),
                1 => span.span_id.truncate(number as usize % 9),
                2 => span.parent_span_id.truncate(number as usize % 9),
                3 => span.parent_span_id.clear(),
                4 => span.name = "n".repeat(number as usize % 200),
                5 => span.kind = number.cast_signed(),
                6 => span.kind = (number % 300).cast_signed(),
                7 => span.start_time_unix_nano = 0,
                8 => span.end_time_unix_nano = 0,
                9 => span.flags = 0,
                10 => span.flags = number,
                11 => span.trace_state = "a=b".into(),
                12 => span.dropped_attributes_count = number,
                13 => span.dropped_events_count = number,
                14 => span.dropped_links_count = number,
                15 => span.status = Some(Status { message: String::new(), code: 2 }),
                16 => span.status = Some(Status { message: "why".into(), code: (number % 3).cast_signed() }),
                _ => span.attributes.push(key_value("k", ProstValue::StringValue("v".repeat(number as usize % 300)))),
            }
        }
        let spans = vec![span.clone(), usual(), span];
        prop_assert!(write(&spans) == expected(spans));
    }
}
