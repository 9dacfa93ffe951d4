//! Losses and memory of one instance as its metrics say: the latest point of each counts.

pub(crate) mod lost;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::LossReason;
use stepscope_model::MetricPoint;

use crate::accumulate::{Latest, Merge, accumulate, keep_smallest};
use crate::sections::paths::shorten;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum LossKey {
    /// Spans that ended.
    Emitted,
    /// Spans that a sink took.
    Exported(Box<str>),
    /// Spans lost, by sink and reason (index of a `LossReason`).
    Dropped(Box<str>, Option<u8>),
}

impl LossKey {
    /// The reason of an index.
    pub(crate) fn reason(index: Option<u8>) -> Option<LossReason> {
        index.and_then(LossReason::from_index)
    }
}

/// A gauge of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessGauge {
    pub(crate) last: Latest<u64>,
    pub(crate) max: u64,
}

accumulate!(ProcessGauge { merge: last; max: max; });

/// Losses and memory of one instance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) losses: BTreeMap<LossKey, Latest<u64>>,
    pub(crate) rss: Option<ProcessGauge>,
    pub(crate) live: Option<ProcessGauge>,
    pub(crate) limit: Option<ProcessGauge>,
    pub(crate) limit_used: Option<ProcessGauge>,
}

impl Account {
    /// Takes a point in; sections and samples of memory are not its business.
    pub(crate) fn add(&mut self, start_ns: u64, time_ns: u64, point: &MetricPoint, bound: usize) {
        let latest = |value: u64| Latest { time_ns, start_ns, value };
        let gauge = |value: u64| Some(ProcessGauge { last: latest(value), max: value });
        let (key, value) = match point {
            MetricPoint::SpansEmitted(count) => (LossKey::Emitted, *count),
            MetricPoint::SpansExported { sink, count } => (LossKey::Exported(shorten(sink).into()), *count),
            MetricPoint::SpansDropped { sink, reason, count } => {
                (LossKey::Dropped(shorten(sink).into(), reason.map(|reason| reason as u8)), *count)
            }
            MetricPoint::RssBytes(value) => return self.rss.absorb(&gauge(*value)),
            MetricPoint::LiveBytes(value) => return self.live.absorb(&gauge(*value)),
            MetricPoint::LimitBytes(value) => return self.limit.absorb(&gauge(*value)),
            MetricPoint::LimitUsedBytes(value) => return self.limit_used.absorb(&gauge(*value)),
            MetricPoint::Section { .. }
            | MetricPoint::SectionsLeftOut(_)
            | MetricPoint::Measured(_)
            | MetricPoint::Live(_) => return,
        };
        self.losses.entry(key).or_insert_with(|| latest(value)).absorb(&latest(value));
        keep_smallest(&mut self.losses, bound);
    }

    /// The limit of memory and what counts against it, bytes.
    pub(crate) fn memory_limit(&self) -> Option<(u64, u64)> {
        Some((self.limit.as_ref()?.last.value, self.limit_used.as_ref()?.last.value))
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bound: usize) {
        self.losses.absorb(&other.losses);
        keep_smallest(&mut self.losses, bound);
        self.rss.absorb(&other.rss);
        self.live.absorb(&other.live);
        self.limit.absorb(&other.limit);
        self.limit_used.absorb(&other.limit_used);
    }
}
