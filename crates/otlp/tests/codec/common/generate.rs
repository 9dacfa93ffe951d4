//! Random messages of `opentelemetry-proto`'s types, in the form in which an absent message is `None` (the
//! visitor does not tell an empty one from it).

use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1 as metrics;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use proptest::collection::vec;
use proptest::prelude::*;

/// Doubles a message may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubles {
    /// Every bit pattern; NaN too.
    All,
    /// Numbers that every JSON reader reads exactly.
    Plain,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z._]{0,12}",
        1 => any::<String>(),
        1 => "[ \"\\\\\\n\\t/é€😀\\u{0}]{0,8}",
        1 => "[a-z]{120,300}",
    ]
}

/// A double; where it has no presence on the wire, -0.0 counts as absent for prost, so it is left out.
fn double(doubles: Doubles) -> BoxedStrategy<f64> {
    match doubles {
        Doubles::All => any::<u64>()
            .prop_map(f64::from_bits)
            .prop_map(|value| if value == 0.0 { 0.0 } else { value })
            .boxed(),
        Doubles::Plain => {
            prop_oneof![Just(0.0), (-1_000_000..1_000_000_i32).prop_map(|v| f64::from(v) / 8.0)].boxed()
        }
    }
}

fn long() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..300_u64, Just(1_753_000_000_123_456_789), any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0), 1 => 1..300_u32, 1 => any::<u32>()]
}

fn id(len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![6 => vec(any::<u8>(), len), 1 => vec(any::<u8>(), 0..20)]
}

fn value(doubles: Doubles) -> impl Strategy<Value = common::AnyValue> {
    let leaf = prop_oneof![
        1 => Just(None),
        4 => text().prop_map(|text| Some(Value::StringValue(text))),
        1 => any::<bool>().prop_map(|value| Some(Value::BoolValue(value))),
        2 => any::<i64>().prop_map(|value| Some(Value::IntValue(value))),
        2 => (-200..200_i64).prop_map(|value| Some(Value::IntValue(value))),
        2 => double(doubles).prop_map(|value| Some(Value::DoubleValue(value))),
        1 => vec(any::<u8>(), 0..10).prop_map(|bytes| Some(Value::BytesValue(bytes))),
    ]
    .prop_map(|value| common::AnyValue { value });
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(|values| Value::ArrayValue(common::ArrayValue { values })),
            vec((text(), inner), 0..5).prop_map(|entries| {
                let values = entries.into_iter().map(|(key, value)| common::KeyValue {
                    key,
                    value: Some(value),
                    key_strindex: 0,
                });
                Value::KvlistValue(common::KeyValueList { values: values.collect() })
            }),
        ]
        .prop_map(|value| common::AnyValue { value: Some(value) })
    })
}

fn attributes(doubles: Doubles) -> impl Strategy<Value = Vec<common::KeyValue>> {
    let entry = (text(), value(doubles));
    vec(entry.prop_map(|(key, value)| common::KeyValue { key, value: Some(value), key_strindex: 0 }), 0..5)
}

fn some<T: Default + PartialEq>(message: T) -> Option<T> {
    (message != T::default()).then_some(message)
}

fn resource(doubles: Doubles) -> impl Strategy<Value = Option<Resource>> {
    (attributes(doubles), small()).prop_map(|(attributes, dropped_attributes_count)| {
        some(Resource { attributes, dropped_attributes_count, entity_refs: Vec::new() })
    })
}

fn scope(doubles: Doubles) -> impl Strategy<Value = Option<common::InstrumentationScope>> {
    (text(), text(), attributes(doubles), small()).prop_map(
        |(name, version, attributes, dropped_attributes_count)| {
            some(common::InstrumentationScope { name, version, attributes, dropped_attributes_count })
        },
    )
}

fn event(doubles: Doubles) -> impl Strategy<Value = trace::span::Event> {
    (long(), text(), attributes(doubles), small()).prop_map(
        |(time_unix_nano, name, attributes, dropped_attributes_count)| trace::span::Event {
            time_unix_nano,
            name,
            attributes,
            dropped_attributes_count,
        },
    )
}

fn link(doubles: Doubles) -> impl Strategy<Value = trace::span::Link> {
    (id(16), id(8), text(), attributes(doubles), small(), small()).prop_map(
        |(trace_id, span_id, trace_state, attributes, dropped_attributes_count, flags)| trace::span::Link {
            trace_id,
            span_id,
            trace_state,
            attributes,
            dropped_attributes_count,
            flags,
        },
    )
}

/// A span.
pub(crate) fn span(doubles: Doubles) -> impl Strategy<Value = trace::Span> {
    let head = (id(16), id(8), id(8), text(), text(), 0..7_i32, small());
    let times = (long(), long(), 0..4_i32, text());
    let content = (attributes(doubles), vec(event(doubles), 0..3), vec(link(doubles), 0..3));
    let dropped = (small(), small(), small());
    (head, times, content, dropped).prop_map(|(head, times, content, dropped)| trace::Span {
        trace_id: head.0,
        span_id: head.1,
        parent_span_id: head.2,
        trace_state: head.3,
        name: head.4,
        kind: head.5,
        flags: head.6,
        start_time_unix_nano: times.0,
        end_time_unix_nano: times.1,
        status: some(trace::Status { code: times.2, message: times.3 }),
        attributes: content.0,
        events: content.1,
        links: content.2,
        dropped_attributes_count: dropped.0,
        dropped_events_count: dropped.1,
        dropped_links_count: dropped.2,
    })
}

/// The spans of a resource.
pub(crate) fn resource_spans(doubles: Doubles) -> impl Strategy<Value = trace::ResourceSpans> {
    let scope_spans = (scope(doubles), vec(span(doubles), 0..4), text())
        .prop_map(|(scope, spans, schema_url)| trace::ScopeSpans { scope, spans, schema_url });
    (resource(doubles), vec(scope_spans, 0..3), text()).prop_map(|(resource, scope_spans, schema_url)| {
        trace::ResourceSpans { resource, scope_spans, schema_url }
    })
}

/// A message of traces.
pub(crate) fn traces(doubles: Doubles) -> impl Strategy<Value = trace::TracesData> {
    vec(resource_spans(doubles), 0..3).prop_map(|resource_spans| trace::TracesData { resource_spans })
}

fn number_point(doubles: Doubles) -> impl Strategy<Value = metrics::NumberDataPoint> {
    use metrics::number_data_point::Value as N;
    let value = prop_oneof![
        Just(None),
        any::<i64>().prop_map(|value| Some(N::AsInt(value))),
        double(doubles).prop_map(|value| Some(N::AsDouble(value))),
    ];
    (attributes(doubles), long(), long(), small(), value).prop_map(
        |(attributes, start_time_unix_nano, time_unix_nano, flags, value)| metrics::NumberDataPoint {
            attributes,
            start_time_unix_nano,
            time_unix_nano,
            exemplars: Vec::new(),
            flags,
            value,
        },
    )
}

type Range = (Option<f64>, Option<f64>, Option<f64>);

fn range(doubles: Doubles) -> impl Strategy<Value = Range> {
    let double = || prop::option::of(double(doubles));
    (double(), double(), double())
}

fn histogram_point(doubles: Doubles) -> impl Strategy<Value = metrics::HistogramDataPoint> {
    let lists = (vec(long(), 0..6), vec(double(doubles), 0..6));
    (attributes(doubles), long(), long(), small(), long(), range(doubles), lists).prop_map(
        |(attributes, start_time_unix_nano, time_unix_nano, flags, count, (sum, min, max), lists)| {
            metrics::HistogramDataPoint {
                attributes,
                start_time_unix_nano,
                time_unix_nano,
                count,
                sum,
                bucket_counts: lists.0,
                explicit_bounds: lists.1,
                exemplars: Vec::new(),
                flags,
                min,
                max,
            }
        },
    )
}

fn exponential_point(doubles: Doubles) -> impl Strategy<Value = metrics::ExponentialHistogramDataPoint> {
    let offset = || prop_oneof![Just(0), -5000..5000_i32, any::<i32>()];
    let buckets = move || {
        (offset(), vec(long(), 0..6)).prop_map(|(offset, bucket_counts)| {
            some(metrics::exponential_histogram_data_point::Buckets { offset, bucket_counts })
        })
    };
    let head = (attributes(doubles), long(), long(), small());
    let zero = (offset(), long(), double(doubles));
    (head, long(), range(doubles), zero, buckets(), buckets()).prop_map(
        |(head, count, (sum, min, max), (scale, zero_count, zero_threshold), positive, negative)| {
            metrics::ExponentialHistogramDataPoint {
                attributes: head.0,
                start_time_unix_nano: head.1,
                time_unix_nano: head.2,
                flags: head.3,
                count,
                sum,
                scale,
                zero_count,
                positive,
                negative,
                exemplars: Vec::new(),
                min,
                max,
                zero_threshold,
            }
        },
    )
}

fn summary_point(doubles: Doubles) -> impl Strategy<Value = metrics::SummaryDataPoint> {
    let quantile = (double(doubles), double(doubles))
        .prop_map(|(quantile, value)| metrics::summary_data_point::ValueAtQuantile { quantile, value });
    (attributes(doubles), long(), long(), small(), long(), double(doubles), vec(quantile, 0..4)).prop_map(
        |(attributes, start_time_unix_nano, time_unix_nano, flags, count, sum, quantile_values)| {
            metrics::SummaryDataPoint {
                attributes,
                start_time_unix_nano,
                time_unix_nano,
                count,
                sum,
                quantile_values,
                flags,
            }
        },
    )
}

/// A metric.
pub(crate) fn metric(doubles: Doubles) -> impl Strategy<Value = metrics::Metric> {
    use metrics::metric::Data;
    let temporality = || 0..4_i32;
    let data = prop_oneof![
        Just(None),
        vec(number_point(doubles), 0..3)
            .prop_map(|data_points| Some(Data::Gauge(metrics::Gauge { data_points }))),
        (vec(number_point(doubles), 0..3), temporality(), any::<bool>()).prop_map(
            |(data_points, aggregation_temporality, is_monotonic)| {
                Some(Data::Sum(metrics::Sum { data_points, aggregation_temporality, is_monotonic }))
            }
        ),
        (vec(histogram_point(doubles), 0..3), temporality()).prop_map(
            |(data_points, aggregation_temporality)| {
                Some(Data::Histogram(metrics::Histogram { data_points, aggregation_temporality }))
            }
        ),
        (vec(exponential_point(doubles), 0..3), temporality()).prop_map(
            |(data_points, aggregation_temporality)| {
                let data = metrics::ExponentialHistogram { data_points, aggregation_temporality };
                Some(Data::ExponentialHistogram(data))
            }
        ),
        vec(summary_point(doubles), 0..3)
            .prop_map(|data_points| Some(Data::Summary(metrics::Summary { data_points }))),
    ];
    (text(), text(), text(), data).prop_map(|(name, description, unit, data)| metrics::Metric {
        name,
        description,
        unit,
        metadata: Vec::new(),
        data,
    })
}

/// A message of metrics.
pub(crate) fn metrics(doubles: Doubles) -> impl Strategy<Value = metrics::MetricsData> {
    let scope_metrics = (scope(doubles), vec(metric(doubles), 0..4), text())
        .prop_map(|(scope, metrics, schema_url)| metrics::ScopeMetrics { scope, metrics, schema_url });
    let resource_metrics = (resource(doubles), vec(scope_metrics, 0..3), text()).prop_map(
        |(resource, scope_metrics, schema_url)| metrics::ResourceMetrics {
            resource,
            scope_metrics,
            schema_url,
        },
    );
    vec(resource_metrics, 0..3).prop_map(|resource_metrics| metrics::MetricsData { resource_metrics })
}
