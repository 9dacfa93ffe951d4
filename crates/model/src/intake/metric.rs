//! Points of stepscope's own metrics, from the decoder's calls to [`MetricPoint`]s. All others are the business of
//! `measured`.

use stepscope_core::{LossReason, attr, histogram, metric};
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value};

use super::value;
use crate::{MetricPoint, SectionValue};

/// Call paths are cut to this many bytes.
const MAX_PATH: usize = 16 << 10;
/// Other texts are cut to this many bytes.
const MAX_TEXT: usize = 1_024;

/// The metric at hand and the attributes of the point whose head is still to come.
#[derive(Debug, Default)]
pub(crate) struct MetricDraft {
    /// Name of the metric, if it is one that is read.
    name: Option<&'static str>,
    path: String,
    phase: String,
    kind: String,
    sink: String,
    reason: Option<LossReason>,
}

impl MetricDraft {
    /// Starts a metric.
    pub(crate) fn begin(&mut self, head: &MetricHead<'_>) {
        // Increments would have to be summed up over every point ever written; we write totals only.
        let delta = head.temporality == Temporality::DELTA && head.kind != MetricKind::Gauge;
        self.name = metric::TABLE.iter().map(|row| row.name).find(|&name| !delta && name == head.name);
        self.clear();
    }

    /// Whether the metric at hand is one of these.
    pub(crate) fn is_ours(&self) -> bool {
        self.name.is_some()
    }

    /// Ends the metric.
    pub(crate) fn end(&mut self) {
        self.name = None;
    }

    fn clear(&mut self) {
        for text in [&mut self.path, &mut self.phase, &mut self.kind, &mut self.sink] {
            text.clear();
        }
        self.reason = None;
    }

    /// Takes one attribute of the next point.
    pub(crate) fn attribute(&mut self, key: &str, value: Value<'_>) {
        let (Some(_), Some(text)) = (self.name, value::text(value)) else { return };
        let (slot, limit) = match key {
            attr::PATH => (&mut self.path, MAX_PATH),
            attr::PHASE => (&mut self.phase, MAX_TEXT),
            attr::SECTION_KIND => (&mut self.kind, MAX_TEXT),
            attr::SINK => (&mut self.sink, MAX_TEXT),
            attr::LOSS_REASON => {
                self.reason = LossReason::parse(text);
                return;
            }
            _ => return,
        };
        slot.clear();
        slot.push_str(value::bounded(text, limit));
    }

    /// The point that `head` closes, if it is one that is read; its attributes are forgotten.
    pub(crate) fn point(&mut self, head: &PointHead<'_>) -> Option<MetricPoint> {
        let point = self.name.and_then(|name| self.typed(name, &head.data));
        self.clear();
        point
    }

    fn typed(&mut self, name: &'static str, data: &PointData<'_>) -> Option<MetricPoint> {
        let section = |draft: &mut Self, value| MetricPoint::Section {
            path: std::mem::take(&mut draft.path),
            phase: std::mem::take(&mut draft.phase),
            kind: std::mem::take(&mut draft.kind),
            value,
        };
        if name == metric::SECTION_DURATION {
            let value = durations(data)?;
            return Some(section(self, value));
        }
        let number = match data {
            PointData::Number(Some(Number::Int(number))) => *number,
            PointData::Number(Some(Number::Double(number))) => value::integral(*number)?,
            _ => return None,
        };
        let amount = u64::try_from(number).ok();
        match name {
            metric::SECTION_LEFT_OUT => amount.map(MetricPoint::SectionsLeftOut),
            metric::SPANS_EMITTED => amount.map(MetricPoint::SpansEmitted),
            metric::SPANS_EXPORTED => {
                amount.map(|count| MetricPoint::SpansExported { sink: std::mem::take(&mut self.sink), count })
            }
            metric::SPANS_DROPPED => amount.map(|count| MetricPoint::SpansDropped {
                sink: std::mem::take(&mut self.sink),
                reason: self.reason,
                count,
            }),
            metric::PROCESS_MEMORY_USAGE => amount.map(MetricPoint::RssBytes),
            metric::MEM_LIVE => amount.map(MetricPoint::LiveBytes),
            metric::MEM_LIMIT => amount.map(MetricPoint::LimitBytes),
            metric::MEM_LIMIT_USED => amount.map(MetricPoint::LimitUsedBytes),
            _ => Some(section(self, SectionValue::Integer(name, number))),
        }
    }
}

/// Buckets of an exponential histogram at our scale; finer ones are coarsened, coarser ones cannot be used.
fn durations(data: &PointData<'_>) -> Option<SectionValue> {
    let PointData::ExponentialHistogram { count, scale, zero_count, positive_offset, positive, .. } = data
    else {
        return None;
    };
    // A shift of 63 sends every index to 0 or −1 already.
    let shift = u32::try_from(i64::from(*scale) - i64::from(histogram::SCALE)).ok()?.min(63);
    // A run's last word on all of its sections is much at once.
    let mut buckets: Vec<(i32, u64)> =
        Vec::with_capacity(positive.iter().filter(|&&count| count > 0).count());
    for (index, &count) in (i64::from(*positive_offset)..).zip(*positive) {
        if count == 0 {
            continue;
        }
        let index = index >> shift;
        let index = i32::try_from(index).unwrap_or(if index < 0 { i32::MIN } else { i32::MAX });
        match buckets.last_mut() {
            Some((last, sum)) if *last == index => *sum = sum.saturating_add(count),
            _ => buckets.push((index, count)),
        }
    }
    Some(SectionValue::Durations { count: *count, zeros: *zero_count, buckets })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(data: PointData<'_>) -> PointHead<'_> {
        PointHead { start_unix_ns: 1, time_unix_ns: 2, flags: 0, data }
    }

    fn exponential(scale: i32, offset: i32, positive: &[u64]) -> PointData<'_> {
        PointData::ExponentialHistogram {
            count: positive.iter().sum::<u64>() + 1,
            sum: None,
            min: None,
            max: None,
            scale,
            zero_count: 1,
            zero_threshold: 0.0,
            positive_offset: offset,
            positive,
            negative_offset: 0,
            negative: &[],
        }
    }

    #[test]
    fn a_finer_histogram_is_coarsened_and_a_coarser_one_ignored() {
        // At scale 8 four buckets make one of scale 6: indices 1278–1281 become 319, 319, 320, 320.
        let value = durations(&exponential(8, 1_278, &[1, 2, 4, 8]));
        let buckets = vec![(319, 3), (320, 12)];
        assert_eq!(value, Some(SectionValue::Durations { count: 16, zeros: 1, buckets }));
        // Negative indices round down.
        let value = durations(&exponential(7, -1, &[1, 1, 1]));
        let buckets = vec![(-1, 1), (0, 2)];
        assert_eq!(value, Some(SectionValue::Durations { count: 4, zeros: 1, buckets }));
        assert!(durations(&exponential(5, 0, &[1])).is_none());
        assert!(durations(&exponential(i32::MIN, 0, &[1])).is_none());
        assert!(durations(&exponential(i32::MAX, i32::MAX, &[1, 1])).is_some());
    }

    #[test]
    fn points_of_other_metrics_and_increments_are_ignored() {
        let mut draft = MetricDraft::default();
        let head = MetricHead { name: "http.requests", kind: MetricKind::Sum, ..MetricHead::default() };
        draft.begin(&head);
        assert_eq!(draft.point(&point(PointData::Number(Some(Number::Int(1))))), None);
        let head = MetricHead {
            name: metric::SECTION_TOTAL,
            kind: MetricKind::Sum,
            temporality: Temporality::DELTA,
            ..MetricHead::default()
        };
        draft.begin(&head);
        assert_eq!(draft.point(&point(PointData::Number(Some(Number::Int(1))))), None);
    }

    #[test]
    fn attributes_belong_to_one_point() {
        let mut draft = MetricDraft::default();
        draft.begin(&MetricHead { name: metric::SPANS_DROPPED, ..MetricHead::default() });
        draft.attribute(attr::SINK, Value::Str("otlp"));
        draft.attribute(attr::LOSS_REASON, Value::Str("ring_full"));
        let data = PointData::Number(Some(Number::Double(3.0)));
        let expected =
            MetricPoint::SpansDropped { sink: "otlp".into(), reason: Some(LossReason::RingFull), count: 3 };
        assert_eq!(draft.point(&point(data)), Some(expected));
        let expected = MetricPoint::SpansDropped { sink: String::new(), reason: None, count: 3 };
        assert_eq!(draft.point(&point(data)), Some(expected));
    }
}
