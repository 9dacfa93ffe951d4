//! A reading of `stepscope-metrics` as OTLP metrics, for the endpoint, which gets one as often as the sums, and for the directory,
//! which keeps all of them. Each goes there by the sink, and by nothing else.

use stepscope_core::metric;
use stepscope_core::vocabulary::{Instrument, Metric};
use stepscope_metrics::{Label, Latest, Value as Figure, Visitor as Points};
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value, Visitor};

use super::encode::Context;
use crate::os::clock::now_ns;

/// What of a reading the endpoint does not get from here: the layer says these itself.
#[cfg(feature = "http")]
pub(crate) const NOT_SENT: &[&str] = &[metric::PROCESS_MEMORY_USAGE, metric::run::RUN_INFO];

/// What of a reading is not kept: a point a processor would be more than all others together on large machines, and whose
/// profile it is says each of its files.
pub(crate) const NOT_KEPT: &[&str] = &[metric::host::CPU_CORE_UTILIZATION, metric::run::RUN_INFO];

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Number of the reading's pass.
    pub pass: u64,
    pub points: u64,
}

/// Writes the points of the latest reading but those of the metrics `without`; nothing of one that is too old.
pub(crate) fn write_gauges<V: Visitor>(
    visitor: &mut V,
    context: &Context<'_>,
    latest: &Latest,
    without: &'static [&'static str],
) -> Option<Written> {
    let recorder = context.recorder;
    let start_unix_ns = recorder.anchor.unix_ns(recorder.run_start_ns);
    let mut pass = 0;
    let writer = latest.visit_fresh(|reading| {
        pass = reading.pass;
        // By the clock of spans, whatever becomes of the system's.
        let age_ns = u64::try_from(reading.age.as_nanos()).unwrap_or(u64::MAX);
        let found_ns = recorder.anchor.unix_ns(now_ns().saturating_sub(age_ns));
        let time_unix_ns = recorder.gauges.time_ns(pass, found_ns);
        let is_sum = false;
        Writer { visitor, without, start_unix_ns, time_unix_ns, is_sum, is_open: false, points: 0 }
    })?;
    if writer.is_open {
        writer.visitor.metric_end();
    }
    Some(Written { pass, points: writer.points })
}

struct Writer<'v, V> {
    visitor: &'v mut V,
    without: &'static [&'static str],
    start_unix_ns: u64,
    time_unix_ns: u64,
    /// The metric at hand counts from a start on.
    is_sum: bool,
    is_open: bool,
    points: u64,
}

impl<V: Visitor> Points for Writer<'_, V> {
    fn metric(&mut self, row: &'static Metric) {
        if self.is_open {
            self.visitor.metric_end();
        }
        self.is_open = !self.without.contains(&row.name);
        if self.is_open {
            let (kind, temporality, monotonic) = match row.instrument {
                Instrument::Counter => (MetricKind::Sum, Temporality::CUMULATIVE, true),
                Instrument::UpDownCounter => (MetricKind::Sum, Temporality::CUMULATIVE, false),
                Instrument::Gauge | Instrument::Histogram => {
                    (MetricKind::Gauge, Temporality::default(), false)
                }
            };
            self.is_sum = kind == MetricKind::Sum;
            let Metric { name, unit, .. } = row;
            self.visitor.metric(&MetricHead { name, unit, description: "", kind, temporality, monotonic });
        }
    }

    fn point(&mut self, labels: &[Label<'_>], value: Figure) {
        if !self.is_open {
            return;
        }
        for (key, text) in labels {
            self.visitor.point_attribute(key, Value::Str(text));
        }
        let number = match value {
            Figure::Int(value) => Number::Int(i64::try_from(value).unwrap_or(i64::MAX)),
            Figure::Double(value) => Number::Double(value),
        };
        let start_unix_ns = if self.is_sum { self.start_unix_ns } else { 0 };
        let data = PointData::Number(Some(number));
        let time_unix_ns = self.time_unix_ns;
        self.visitor.point(&PointHead { start_unix_ns, time_unix_ns, flags: 0, data });
        self.points += 1;
    }
}
