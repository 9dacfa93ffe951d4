//! Metrics and their points for [`Encoder`].

use super::encode::Encoder;
use super::write::{self, Object};
use crate::{MetricHead, MetricKind, Number, PointData, PointHead, Signal, Temporality};

/// A metric whose points are being written.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenMetric {
    kind: MetricKind,
    temporality: Temporality,
    monotonic: bool,
}

impl Encoder {
    pub(super) fn begin_metric(&mut self, head: &MetricHead<'_>) {
        self.end_metric();
        if !self.is_open_for(Signal::Metrics) {
            return;
        }
        self.separate();
        let mut metric = Object::new(&mut self.out);
        metric.text(r#""name":"#, head.name);
        metric.text(r#""description":"#, head.description);
        metric.text(r#""unit":"#, head.unit);
        let data = match head.kind {
            MetricKind::Unknown => None,
            MetricKind::Gauge => Some(r#""gauge":{"dataPoints":["#),
            MetricKind::Sum => Some(r#""sum":{"dataPoints":["#),
            MetricKind::Histogram => Some(r#""histogram":{"dataPoints":["#),
            MetricKind::ExponentialHistogram => Some(r#""exponentialHistogram":{"dataPoints":["#),
            MetricKind::Summary => Some(r#""summary":{"dataPoints":["#),
        };
        let Some(data) = data else { return metric.end() };
        metric.key(data);
        let MetricHead { kind, temporality, monotonic, .. } = *head;
        self.metric = Some(OpenMetric { kind, temporality, monotonic });
    }

    pub(super) fn end_metric(&mut self) {
        self.attributes.clear();
        let Some(open) = self.metric.take() else { return };
        self.out.push(b']');
        let sum = open.kind == MetricKind::Sum;
        let aggregated = sum || matches!(open.kind, MetricKind::Histogram | MetricKind::ExponentialHistogram);
        if aggregated && open.temporality.0 != 0 {
            self.out.extend_from_slice(br#","aggregationTemporality":"#);
            let number = open.temporality.0;
            write::integer(&mut self.out, number < 0, number.unsigned_abs().into());
        }
        if sum && open.monotonic {
            self.out.extend_from_slice(br#","isMonotonic":true"#);
        }
        self.out.extend_from_slice(b"}}");
    }

    /// Writes a point; one whose data is not of the metric's kind has no place in the message.
    pub(super) fn write_point(&mut self, head: &PointHead<'_>) {
        let Some(kind) = self.metric.map(|open| open.kind) else { return };
        let fits = match head.data {
            PointData::Number(_) => matches!(kind, MetricKind::Gauge | MetricKind::Sum),
            PointData::Histogram { .. } => kind == MetricKind::Histogram,
            PointData::ExponentialHistogram { .. } => kind == MetricKind::ExponentialHistogram,
            PointData::Summary { .. } => kind == MetricKind::Summary,
        };
        if !fits {
            return;
        }
        self.separate();
        let mut point = Object::new(&mut self.out);
        point.list(r#""attributes":"#, &self.attributes);
        point.long(r#""startTimeUnixNano":"#, head.start_unix_ns);
        point.long(r#""timeUnixNano":"#, head.time_unix_ns);
        point.number(r#""flags":"#, head.flags);
        data(&mut point, &head.data);
        point.end();
    }
}

fn data(point: &mut Object<'_>, data: &PointData<'_>) {
    match *data {
        PointData::Number(None) => {}
        PointData::Number(Some(Number::Double(value))) => {
            write::double(point.key(r#""asDouble":"#), value);
        }
        PointData::Number(Some(Number::Int(value))) => {
            write::quoted(point.key(r#""asInt":"#), value < 0, value.unsigned_abs());
        }
        PointData::Histogram { count, sum, min, max, explicit_bounds, bucket_counts } => {
            point.long(r#""count":"#, count);
            point.optional_double(r#""sum":"#, sum);
            counts(point, bucket_counts);
            if !explicit_bounds.is_empty() {
                let out = point.key(r#""explicitBounds":"#);
                write::array(out, explicit_bounds, |out, bound| write::double(out, *bound));
            }
            point.optional_double(r#""min":"#, min);
            point.optional_double(r#""max":"#, max);
        }
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
        } => {
            point.long(r#""count":"#, count);
            point.optional_double(r#""sum":"#, sum);
            point.number(r#""scale":"#, scale);
            point.long(r#""zeroCount":"#, zero_count);
            buckets(point, r#""positive":"#, positive_offset, positive);
            buckets(point, r#""negative":"#, negative_offset, negative);
            point.optional_double(r#""min":"#, min);
            point.optional_double(r#""max":"#, max);
            point.optional_double(r#""zeroThreshold":"#, some(zero_threshold));
        }
        PointData::Summary { count, sum, quantiles } => {
            point.long(r#""count":"#, count);
            point.optional_double(r#""sum":"#, some(sum));
            if !quantiles.is_empty() {
                let out = point.key(r#""quantileValues":"#);
                write::array(out, quantiles, |out, (quantile, value)| {
                    let mut object = Object::new(out);
                    object.optional_double(r#""quantile":"#, some(*quantile));
                    object.optional_double(r#""value":"#, some(*value));
                    object.end();
                });
            }
        }
    }
}

/// A double that is omitted when zero.
fn some(value: f64) -> Option<f64> {
    (value.to_bits() != 0).then_some(value)
}

/// One side of an exponential histogram, omitted when empty.
fn buckets(point: &mut Object<'_>, key: &'static str, offset: i32, bucket_counts: &[u64]) {
    if offset == 0 && bucket_counts.is_empty() {
        return;
    }
    let mut object = Object::new(point.key(key));
    object.number(r#""offset":"#, offset);
    counts(&mut object, bucket_counts);
    object.end();
}

fn counts(object: &mut Object<'_>, counts: &[u64]) {
    if !counts.is_empty() {
        let out = object.key(r#""bucketCounts":"#);
        write::array(out, counts, |out, count| write::quoted(out, false, *count));
    }
}
