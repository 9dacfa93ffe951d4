//! One series of a metric: what was read in each stretch of time, in integers. What it means is the business of `track`.

use serde::{Deserialize, Serialize};
use stepscope_model::MeasuredKind;

use crate::accumulate::time_buckets::TimeBuckets;
use crate::accumulate::{Merge, accumulate};

/// Stretches of time that are kept of a series; with more readings, some share one.
const MOST: usize = 512;

/// Values of a gauge, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Gauges {
    pub(crate) count: u64,
    pub(crate) sum: i128,
    pub(crate) least: Option<i128>,
    pub(crate) most: Option<i128>,
    /// Time of the latest.
    pub(crate) last_ns: u64,
}

accumulate!(Gauges { sum: count, sum; least: least; max: most, last_ns; });

/// What a counter said last: the sum over all that said it at that time, so that series which are folded into one (the
/// processors of a machine, say) are added up. Of repeated points the mean stays what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// When, and when counting began.
    pub(crate) time: (u64, u64),
    pub(crate) sum: i128,
    pub(crate) count: u64,
}

impl Merge for Totals {
    fn absorb(&mut self, other: &Self) {
        if other.time > self.time || self.count == 0 {
            *self = *other;
        } else if other.time == self.time {
            self.sum = self.sum.saturating_add(other.sum);
            self.count = self.count.saturating_add(other.count);
        }
    }
}

/// What came since the points before, and how long that took. Repeated points leave the rate as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Increments {
    pub(crate) sum: i128,
    pub(crate) covered_ns: u64,
    /// Time of the latest.
    pub(crate) last_ns: u64,
}

accumulate!(Increments { sum: sum, covered_ns; max: last_ns; });

/// A series. All of its points are of one kind, unless its writer was changed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) gauges: TimeBuckets<Gauges, MOST>,
    pub(crate) totals: TimeBuckets<Totals, MOST>,
    pub(crate) increments: TimeBuckets<Increments, MOST>,
}

impl Series {
    /// Adds one value.
    pub(crate) fn add(&mut self, kind: MeasuredKind, start_ns: u64, time_ns: u64, millionths: i128) {
        match kind {
            MeasuredKind::Gauge => {
                let value = Some(millionths);
                let one = Gauges { count: 1, sum: millionths, least: value, most: value, last_ns: time_ns };
                self.gauges.add(time_ns, &one);
            }
            MeasuredKind::Total => {
                self.totals.add(time_ns, &Totals { time: (time_ns, start_ns), sum: millionths, count: 1 });
            }
            MeasuredKind::Increment => {
                // One of which nobody knows since when it counts gives no rate.
                let covered_ns = if start_ns == 0 { 0 } else { time_ns.saturating_sub(start_ns) };
                if covered_ns > 0 {
                    let one = Increments { sum: millionths, covered_ns, last_ns: time_ns };
                    self.increments.add(time_ns, &one);
                }
            }
        }
    }
}

impl Merge for Series {
    fn absorb(&mut self, other: &Self) {
        self.gauges.absorb(&other.gauges);
        self.totals.absorb(&other.totals);
        self.increments.absorb(&other.increments);
    }
}
