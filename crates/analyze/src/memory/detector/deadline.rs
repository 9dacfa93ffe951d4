//! When a limit is reached, by arithmetic. Where limits are read is no business of this file.

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

/// Steps that memory which has come to `bytes` needs to `limit_bytes`, at a rate with its interval in bytes a step; absent
/// where it does not grow.
#[must_use]
pub fn steps_left(rate: f64, interval: (f64, f64), bytes: f64, limit_bytes: f64) -> Option<Left> {
    let left = (limit_bytes - bytes).max(0.0);
    let at = |rate: f64| (rate > 0.0).then(|| left / rate);
    Some(Left { steps: at(rate)?, at_least: at(interval.1)?, at_most: at(interval.0) })
}
