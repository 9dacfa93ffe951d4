//! A gauge over several steps.

use serde::{Deserialize, Serialize};

use crate::accumulate::Merge;

/// A gauge over several steps, none of which need say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct GaugeAcc {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl GaugeAcc {
    /// Of one value, or of none.
    pub(crate) fn of(value: Option<u64>) -> Self {
        let of = |value: u64| Self { count: 1, sum: value.into(), min: value, max: value };
        value.map(of).unwrap_or_default()
    }

    /// What it is, where a step said it.
    pub(crate) fn said(&self) -> Option<&Self> {
        (self.count > 0).then_some(self)
    }
}

impl Merge for GaugeAcc {
    fn absorb(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_say_nothing_leave_a_gauge_as_it_is() {
        let (said, nothing) = (GaugeAcc::of(Some(7)), GaugeAcc::of(None));
        for mut pair in [[said, nothing], [nothing, said]] {
            let [sum, other] = &mut pair;
            sum.absorb(other);
            assert_eq!(*sum, said);
            sum.absorb(&GaugeAcc::of(Some(9)));
            assert_eq!(*sum, GaugeAcc { count: 2, sum: 16, min: 7, max: 9 });
        }
        assert_eq!((nothing.said(), said.said()), (None, Some(&said)));
    }
}
