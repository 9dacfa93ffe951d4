//! Metrics. A first pass over a metric's object finds its head and where its points are, a second reads the
//! points. Exemplars are skipped.

use super::field::Field;
use super::parser::{Parser, Result, Text};
use crate::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Visitor};

const TEMPORALITIES: &[&str] = &["UNSPECIFIED", "DELTA", "CUMULATIVE"];

/// Lists of a point, reused from point to point.
#[derive(Debug, Default)]
pub(super) struct PointScratch {
    counts: Vec<u64>,
    negative: Vec<u64>,
    bounds: Vec<f64>,
    quantiles: Vec<(f64, f64)>,
}

impl PointScratch {
    fn clear(&mut self) {
        self.counts.clear();
        self.negative.clear();
        self.bounds.clear();
        self.quantiles.clear();
    }
}

/// The scalar fields of a point of any kind.
#[derive(Default)]
struct Point {
    start_unix_ns: u64,
    time_unix_ns: u64,
    flags: u32,
    number: Option<Number>,
    count: u64,
    sum: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    scale: i32,
    zero_count: u64,
    zero_threshold: f64,
    positive_offset: i32,
    negative_offset: i32,
}

impl Point {
    fn data<'a>(&self, kind: MetricKind, lists: &'a PointScratch) -> Option<PointData<'a>> {
        let Self { count, sum, min, max, .. } = *self;
        Some(match kind {
            MetricKind::Unknown => return None,
            MetricKind::Gauge | MetricKind::Sum => PointData::Number(self.number),
            MetricKind::Histogram => PointData::Histogram {
                count,
                sum,
                min,
                max,
                explicit_bounds: &lists.bounds,
                bucket_counts: &lists.counts,
            },
            MetricKind::ExponentialHistogram => PointData::ExponentialHistogram {
                count,
                sum,
                min,
                max,
                scale: self.scale,
                zero_count: self.zero_count,
                zero_threshold: self.zero_threshold,
                positive_offset: self.positive_offset,
                positive: &lists.counts,
                negative_offset: self.negative_offset,
                negative: &lists.negative,
            },
            MetricKind::Summary => {
                PointData::Summary { count, sum: sum.unwrap_or(0.0), quantiles: &lists.quantiles }
            }
        })
    }
}

impl Parser<'_, '_> {
    /// Hands over one metric with its points; nothing of it if its own object is damaged.
    pub(super) fn metric(&mut self, lists: &mut PointScratch, v: &mut impl Visitor) -> Result<()> {
        let mark = self.scratch.mark();
        let (mut head, mut points) = (MetricHead::default(), None);
        let (mut name, mut unit, mut description) = (Text::default(), Text::default(), Text::default());
        self.object(|p, field| {
            let kind = match field {
                Field::Gauge => MetricKind::Gauge,
                Field::Sum => MetricKind::Sum,
                Field::Histogram => MetricKind::Histogram,
                Field::ExponentialHistogram => MetricKind::ExponentialHistogram,
                Field::Summary => MetricKind::Summary,
                Field::Name => return p.string().map(|text| name = text),
                Field::Unit => return p.string().map(|text| unit = text),
                Field::Description => return p.string().map(|text| description = text),
                field => return p.skip_member(field),
            };
            head = MetricHead { kind, ..MetricHead::default() };
            points = p.metric_data(&mut head)?;
            Ok(())
        })?;
        let end = self.pos;
        v.metric(&MetricHead {
            name: self.scratch.text(name),
            unit: self.scratch.text(unit),
            description: self.scratch.text(description),
            ..head
        });
        self.scratch.reset(mark);
        let result = match points {
            Some(at) => {
                self.pos = at;
                self.array(|p| p.point(head.kind, lists, v))
            }
            None => Ok(()),
        };
        v.metric_end();
        if result.is_ok() {
            self.pos = end;
        }
        result
    }

    /// The object of a metric's data, read into `head`; where its points begin.
    fn metric_data(&mut self, head: &mut MetricHead<'_>) -> Result<Option<usize>> {
        let mut points = None;
        self.object(|p, field| {
            match field {
                Field::DataPoints => {
                    points = Some(p.pos);
                    p.skip()?;
                }
                Field::AggregationTemporality => {
                    let number = p.enumeration("AGGREGATION_TEMPORALITY_", TEMPORALITIES)?;
                    head.temporality = Temporality(number);
                }
                Field::IsMonotonic => head.monotonic = p.boolean()?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })?;
        Ok(points)
    }

    fn point(&mut self, kind: MetricKind, lists: &mut PointScratch, v: &mut impl Visitor) -> Result<()> {
        let mut point = Point::default();
        lists.clear();
        self.object(|p, field| {
            match field {
                Field::Attributes => p.attributes(|(key, _), value| v.point_attribute(key, value))?,
                Field::StartTimeUnixNano => point.start_unix_ns = p.u64()?,
                Field::TimeUnixNano => point.time_unix_ns = p.u64()?,
                Field::Flags => point.flags = p.u32()?,
                Field::AsInt => point.number = Some(Number::Int(p.i64()?)),
                Field::AsDouble => point.number = Some(Number::Double(p.double()?)),
                Field::Count => point.count = p.u64()?,
                Field::Sum => point.sum = Some(p.double()?),
                Field::Min => point.min = Some(p.double()?),
                Field::Max => point.max = Some(p.double()?),
                Field::BucketCounts => p.array(|p| p.u64().map(|count| lists.counts.push(count)))?,
                Field::ExplicitBounds => p.array(|p| p.double().map(|bound| lists.bounds.push(bound)))?,
                Field::Scale => point.scale = p.i32()?,
                Field::ZeroCount => point.zero_count = p.u64()?,
                Field::ZeroThreshold => point.zero_threshold = p.double()?,
                Field::Positive => p.buckets(&mut point.positive_offset, &mut lists.counts)?,
                Field::Negative => p.buckets(&mut point.negative_offset, &mut lists.negative)?,
                Field::QuantileValues => p.array(|p| {
                    let (mut quantile, mut value) = (0.0, 0.0);
                    p.object(|p, field| {
                        match field {
                            Field::Quantile => quantile = p.double()?,
                            Field::Value => value = p.double()?,
                            field => p.skip_member(field)?,
                        }
                        Ok(())
                    })?;
                    lists.quantiles.push((quantile, value));
                    Ok(())
                })?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })?;
        if let Some(data) = point.data(kind, lists) {
            let Point { start_unix_ns, time_unix_ns, flags, .. } = point;
            v.point(&PointHead { start_unix_ns, time_unix_ns, flags, data });
            self.stats.items += 1;
        }
        Ok(())
    }

    fn buckets(&mut self, offset: &mut i32, counts: &mut Vec<u64>) -> Result<()> {
        self.object(|p, field| match field {
            Field::Offset => p.i32().map(|number| *offset = number),
            Field::BucketCounts => p.array(|p| p.u64().map(|count| counts.push(count))),
            field => p.skip_member(field),
        })
    }
}
