//! Metrics of machines and devices as messages: what an exporter or the collector would write of values that a test plans.

use stepscope_otlp::{
    MetricHead, MetricKind, Number, PointData, PointHead, ResourceHead, ScopeHead, Temporality, Value,
    Visitor,
};

use crate::message::{Encoder, Format};

/// How a metric's points combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The last value.
    Gauge,
    /// Everything since the start.
    Cumulative,
    /// What came since the point before.
    Delta,
}

/// One point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point<'a> {
    /// Name of its metric.
    pub name: &'a str,
    /// Unit of its metric.
    pub unit: &'a str,
    /// How its metric's points combine.
    pub kind: Kind,
    /// Its attributes.
    pub labels: Vec<(&'a str, &'a str)>,
    /// Since when it counts; 0 where it does not say.
    pub start_ns: u64,
    /// Its time.
    pub time_ns: u64,
    /// Its value.
    pub value: f64,
}

impl<'a> Point<'a> {
    /// A gauge in a unit.
    #[must_use]
    pub fn gauge(
        name: &'a str,
        unit: &'a str,
        labels: &[(&'a str, &'a str)],
        time_ns: u64,
        value: f64,
    ) -> Self {
        Self { name, unit, kind: Kind::Gauge, labels: labels.to_vec(), start_ns: 0, time_ns, value }
    }

    /// A counter that counts since `start_ns`.
    #[must_use]
    pub fn counter(
        name: &'a str,
        unit: &'a str,
        labels: &[(&'a str, &'a str)],
        (start_ns, time_ns): (u64, u64),
        value: f64,
    ) -> Self {
        Self { name, unit, kind: Kind::Cumulative, labels: labels.to_vec(), start_ns, time_ns, value }
    }
}

/// A message with these points of one source.
#[must_use]
pub fn message(format: Format, resource: &[(&str, &str)], points: &[Point<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::metrics(format);
    for (key, text) in resource {
        encoder.resource_attribute(key, Value::Str(text));
    }
    encoder.resource(&ResourceHead::default());
    encoder.scope(&ScopeHead { name: "planned", ..ScopeHead::default() });
    for point in points {
        let (kind, temporality) = match point.kind {
            Kind::Gauge => (MetricKind::Gauge, Temporality::default()),
            Kind::Cumulative => (MetricKind::Sum, Temporality::CUMULATIVE),
            Kind::Delta => (MetricKind::Sum, Temporality::DELTA),
        };
        let monotonic = point.kind != Kind::Gauge;
        let (name, unit) = (point.name, point.unit);
        encoder.metric(&MetricHead { name, unit, description: "", kind, temporality, monotonic });
        for (key, text) in &point.labels {
            encoder.point_attribute(key, Value::Str(text));
        }
        let data = PointData::Number(Some(Number::Double(point.value)));
        let (start_unix_ns, time_unix_ns) = (point.start_ns, point.time_ns);
        encoder.point(&PointHead { start_unix_ns, time_unix_ns, flags: 0, data });
        encoder.metric_end();
    }
    encoder.finish().to_vec()
}
