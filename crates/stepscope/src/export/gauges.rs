//! The gauges of `stepscope-metrics` as OTLP metrics, for the endpoint. The directory has none: its metrics are the latest
//! ones alone, and gauges are a course of time.

use stepscope_core::metric;
use stepscope_core::vocabulary::{Instrument, Metric};
use stepscope_metrics::{Label, Latest, Value as Figure, Visitor as Points};
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value, Visitor};

use super::encode::Context;
use crate::os::clock::now_ns;

/// Writes all points of the latest reading, and says how many there are.
pub(crate) fn write_gauges<V: Visitor>(visitor: &mut V, context: &Context<'_>, latest: &Latest) -> u64 {
    let recorder = context.recorder;
    let (start_unix_ns, time_unix_ns) =
        (recorder.anchor.unix_ns(recorder.run_start_ns), recorder.anchor.unix_ns(now_ns()));
    let mut writer = Writer { visitor, start_unix_ns, time_unix_ns, is_open: false, points: 0 };
    latest.visit(&mut writer);
    if writer.is_open {
        writer.visitor.metric_end();
    }
    writer.points
}

struct Writer<'v, V> {
    visitor: &'v mut V,
    start_unix_ns: u64,
    time_unix_ns: u64,
    is_open: bool,
    points: u64,
}

impl<V: Visitor> Points for Writer<'_, V> {
    fn metric(&mut self, row: &'static Metric) {
        if self.is_open {
            self.visitor.metric_end();
        }
        // The layer says that one itself.
        self.is_open = row.name != metric::PROCESS_MEMORY_USAGE;
        if self.is_open {
            let (kind, temporality, monotonic) = match row.instrument {
                Instrument::Counter => (MetricKind::Sum, Temporality::CUMULATIVE, true),
                Instrument::UpDownCounter => (MetricKind::Sum, Temporality::CUMULATIVE, false),
                Instrument::Gauge | Instrument::Histogram => {
                    (MetricKind::Gauge, Temporality::default(), false)
                }
            };
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
        let (start_unix_ns, time_unix_ns) = (self.start_unix_ns, self.time_unix_ns);
        let data = PointData::Number(Some(number));
        self.visitor.point(&PointHead { start_unix_ns, time_unix_ns, flags: 0, data });
        self.points += 1;
    }
}
