//! Aggregates and losses as OTLP metrics: cumulative integers per path, so that the latest point says it all,
//! and a path without news need not be said again each time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use stepscope_core::{LossReason, Moments, PathId, attr, metric, vocabulary::Instrument};
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value, Visitor};

use super::SinkCounts;
use super::encode::Context;
use crate::hot::recorder::{PathInfo, Recorder};
use crate::shared::aggregate::{MemorySums, Sums};

/// Everything that a publication says.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// Monotonic time of the copy.
    pub time_ns: u64,
    /// Says every path, with news or without.
    pub is_full: bool,
    pub sums: BTreeMap<u32, Sums>,
    pub emitted: u64,
    /// Lost before any sink.
    pub lost: [u64; LossReason::ALL.len()],
    pub sinks: Vec<(&'static str, SinkCounts)>,
    pub rss_bytes: Option<u64>,
    pub live_bytes: Option<u64>,
    /// What memory may come to, and what of that is in use.
    pub memory_limit: Option<(u64, u64)>,
    /// Where it is due.
    #[cfg(feature = "mem")]
    pub live_memory: Option<crate::shared::live_memory::LiveMemory>,
}

impl Snapshot {
    /// `sink` has nothing left: what it has not got of what was meant for it came too late.
    #[cfg(feature = "http")]
    pub(crate) fn settle(&mut self, sink: &str) {
        for (_, counts) in self.sinks.iter_mut().filter(|(name, _)| *name == sink) {
            *counts = counts.without_the_rest(self.emitted, &self.lost);
        }
    }
}

fn clamp(value: u128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A column of the sections' table: a metric and how to get it from the sums.
type Column = (&'static str, fn(&Sums) -> Option<i64>);

const COLUMNS: &[Column] = &[
    (metric::SECTION_COUNT, |sums| Some(clamp(sums.moments.count.into()))),
    (metric::SECTION_TOTAL, |sums| Some(clamp(sums.moments.sum))),
    (metric::SECTION_SELF_BUSY, |sums| Some(clamp(sums.self_busy_ns))),
    (metric::SECTION_SQUARES_LOW, |sums| Some(metric::squares_low(sums.moments.sum_of_squares))),
    (metric::SECTION_SQUARES_HIGH, |sums| Some(metric::squares_high(sums.moments.sum_of_squares))),
    (metric::SECTION_MIN, |sums| Some(clamp(sums.moments.min.into()))),
    (metric::SECTION_MAX, |sums| Some(clamp(sums.moments.max.into()))),
    (metric::SECTION_ALLOC, |sums| sums.memory.map(|memory| clamp(memory.alloc_bytes.into()))),
    (metric::SECTION_FREE, |sums| sums.memory.map(|memory| clamp(memory.free_bytes.into()))),
    (metric::SECTION_ALLOC_COUNT, |sums| sums.memory.map(|memory| clamp(memory.alloc_count.into()))),
    (metric::SECTION_SELF_ALLOC, |sums| sums.memory.map(|memory| clamp(memory.self_alloc_bytes.into()))),
    (metric::SECTION_SELF_FREE, |sums| sums.memory.map(|memory| clamp(memory.self_free_bytes.into()))),
];

/// Writes points that all have the time of one snapshot.
pub(crate) struct Writer<'a, V> {
    visitor: &'a mut V,
    start_unix_ns: u64,
    time_unix_ns: u64,
}

impl<'a, V: Visitor> Writer<'a, V> {
    pub(crate) fn new(visitor: &'a mut V, recorder: &Recorder, snapshot: &Snapshot) -> Self {
        Self {
            visitor,
            start_unix_ns: recorder.anchor.unix_ns(recorder.run_start_ns),
            time_unix_ns: recorder.anchor.unix_ns(snapshot.time_ns),
        }
    }

    /// Begins a metric; [`end`](Self::end) ends it.
    pub(crate) fn metric(&mut self, name: &'static str) {
        let row = metric::TABLE.iter().find(|row| row.name == name);
        let instrument = row.map_or(Instrument::Gauge, |row| row.instrument);
        let (kind, temporality, monotonic) = match instrument {
            Instrument::Counter => (MetricKind::Sum, Temporality::CUMULATIVE, true),
            Instrument::UpDownCounter => (MetricKind::Sum, Temporality::CUMULATIVE, false),
            Instrument::Gauge => (MetricKind::Gauge, Temporality::default(), false),
            Instrument::Histogram => (MetricKind::ExponentialHistogram, Temporality::CUMULATIVE, false),
        };
        let unit = row.map_or("", |row| row.unit);
        self.visitor.metric(&MetricHead { name, unit, description: "", kind, temporality, monotonic });
    }

    fn point(&mut self, data: PointData<'_>) {
        let (start_unix_ns, time_unix_ns) = (self.start_unix_ns, self.time_unix_ns);
        self.visitor.point(&PointHead { start_unix_ns, time_unix_ns, flags: 0, data });
    }

    #[cfg(feature = "mem")]
    pub(crate) fn end(&mut self) {
        self.visitor.metric_end();
    }

    /// A point; its attributes come before it.
    #[cfg(feature = "mem")]
    pub(crate) fn count(&mut self, value: u64) {
        self.integer(clamp(value.into()));
    }

    #[cfg(feature = "mem")]
    pub(crate) fn number_attribute(&mut self, key: &str, value: u64) {
        self.visitor.point_attribute(key, Value::Int(clamp(value.into())));
    }

    fn integer(&mut self, value: i64) {
        self.point(PointData::Number(Some(Number::Int(value))));
    }

    pub(crate) fn attribute(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.visitor.point_attribute(key, Value::Str(value));
        }
    }

    pub(crate) fn path(&mut self, info: &PathInfo) {
        self.attribute(attr::PATH, &info.text);
        self.attribute(attr::PHASE, info.phase.map_or("", |phase| phase.as_str()));
        self.attribute(attr::SECTION_KIND, info.kind.map_or("", |kind| kind.as_str()));
    }

    pub(crate) fn single(&mut self, name: &'static str, value: u64) {
        self.metric(name);
        self.integer(clamp(value.into()));
        self.visitor.metric_end();
    }
}

/// A message is ended when its paths need about this much; well below the 4 MiB that receivers take.
pub(crate) const MESSAGE_BYTES: usize = 1 << 20;

/// Every path is said again after this time, so that a receiver that forgets idle series keeps them.
const FULL_INTERVAL: Duration = Duration::from_secs(60);

/// What a path's sums were when they were said last.
type Published = (Moments, u128, Option<MemorySums>);

/// What one sink was told.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    said: HashMap<u32, Published>,
    last_full_ns: Option<u64>,
}

/// The paths of one message.
#[derive(Debug, Default)]
pub(crate) struct Part<'a> {
    pub paths: Vec<(PathInfo, &'a Sums)>,
    /// Has the losses and the figures of the process, too.
    pub is_last: bool,
    /// Paths that the publication leaves out; told by its last part.
    pub left_out: u64,
}

impl Publisher {
    /// What was told may be lost: the next publication says everything.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What there is to say, cut into messages; of the paths in `left_out` nothing.
    pub(crate) fn plan<'a>(
        &mut self,
        recorder: &Recorder,
        snapshot: &'a Snapshot,
        left_out: &BTreeSet<u32>,
    ) -> Vec<Part<'a>> {
        let since_full = self.last_full_ns.map(|last| snapshot.time_ns.saturating_sub(last));
        let is_due = since_full.is_none_or(|time| u128::from(time) >= FULL_INTERVAL.as_nanos());
        let is_full = snapshot.is_full || is_due;
        if is_full {
            self.last_full_ns = Some(snapshot.time_ns);
        }
        let (mut parts, mut bytes) = (vec![Part::default()], 0);
        for (&path, sums) in snapshot.sums.iter().filter(|(path, _)| !left_out.contains(path)) {
            let now = (sums.moments, sums.self_busy_ns, sums.memory);
            if self.said.insert(path, now) == Some(now) && !is_full {
                continue;
            }
            let info = recorder.path_info(PathId(path));
            bytes += size(&info, sums);
            if bytes > MESSAGE_BYTES {
                bytes = size(&info, sums);
                parts.push(Part::default());
            }
            if let Some(part) = parts.last_mut() {
                part.paths.push((info, sums));
            }
        }
        if let Some(part) = parts.last_mut() {
            part.is_last = true;
            part.left_out = left_out.len() as u64;
        }
        parts
    }
}

/// About what a path needs in a message, rather more than less.
pub(crate) fn size(info: &PathInfo, sums: &Sums) -> usize {
    // Text, two more attributes, times and the value, for each metric; a bucket takes a byte or a few.
    let buckets = sums.histogram.buckets().last().zip(sums.histogram.buckets().next());
    let width = buckets.map_or(0, |((last, _), (first, _))| usize::try_from(last - first).unwrap_or(0));
    (COLUMNS.len() + 1) * (info.text.len() + 160) + 2 * width
}

/// Writes a part of the snapshot as metrics.
pub(crate) fn write_metrics<V: Visitor>(
    visitor: &mut V,
    context: &Context<'_>,
    snapshot: &Snapshot,
    part: &Part<'_>,
) {
    let recorder = context.recorder;
    let mut writer = Writer::new(visitor, recorder, snapshot);
    for &(name, value) in COLUMNS {
        if part.paths.iter().all(|(_, sums)| value(sums).is_none()) {
            continue;
        }
        writer.metric(name);
        for (info, sums) in &part.paths {
            if let Some(value) = value(sums) {
                writer.path(info);
                writer.integer(value);
            }
        }
        writer.visitor.metric_end();
    }
    write_durations(&mut writer, &part.paths);
    if !part.is_last {
        return;
    }
    write_losses(&mut writer, snapshot);
    if part.left_out > 0 {
        writer.single(metric::SECTION_LEFT_OUT, part.left_out);
    }
    if let Some(bytes) = snapshot.rss_bytes {
        writer.single(metric::PROCESS_MEMORY_USAGE, bytes);
    }
    if let Some(bytes) = snapshot.live_bytes {
        writer.single(metric::MEM_LIVE, bytes);
    }
    if let Some((limit_bytes, used_bytes)) = snapshot.memory_limit {
        writer.single(metric::MEM_LIMIT, limit_bytes);
        writer.single(metric::MEM_LIMIT_USED, used_bytes);
    }
}

fn write_durations<V: Visitor>(writer: &mut Writer<'_, V>, paths: &[(PathInfo, &Sums)]) {
    if paths.is_empty() {
        return;
    }
    writer.metric(metric::SECTION_DURATION);
    for (info, sums) in paths {
        writer.path(info);
        let mut buckets = sums.histogram.buckets();
        let (mut offset, mut counts) = (0, Vec::new());
        if let Some((first, count)) = buckets.next() {
            offset = first;
            counts.push(count);
            for (index, count) in buckets {
                counts.resize(usize::try_from(index - offset).unwrap_or(0), 0);
                counts.push(count);
            }
        }
        writer.point(PointData::ExponentialHistogram {
            count: sums.moments.count,
            sum: Some(sums.moments.sum as f64),
            min: Some(sums.moments.min as f64),
            max: Some(sums.moments.max as f64),
            scale: stepscope_core::histogram::SCALE,
            zero_count: sums.histogram.zeros(),
            zero_threshold: 0.0,
            positive_offset: offset,
            positive: &counts,
            negative_offset: 0,
            negative: &[],
        });
    }
    writer.visitor.metric_end();
}

fn write_losses<V: Visitor>(writer: &mut Writer<'_, V>, snapshot: &Snapshot) {
    writer.single(metric::SPANS_EMITTED, snapshot.emitted);
    writer.metric(metric::SPANS_EXPORTED);
    for (sink, counts) in &snapshot.sinks {
        writer.attribute(attr::SINK, sink);
        writer.integer(clamp(counts.exported.into()));
    }
    writer.visitor.metric_end();
    writer.metric(metric::SPANS_DROPPED);
    let before = [("", &snapshot.lost)];
    let sinks = snapshot.sinks.iter().map(|(sink, counts)| (*sink, &counts.dropped));
    for (sink, dropped) in before.into_iter().chain(sinks) {
        for (&reason, &count) in LossReason::ALL.iter().zip(dropped).filter(|&(_, &count)| count > 0) {
            writer.attribute(attr::SINK, sink);
            writer.attribute(attr::LOSS_REASON, reason.as_str());
            writer.integer(clamp(count.into()));
        }
    }
    writer.visitor.metric_end();
}

#[cfg(test)]
mod tests;
