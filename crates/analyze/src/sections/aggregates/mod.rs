//! Aggregates of one instance as its metrics carry them: cumulative, so that of each figure the latest point
//! counts.

pub(crate) mod finish;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::metric;
use stepscope_model::SectionValue;

use crate::accumulate::distribution::Buckets;
use crate::accumulate::{Latest, Merge, keep_smallest};

/// Longer paths are left out, so that hostile ones cost bounded memory.
const MAX_PATH_BYTES: usize = 32_768;

/// Metrics of a section that are one integer; the index is what is written, so only append.
const INTEGERS: [&str; 13] = [
    metric::SECTION_COUNT,
    metric::SECTION_TOTAL,
    metric::SECTION_SELF_BUSY,
    metric::SECTION_SQUARES_LOW,
    metric::SECTION_SQUARES_HIGH,
    metric::SECTION_MIN,
    metric::SECTION_MAX,
    metric::SECTION_ALLOC,
    metric::SECTION_FREE,
    metric::SECTION_ALLOC_COUNT,
    metric::SECTION_SELF_ALLOC,
    metric::SECTION_SELF_FREE,
    metric::SECTION_DURATION,
];

/// Durations as written: count and buckets.
pub(crate) type Durations = (u64, Buckets);

/// The integers of one path, by position in [`INTEGERS`]: those that were said at the latest time, since a process sends all
/// of a path together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Integers {
    /// When they were said, and when their counting began.
    time: (u64, u64),
    values: [Option<i64>; INTEGERS.len()],
}

impl Integers {
    fn add(&mut self, time: (u64, u64), index: usize, value: i64) {
        if time > self.time {
            *self = Self { time, ..Self::default() };
        }
        if let Some(mine) = self.values.get_mut(index).filter(|_| time == self.time) {
            *mine = (*mine).max(Some(value));
        }
    }
}

impl Merge for Integers {
    fn absorb(&mut self, other: &Self) {
        let said = other.values.iter().enumerate();
        said.filter_map(|(index, value)| Some((index, (*value)?)))
            .for_each(|(index, value)| self.add(other.time, index, value));
    }
}

/// The figures of one path.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Aggregate {
    integers: Integers,
    durations: Option<Latest<Durations>>,
    /// Phase and kind as written, the smallest that are not empty.
    pub(crate) phase: Option<Box<str>>,
    pub(crate) kind: Option<Box<str>>,
}

impl Aggregate {
    /// The latest value of an integer metric; negative ones are damage.
    pub(crate) fn integer(&self, name: &str) -> Option<u64> {
        self.word(name).and_then(|value| u64::try_from(value).ok())
    }

    /// The latest value of an integer metric as it is.
    pub(crate) fn word(&self, name: &str) -> Option<i64> {
        self.integers.values.get(index_of(name)?).copied().flatten()
    }

    /// The latest durations.
    pub(crate) fn durations(&self) -> Option<&Durations> {
        self.durations.as_ref().map(|latest| &latest.value)
    }

    /// Takes a point of its path in.
    fn add(&mut self, point: &Point<'_>) {
        Self::name(&mut self.phase, point.phase);
        Self::name(&mut self.kind, point.kind);
        let (start_ns, time_ns) = (point.start_ns, point.time_ns);
        match point.value {
            SectionValue::Integer(name, value) => {
                let Some(index) = index_of(name) else { return };
                self.integers.add((time_ns, start_ns), index, *value);
            }
            SectionValue::Durations { count, zeros, buckets } => {
                let is_older =
                    |latest: &Latest<Durations>| (time_ns, start_ns) < (latest.time_ns, latest.start_ns);
                if !self.durations.as_ref().is_some_and(is_older) {
                    let value = (*count, Buckets::new(*zeros, buckets));
                    self.durations.absorb(&Some(Latest { time_ns, start_ns, value }));
                }
            }
        }
    }

    fn name(mine: &mut Option<Box<str>>, theirs: &str) {
        if !theirs.is_empty() && mine.as_deref().is_none_or(|mine| theirs < mine) {
            *mine = Some(crate::sections::paths::shorten(theirs).into());
        }
    }
}

impl Merge for Aggregate {
    fn absorb(&mut self, other: &Self) {
        self.integers.absorb(&other.integers);
        self.durations.absorb(&other.durations);
        Self::name(&mut self.phase, other.phase.as_deref().unwrap_or_default());
        Self::name(&mut self.kind, other.kind.as_deref().unwrap_or_default());
    }
}

/// One point of a section's metric.
pub(crate) struct Point<'a> {
    pub(crate) start_ns: u64,
    pub(crate) time_ns: u64,
    pub(crate) path: &'a str,
    pub(crate) phase: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) value: &'a SectionValue,
}

/// The aggregates of one instance, by path as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Aggregates {
    pub(crate) paths: BTreeMap<Box<str>, Aggregate>,
    /// Whether there were more paths than are kept, or than the process has written.
    pub(crate) is_cut: bool,
}

impl Aggregates {
    /// Takes a point in.
    pub(crate) fn add(&mut self, point: &Point<'_>, bound: usize) {
        if point.path.len() > MAX_PATH_BYTES {
            self.is_cut = true;
            return;
        }
        if let Some(aggregate) = self.paths.get_mut(point.path) {
            aggregate.add(point);
            return;
        }
        let mut aggregate = Aggregate::default();
        aggregate.add(point);
        self.paths.insert(point.path.into(), aggregate);
        self.is_cut |= keep_smallest(&mut self.paths, bound);
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bound: usize) {
        self.paths.absorb(&other.paths);
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.paths, bound);
    }
}

/// Names are mostly the vocabulary's own constants, so that looking at the address is enough.
fn index_of(name: &str) -> Option<usize> {
    let is_same = |known: &&str| std::ptr::eq(known.as_ptr(), name.as_ptr()) && known.len() == name.len();
    INTEGERS.iter().position(is_same).or_else(|| INTEGERS.iter().position(|&known| known == name))
}
