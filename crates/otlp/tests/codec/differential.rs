//! The protobuf decoder against prost over messages that no writer makes but protobuf allows: fields in any
//! order, repeated, merged, unpacked; and over damaged ones.

use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1 as metrics;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1 as trace;
use proptest::prelude::*;
use prost::Message;
use stepscope_otlp::{DecodeErrorKind, Signal, proto};

use crate::common::generate::{self, Doubles};
use crate::common::{Metrics, Traces};

fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    [&out, bytes].concat()
}

/// An empty message and an absent one are the same to a visitor.
fn drop_default<T: Default + PartialEq>(message: &mut Option<T>) {
    if message.as_ref() == Some(&T::default()) {
        *message = None;
    }
}

fn normalize_attributes(attributes: &mut [common::KeyValue]) {
    for attribute in attributes {
        normalize_value(attribute.value.get_or_insert_default());
    }
}

fn normalize_value(value: &mut common::AnyValue) {
    match &mut value.value {
        Some(Value::ArrayValue(array)) => array.values.iter_mut().for_each(normalize_value),
        Some(Value::KvlistValue(map)) => normalize_attributes(&mut map.values),
        _ => {}
    }
}

fn normalize_frame(resource: &mut Option<opentelemetry_proto::tonic::resource::v1::Resource>) {
    if let Some(resource) = resource {
        normalize_attributes(&mut resource.attributes);
        resource.entity_refs.clear();
    }
    drop_default(resource);
}

fn normalize_scope(scope: &mut Option<common::InstrumentationScope>) {
    if let Some(scope) = scope {
        normalize_attributes(&mut scope.attributes);
    }
    drop_default(scope);
}

fn normalize_traces(data: &mut trace::TracesData) {
    for resource in &mut data.resource_spans {
        normalize_frame(&mut resource.resource);
        for scope in &mut resource.scope_spans {
            normalize_scope(&mut scope.scope);
            for span in &mut scope.spans {
                normalize_attributes(&mut span.attributes);
                span.events.iter_mut().for_each(|event| normalize_attributes(&mut event.attributes));
                span.links.iter_mut().for_each(|link| normalize_attributes(&mut link.attributes));
                drop_default(&mut span.status);
            }
        }
    }
}

fn normalize_numbers(points: &mut [metrics::NumberDataPoint]) {
    for point in points {
        normalize_attributes(&mut point.attributes);
        point.exemplars.clear();
    }
}

fn normalize_metrics(data: &mut metrics::MetricsData) {
    for resource in &mut data.resource_metrics {
        normalize_frame(&mut resource.resource);
        for scope in &mut resource.scope_metrics {
            normalize_scope(&mut scope.scope);
            for metric in &mut scope.metrics {
                metric.metadata.clear();
                match &mut metric.data {
                    None => {}
                    Some(Data::Gauge(data)) => normalize_numbers(&mut data.data_points),
                    Some(Data::Sum(data)) => normalize_numbers(&mut data.data_points),
                    Some(Data::Histogram(data)) => {
                        for point in &mut data.data_points {
                            normalize_attributes(&mut point.attributes);
                            point.exemplars.clear();
                        }
                    }
                    Some(Data::ExponentialHistogram(data)) => {
                        for point in &mut data.data_points {
                            normalize_attributes(&mut point.attributes);
                            point.exemplars.clear();
                            drop_default(&mut point.positive);
                            drop_default(&mut point.negative);
                        }
                    }
                    Some(Data::Summary(data)) => {
                        for point in &mut data.data_points {
                            normalize_attributes(&mut point.attributes);
                        }
                    }
                }
            }
        }
    }
}

/// What prost reads we read, to the same values; what it refuses we may read only where we look less close
/// (skipped messages) or replace bad UTF-8.
fn compare_traces(bytes: &[u8]) {
    let mut ours = Traces::default();
    let result = proto::decode_traces(bytes, &mut ours);
    ours.assert_settled();
    match (result, trace::TracesData::decode(bytes)) {
        (Ok(stats), Ok(mut theirs)) if stats.unknown_fields == 0 => {
            normalize_traces(&mut theirs);
            // Bytes, because NaN does not equal itself.
            assert!(
                ours.data.encode_to_vec() == theirs.encode_to_vec(),
                "{:#?}\nis not\n{theirs:#?}",
                ours.data
            );
        }
        (Err(error), Ok(_)) => assert!(is_ours_alone(&error), "{error}"),
        (Ok(stats), Err(error)) => assert!(stats.invalid_utf8 > 0 || is_skipped(&error), "{error}"),
        _ => {}
    }
}

fn compare_metrics(bytes: &[u8], replaced_data: bool) {
    let mut ours = Metrics::default();
    let result = proto::decode_metrics(bytes, &mut ours);
    ours.assert_settled();
    match (result, metrics::MetricsData::decode(bytes)) {
        (Ok(stats), Ok(mut theirs)) if stats.unknown_fields == 0 => {
            normalize_metrics(&mut theirs);
            assert!(
                ours.data.encode_to_vec() == theirs.encode_to_vec(),
                "{:#?}\nis not\n{theirs:#?}",
                ours.data
            );
        }
        (Err(error), Ok(_)) => assert!(is_ours_alone(&error), "{error}"),
        (Ok(stats), Err(error)) => {
            assert!(replaced_data || stats.invalid_utf8 > 0 || is_skipped(&error), "{error}");
        }
        _ => {}
    }
}

/// Damage that prost lets pass: groups in unknown fields, and nesting that it follows deeper.
fn is_ours_alone(error: &stepscope_otlp::DecodeError) -> bool {
    error.kind() == DecodeErrorKind::Limit || error.reason().contains("groups")
}

/// Damage in what we step over, and in text that a later field replaced.
fn is_skipped(error: &prost::DecodeError) -> bool {
    let error = error.to_string();
    ["entity_refs", "exemplars", "metadata", "strindex", "UTF-8"]
        .iter()
        .any(|skipped| error.contains(skipped))
}

/// What happens to a message's bytes.
#[derive(Debug, Clone)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        (any::<prop::sample::Index>(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (any::<prop::sample::Index>(), 1..8_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        (any::<prop::sample::Index>(), 1..8_usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
    ];
    prop::collection::vec(one, 1..4)
}

fn apply(damage: &[Damage], bytes: &mut Vec<u8>) {
    for one in damage {
        if bytes.is_empty() {
            return;
        }
        let range = |at: &prop::sample::Index, len: usize| {
            let at = at.index(bytes.len());
            at..(at + len).min(bytes.len())
        };
        match one {
            Damage::Flip(at, bit) => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Damage::Remove(at, len) => drop(bytes.drain(range(at, *len))),
            Damage::Repeat(at, len) => {
                let range = range(at, *len);
                let copy = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, copy);
            }
        }
    }
}

proptest! {
    /// Encodings one behind the other are the merged message: every level twice, its header again behind
    /// its items.
    #[test]
    fn merged_traces(
        spans in (generate::span(Doubles::All), generate::span(Doubles::All)),
        resources in (generate::resource_spans(Doubles::All), generate::resource_spans(Doubles::All)),
        damage in prop::option::of(damage()),
    ) {
        let span = [spans.0.encode_to_vec(), spans.1.encode_to_vec()].concat();
        let scope = |resource: &trace::ResourceSpans| {
            resource.scope_spans.first().map(Message::encode_to_vec).unwrap_or_default()
        };
        let scope = [scope(&resources.0), field(0x12, &span), scope(&resources.1)].concat();
        let resource = [resources.0.encode_to_vec(), field(0x12, &scope), resources.1.encode_to_vec()].concat();
        let mut message = field(0x0a, &resource);
        match damage {
            None => {
                prop_assert!(proto::validate(&message, Signal::Traces));
                prop_assert!(proto::decode_traces(&message, &mut Traces::default()).is_ok());
            }
            Some(damage) => apply(&damage, &mut message),
        }
        compare_traces(&message);
    }

    #[test]
    fn merged_metrics(
        pieces in prop::collection::vec(generate::metric(Doubles::All), 1..4),
        data in generate::metrics(Doubles::All),
        damage in prop::option::of(damage()),
    ) {
        let metric: Vec<u8> = pieces.iter().flat_map(Message::encode_to_vec).collect();
        let resources: Vec<_> = data.resource_metrics.iter().map(Message::encode_to_vec).collect();
        let resource = [field(0x12, &field(0x12, &metric)), resources.concat()].concat();
        let mut message = field(0x0a, &resource);
        match damage {
            None => {
                prop_assert!(proto::validate(&message, Signal::Metrics));
                prop_assert!(proto::decode_metrics(&message, &mut Metrics::default()).is_ok());
            }
            Some(damage) => apply(&damage, &mut message),
        }
        // Of data of several kinds only the last is looked at.
        compare_metrics(&message, pieces.len() > 1);
    }
}

#[test]
fn lists_may_be_packed_or_not_or_both() {
    let word = |tag: u8, value: u64| [&[tag][..], &value.to_le_bytes()].concat();
    let double = |tag: u8, value: f64| word(tag, value.to_bits());
    let packed: Vec<u8> = [3_u64, 4].iter().flat_map(|count| count.to_le_bytes()).collect();
    let histogram = [
        word(0x31, 1),
        field(0x32, &packed),
        word(0x31, 5),
        double(0x39, 0.5),
        field(0x3a, &1.5_f64.to_le_bytes()),
    ]
    .concat();
    let exponential = field(0x42, b"\x10\x01\x12\x03\x02\xac\x02\x10\x07\x08\x03");
    for (tag, point) in [(0x4a, histogram), (0x52, exponential)] {
        let metric = field(tag, &field(0x0a, &point));
        let message = field(0x0a, &field(0x12, &field(0x12, &metric)));
        assert!(proto::validate(&message, Signal::Metrics));
        let stats = proto::decode_metrics(&message, &mut Metrics::default()).expect("a metric");
        assert_eq!((stats.items, stats.unknown_fields), (1, 0));
        compare_metrics(&message, false);
        // A packed list of eight-byte words with seven bytes.
        let metric = field(tag, &field(0x0a, &field(0x32, &[0; 7])));
        let message = field(0x0a, &field(0x12, &field(0x12, &metric)));
        assert!(!proto::validate(&message, Signal::Metrics));
        proto::decode_metrics(&message, &mut Metrics::default()).expect_err("seven bytes");
    }
}
