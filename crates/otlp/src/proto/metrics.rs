//! Metrics. A first pass over a metric's own fields finds its head, which protobuf may put behind the points
//! (a sum's temporality always is); the points follow in a second pass. Exemplars are skipped.

use super::decode::{Decoder, Result};
use super::wire::Reader;
use crate::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Visitor};

/// Tags of the variants of a metric's data.
fn kind_of(tag: u32) -> MetricKind {
    match tag {
        0x2a => MetricKind::Gauge,
        0x3a => MetricKind::Sum,
        0x4a => MetricKind::Histogram,
        0x52 => MetricKind::ExponentialHistogram,
        0x5a => MetricKind::Summary,
        _ => MetricKind::Unknown,
    }
}

/// Where a metric's points are: fields with `tag` from byte `from` on. A metric given with several variants
/// has the last; the same variant given twice in a row is joined.
#[derive(Default)]
struct Data {
    tag: u32,
    from: usize,
}

/// The fields all data points share.
#[derive(Default)]
struct Times {
    start_unix_ns: u64,
    time_unix_ns: u64,
    flags: u32,
}

impl Times {
    fn head<'a>(&self, data: PointData<'a>) -> PointHead<'a> {
        let Self { start_unix_ns, time_unix_ns, flags } = *self;
        PointHead { start_unix_ns, time_unix_ns, flags, data }
    }
}

impl Decoder {
    pub(super) fn metric(&mut self, r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut head, mut data) = (MetricHead::default(), Data::default());
        let (mut name, mut description, mut unit) = (&[][..], &[][..], &[][..]);
        let mut fields = r;
        while !fields.at_end() {
            let at = fields.pos();
            match fields.tag()? {
                0x0a => name = fields.bytes()?,
                0x12 => description = fields.bytes()?,
                0x1a => unit = fields.bytes()?,
                tag @ (0x2a | 0x3a | 0x4a | 0x52 | 0x5a) => {
                    if tag != data.tag {
                        data = Data { tag, from: at };
                        (head.temporality, head.monotonic) = (Temporality::default(), false);
                    }
                    head.kind = kind_of(tag);
                    self.data_head(fields.message()?, &mut head)?;
                }
                0x62 => fields.skip(0x62)?,
                tag => self.unknown(&mut fields, tag, "metric", 0x1eae)?,
            }
        }
        let (name, description, unit) = (self.text(name), self.text(description), self.text(unit));
        v.metric(&MetricHead { name: &name, description: &description, unit: &unit, ..head });
        let result = self.points(r, &data, head.kind, v);
        v.metric_end();
        result
    }

    fn data_head(&mut self, mut r: Reader<'_>, head: &mut MetricHead<'_>) -> Result<()> {
        let (aggregated, sum) = match head.kind {
            MetricKind::Sum => (true, true),
            MetricKind::Histogram | MetricKind::ExponentialHistogram => (true, false),
            _ => (false, false),
        };
        while !r.at_end() {
            match r.tag()? {
                0x0a => r.skip(0x0a)?,
                0x10 if aggregated => head.temporality = Temporality(r.int32()?),
                0x18 if sum => head.monotonic = r.varint()? != 0,
                tag => {
                    let known = 0b10 | u32::from(aggregated) << 2 | u32::from(sum) << 3;
                    self.unknown(&mut r, tag, "metric data", known)?;
                }
            }
        }
        Ok(())
    }

    fn points(
        &mut self,
        mut r: Reader<'_>,
        data: &Data,
        kind: MetricKind,
        v: &mut impl Visitor,
    ) -> Result<()> {
        while !r.at_end() {
            let at = r.pos();
            let tag = r.tag()?;
            if tag != data.tag || at < data.from {
                r.skip(tag)?;
                continue;
            }
            let mut fields = r.message()?;
            while !fields.at_end() {
                let tag = fields.tag()?;
                if tag != 0x0a {
                    fields.skip(tag)?;
                    continue;
                }
                let point = fields.message()?;
                match kind {
                    MetricKind::Gauge | MetricKind::Sum => self.number_point(point, v)?,
                    MetricKind::Histogram => self.histogram_point(point, v)?,
                    MetricKind::ExponentialHistogram => self.exponential_point(point, v)?,
                    MetricKind::Summary => self.summary_point(point, v)?,
                    MetricKind::Unknown => {}
                }
                self.stats.items += 1;
            }
        }
        Ok(())
    }

    fn point_attribute(&mut self, r: &mut Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let attribute = r.message()?;
        self.key_value(attribute, &mut |(key, _), value| v.point_attribute(key, value))
    }

    fn number_point(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut times, mut number) = (Times::default(), None);
        while !r.at_end() {
            match r.tag()? {
                0x11 => times.start_unix_ns = r.fixed64()?,
                0x19 => times.time_unix_ns = r.fixed64()?,
                0x21 => number = Some(Number::Double(r.double()?)),
                0x31 => number = Some(Number::Int(r.fixed64()? as i64)),
                0x3a => self.point_attribute(&mut r, v)?,
                0x40 => times.flags = r.uint32()?,
                0x2a => r.skip(0x2a)?,
                tag => self.unknown(&mut r, tag, "number point", 0x1fc)?,
            }
        }
        v.point(&times.head(PointData::Number(number)));
        Ok(())
    }

    fn histogram_point(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut times, mut count) = (Times::default(), 0);
        let (mut sum, mut min, mut max) = (None, None, None);
        self.counts.clear();
        self.bounds.clear();
        while !r.at_end() {
            match r.tag()? {
                0x11 => times.start_unix_ns = r.fixed64()?,
                0x19 => times.time_unix_ns = r.fixed64()?,
                0x21 => count = r.fixed64()?,
                0x29 => sum = Some(r.double()?),
                0x31 => self.counts.push(r.fixed64()?),
                0x32 => packed(r.message()?, &mut self.counts, Reader::fixed64)?,
                0x39 => self.bounds.push(r.double()?),
                0x3a => packed(r.message()?, &mut self.bounds, Reader::double)?,
                0x42 => r.skip(0x42)?,
                0x4a => self.point_attribute(&mut r, v)?,
                0x50 => times.flags = r.uint32()?,
                0x59 => min = Some(r.double()?),
                0x61 => max = Some(r.double()?),
                tag => self.unknown(&mut r, tag, "histogram point", 0x1ffc)?,
            }
        }
        v.point(&times.head(PointData::Histogram {
            count,
            sum,
            min,
            max,
            explicit_bounds: &self.bounds,
            bucket_counts: &self.counts,
        }));
        Ok(())
    }

    fn exponential_point(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut times, mut count, mut zero_count, mut zero_threshold) = (Times::default(), 0, 0, 0.0);
        let (mut sum, mut min, mut max, mut scale) = (None, None, None, 0);
        let (mut positive_offset, mut negative_offset) = (0, 0);
        self.counts.clear();
        self.negative_counts.clear();
        while !r.at_end() {
            match r.tag()? {
                0x0a => self.point_attribute(&mut r, v)?,
                0x11 => times.start_unix_ns = r.fixed64()?,
                0x19 => times.time_unix_ns = r.fixed64()?,
                0x21 => count = r.fixed64()?,
                0x29 => sum = Some(r.double()?),
                0x30 => scale = r.sint32()?,
                0x39 => zero_count = r.fixed64()?,
                0x42 => self.buckets(r.message()?, &mut positive_offset, false)?,
                0x4a => self.buckets(r.message()?, &mut negative_offset, true)?,
                0x50 => times.flags = r.uint32()?,
                0x5a => r.skip(0x5a)?,
                0x61 => min = Some(r.double()?),
                0x69 => max = Some(r.double()?),
                0x71 => zero_threshold = r.double()?,
                tag => self.unknown(&mut r, tag, "exponential histogram point", 0x7ffe)?,
            }
        }
        v.point(&times.head(PointData::ExponentialHistogram {
            count,
            sum,
            min,
            max,
            scale,
            zero_count,
            zero_threshold,
            positive_offset,
            positive: &self.counts,
            negative_offset,
            negative: &self.negative_counts,
        }));
        Ok(())
    }

    fn buckets(&mut self, mut r: Reader<'_>, offset: &mut i32, negative: bool) -> Result<()> {
        while !r.at_end() {
            let counts = if negative { &mut self.negative_counts } else { &mut self.counts };
            match r.tag()? {
                0x08 => *offset = r.sint32()?,
                0x10 => counts.push(r.varint()?),
                0x12 => packed(r.message()?, counts, Reader::varint)?,
                tag => self.unknown(&mut r, tag, "buckets", 0b110)?,
            }
        }
        Ok(())
    }

    fn summary_point(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut times, mut count, mut sum) = (Times::default(), 0, 0.0);
        self.quantiles.clear();
        while !r.at_end() {
            match r.tag()? {
                0x11 => times.start_unix_ns = r.fixed64()?,
                0x19 => times.time_unix_ns = r.fixed64()?,
                0x21 => count = r.fixed64()?,
                0x29 => sum = r.double()?,
                0x32 => self.quantile(r.message()?)?,
                0x3a => self.point_attribute(&mut r, v)?,
                0x40 => times.flags = r.uint32()?,
                tag => self.unknown(&mut r, tag, "summary point", 0x1fc)?,
            }
        }
        v.point(&times.head(PointData::Summary { count, sum, quantiles: &self.quantiles }));
        Ok(())
    }

    fn quantile(&mut self, mut r: Reader<'_>) -> Result<()> {
        let (mut quantile, mut value) = (0.0, 0.0);
        while !r.at_end() {
            match r.tag()? {
                0x09 => quantile = r.double()?,
                0x11 => value = r.double()?,
                tag => self.unknown(&mut r, tag, "quantile", 0b110)?,
            }
        }
        self.quantiles.push((quantile, value));
        Ok(())
    }
}

/// Appends the elements of a packed field to `to`.
fn packed<'a, T>(
    mut r: Reader<'a>,
    to: &mut Vec<T>,
    read: impl Fn(&mut Reader<'a>) -> Result<T>,
) -> Result<()> {
    while !r.at_end() {
        to.push(read(&mut r)?);
    }
    Ok(())
}
