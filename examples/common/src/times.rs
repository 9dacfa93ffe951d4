//! The time of the steps by the program's own clock, to hold the profile and the cost of recording against.

use std::fmt;
use std::time::{Duration, Instant};

/// How long each step took, from the end of the one before.
#[derive(Debug, Clone)]
pub struct Times {
    last: Instant,
    steps: Vec<Duration>,
}

impl Times {
    /// Starts the clock; room for this many steps, so that measuring allocates nothing.
    #[must_use]
    pub fn start(steps: usize) -> Self {
        Self { last: Instant::now(), steps: Vec::with_capacity(steps.min(1 << 20)) }
    }

    /// A step ended.
    pub fn lap(&mut self) {
        let now = Instant::now();
        self.steps.push(now - self.last);
        self.last = now;
    }

    /// The clock goes on from here: what went before belongs to no step.
    pub fn skip(&mut self) {
        self.last = Instant::now();
    }

    fn median(&self) -> Duration {
        let mut sorted = self.steps.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

/// `steps=… mean_us=… median_us=…`, for people and for scripts.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: Duration = self.steps.iter().sum();
        let mean = total.as_secs_f64() * 1e6 / self.steps.len().max(1) as f64;
        let median = self.median().as_secs_f64() * 1e6;
        write!(f, "steps={} mean_us={mean:.1} median_us={median:.1}", self.steps.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_summed_up() {
        let steps = [4, 1, 40].map(Duration::from_millis).to_vec();
        let times = Times { last: Instant::now(), steps };
        assert_eq!(times.to_string(), "steps=3 mean_us=15000.0 median_us=4000.0");
    }
}
