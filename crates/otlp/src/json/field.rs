//! The names of OTLP/JSON's members: lowerCamelCase as the specification has them, snake_case as some writers
//! leave them, the names of scopes before they were called so, and the objects in which the APIs of Jaeger and
//! Tempo wrap a message. What a member means is decided where it is met.

/// A member of any OTLP object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// No name that is read.
    Unknown,
    /// An object around a message.
    Envelope,
    ResourceSpans,
    ResourceMetrics,
    ResourceLogs,
    Resource,
    ScopeSpans,
    ScopeMetrics,
    Scope,
    SchemaUrl,
    Name,
    Version,
    Attributes,
    DroppedAttributesCount,
    EntityRefs,
    Key,
    Value,
    StringValue,
    BoolValue,
    IntValue,
    DoubleValue,
    ArrayValue,
    KvlistValue,
    BytesValue,
    Values,
    Spans,
    TraceId,
    SpanId,
    ParentSpanId,
    TraceState,
    Flags,
    Kind,
    StartTimeUnixNano,
    EndTimeUnixNano,
    TimeUnixNano,
    Events,
    DroppedEventsCount,
    Links,
    DroppedLinksCount,
    Status,
    Code,
    Message,
    Metrics,
    Description,
    Unit,
    Metadata,
    Gauge,
    Sum,
    Histogram,
    ExponentialHistogram,
    Summary,
    DataPoints,
    AggregationTemporality,
    IsMonotonic,
    AsInt,
    AsDouble,
    Exemplars,
    Count,
    Min,
    Max,
    BucketCounts,
    ExplicitBounds,
    Scale,
    ZeroCount,
    ZeroThreshold,
    Positive,
    Negative,
    Offset,
    QuantileValues,
    Quantile,
    PartialSuccess,
    /// Spans or data points.
    Rejected,
    ErrorMessage,
}

impl Field {
    /// The member of this name. Names are grouped by length, so that a key meets few comparisons.
    pub(super) fn of(key: &[u8]) -> Self {
        match key.len() {
            3 => match key {
                b"key" => Self::Key,
                b"sum" => Self::Sum,
                b"min" => Self::Min,
                b"max" => Self::Max,
                _ => Self::Unknown,
            },
            4 => match key {
                b"name" => Self::Name,
                b"kind" => Self::Kind,
                b"code" => Self::Code,
                b"unit" => Self::Unit,
                _ => Self::Unknown,
            },
            5 => match key {
                b"scope" => Self::Scope,
                b"trace" => Self::Envelope,
                b"value" | b"Value" => Self::Value,
                b"spans" => Self::Spans,
                b"flags" => Self::Flags,
                b"links" => Self::Links,
                b"gauge" => Self::Gauge,
                b"asInt" => Self::AsInt,
                b"count" => Self::Count,
                b"scale" => Self::Scale,
                _ => Self::Unknown,
            },
            6 => match key {
                b"values" => Self::Values,
                b"result" => Self::Envelope,
                b"spanId" => Self::SpanId,
                b"events" => Self::Events,
                b"status" => Self::Status,
                b"as_int" => Self::AsInt,
                b"offset" => Self::Offset,
                _ => Self::Unknown,
            },
            7 => match key {
                b"version" => Self::Version,
                b"batches" => Self::ResourceSpans,
                b"traceId" => Self::TraceId,
                b"span_id" => Self::SpanId,
                b"message" => Self::Message,
                b"metrics" => Self::Metrics,
                b"summary" => Self::Summary,
                _ => Self::Unknown,
            },
            8 => match key {
                b"resource" => Self::Resource,
                b"intValue" | b"IntValue" => Self::IntValue,
                b"trace_id" => Self::TraceId,
                b"metadata" => Self::Metadata,
                b"asDouble" => Self::AsDouble,
                b"positive" => Self::Positive,
                b"negative" => Self::Negative,
                b"quantile" => Self::Quantile,
                _ => Self::Unknown,
            },
            9 => match key {
                b"schemaUrl" => Self::SchemaUrl,
                b"boolValue" | b"BoolValue" => Self::BoolValue,
                b"int_value" => Self::IntValue,
                b"histogram" => Self::Histogram,
                b"as_double" => Self::AsDouble,
                b"exemplars" => Self::Exemplars,
                b"zeroCount" => Self::ZeroCount,
                _ => Self::Unknown,
            },
            10 => match key {
                b"scopeSpans" => Self::ScopeSpans,
                b"schema_url" => Self::SchemaUrl,
                b"attributes" => Self::Attributes,
                b"entityRefs" => Self::EntityRefs,
                b"bool_value" => Self::BoolValue,
                b"arrayValue" | b"ArrayValue" => Self::ArrayValue,
                b"bytesValue" | b"BytesValue" => Self::BytesValue,
                b"traceState" => Self::TraceState,
                b"dataPoints" => Self::DataPoints,
                b"zero_count" => Self::ZeroCount,
                _ => Self::Unknown,
            },
            11 => match key {
                b"scope_spans" => Self::ScopeSpans,
                b"entity_refs" => Self::EntityRefs,
                b"stringValue" | b"StringValue" => Self::StringValue,
                b"doubleValue" | b"DoubleValue" => Self::DoubleValue,
                b"array_value" => Self::ArrayValue,
                b"kvlistValue" | b"KvlistValue" => Self::KvlistValue,
                b"bytes_value" => Self::BytesValue,
                b"trace_state" => Self::TraceState,
                b"description" => Self::Description,
                b"data_points" => Self::DataPoints,
                b"isMonotonic" => Self::IsMonotonic,
                _ => Self::Unknown,
            },
            12 => match key {
                b"resourceLogs" => Self::ResourceLogs,
                b"scopeMetrics" => Self::ScopeMetrics,
                b"string_value" => Self::StringValue,
                b"double_value" => Self::DoubleValue,
                b"kvlist_value" => Self::KvlistValue,
                b"parentSpanId" => Self::ParentSpanId,
                b"timeUnixNano" => Self::TimeUnixNano,
                b"is_monotonic" => Self::IsMonotonic,
                b"bucketCounts" => Self::BucketCounts,
                b"errorMessage" => Self::ErrorMessage,
                _ => Self::Unknown,
            },
            13 => match key {
                b"resourceSpans" => Self::ResourceSpans,
                b"resource_logs" => Self::ResourceLogs,
                b"scope_metrics" => Self::ScopeMetrics,
                b"bucket_counts" => Self::BucketCounts,
                b"zeroThreshold" => Self::ZeroThreshold,
                b"rejectedSpans" => Self::Rejected,
                b"error_message" => Self::ErrorMessage,
                _ => Self::Unknown,
            },
            14 => match key {
                b"resource_spans" => Self::ResourceSpans,
                b"parent_span_id" => Self::ParentSpanId,
                b"time_unix_nano" => Self::TimeUnixNano,
                b"explicitBounds" => Self::ExplicitBounds,
                b"zero_threshold" => Self::ZeroThreshold,
                b"quantileValues" => Self::QuantileValues,
                b"rejected_spans" => Self::Rejected,
                b"partialSuccess" => Self::PartialSuccess,
                _ => Self::Unknown,
            },
            15 => match key {
                b"resourceMetrics" => Self::ResourceMetrics,
                b"endTimeUnixNano" => Self::EndTimeUnixNano,
                b"explicit_bounds" => Self::ExplicitBounds,
                b"quantile_values" => Self::QuantileValues,
                b"partial_success" => Self::PartialSuccess,
                _ => Self::Unknown,
            },
            16 => match key {
                b"resource_metrics" => Self::ResourceMetrics,
                _ => Self::Unknown,
            },
            17 => match key {
                b"startTimeUnixNano" => Self::StartTimeUnixNano,
                b"droppedLinksCount" => Self::DroppedLinksCount,
                _ => Self::Unknown,
            },
            18 => match key {
                b"end_time_unix_nano" => Self::EndTimeUnixNano,
                b"droppedEventsCount" => Self::DroppedEventsCount,
                b"rejectedDataPoints" => Self::Rejected,
                b"rejectedLogRecords" => Self::Rejected,
                _ => Self::Unknown,
            },
            19 => match key {
                b"dropped_links_count" => Self::DroppedLinksCount,
                _ => Self::Unknown,
            },
            20 => match key {
                b"start_time_unix_nano" => Self::StartTimeUnixNano,
                b"dropped_events_count" => Self::DroppedEventsCount,
                b"exponentialHistogram" => Self::ExponentialHistogram,
                b"rejected_data_points" => Self::Rejected,
                b"rejected_log_records" => Self::Rejected,
                _ => Self::Unknown,
            },
            21 => match key {
                b"exponential_histogram" => Self::ExponentialHistogram,
                _ => Self::Unknown,
            },
            22 => match key {
                b"instrumentationLibrary" => Self::Scope,
                b"droppedAttributesCount" => Self::DroppedAttributesCount,
                b"aggregationTemporality" => Self::AggregationTemporality,
                _ => Self::Unknown,
            },
            23 => match key {
                b"instrumentation_library" => Self::Scope,
                b"aggregation_temporality" => Self::AggregationTemporality,
                _ => Self::Unknown,
            },
            24 => match key {
                b"dropped_attributes_count" => Self::DroppedAttributesCount,
                _ => Self::Unknown,
            },
            27 => match key {
                b"instrumentationLibrarySpans" => Self::ScopeSpans,
                _ => Self::Unknown,
            },
            29 => match key {
                b"instrumentation_library_spans" => Self::ScopeSpans,
                b"instrumentationLibraryMetrics" => Self::ScopeMetrics,
                _ => Self::Unknown,
            },
            31 => match key {
                b"instrumentation_library_metrics" => Self::ScopeMetrics,
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn both_spellings_are_one_member() {
        for key in ["resourceSpans", "traceId", "startTimeUnixNano", "kvlistValue", "isMonotonic", "asInt"] {
            let snake: String = key
                .chars()
                .flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain([c.to_ascii_lowercase()]))
                .collect();
            assert_ne!(Field::of(key.as_bytes()), Field::Unknown, "{key}");
            assert_eq!(Field::of(key.as_bytes()), Field::of(snake.as_bytes()), "{key}");
        }
        assert_eq!(Field::of(b"traceID"), Field::Unknown);
        assert_eq!(Field::of(b""), Field::Unknown);
    }
}
