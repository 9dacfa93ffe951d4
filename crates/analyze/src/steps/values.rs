//! The user's own values (`stepscope.value.*`). Their sums are kept in fixed point, since sums of floats
//! depend on order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::identity::TraceId;

use crate::accumulate::step_series::{StepIndex, StepSeries};
use crate::accumulate::{Merge, accumulate, keep_smallest};
use crate::sections::paths::shorten;

/// Fractional bits of a sum: steps of 2.2e-16.
const FRACTION_BITS: i32 = 52;

/// Larger magnitudes are clamped in sums, so that 2³⁰ of them fit.
const CLAMP: f64 = (1u64 << 45) as f64;

/// A finite float with the total order of its value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Real(pub(crate) f64);

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// When a value was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RecordedValue {
    pub(crate) epoch: Option<u64>,
    pub(crate) step: Option<u64>,
    pub(crate) start_ns: u64,
    pub(crate) trace: TraceId,
    pub(crate) span: u64,
}

/// Several values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ValueAcc {
    pub(crate) count: u64,
    /// In units of 2⁻⁵².
    sum: i128,
    pub(crate) min: Real,
    pub(crate) max: Real,
    pub(crate) last: (RecordedValue, Real),
}

impl ValueAcc {
    /// One finite value.
    fn of(value: f64, said: RecordedValue) -> Self {
        // Adding 0 turns −0 into 0, which are one value.
        let value = value + 0.0;
        let sum = (value.clamp(-CLAMP, CLAMP) * f64::powi(2.0, FRACTION_BITS)).round() as i128;
        Self { count: 1, sum, min: Real(value), max: Real(value), last: (said, Real(value)) }
    }

    /// Arithmetic mean.
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / f64::powi(2.0, FRACTION_BITS) / self.count as f64
    }
}

accumulate!(ValueAcc { sum: count, sum; min: min; max: max, last; });

/// One name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ValueTrack {
    pub(crate) points: StepSeries<ValueAcc>,
    /// Values that belong to no numbered step.
    pub(crate) elsewhere: Option<ValueAcc>,
    pub(crate) not_finite: u64,
}

/// All names of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Values {
    pub(crate) tracks: BTreeMap<Box<str>, ValueTrack>,
    /// Whether there were more names than are kept.
    pub(crate) is_cut: bool,
}

impl Values {
    /// Adds one value.
    pub(crate) fn add(&mut self, name: &str, value: f64, said: RecordedValue, names: usize, points: usize) {
        let name = shorten(name);
        if !self.tracks.contains_key(name) {
            self.tracks.insert(name.into(), ValueTrack::default());
            self.is_cut |= keep_smallest(&mut self.tracks, names);
        }
        let Some(track) = self.tracks.get_mut(name) else { return };
        if !value.is_finite() {
            track.not_finite = track.not_finite.saturating_add(1);
            return;
        }
        let value = ValueAcc::of(value, said);
        match said.step {
            Some(step) => track.points.add(StepIndex { epoch: said.epoch, step }, &value, points),
            None => track.elsewhere.absorb(&Some(value)),
        }
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, names: usize, points: usize) {
        for (name, theirs) in &other.tracks {
            let mine = self.tracks.entry(name.clone()).or_default();
            mine.points.merge(&theirs.points, points);
            mine.elsewhere.absorb(&theirs.elsewhere);
            mine.not_finite = mine.not_finite.saturating_add(theirs.not_finite);
        }
        self.is_cut |= other.is_cut;
        self.is_cut |= keep_smallest(&mut self.tracks, names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(step: u64) -> RecordedValue {
        RecordedValue { epoch: None, step: Some(step), start_ns: step, trace: [0; 16], span: 1 }
    }

    #[test]
    fn a_sum_does_not_depend_on_order() {
        let values = [0.1, 1e9, -1e9, 0.2, 3.0, -0.0];
        let fold = |order: &[usize]| {
            let mut values_of = Values::default();
            for &i in order {
                values_of.add("loss", values[i], RecordedValue { step: Some(0), ..said(i as u64) }, 8, 8);
            }
            values_of.tracks["loss"].points.points[&(0, 0)].clone()
        };
        let forward = fold(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(forward, fold(&[5, 2, 4, 3, 1, 0]));
        assert!((forward.mean() - 3.3 / 6.0).abs() < 1e-15);
        assert_eq!((forward.min.0, forward.max.0, forward.last.1.0), (-1e9, 1e9, 0.0));
    }

    #[test]
    fn values_that_are_no_numbers_are_counted() {
        let mut values = Values::default();
        values.add("loss", f64::NAN, said(1), 8, 8);
        values.add("loss", f64::INFINITY, said(2), 8, 8);
        values.add("loss", 1.0, said(3), 8, 8);
        let track = &values.tracks["loss"];
        assert_eq!((track.not_finite, track.points.points.len()), (2, 1));
    }
}
