//! A gauge over several steps.

use serde::{Deserialize, Serialize};

use crate::accumulate::accumulate;

/// A gauge over several steps, none of which need say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct GaugeAcc {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

accumulate!(GaugeAcc { sum: count, sum; least: min; max: max; });

impl GaugeAcc {
    /// Of one value, or of none.
    pub(crate) fn of(value: Option<u64>) -> Self {
        Self { count: value.is_some().into(), sum: value.unwrap_or(0).into(), min: value, max: value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accumulate::Merge;

    #[test]
    fn steps_that_say_nothing_leave_a_gauge_as_it_is() {
        let (said, nothing) = (GaugeAcc::of(Some(7)), GaugeAcc::of(None));
        for mut pair in [[said, nothing], [nothing, said]] {
            let [sum, other] = &mut pair;
            sum.absorb(other);
            assert_eq!(*sum, said);
            sum.absorb(&GaugeAcc::of(Some(9)));
            assert_eq!(*sum, GaugeAcc { count: 2, sum: 16, min: Some(7), max: Some(9) });
        }
    }
}
