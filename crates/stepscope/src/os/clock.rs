//! The one place where time is read: monotonic nanoseconds on the hot path, and their place on the wall
//! clock, fixed once a run so that no later step of the system clock can reorder spans.

use crate::os::{sys, ticks};

/// Monotonic nanoseconds; the unit of every time inside the layer.
#[inline]
pub(crate) fn now_ns() -> u64 {
    #[cfg(test)]
    if let Some(ns) = told::ns() {
        return ns;
    }
    ticks::now_ns().unwrap_or_else(sys::monotonic_ns)
}

/// Time as a test tells it, for its own thread.
#[cfg(test)]
pub(crate) mod told {
    use std::cell::Cell;

    thread_local! {
        static NS: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub(crate) fn set(ns: u64) {
        NS.set(Some(ns));
    }

    pub(crate) fn ns() -> Option<u64> {
        NS.get()
    }
}

/// Maps monotonic nanoseconds to nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    monotonic_ns: u64,
    unix_ns: u64,
}

impl Anchor {
    /// Reads both clocks next to each other: of several tries the one with the least time between.
    pub(crate) fn now() -> Self {
        (0..5)
            .map(|_| {
                let before = sys::monotonic_ns();
                let unix_ns = sys::realtime_ns();
                let after = sys::monotonic_ns();
                (
                    after.saturating_sub(before),
                    Self { monotonic_ns: before + after.saturating_sub(before) / 2, unix_ns },
                )
            })
            .min_by_key(|&(gap, _)| gap)
            .map_or(Self { monotonic_ns: 0, unix_ns: 0 }, |(_, anchor)| anchor)
    }

    /// The wall-clock time of a monotonic time.
    pub(crate) fn unix_ns(&self, monotonic_ns: u64) -> u64 {
        if monotonic_ns >= self.monotonic_ns {
            self.unix_ns.saturating_add(monotonic_ns - self.monotonic_ns)
        } else {
            self.unix_ns.saturating_sub(self.monotonic_ns - monotonic_ns)
        }
    }
}

/// RFC 3339 in UTC with nanoseconds, as semantic conventions want points in time.
pub(crate) fn rfc3339(unix_ns: u64) -> String {
    let (days, second_of_day) = (unix_ns / 86_400_000_000_000, unix_ns / 1_000_000_000 % 86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:09}Z",
        second_of_day / 3_600,
        second_of_day / 60 % 60,
        second_of_day % 60,
        unix_ns % 1_000_000_000
    )
}

/// `YYYYMMDD-HHMMSS`, for names of runs.
pub(crate) fn compact(unix_ns: u64) -> String {
    let (days, second_of_day) = (unix_ns / 86_400_000_000_000, unix_ns / 1_000_000_000 % 86_400);
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Proleptic Gregorian date of a day since 1970-01-01 (H. Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`, for days after the epoch).
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        // date -u -d @1709210096.5
        assert_eq!(rfc3339(1_709_210_096_500_000_000), "2024-02-29T12:34:56.500000000Z");
        assert_eq!(compact(951_827_696_000_000_000), "20000229-123456");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000000Z");
    }

    #[test]
    fn an_anchor_maps_both_ways_from_its_point() {
        let anchor = Anchor { monotonic_ns: 100, unix_ns: 1_000 };
        assert_eq!(anchor.unix_ns(150), 1_050);
        assert_eq!(anchor.unix_ns(60), 960);
    }
}
