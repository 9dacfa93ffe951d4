//! The cumulative sums of a generated process, as the layer exports them.

use stepscope_core::vocabulary::Instrument;
use stepscope_core::{attr, histogram, metric};
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value, Visitor};

use super::truth::{Ledger, PathTruth};

type Column = (&'static str, fn(&PathTruth) -> u128);

const COLUMNS: &[Column] = &[
    (metric::SECTION_COUNT, |sums| sums.moments.count.into()),
    (metric::SECTION_TOTAL, |sums| sums.total_ns),
    (metric::SECTION_SELF_BUSY, |sums| sums.self_busy_ns),
    (metric::SECTION_SQUARES_LOW, |sums| {
        metric::squares_low(sums.moments.sum_of_squares).cast_unsigned().into()
    }),
    (metric::SECTION_SQUARES_HIGH, |sums| {
        metric::squares_high(sums.moments.sum_of_squares).cast_unsigned().into()
    }),
    (metric::SECTION_MIN, |sums| sums.moments.min.into()),
    (metric::SECTION_MAX, |sums| sums.moments.max.into()),
];

const MEMORY_COLUMNS: &[Column] = &[
    (metric::SECTION_ALLOC, |sums| sums.alloc_bytes.into()),
    (metric::SECTION_FREE, |sums| sums.free_bytes.into()),
    (metric::SECTION_ALLOC_COUNT, |sums| sums.alloc_count.into()),
    (metric::SECTION_SELF_ALLOC, |sums| sums.self_alloc_bytes.into()),
    (metric::SECTION_SELF_FREE, |sums| sums.self_free_bytes.into()),
];

/// What beside the sums goes into the points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Publication {
    pub start_unix_ns: u64,
    pub time_unix_ns: u64,
    pub emitted: u64,
    pub memory: bool,
}

impl Publication {
    /// Writes all points.
    pub(super) fn write(self, visitor: &mut impl Visitor, ledger: &Ledger) {
        let columns = COLUMNS.iter().chain(if self.memory { MEMORY_COLUMNS } else { &[] });
        for &(name, value) in columns {
            head(visitor, name);
            for (path, sums) in ledger.paths() {
                attributes(visitor, &path, sums);
                self.number(visitor, value(sums));
            }
            visitor.metric_end();
        }
        head(visitor, metric::SECTION_DURATION);
        for (path, sums) in ledger.paths() {
            attributes(visitor, &path, sums);
            self.buckets(visitor, sums);
        }
        visitor.metric_end();
        head(visitor, metric::SPANS_EMITTED);
        self.number(visitor, self.emitted.into());
        visitor.metric_end();
    }

    fn number(self, visitor: &mut impl Visitor, value: u128) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.point(visitor, PointData::Number(Some(Number::Int(value))));
    }

    fn buckets(self, visitor: &mut impl Visitor, sums: &PathTruth) {
        let first = sums.histogram.buckets().next().map_or(0, |(index, _)| index);
        let mut counts = Vec::new();
        for (index, count) in sums.histogram.buckets() {
            counts.resize((index - first) as usize, 0);
            counts.push(count);
        }
        let data = PointData::ExponentialHistogram {
            count: sums.moments.count,
            sum: Some(sums.moments.sum as f64),
            min: Some(sums.moments.min as f64),
            max: Some(sums.moments.max as f64),
            scale: histogram::SCALE,
            zero_count: sums.histogram.zeros(),
            zero_threshold: 0.0,
            positive_offset: first,
            positive: &counts,
            negative_offset: 0,
            negative: &[],
        };
        self.point(visitor, data);
    }

    fn point(self, visitor: &mut impl Visitor, data: PointData<'_>) {
        let (start_unix_ns, time_unix_ns) = (self.start_unix_ns, self.time_unix_ns);
        visitor.point(&PointHead { start_unix_ns, time_unix_ns, flags: 0, data });
    }
}

fn head(visitor: &mut impl Visitor, name: &str) {
    let Some(row) = metric::TABLE.iter().find(|row| row.name == name) else { return };
    let (kind, temporality) = match row.instrument {
        Instrument::Counter | Instrument::UpDownCounter => (MetricKind::Sum, Temporality::CUMULATIVE),
        Instrument::Gauge => (MetricKind::Gauge, Temporality::default()),
        Instrument::Histogram => (MetricKind::ExponentialHistogram, Temporality::CUMULATIVE),
    };
    let monotonic = row.instrument == Instrument::Counter;
    visitor.metric(&MetricHead { name, unit: row.unit, description: "", kind, temporality, monotonic });
}

fn attributes(visitor: &mut impl Visitor, path: &str, sums: &PathTruth) {
    visitor.point_attribute(attr::PATH, Value::Str(path));
    if let Some(phase) = sums.phase {
        visitor.point_attribute(attr::PHASE, Value::Str(phase.as_str()));
    }
    if let Some(kind) = sums.kind {
        visitor.point_attribute(attr::SECTION_KIND, Value::Str(kind.as_str()));
    }
}
