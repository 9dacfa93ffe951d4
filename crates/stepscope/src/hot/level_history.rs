//! Which level was in force when. What the levels mean is decided where sections begin.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stepscope_core::Level;

use crate::os::clock::now_ns;

/// Changes that are remembered one by one.
const MAX_CHANGES: usize = 256;

/// The level of a run over its time.
#[derive(Debug)]
pub(crate) struct LevelHistory {
    started_at: Level,
    has_changed: AtomicBool,
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    /// The lowest of those before the first change below.
    lowest_before: Level,
    /// Times and levels, in the order of the clock.
    changes: VecDeque<(u64, Level)>,
}

impl Log {
    fn note(&mut self, time_ns: u64, level: Level) {
        if self.changes.len() >= MAX_CHANGES
            && let Some((_, oldest)) = self.changes.pop_front()
        {
            self.lowest_before = self.lowest_before.min(oldest);
        }
        self.changes.push_back((time_ns, level));
    }

    /// The lowest level in force at `start_ns` or later.
    fn lowest_since(&self, start_ns: u64) -> Level {
        let later = self.changes.partition_point(|&(time_ns, _)| time_ns <= start_ns);
        let at_start = match later.checked_sub(1).and_then(|last| self.changes.get(last)) {
            Some(&(_, level)) => level,
            None => self.lowest_before,
        };
        self.changes.range(later..).fold(at_start, |lowest, &(_, level)| lowest.min(level))
    }
}

impl LevelHistory {
    pub(crate) fn new(started_at: Level) -> Self {
        let log = Log { lowest_before: started_at, changes: VecDeque::new() };
        Self { started_at, has_changed: AtomicBool::new(false), log: Mutex::new(log) }
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The level that the run was told at its start.
    pub(crate) fn started_at(&self) -> Level {
        self.started_at
    }

    /// Changes from the level that `now` says to `level`, by `apply`. One change at a time; the times noted enclose
    /// all that began at the lower level.
    pub(crate) fn change(&self, now: impl FnOnce() -> Level, level: Level, apply: impl FnOnce()) {
        let mut log = self.lock();
        let before = now();
        if level == before {
            return;
        }
        self.has_changed.store(true, Ordering::Relaxed);
        if level < before {
            log.note(now_ns(), level);
        }
        apply();
        if level > before {
            log.note(now_ns(), level);
        }
    }

    /// Does `apply` while nobody changes the level.
    pub(crate) fn unchanged(&self, apply: impl FnOnce()) {
        let _log = self.lock();
        apply();
    }

    /// The lowest level in force at some time from `start_ns` until now.
    pub(crate) fn lowest_since(&self, start_ns: u64) -> Level {
        // Behind whatever level was seen by what has ended until now.
        fence(Ordering::Acquire);
        if !self.has_changed.load(Ordering::Relaxed) {
            return self.started_at;
        }
        self.lock().lowest_since(start_ns)
    }

    /// The last changes: time and level.
    pub(crate) fn changes(&self) -> Vec<(u64, Level)> {
        self.lock().changes.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_level_of_a_time_is_known() {
        let mut log = Log { lowest_before: Level::Detailed, changes: VecDeque::new() };
        assert_eq!(log.lowest_since(0), Level::Detailed);
        for (time_ns, level) in [(10, Level::Basic), (20, Level::Comprehensive), (30, Level::Off)] {
            log.note(time_ns, level);
        }
        log.note(40, Level::Detailed);
        let expected = [
            (0, Level::Off),
            (10, Level::Off),
            (20, Level::Off),
            (30, Level::Off),
            (39, Level::Off),
            (40, Level::Detailed),
            (99, Level::Detailed),
        ];
        for (start_ns, level) in expected {
            assert_eq!(log.lowest_since(start_ns), level, "since {start_ns}");
        }
        log.changes.truncate(2);
        assert_eq!(log.lowest_since(9), Level::Basic);
        assert_eq!(log.lowest_since(15), Level::Basic);
        assert_eq!(log.lowest_since(20), Level::Comprehensive);
    }

    #[test]
    fn what_is_forgotten_counts_as_its_lowest() {
        let mut log = Log { lowest_before: Level::Detailed, changes: VecDeque::new() };
        log.note(1, Level::Off);
        for time_ns in 2..1_000 {
            log.note(time_ns, if time_ns % 2 == 0 { Level::Detailed } else { Level::Basic });
        }
        assert_eq!(log.changes.len(), MAX_CHANGES);
        assert_eq!(log.lowest_since(500), Level::Off);
        assert_eq!(log.lowest_since(990), Level::Basic);
    }
}
