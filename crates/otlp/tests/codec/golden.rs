//! Fixtures that fix the written bytes: every field, every kind of value, every kind of point.
//!
//! `traces.pb` and `metrics.pb` are what prost writes for the messages built here; the `.json` files are
//! their mapping. To write them anew after a deliberate change: `UPDATE_GOLDEN=1 cargo test -p
//! stepscope-otlp golden`, then look at the difference.

use std::path::PathBuf;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::metrics::v1 as metrics;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use prost::Message;
use stepscope_otlp::{DecodeStats, json, proto};

use crate::common::{Metrics, Traces, to_visitor};

fn attribute(key: &str, value: Option<Value>) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value }), key_strindex: 0 }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Some(Value::StringValue(value.into())))
}

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

/// One attribute of every kind of value.
fn every_value() -> Vec<KeyValue> {
    let array = Value::ArrayValue(ArrayValue {
        values: vec![
            any(Value::IntValue(1)),
            any(Value::StringValue(String::new())),
            AnyValue::default(),
            any(Value::ArrayValue(ArrayValue { values: vec![any(Value::BoolValue(false))] })),
        ],
    });
    let map = Value::KvlistValue(KeyValueList {
        values: vec![text("inner", "v"), attribute("list", Some(array.clone()))],
    });
    vec![
        attribute("empty", None),
        text("text", "tab\t \"quoted\" \\ é 😀 \u{1}"),
        text("no text", ""),
        attribute("true", Some(Value::BoolValue(true))),
        attribute("false", Some(Value::BoolValue(false))),
        attribute("int", Some(Value::IntValue(300))),
        attribute("zero", Some(Value::IntValue(0))),
        attribute("min", Some(Value::IntValue(i64::MIN))),
        attribute("max", Some(Value::IntValue(i64::MAX))),
        attribute("double", Some(Value::DoubleValue(0.1))),
        attribute("big", Some(Value::DoubleValue(-1.5e300))),
        attribute("infinite", Some(Value::DoubleValue(f64::INFINITY))),
        attribute("bytes", Some(Value::BytesValue(vec![0, 255, 16, 62]))),
        attribute("array", Some(array)),
        attribute("map", Some(map)),
        text("", "no key"),
    ]
}

fn resource() -> Option<Resource> {
    Some(Resource {
        attributes: vec![text("service.name", "golden"), attribute("host.cpus", Some(Value::IntValue(2)))],
        dropped_attributes_count: 1,
        entity_refs: Vec::new(),
    })
}

fn scope() -> Option<InstrumentationScope> {
    Some(InstrumentationScope {
        name: "golden.scope".into(),
        version: "1.2.3".into(),
        attributes: vec![text("scope.attribute", "s")],
        dropped_attributes_count: 2,
    })
}

pub(crate) fn traces() -> trace::TracesData {
    let trace_id: Vec<u8> = (0x10..0x20).collect();
    let span = |number: u8, name: &str| trace::Span {
        trace_id: trace_id.clone(),
        span_id: vec![number; 8],
        name: name.into(),
        start_time_unix_nano: 1_753_000_000_000_000_000 + u64::from(number),
        end_time_unix_nano: 1_753_000_000_001_000_000,
        ..trace::Span::default()
    };
    let full = trace::Span {
        trace_state: "vendor=1".into(),
        parent_span_id: vec![1; 8],
        flags: 0x301,
        kind: 5,
        attributes: every_value(),
        dropped_attributes_count: 3,
        events: vec![
            trace::span::Event {
                time_unix_nano: 1_753_000_000_000_500_000,
                name: "event".into(),
                attributes: vec![text("event.attribute", "e")],
                dropped_attributes_count: 4,
            },
            trace::span::Event::default(),
        ],
        dropped_events_count: 5,
        links: vec![
            trace::span::Link {
                trace_id: trace_id.clone(),
                span_id: vec![9; 8],
                trace_state: "other=2".into(),
                attributes: vec![text("link.attribute", "l")],
                dropped_attributes_count: 6,
                flags: 0x100,
            },
            trace::span::Link::default(),
        ],
        dropped_links_count: 7,
        status: Some(trace::Status { message: "went wrong".into(), code: 2 }),
        ..span(2, "full")
    };
    let spans = vec![span(1, "root"), full, span(3, &"long name ".repeat(13)), trace::Span::default()];
    let scope_spans = vec![
        trace::ScopeSpans { scope: scope(), spans, schema_url: "https://example.org/scope".into() },
        trace::ScopeSpans { scope: None, spans: vec![span(4, "bare")], schema_url: String::new() },
        trace::ScopeSpans::default(),
    ];
    let schema_url = "https://example.org/resource".into();
    trace::TracesData {
        resource_spans: vec![
            trace::ResourceSpans { resource: resource(), scope_spans, schema_url },
            trace::ResourceSpans::default(),
        ],
    }
}

pub(crate) fn metrics() -> metrics::MetricsData {
    let times = (1_753_000_000_000_000_000, 1_753_000_010_000_000_000);
    let attributes = || vec![text("section", "train/step")];
    let number = |value, flags| metrics::NumberDataPoint {
        attributes: attributes(),
        start_time_unix_nano: times.0,
        time_unix_nano: times.1,
        exemplars: Vec::new(),
        flags,
        value,
    };
    let histogram = metrics::HistogramDataPoint {
        attributes: attributes(),
        start_time_unix_nano: times.0,
        time_unix_nano: times.1,
        count: 6,
        sum: Some(0.0),
        bucket_counts: vec![1, 2, 3],
        explicit_bounds: vec![0.5, 10.0],
        exemplars: Vec::new(),
        flags: 2,
        min: Some(-1.0),
        max: Some(12.25),
    };
    let exponential = metrics::ExponentialHistogramDataPoint {
        attributes: attributes(),
        start_time_unix_nano: times.0,
        time_unix_nano: times.1,
        count: 400,
        sum: Some(1.5),
        scale: -2,
        zero_count: 4,
        positive: Some(metrics::exponential_histogram_data_point::Buckets {
            offset: -3,
            bucket_counts: vec![0, 300, 1],
        }),
        negative: Some(metrics::exponential_histogram_data_point::Buckets {
            offset: 2,
            bucket_counts: Vec::new(),
        }),
        flags: 1,
        exemplars: Vec::new(),
        min: Some(-2.0),
        max: Some(2.0),
        zero_threshold: 0.001,
    };
    let summary = metrics::SummaryDataPoint {
        attributes: attributes(),
        start_time_unix_nano: times.0,
        time_unix_nano: times.1,
        count: 9,
        sum: 4.5,
        quantile_values: vec![
            metrics::summary_data_point::ValueAtQuantile { quantile: 0.0, value: 0.25 },
            metrics::summary_data_point::ValueAtQuantile { quantile: 0.99, value: 1.0 },
        ],
        flags: 1,
    };
    let metric = |name: &str, data| metrics::Metric {
        name: name.into(),
        description: format!("what {name} means"),
        unit: "ns".into(),
        metadata: Vec::new(),
        data,
    };
    let all = vec![
        metric(
            "gauge",
            Some(Data::Gauge(metrics::Gauge {
                data_points: vec![
                    number(Some(Number::AsDouble(2.5)), 0),
                    number(Some(Number::AsDouble(0.0)), 0),
                    number(None, 1),
                ],
            })),
        ),
        metric(
            "sum",
            Some(Data::Sum(metrics::Sum {
                data_points: vec![number(Some(Number::AsInt(-7)), 0), number(Some(Number::AsInt(0)), 0)],
                aggregation_temporality: 2,
                is_monotonic: true,
            })),
        ),
        metric(
            "histogram",
            Some(Data::Histogram(metrics::Histogram {
                data_points: vec![histogram, metrics::HistogramDataPoint::default()],
                aggregation_temporality: 1,
            })),
        ),
        metric(
            "exponential",
            Some(Data::ExponentialHistogram(metrics::ExponentialHistogram {
                data_points: vec![exponential, metrics::ExponentialHistogramDataPoint::default()],
                aggregation_temporality: 2,
            })),
        ),
        metric(
            "summary",
            Some(Data::Summary(metrics::Summary {
                data_points: vec![summary, metrics::SummaryDataPoint::default()],
            })),
        ),
        metric("none", None),
        metrics::Metric { data: Some(Data::Gauge(metrics::Gauge::default())), ..metrics::Metric::default() },
    ];
    let scope_metrics = vec![
        metrics::ScopeMetrics {
            scope: scope(),
            metrics: all,
            schema_url: "https://example.org/scope".into(),
        },
        metrics::ScopeMetrics::default(),
    ];
    let schema_url = "https://example.org/resource".into();
    metrics::MetricsData {
        resource_metrics: vec![metrics::ResourceMetrics { resource: resource(), scope_metrics, schema_url }],
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).expect("a fixture")
}

/// A fixture, written anew before if the environment says so.
fn updated_fixture(name: &str, written: &[u8]) -> Vec<u8> {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path(name), written).expect("a writable fixture");
    }
    fixture(name)
}

fn json_of_traces() -> Vec<u8> {
    let mut encoder = json::Encoder::traces();
    to_visitor::traces(&traces(), &mut encoder);
    encoder.take()
}

fn json_of_metrics() -> Vec<u8> {
    let mut encoder = json::Encoder::metrics();
    to_visitor::metrics(&metrics(), &mut encoder);
    encoder.take()
}

#[test]
fn traces_are_written_as_fixed() {
    let golden = updated_fixture("traces.pb", &traces().encode_to_vec());
    let mut encoder = proto::Encoder::traces();
    to_visitor::traces(&traces(), &mut encoder);
    assert!(encoder.finish() == golden, "traces.pb");
    assert_eq!(trace::TracesData::decode(&golden[..]).expect("prost reads it"), traces());
    let golden = updated_fixture("traces.json", &json_of_traces());
    assert_eq!(String::from_utf8(json_of_traces()), String::from_utf8(golden));
}

#[test]
fn metrics_are_written_as_fixed() {
    let golden = updated_fixture("metrics.pb", &metrics().encode_to_vec());
    let mut encoder = proto::Encoder::metrics();
    to_visitor::metrics(&metrics(), &mut encoder);
    assert!(encoder.finish() == golden, "metrics.pb");
    assert_eq!(metrics::MetricsData::decode(&golden[..]).expect("prost reads it"), metrics());
    let golden = updated_fixture("metrics.json", &json_of_metrics());
    assert_eq!(String::from_utf8(json_of_metrics()), String::from_utf8(golden));
}

#[test]
fn fixtures_are_read_as_written() {
    let clean = |stats: DecodeStats, items| {
        assert_eq!((stats.items, stats.invalid_utf8, stats.unknown_fields), (items, 0, 0));
    };
    let mut read = Traces::default();
    clean(proto::decode_traces(&fixture("traces.pb"), &mut read).expect("whole"), 5);
    assert_eq!(read.data, traces());
    let mut read = Traces::default();
    clean(json::decode_traces(&fixture("traces.json"), &mut read).expect("whole"), 5);
    assert_eq!(read.data, traces());
    let mut read = Metrics::default();
    clean(proto::decode_metrics(&fixture("metrics.pb"), &mut read).expect("whole"), 11);
    assert_eq!(read.data, metrics());
    let mut read = Metrics::default();
    clean(json::decode_metrics(&fixture("metrics.json"), &mut read).expect("whole"), 11);
    assert_eq!(read.data, metrics());
}

#[test]
fn encoders_start_afresh() {
    let expected = traces().encode_to_vec();
    let mut encoder = proto::Encoder::traces().with_buffer(b"left over".to_vec());
    for _ in 0..3 {
        to_visitor::traces(&traces(), &mut encoder);
        assert!(encoder.finish() == expected);
        encoder.clear();
        assert!(encoder.is_empty());
    }
    let mut encoder = json::Encoder::traces();
    assert_eq!(encoder.finish(), br#"{"resourceSpans":[]}"#);
    for _ in 0..3 {
        to_visitor::traces(&traces(), &mut encoder);
        assert!(encoder.finish() == json_of_traces());
        assert!(encoder.finish() == json_of_traces(), "finishing twice changes nothing");
        encoder.clear();
    }
    // A finished message takes further resources.
    to_visitor::traces(&traces(), &mut encoder);
    encoder.finish();
    to_visitor::traces(&traces(), &mut encoder);
    let mut read = Traces::default();
    json::decode_traces(encoder.finish(), &mut read).expect("a whole message");
    assert_eq!(read.data.resource_spans.len(), 2 * traces().resource_spans.len());
}
