//! A point of the series of steps: what those in it took, and what they say of memory and waits.

use serde::{Deserialize, Serialize};

use crate::accumulate::accumulate;
use crate::accumulate::gauge::GaugeAcc;

/// Figures of the steps of one point. A point that holds only waits has no durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct StepPoint {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    pub(crate) min_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
    pub(crate) live: GaugeAcc,
    pub(crate) rss: GaugeAcc,
    pub(crate) samples: Option<u64>,
    pub(crate) wait_ns: u64,
    /// Of the steps that say it.
    pub(crate) run_queue_ns: Option<u64>,
    /// Of the steps that say it.
    pub(crate) cpu_ns: Option<u64>,
    /// For how long their threads waited for batches before them, of the steps that say it.
    pub(crate) input_before_ns: Option<u64>,
    /// Start of the earliest.
    pub(crate) first_ns: Option<u64>,
}

accumulate!(StepPoint { sum: count, sum_ns, samples, run_queue_ns, cpu_ns, input_before_ns, wait_ns; least: min_ns, first_ns; max: max_ns; merge: live, rss; });
