//! Drives a visitor with `opentelemetry-proto`'s messages, as a program that records would.

use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::common::v1::any_value::Value as ProstValue;
use opentelemetry_proto::tonic::metrics::v1 as metrics;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use stepscope_otlp::{
    EventHead, KeyValue, LinkHead, MetricHead, MetricKind, Number, PointData, PointHead, ResourceHead,
    ScopeHead, SpanHead, SpanKind, StatusCode, Temporality, Value, Visitor,
};

/// Nested slices are leaked: tests are short.
fn value(any: Option<&common::AnyValue>) -> Value<'_> {
    match any.and_then(|any| any.value.as_ref()) {
        None | Some(ProstValue::StringValueStrindex(_)) => Value::Empty,
        Some(ProstValue::StringValue(text)) => Value::Str(text),
        Some(ProstValue::BoolValue(value)) => Value::Bool(*value),
        Some(ProstValue::IntValue(value)) => Value::Int(*value),
        Some(ProstValue::DoubleValue(value)) => Value::Double(*value),
        Some(ProstValue::BytesValue(bytes)) => Value::Bytes(bytes),
        Some(ProstValue::ArrayValue(array)) => {
            Value::Array(Vec::leak(array.values.iter().map(|item| value(Some(item))).collect()))
        }
        Some(ProstValue::KvlistValue(map)) => {
            let entry = |entry| {
                let (key, value) = key_value(entry);
                KeyValue { key, value }
            };
            Value::Map(Vec::leak(map.values.iter().map(entry).collect()))
        }
    }
}

fn key_value(entry: &common::KeyValue) -> (&str, Value<'_>) {
    (&entry.key, value(entry.value.as_ref()))
}

fn resource(resource: Option<&Resource>, schema_url: &str, v: &mut impl Visitor) {
    let empty = Resource::default();
    let resource = resource.unwrap_or(&empty);
    for (key, value) in resource.attributes.iter().map(key_value) {
        v.resource_attribute(key, value);
    }
    let dropped_attributes_count = resource.dropped_attributes_count;
    v.resource(&ResourceHead { schema_url, dropped_attributes_count });
}

fn scope(scope: Option<&common::InstrumentationScope>, schema_url: &str, v: &mut impl Visitor) {
    let empty = common::InstrumentationScope::default();
    let scope = scope.unwrap_or(&empty);
    for (key, value) in scope.attributes.iter().map(key_value) {
        v.scope_attribute(key, value);
    }
    v.scope(&ScopeHead {
        name: &scope.name,
        version: &scope.version,
        schema_url,
        dropped_attributes_count: scope.dropped_attributes_count,
    });
}

pub(crate) fn traces(data: &trace::TracesData, v: &mut impl Visitor) {
    for r in &data.resource_spans {
        resource(r.resource.as_ref(), &r.schema_url, v);
        for s in &r.scope_spans {
            scope(s.scope.as_ref(), &s.schema_url, v);
            s.spans.iter().for_each(|s| span(s, v));
            v.scope_end();
        }
        v.resource_end();
    }
}

fn span(span: &trace::Span, v: &mut impl Visitor) {
    // Events, attributes and links may come in any order.
    for event in &span.events {
        for (key, value) in event.attributes.iter().map(key_value) {
            v.event_attribute(key, value);
        }
        v.event(&EventHead {
            time_unix_ns: event.time_unix_nano,
            name: &event.name,
            dropped_attributes_count: event.dropped_attributes_count,
        });
    }
    for (key, value) in span.attributes.iter().map(key_value) {
        v.span_attribute(key, value);
    }
    for link in &span.links {
        for (key, value) in link.attributes.iter().map(key_value) {
            v.link_attribute(key, value);
        }
        v.link(&LinkHead {
            trace_id: &link.trace_id,
            span_id: &link.span_id,
            trace_state: &link.trace_state,
            flags: link.flags,
            dropped_attributes_count: link.dropped_attributes_count,
        });
    }
    let status = span.status.clone().unwrap_or_default();
    v.span(&SpanHead {
        trace_id: &span.trace_id,
        span_id: &span.span_id,
        parent_span_id: &span.parent_span_id,
        flags: span.flags,
        trace_state: &span.trace_state,
        name: &span.name,
        kind: SpanKind(span.kind),
        start_unix_ns: span.start_time_unix_nano,
        end_unix_ns: span.end_time_unix_nano,
        status: StatusCode(status.code),
        status_message: &status.message,
        dropped_attributes_count: span.dropped_attributes_count,
        dropped_events_count: span.dropped_events_count,
        dropped_links_count: span.dropped_links_count,
    });
}

pub(crate) fn metrics(data: &metrics::MetricsData, v: &mut impl Visitor) {
    for r in &data.resource_metrics {
        resource(r.resource.as_ref(), &r.schema_url, v);
        for s in &r.scope_metrics {
            scope(s.scope.as_ref(), &s.schema_url, v);
            s.metrics.iter().for_each(|m| metric(m, v));
            v.scope_end();
        }
        v.resource_end();
    }
}

fn metric(metric: &metrics::Metric, v: &mut impl Visitor) {
    use metrics::metric::Data;
    let (kind, temporality, monotonic) = match &metric.data {
        None => (MetricKind::Unknown, 0, false),
        Some(Data::Gauge(_)) => (MetricKind::Gauge, 0, false),
        Some(Data::Sum(sum)) => (MetricKind::Sum, sum.aggregation_temporality, sum.is_monotonic),
        Some(Data::Histogram(data)) => (MetricKind::Histogram, data.aggregation_temporality, false),
        Some(Data::ExponentialHistogram(data)) => {
            (MetricKind::ExponentialHistogram, data.aggregation_temporality, false)
        }
        Some(Data::Summary(_)) => (MetricKind::Summary, 0, false),
    };
    v.metric(&MetricHead {
        name: &metric.name,
        unit: &metric.unit,
        description: &metric.description,
        kind,
        temporality: Temporality(temporality),
        monotonic,
    });
    match &metric.data {
        None => {}
        Some(Data::Gauge(data)) => data.data_points.iter().for_each(|p| number(p, v)),
        Some(Data::Sum(data)) => data.data_points.iter().for_each(|p| number(p, v)),
        Some(Data::Histogram(data)) => data.data_points.iter().for_each(|p| histogram(p, v)),
        Some(Data::ExponentialHistogram(data)) => data.data_points.iter().for_each(|p| exponential(p, v)),
        Some(Data::Summary(data)) => data.data_points.iter().for_each(|p| summary(p, v)),
    }
    v.metric_end();
}

fn attributes(attributes: &[common::KeyValue], v: &mut impl Visitor) {
    for (key, value) in attributes.iter().map(key_value) {
        v.point_attribute(key, value);
    }
}

fn number(p: &metrics::NumberDataPoint, v: &mut impl Visitor) {
    use metrics::number_data_point::Value as N;
    attributes(&p.attributes, v);
    v.point(&PointHead {
        start_unix_ns: p.start_time_unix_nano,
        time_unix_ns: p.time_unix_nano,
        flags: p.flags,
        data: PointData::Number(p.value.map(|value| match value {
            N::AsInt(value) => Number::Int(value),
            N::AsDouble(value) => Number::Double(value),
        })),
    });
}

fn histogram(p: &metrics::HistogramDataPoint, v: &mut impl Visitor) {
    attributes(&p.attributes, v);
    v.point(&PointHead {
        start_unix_ns: p.start_time_unix_nano,
        time_unix_ns: p.time_unix_nano,
        flags: p.flags,
        data: PointData::Histogram {
            count: p.count,
            sum: p.sum,
            min: p.min,
            max: p.max,
            explicit_bounds: &p.explicit_bounds,
            bucket_counts: &p.bucket_counts,
        },
    });
}

fn exponential(p: &metrics::ExponentialHistogramDataPoint, v: &mut impl Visitor) {
    attributes(&p.attributes, v);
    let (positive, negative) =
        (p.positive.clone().unwrap_or_default(), p.negative.clone().unwrap_or_default());
    v.point(&PointHead {
        start_unix_ns: p.start_time_unix_nano,
        time_unix_ns: p.time_unix_nano,
        flags: p.flags,
        data: PointData::ExponentialHistogram {
            count: p.count,
            sum: p.sum,
            min: p.min,
            max: p.max,
            scale: p.scale,
            zero_count: p.zero_count,
            zero_threshold: p.zero_threshold,
            positive_offset: positive.offset,
            positive: &positive.bucket_counts,
            negative_offset: negative.offset,
            negative: &negative.bucket_counts,
        },
    });
}

fn summary(p: &metrics::SummaryDataPoint, v: &mut impl Visitor) {
    attributes(&p.attributes, v);
    let quantiles: Vec<_> = p.quantile_values.iter().map(|q| (q.quantile, q.value)).collect();
    v.point(&PointHead {
        start_unix_ns: p.start_time_unix_nano,
        time_unix_ns: p.time_unix_nano,
        flags: p.flags,
        data: PointData::Summary { count: p.count, sum: p.sum, quantiles: &quantiles },
    });
}
