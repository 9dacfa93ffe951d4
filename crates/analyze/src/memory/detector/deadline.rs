//! When a limit is reached, by arithmetic. Where limits are read is no business of this file.

use super::Judgment;

/// Steps until a limit is reached, and between which steps that is by the interval of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    /// At the rate.
    pub steps: f64,
    /// At the highest rate of the interval.
    pub at_least: f64,
    /// At the lowest; absent where that is not above zero.
    pub at_most: Option<f64>,
}

/// Steps that a leak which has come to `bytes` needs to `limit_bytes`; absent of anything but a leak.
#[must_use]
pub fn steps_left(judgment: &Judgment, bytes: f64, limit_bytes: f64) -> Option<Left> {
    let left = (limit_bytes - bytes).max(0.0);
    let at = |rate: f64| (rate > 0.0).then(|| left / rate);
    let (low, high) = judgment.interval;
    judgment.is_leak().then_some(())?;
    Some(Left { steps: at(judgment.bytes_per_step)?, at_least: at(high)?, at_most: at(low) })
}
