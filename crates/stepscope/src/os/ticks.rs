//! Monotonic time from the processor's tick counter, which costs a third of asking the system: a straight line
//! from ticks to nanoseconds, compared with the system's clock now and then and bent towards it, so that time
//! neither drifts nor steps back. Only where the system itself keeps time by that counter; elsewhere, and until
//! the line is known, time is the system's.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::os::sys;

/// The rate is measured over at least this before the line is used; comparisons then get rarer.
const FIRST_INTERVAL: Duration = Duration::from_millis(20);

/// The longest time between two comparisons.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// A difference from the system's clock beyond this has another cause than drift: the machine was suspended or
/// moved.
const MAX_ERROR_NS: i128 = 1_000_000;

/// Nanoseconds as a function of ticks; the rate has 32 binary places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Line {
    ticks: u64,
    ns: u64,
    rate: u64,
}

impl Line {
    #[inline]
    fn at(&self, ticks: u64) -> u64 {
        // Another processor's counter may be a few ticks behind.
        let since = u128::from(ticks.saturating_sub(self.ticks));
        self.ns.wrapping_add(((since * u128::from(self.rate)) >> 32) as u64)
    }
}

/// Both clocks, read next to each other; the ticks before the time, so that a line through them is never behind.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ticks: u64,
    ns: u64,
}

impl Sample {
    /// Of several tries the one with the least time in between.
    fn take() -> Option<Self> {
        let tries = (0..8).filter_map(|_| {
            let ticks = sys::ticks()?;
            let ns = sys::monotonic_ns();
            Some((sys::ticks()?.saturating_sub(ticks), Self { ticks, ns }))
        });
        tries.min_by_key(|&(gap, _)| gap).map(|(_, sample)| sample)
    }
}

/// The line in use: two places, of which the generation's parity says the valid one, so that nobody waits for a
/// writer. Generation 0 is before the first line.
struct Shared {
    generation: AtomicU64,
    lines: [[AtomicU64; 3]; 2],
}

static LINE: Shared =
    Shared { generation: AtomicU64::new(0), lines: [const { [const { AtomicU64::new(0) }; 3] }; 2] };

impl Shared {
    #[inline]
    fn get(&self) -> Option<Line> {
        loop {
            let generation = self.generation.load(Ordering::Acquire);
            if generation == 0 {
                return None;
            }
            // (An index below two needs no test.)
            let [ticks, ns, rate] = &self.lines[(generation % 2) as usize];
            let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
            let line = Line { ticks: load(ticks), ns: load(ns), rate: load(rate) };
            // The values above are read before the generation below: it is still theirs.
            fence(Ordering::Acquire);
            if self.generation.load(Ordering::Relaxed) == generation {
                return Some(line);
            }
        }
    }

    /// Background thread only.
    fn set(&self, line: Line) {
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        let [ticks, ns, rate] = &self.lines[(generation % 2) as usize];
        fence(Ordering::Release);
        ticks.store(line.ticks, Ordering::Relaxed);
        ns.store(line.ns, Ordering::Relaxed);
        rate.store(line.rate, Ordering::Relaxed);
        self.generation.store(generation, Ordering::Release);
    }
}

/// Monotonic nanoseconds from ticks; `None` while that is not possible.
#[inline]
pub(crate) fn now_ns() -> Option<u64> {
    let line = LINE.get()?;
    Some(line.at(sys::ticks()?))
}

/// Keeps the line true; one a process is at work, on the background thread.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    /// Whether the system keeps time by the counter; not known yet where absent.
    is_usable: Option<bool>,
    first: Option<Sample>,
    due_ns: u64,
    interval: Duration,
    /// How far the line is meant to be ahead: what it was when the system's clock had stood still.
    ahead_ns: i128,
}

impl Keeper {
    /// Compares the clocks if it is time.
    pub(crate) fn keep(&mut self) {
        if self.is_usable == Some(false) {
            return;
        }
        let now_ns = sys::monotonic_ns();
        if now_ns < self.due_ns {
            return;
        }
        let is_usable = *self.is_usable.get_or_insert_with(sys::keeps_time_by_ticks);
        let Some(sample) = Sample::take().filter(|_| is_usable) else { return };
        let Some(first) = self.first else {
            self.first = Some(sample);
            self.interval = FIRST_INTERVAL;
            self.due_ns = now_ns + self.interval.as_nanos() as u64;
            return;
        };
        if let Some(line) = self.next(LINE.get(), first, sample) {
            LINE.set(line);
        }
        self.interval = (self.interval * 2).min(MAX_INTERVAL);
        self.due_ns = now_ns + self.interval.as_nanos() as u64;
    }

    /// The line from `sample` on: through the point where the old one is, bent so that the difference is gone
    /// after the next interval, with the rate between `first` and now.
    fn next(&mut self, old: Option<Line>, first: Sample, sample: Sample) -> Option<Line> {
        let here = old.map_or(sample.ns, |line| line.at(sample.ticks));
        let behind = i128::from(sample.ns) + self.ahead_ns - i128::from(here);
        if behind > MAX_ERROR_NS {
            // Time was lost: a step forward, and a new measurement.
            (self.first, self.ahead_ns) = (Some(sample), 0);
            return old.map(|old| Line { ticks: sample.ticks, ns: sample.ns.max(here), rate: old.rate });
        }
        if behind < -MAX_ERROR_NS {
            // The system's clock stood still meanwhile. Time does not step back: the line stays ahead.
            (self.first, self.ahead_ns) = (Some(sample), self.ahead_ns - behind);
            return old.map(|old| Line { ticks: sample.ticks, ns: here, rate: old.rate });
        }
        let ticks = sample.ticks.checked_sub(first.ticks).filter(|&ticks| ticks > 0)?;
        let rate = (u128::from(sample.ns.checked_sub(first.ns)?) << 32) / u128::from(ticks);
        let rate = u64::try_from(rate).ok().filter(|&rate| rate > 0)?;
        let interval_ns = i128::try_from(self.interval.as_nanos()).unwrap_or(1).max(1) * 2;
        let bend = i128::from(rate) * behind / interval_ns;
        let bent = u64::try_from(i128::from(rate) + bend).ok().filter(|&bent| bent > rate / 2)?;
        Some(Line { ticks: sample.ticks, ns: here, rate: bent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter of 3 ticks a nanosecond whose rate changes slowly, read with some noise.
    fn ticks(ns: u64) -> u64 {
        let seconds = ns as f64 / 1e9;
        1_000 + 3 * ns + (seconds * 20_000.0 + (seconds / 50.0).sin() * 5_000.0) as u64
    }

    #[test]
    fn the_line_follows_the_systems_clock_and_never_steps_back() {
        let mut keeper = Keeper { interval: FIRST_INTERVAL, ..Keeper::default() };
        let first = Sample { ticks: ticks(0), ns: 0 };
        let (mut line, mut ns, mut last) = (None, 20_000_000, 0);
        for round in 0..500u64 {
            let noise = round * 37 % 40;
            let sample = Sample { ticks: ticks(ns), ns: ns + noise };
            let next = keeper.next(line, first, sample).unwrap();
            // Where the lines meet they agree.
            assert!(line.is_none_or(|line: Line| next.at(sample.ticks) == line.at(sample.ticks)));
            line = Some(next);
            for part in 0..10 {
                let now = ns + keeper.interval.as_nanos() as u64 * part / 10;
                let told = next.at(ticks(now));
                assert!(told >= last, "{told} after {last}");
                assert!(told.abs_diff(now) < 10_000, "{told} at {now}");
                last = told;
            }
            keeper.interval = (keeper.interval * 2).min(MAX_INTERVAL);
            ns += keeper.interval.as_nanos() as u64;
        }
    }

    #[test]
    fn after_a_suspension_time_goes_on_forward() {
        let mut keeper = Keeper { interval: MAX_INTERVAL, ..Keeper::default() };
        let (first, hour) = (Sample { ticks: 0, ns: 0 }, 3_600_000_000_000);
        let line = keeper.next(None, first, Sample { ticks: 3_000_000_000, ns: 1_000_000_000 }).unwrap();
        // The counter went on for an hour, the system's clock did not.
        let sample = Sample { ticks: 6_000_000_000 + 3 * hour, ns: 2_000_000_000 };
        let ahead = keeper.next(Some(line), first, sample).unwrap();
        assert_eq!(ahead.at(sample.ticks), line.at(sample.ticks));
        let later = Sample { ticks: sample.ticks + 3_000_000_000, ns: 3_000_000_000 };
        let next = keeper.next(Some(ahead), keeper.first.unwrap(), later).unwrap();
        // The rate has 32 binary places: a microsecond an hour.
        assert!(next.at(later.ticks).abs_diff(hour + 3_000_000_000) < 2_000);
        assert!(next.rate.abs_diff(line.rate) < line.rate / 1_000_000);
        // The counter began anew: time waits for nobody and steps forward.
        let reset = Sample { ticks: 5, ns: 9_000_000_000_000 };
        let mut keeper = Keeper { interval: MAX_INTERVAL, ..Keeper::default() };
        let stepped = keeper.next(Some(line), Sample { ticks: 0, ns: 0 }, reset).unwrap();
        assert_eq!(stepped.at(5), reset.ns);
    }

    #[test]
    fn a_line_is_read_whole_while_it_changes() {
        static SHARED: Shared =
            Shared { generation: AtomicU64::new(0), lines: [const { [const { AtomicU64::new(0) }; 3] }; 2] };
        assert_eq!(SHARED.get(), None);
        let writer = std::thread::Builder::new()
            .name("writer".into())
            .spawn(|| (1..200_000).for_each(|n| SHARED.set(Line { ticks: n, ns: n, rate: n })))
            .unwrap();
        while !writer.is_finished() {
            if let Some(line) = SHARED.get() {
                assert!(line.ticks == line.ns && line.ns == line.rate, "{line:?}");
            }
        }
        writer.join().unwrap();
    }
}
