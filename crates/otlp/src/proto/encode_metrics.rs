//! Metrics and their points for [`Encoder`]. A metric's kind decides where its points' attributes go, so it
//! is kept while the metric is open.

use super::encode::Encoder;
use super::write::{self, Open};
use crate::{MetricHead, MetricKind, Number, PointData, PointHead, Signal, Temporality, Value};

/// A metric whose points are being written.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenMetric {
    metric: Open,
    /// The message of the variant; a metric of unknown kind has none.
    data: Option<Open>,
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
        let out = &mut self.out;
        let metric = write::open(out, 0x12, 128);
        write::some_bytes(out, 0x0a, head.name.as_bytes());
        write::some_bytes(out, 0x12, head.description.as_bytes());
        write::some_bytes(out, 0x1a, head.unit.as_bytes());
        let tag = match head.kind {
            MetricKind::Unknown => None,
            MetricKind::Gauge => Some(0x2a),
            MetricKind::Sum => Some(0x3a),
            MetricKind::Histogram => Some(0x4a),
            MetricKind::ExponentialHistogram => Some(0x52),
            MetricKind::Summary => Some(0x5a),
        };
        self.metric = Some(OpenMetric {
            metric,
            data: tag.map(|tag| write::open(out, tag, 128)),
            kind: head.kind,
            temporality: head.temporality,
            monotonic: head.monotonic,
        });
    }

    pub(super) fn end_metric(&mut self) {
        let Some(open) = self.metric.take() else { return };
        let out = &mut self.out;
        if let Some(data) = open.data {
            let sum = open.kind == MetricKind::Sum;
            if sum || matches!(open.kind, MetricKind::Histogram | MetricKind::ExponentialHistogram) {
                write::some_int32(out, 0x10, open.temporality.0);
            }
            write::some_varint(out, 0x18, u64::from(sum && open.monotonic));
            write::close(out, data);
        }
        write::close(out, open.metric);
        self.attributes.clear();
    }

    pub(super) fn write_point_attribute(&mut self, key: &str, value: Value<'_>) {
        let tag = match self.metric.map(|open| open.kind) {
            Some(MetricKind::Gauge | MetricKind::Sum | MetricKind::Summary) => 0x3a,
            Some(MetricKind::Histogram) => 0x4a,
            Some(MetricKind::ExponentialHistogram) => 0x0a,
            Some(MetricKind::Unknown) | None => return,
        };
        write::attribute(&mut self.attributes, tag, key, value);
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
        let (out, attributes) = (&mut self.out, &self.attributes[..]);
        let open = write::open(out, 0x0a, 30 + attributes.len());
        if kind == MetricKind::ExponentialHistogram {
            out.extend_from_slice(attributes);
        }
        write::some_fixed64(out, 0x11, head.start_unix_ns);
        write::some_fixed64(out, 0x19, head.time_unix_ns);
        data(out, attributes, &head.data, head.flags.into());
        write::close(out, open);
    }
}

/// The fields behind the times, flags included: they stand at another place in each kind of point.
fn data(out: &mut Vec<u8>, attributes: &[u8], data: &PointData<'_>, flags: u64) {
    match *data {
        PointData::Number(number) => {
            match number {
                Some(Number::Double(value)) => write::fixed64(out, 0x21, value.to_bits()),
                Some(Number::Int(value)) => write::fixed64(out, 0x31, value as u64),
                None => {}
            }
            out.extend_from_slice(attributes);
            write::some_varint(out, 0x40, flags);
        }
        PointData::Histogram { count, sum, min, max, explicit_bounds, bucket_counts } => {
            write::some_fixed64(out, 0x21, count);
            write::optional_double(out, 0x29, sum);
            write::packed64(out, 0x32, bucket_counts.iter().copied());
            write::packed64(out, 0x3a, explicit_bounds.iter().map(|bound| bound.to_bits()));
            out.extend_from_slice(attributes);
            write::some_varint(out, 0x50, flags);
            write::optional_double(out, 0x59, min);
            write::optional_double(out, 0x61, max);
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
            write::some_fixed64(out, 0x21, count);
            write::optional_double(out, 0x29, sum);
            write::some_sint32(out, 0x30, scale);
            write::some_fixed64(out, 0x39, zero_count);
            buckets(out, 0x42, positive_offset, positive);
            buckets(out, 0x4a, negative_offset, negative);
            write::some_varint(out, 0x50, flags);
            write::optional_double(out, 0x61, min);
            write::optional_double(out, 0x69, max);
            write::some_fixed64(out, 0x71, zero_threshold.to_bits());
        }
        PointData::Summary { count, sum, quantiles } => {
            write::some_fixed64(out, 0x21, count);
            write::some_fixed64(out, 0x29, sum.to_bits());
            for (quantile, value) in quantiles {
                let open = write::open(out, 0x32, 18);
                write::some_fixed64(out, 0x09, quantile.to_bits());
                write::some_fixed64(out, 0x11, value.to_bits());
                write::close(out, open);
            }
            out.extend_from_slice(attributes);
            write::some_varint(out, 0x40, flags);
        }
    }
}

/// One side of an exponential histogram, omitted when empty.
fn buckets(out: &mut Vec<u8>, tag: u8, offset: i32, counts: &[u64]) {
    if offset == 0 && counts.is_empty() {
        return;
    }
    let open = write::open(out, tag, counts.len() + 4);
    write::some_sint32(out, 0x08, offset);
    if !counts.is_empty() {
        let packed = write::open(out, 0x12, counts.len());
        for &count in counts {
            write::varint(out, count);
        }
        write::close(out, packed);
    }
    write::close(out, open);
}
