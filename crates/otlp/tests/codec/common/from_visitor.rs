//! Visitors that build `opentelemetry-proto`'s messages. They also check the order of calls.

use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::common::v1::any_value::Value as ProstValue;
use opentelemetry_proto::tonic::metrics::v1 as metrics;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use stepscope_otlp::{
    EventHead, LinkHead, MetricHead, MetricKind, Number, PointData, PointHead, ResourceHead, ScopeHead,
    SpanHead, Value, Visitor,
};

pub(crate) fn any(value: Value<'_>) -> common::AnyValue {
    let value = match value {
        Value::Empty => None,
        Value::Str(text) => Some(ProstValue::StringValue(text.into())),
        Value::Bool(value) => Some(ProstValue::BoolValue(value)),
        Value::Int(value) => Some(ProstValue::IntValue(value)),
        Value::Double(value) => Some(ProstValue::DoubleValue(value)),
        Value::Bytes(bytes) => Some(ProstValue::BytesValue(bytes.into())),
        Value::Array(items) => Some(ProstValue::ArrayValue(common::ArrayValue {
            values: items.iter().map(|item| any(*item)).collect(),
        })),
        Value::Map(entries) => Some(ProstValue::KvlistValue(common::KeyValueList {
            values: entries.iter().map(|entry| key_value(entry.key, entry.value)).collect(),
        })),
    };
    common::AnyValue { value }
}

pub(crate) fn key_value(key: &str, value: Value<'_>) -> common::KeyValue {
    common::KeyValue { key: key.into(), value: Some(any(value)), key_strindex: 0 }
}

fn some<T: Default + PartialEq>(message: T) -> Option<T> {
    (message != T::default()).then_some(message)
}

/// What both signals share: a stack of open levels, checked.
#[derive(Debug, Default)]
struct Frame {
    attributes: Vec<common::KeyValue>,
    in_resource: bool,
    in_scope: bool,
}

impl Frame {
    fn resource(&mut self, head: &ResourceHead<'_>) -> Option<Resource> {
        assert!(!self.in_resource && !self.in_scope, "resources do not nest");
        self.in_resource = true;
        some(Resource {
            attributes: std::mem::take(&mut self.attributes),
            dropped_attributes_count: head.dropped_attributes_count,
            entity_refs: Vec::new(),
        })
    }

    fn scope(&mut self, head: &ScopeHead<'_>) -> Option<common::InstrumentationScope> {
        assert!(self.in_resource && !self.in_scope, "a scope is inside a resource");
        self.in_scope = true;
        some(common::InstrumentationScope {
            name: head.name.into(),
            version: head.version.into(),
            attributes: std::mem::take(&mut self.attributes),
            dropped_attributes_count: head.dropped_attributes_count,
        })
    }

    fn scope_end(&mut self) {
        assert!(std::mem::take(&mut self.in_scope), "a scope ends once");
    }

    fn resource_end(&mut self) {
        assert!(!self.in_scope && std::mem::take(&mut self.in_resource), "a resource ends once");
    }
}

/// Builds traces.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    pub(crate) data: trace::TracesData,
    pub(crate) abandoned: usize,
    frame: Frame,
    event_attributes: Vec<common::KeyValue>,
    events: Vec<trace::span::Event>,
    link_attributes: Vec<common::KeyValue>,
    links: Vec<trace::span::Link>,
}

impl Traces {
    /// All spans, whatever holds them.
    pub(crate) fn spans(&self) -> Vec<&trace::Span> {
        spans(&self.data)
    }

    /// Whether everything that was opened is closed and nothing waits for its head.
    pub(crate) fn assert_settled(&self) {
        assert!(!self.frame.in_scope && !self.frame.in_resource, "everything is closed");
        assert!(self.frame.attributes.is_empty(), "no attribute without its head");
        assert!(self.events.is_empty() && self.links.is_empty() && self.event_attributes.is_empty());
    }
}

pub(crate) fn spans(data: &trace::TracesData) -> Vec<&trace::Span> {
    let scopes = data.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes.flat_map(|scope| &scope.spans).collect()
}

impl Visitor for Traces {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.frame.attributes.push(key_value(key, value));
    }
    fn resource(&mut self, head: &ResourceHead<'_>) {
        let resource = self.frame.resource(head);
        self.data.resource_spans.push(trace::ResourceSpans {
            resource,
            scope_spans: Vec::new(),
            schema_url: head.schema_url.into(),
        });
    }
    fn resource_end(&mut self) {
        self.frame.resource_end();
    }
    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {
        self.frame.attributes.push(key_value(key, value));
    }
    fn scope(&mut self, head: &ScopeHead<'_>) {
        let scope = self.frame.scope(head);
        self.data.resource_spans.last_mut().expect("a resource").scope_spans.push(trace::ScopeSpans {
            scope,
            spans: Vec::new(),
            schema_url: head.schema_url.into(),
        });
    }
    fn scope_end(&mut self) {
        self.frame.scope_end();
    }
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.frame.attributes.push(key_value(key, value));
    }
    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.event_attributes.push(key_value(key, value));
    }
    fn event(&mut self, head: &EventHead<'_>) {
        self.events.push(trace::span::Event {
            time_unix_nano: head.time_unix_ns,
            name: head.name.into(),
            attributes: std::mem::take(&mut self.event_attributes),
            dropped_attributes_count: head.dropped_attributes_count,
        });
    }
    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.link_attributes.push(key_value(key, value));
    }
    fn link(&mut self, head: &LinkHead<'_>) {
        self.links.push(trace::span::Link {
            trace_id: head.trace_id.into(),
            span_id: head.span_id.into(),
            trace_state: head.trace_state.into(),
            attributes: std::mem::take(&mut self.link_attributes),
            dropped_attributes_count: head.dropped_attributes_count,
            flags: head.flags,
        });
    }
    fn span(&mut self, head: &SpanHead<'_>) {
        assert!(self.frame.in_scope, "a span is inside a scope");
        let span = trace::Span {
            trace_id: head.trace_id.into(),
            span_id: head.span_id.into(),
            trace_state: head.trace_state.into(),
            parent_span_id: head.parent_span_id.into(),
            flags: head.flags,
            name: head.name.into(),
            kind: head.kind.0,
            start_time_unix_nano: head.start_unix_ns,
            end_time_unix_nano: head.end_unix_ns,
            attributes: std::mem::take(&mut self.frame.attributes),
            dropped_attributes_count: head.dropped_attributes_count,
            events: std::mem::take(&mut self.events),
            dropped_events_count: head.dropped_events_count,
            links: std::mem::take(&mut self.links),
            dropped_links_count: head.dropped_links_count,
            status: some(trace::Status { message: head.status_message.into(), code: head.status.0 }),
        };
        let resource = self.data.resource_spans.last_mut().expect("a resource");
        resource.scope_spans.last_mut().expect("a scope").spans.push(span);
    }
    fn span_abandoned(&mut self) {
        assert!(self.frame.in_scope, "a span is inside a scope");
        self.abandoned += 1;
        self.frame.attributes.clear();
        self.event_attributes.clear();
        self.events.clear();
        self.link_attributes.clear();
        self.links.clear();
    }
}

/// Builds metrics.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) data: metrics::MetricsData,
    frame: Frame,
    kind: Option<MetricKind>,
}

impl Metrics {
    pub(crate) fn assert_settled(&self) {
        assert!(!self.frame.in_scope && !self.frame.in_resource && self.kind.is_none());
        assert!(self.frame.attributes.is_empty(), "no attribute without its head");
    }

    fn last(&mut self) -> &mut metrics::Metric {
        let resource = self.data.resource_metrics.last_mut().expect("a resource");
        resource.scope_metrics.last_mut().expect("a scope").metrics.last_mut().expect("a metric")
    }
}

impl Visitor for Metrics {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.frame.attributes.push(key_value(key, value));
    }
    fn resource(&mut self, head: &ResourceHead<'_>) {
        let resource = self.frame.resource(head);
        self.data.resource_metrics.push(metrics::ResourceMetrics {
            resource,
            scope_metrics: Vec::new(),
            schema_url: head.schema_url.into(),
        });
    }
    fn resource_end(&mut self) {
        self.frame.resource_end();
    }
    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {
        self.frame.attributes.push(key_value(key, value));
    }
    fn scope(&mut self, head: &ScopeHead<'_>) {
        let scope = self.frame.scope(head);
        let resource = self.data.resource_metrics.last_mut().expect("a resource");
        resource.scope_metrics.push(metrics::ScopeMetrics {
            scope,
            metrics: Vec::new(),
            schema_url: head.schema_url.into(),
        });
    }
    fn scope_end(&mut self) {
        self.frame.scope_end();
    }
    fn metric(&mut self, head: &MetricHead<'_>) {
        use metrics::metric::Data;
        assert!(self.frame.in_scope && self.kind.replace(head.kind).is_none(), "metrics do not nest");
        let aggregation_temporality = head.temporality.0;
        let data_points = Vec::new();
        let data = match head.kind {
            MetricKind::Unknown => None,
            MetricKind::Gauge => Some(Data::Gauge(metrics::Gauge { data_points })),
            MetricKind::Sum => Some(Data::Sum(metrics::Sum {
                data_points,
                aggregation_temporality,
                is_monotonic: head.monotonic,
            })),
            MetricKind::Histogram => {
                Some(Data::Histogram(metrics::Histogram { data_points: Vec::new(), aggregation_temporality }))
            }
            MetricKind::ExponentialHistogram => {
                Some(Data::ExponentialHistogram(metrics::ExponentialHistogram {
                    data_points: Vec::new(),
                    aggregation_temporality,
                }))
            }
            MetricKind::Summary => Some(Data::Summary(metrics::Summary { data_points: Vec::new() })),
        };
        let metric = metrics::Metric {
            name: head.name.into(),
            description: head.description.into(),
            unit: head.unit.into(),
            metadata: Vec::new(),
            data,
        };
        let resource = self.data.resource_metrics.last_mut().expect("a resource");
        resource.scope_metrics.last_mut().expect("a scope").metrics.push(metric);
    }
    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        self.frame.attributes.push(key_value(key, value));
    }
    fn point(&mut self, head: &PointHead<'_>) {
        use metrics::metric::Data;
        use metrics::number_data_point::Value as N;
        let attributes = std::mem::take(&mut self.frame.attributes);
        let (start_time_unix_nano, time_unix_nano) = (head.start_unix_ns, head.time_unix_ns);
        let (exemplars, flags) = (Vec::new(), head.flags);
        match (self.last().data.as_mut().expect("a kind"), head.data) {
            (
                Data::Gauge(metrics::Gauge { data_points }) | Data::Sum(metrics::Sum { data_points, .. }),
                PointData::Number(number),
            ) => data_points.push(metrics::NumberDataPoint {
                attributes,
                start_time_unix_nano,
                time_unix_nano,
                exemplars,
                flags,
                value: number.map(|number| match number {
                    Number::Int(value) => N::AsInt(value),
                    Number::Double(value) => N::AsDouble(value),
                }),
            }),
            (
                Data::Histogram(histogram),
                PointData::Histogram { count, sum, min, max, explicit_bounds, bucket_counts },
            ) => histogram.data_points.push(metrics::HistogramDataPoint {
                attributes,
                start_time_unix_nano,
                time_unix_nano,
                exemplars,
                flags,
                count,
                sum,
                min,
                max,
                bucket_counts: bucket_counts.into(),
                explicit_bounds: explicit_bounds.into(),
            }),
            (
                Data::ExponentialHistogram(histogram),
                PointData::ExponentialHistogram {
                    count,
                    sum,
                    min,
                    max,
                    scale,
                    zero_count,
                    zero_threshold,
                    positive_offset,
                    positive,
                    negative_offset,
                    negative,
                },
            ) => {
                let buckets = |offset, counts: &[u64]| {
                    some(metrics::exponential_histogram_data_point::Buckets {
                        offset,
                        bucket_counts: counts.into(),
                    })
                };
                histogram.data_points.push(metrics::ExponentialHistogramDataPoint {
                    attributes,
                    start_time_unix_nano,
                    time_unix_nano,
                    exemplars,
                    flags,
                    count,
                    sum,
                    min,
                    max,
                    scale,
                    zero_count,
                    zero_threshold,
                    positive: buckets(positive_offset, positive),
                    negative: buckets(negative_offset, negative),
                });
            }
            (Data::Summary(summary), PointData::Summary { count, sum, quantiles }) => {
                summary.data_points.push(metrics::SummaryDataPoint {
                    attributes,
                    start_time_unix_nano,
                    time_unix_nano,
                    flags,
                    count,
                    sum,
                    quantile_values: quantiles
                        .iter()
                        .map(|&(quantile, value)| metrics::summary_data_point::ValueAtQuantile {
                            quantile,
                            value,
                        })
                        .collect(),
                });
            }
            (kind, data) => panic!("{data:?} is no point of {kind:?}"),
        }
    }
    fn metric_end(&mut self) {
        assert!(self.kind.take().is_some(), "a metric ends once");
        // What came for a point that is damaged.
        self.frame.attributes.clear();
    }
}
