//! What a watch tells: a leak, and when it reaches which limit.

use std::fmt;
use std::time::Duration;

use stepscope_analyze::memory::detector::{Judgment, Verdict, steps_left};
use stepscope_analyze::report::units::{bytes, count, duration};
use stepscope_limits::Limit;

/// A figure that is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate<T> {
    /// About this.
    pub about: T,
    /// At least, by the interval of the growth.
    pub at_least: T,
    /// At most; absent where it may not grow at all.
    pub at_most: Option<T>,
}

/// Memory that leaks, and how long it lasts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LeakWarning {
    /// [`Verdict::Leak`]; or [`Verdict::Fragmentation`], where resident memory grows and the heap does not.
    pub verdict: Verdict,
    /// Whether resident memory alone says so.
    pub is_suspected: bool,
    /// Growth of memory.
    pub bytes_per_step: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// Steps that had ended when the growth began.
    pub since_step: u64,
    /// Steps that have ended by now.
    pub steps: u64,
    /// The limit that is reached first, where one is known.
    pub limit: Option<Limit>,
    /// Steps until it is reached.
    pub steps_to_limit: Option<Estimate<f64>>,
    /// Time until it is reached, at the pace of the latest steps.
    pub time_to_limit: Option<Estimate<Duration>>,
    /// Whether that is less than the time that the watch warns before.
    pub is_near: bool,
}

impl LeakWarning {
    /// Of a judgment that there is a leak; `None` of others.
    pub(super) fn of(
        judged: &Judgment,
        steps: u64,
        limit: Option<Limit>,
        seconds_per_step: Option<f64>,
        before: Duration,
    ) -> Option<Self> {
        if !matches!(judged.verdict, Verdict::Leak | Verdict::Fragmentation) {
            return None;
        }
        let left = limit.and_then(|limit| {
            let (used, limit) = (limit.used_bytes as f64, limit.limit_bytes as f64);
            steps_left(judged.bytes_per_step, judged.interval, used, limit)
        });
        let steps_to_limit =
            left.map(|left| Estimate { about: left.steps, at_least: left.at_least, at_most: left.at_most });
        let time = |steps: f64| Duration::try_from_secs_f64(steps * seconds_per_step?).ok();
        let time_to_limit = steps_to_limit.and_then(|left| {
            let at_most = left.at_most.and_then(time);
            Some(Estimate { about: time(left.about)?, at_least: time(left.at_least)?, at_most })
        });
        Some(Self {
            verdict: judged.verdict,
            is_suspected: judged.is_suspected,
            bytes_per_step: judged.bytes_per_step,
            interval: judged.interval,
            since_step: judged.since_step.unwrap_or(0),
            steps,
            limit,
            steps_to_limit,
            time_to_limit,
            is_near: time_to_limit.is_some_and(|left| left.about < before),
        })
    }
}

impl LeakWarning {
    /// Whether the rate is known within a quarter.
    pub(super) fn is_exact(&self) -> bool {
        self.interval.1 - self.interval.0 <= 0.5 * self.bytes_per_step
    }

    /// Whether the growth so far is one of so many parts of the room that is left.
    pub(super) fn takes(&self, parts: f64) -> bool {
        let grown = self.bytes_per_step * self.steps.saturating_sub(self.since_step) as f64;
        self.limit.is_some_and(|limit| grown * parts >= limit.room_bytes() as f64)
    }
}

impl fmt::Display for LeakWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.verdict, self.is_suspected) {
            (Verdict::Fragmentation, _) => "Resident memory grows, the heap does not, by",
            (_, true) => "Resident memory grows (a leak is suspected) by",
            (_, false) => "Memory leaks",
        };
        let rate = bytes(self.bytes_per_step.max(0.0).round() as u64);
        write!(f, "{what} {rate} a step since step {}", count(self.since_step))?;
        let Some((limit, left)) = self.limit.zip(self.time_to_limit) else { return f.write_str(".") };
        let time = |time: Duration| duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        write!(
            f,
            ": it reaches {} ({}) in {}",
            bytes(limit.limit_bytes),
            limit.kind.name(),
            time(left.about)
        )?;
        match left.at_most {
            Some(at_most) => write!(f, " ({} to {}).", time(left.at_least), time(at_most)),
            None => write!(f, " (at least {}).", time(left.at_least)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_limits::LimitKind;

    const MIB: f64 = 1_048_576.0;

    fn warning(verdict: Verdict, limit: Option<Limit>) -> Option<LeakWarning> {
        let (bytes_per_step, interval) = (MIB, (0.8 * MIB, 1.25 * MIB));
        let judged =
            Judgment { verdict, bytes_per_step, interval, since_step: Some(40), ..Judgment::default() };
        LeakWarning::of(&judged, 600, limit, Some(0.5), Duration::from_secs(3_600))
    }

    #[test]
    fn the_sentence_says_rate_limit_and_time_with_range() {
        let limit = Limit { kind: LimitKind::Container, limit_bytes: 8 << 30, used_bytes: 3 << 30 };
        let told = warning(Verdict::Leak, Some(limit)).unwrap();
        // 5,120 MiB at 1 MiB in half a second.
        assert_eq!(
            told.to_string(),
            "Memory leaks 1.00 MiB a step since step 40: it reaches 8.00 GiB (the container's limit) in 42 min 40 s \
             (34 min 08 s to 53 min 20 s)."
        );
        assert!(told.is_near);
        // 560 MiB of 5,120.
        assert!(told.takes(10.0) && !told.takes(9.0));
        let far = Limit { limit_bytes: 80 << 30, ..limit };
        assert!(!warning(Verdict::Leak, Some(far)).unwrap().is_near);
        let unlimited = warning(Verdict::Leak, None).unwrap();
        assert_eq!(unlimited.to_string(), "Memory leaks 1.00 MiB a step since step 40.");
        assert_eq!((unlimited.is_near, unlimited.time_to_limit), (false, None));
        assert_eq!(warning(Verdict::CacheFilling, Some(limit)), None);
    }
}
