//! What machines, GPUs and processes did while steps ran: points of metrics by source and series, joined to the steps by time
//! at the end. They belong to no run before that: who watches a machine does not know what runs on it.

pub(crate) mod allocators;
pub(crate) mod devices;
pub(crate) mod figures;
pub(crate) mod finish;
pub(crate) mod judged;
pub(crate) mod observe;
pub(crate) mod readings;
pub(crate) mod series;
pub(crate) mod sources;
pub(crate) mod stretches;
pub(crate) mod summary;
pub(crate) mod track;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accumulate::{Merge, keep_smallest};
use crate::run::Instance;
use series::Series;

/// Which series. In the order of hashes, those of one source together: where there are too many, whole sources stay.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SeriesKey {
    pub(crate) source_hash: u64,
    pub(crate) source: Instance,
    pub(crate) hash: u64,
    pub(crate) metric: Box<str>,
    pub(crate) labels: Box<str>,
    pub(crate) others: u64,
}

/// Series, of a bounded number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sources {
    pub(crate) series: BTreeMap<SeriesKey, Series>,
    pub(crate) is_cut: bool,
}

impl Sources {
    /// The series of a key; absent where there is no room for it.
    pub(crate) fn of(&mut self, key: SeriesKey, bound: usize) -> Option<&mut Series> {
        if !self.series.contains_key(&key) {
            self.series.insert(key.clone(), Series::default());
            self.is_cut |= keep_smallest(&mut self.series, bound);
        }
        self.series.get_mut(&key)
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bound: usize) {
        self.series.absorb(&other.series);
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.series, bound);
    }
}

/// Everything that was measured. Processes are many where a machine tells of all of them: they do not push out machines.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Metrics {
    /// Of machines and devices.
    pub(crate) machines: Sources,
    /// Of processes and what is around them.
    pub(crate) processes: Sources,
    /// Gauges of any other name.
    pub(crate) gauges: Sources,
}

impl Metrics {
    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bound: usize) {
        self.machines.merge(&other.machines, bound);
        self.processes.merge(&other.processes, bound);
        self.gauges.merge(&other.gauges, bound);
    }
}
