//! Resident memory by sample: what the background thread reads in its turns, for sections that were open long enough for samples to
//! tell. Of what is long ago only extremes of longer stretches are kept.

use std::collections::VecDeque;

use crate::shared::record::SectionRecord;

/// Shorter sections end between two samples.
const SHORTEST_NS: u64 = 50_000_000;
/// Samples are no closer than this, and as a rule as far apart as the turns of the thread: 20 to 40 ms.
const INTERVAL_NS: u64 = 10_000_000;
/// A sample so much farther from a moment says nothing of it; of long ago, by one part in so many of the section's length.
const NEAR_NS: u64 = 100_000_000;
const NEAR_PART: u64 = 20;

/// Samples of a tier, and how many of them become one of the next: the last tier reaches back by a week.
const POINTS: usize = 1_024;
const MERGED: usize = 8;
const TIERS: usize = 6;

/// Resident memory at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    time_ns: u64,
    bytes: u64,
    /// Most since the point before.
    most_bytes: u64,
}

/// Points over a time, oldest first.
#[derive(Debug, Default)]
struct Tier {
    points: VecDeque<Point>,
    /// Points since one was handed on.
    since: usize,
    most_bytes: u64,
}

impl Tier {
    /// Takes a point; gives one for the next tier when that is due.
    fn push(&mut self, point: Point) -> Option<Point> {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(point);
        self.since += 1;
        self.most_bytes = self.most_bytes.max(point.most_bytes);
        if self.since < MERGED {
            return None;
        }
        self.since = 0;
        Some(Point { most_bytes: std::mem::take(&mut self.most_bytes), ..point })
    }

    fn reaches(&self, time_ns: u64) -> bool {
        self.points.front().is_some_and(|oldest| oldest.time_ns <= time_ns)
    }

    /// The last point that is not after a time, else the first.
    fn last_before(&self, time_ns: u64) -> Option<Point> {
        let after = self.points.partition_point(|point| point.time_ns <= time_ns);
        self.points.get(after.saturating_sub(1)).copied()
    }

    /// The first point that is not before a time, else the last.
    fn first_after(&self, time_ns: u64) -> Option<Point> {
        let at = self.points.partition_point(|point| point.time_ns < time_ns);
        self.points.get(at).or_else(|| self.points.back()).copied()
    }

    /// Most of what is known to have been between two times.
    fn most(&self, from_ns: u64, to_ns: u64) -> Option<u64> {
        // What a point says of the time before it may be of before `from_ns`.
        let first = self.points.partition_point(|point| point.time_ns < from_ns) + 1;
        let end = self.points.partition_point(|point| point.time_ns <= to_ns);
        self.points.range(first.min(end)..end).map(|point| point.most_bytes).max()
    }
}

/// What was read so far.
#[derive(Debug, Default)]
pub(crate) struct Resident {
    tiers: [Tier; TIERS],
}

impl Resident {
    /// Whether another sample is due at that time.
    pub(crate) fn is_due(&self, time_ns: u64) -> bool {
        let last = self.tiers.first().and_then(|tier| tier.points.back());
        last.is_none_or(|last| time_ns.saturating_sub(last.time_ns) >= INTERVAL_NS)
    }

    pub(crate) fn add(&mut self, time_ns: u64, bytes: u64) {
        let mut next = Some(Point { time_ns, bytes, most_bytes: bytes });
        for tier in &mut self.tiers {
            let Some(point) = next else { return };
            next = tier.push(point);
        }
    }

    /// What was resident about then, for a section of that length, as one of the points around it says. What a section allocates, it
    /// often does at once, and frees at its end: points outside of it have it all.
    fn at(&self, time_ns: u64, length_ns: u64, of: fn(&Tier, u64) -> Option<Point>) -> Option<u64> {
        let oldest = |tier: &&Tier| tier.points.front().map_or(u64::MAX, |oldest| oldest.time_ns);
        let farthest = || self.tiers.iter().min_by_key(oldest);
        let tier = self.tiers.iter().find(|tier| tier.reaches(time_ns)).or_else(farthest)?;
        let point = of(tier, time_ns)?;
        let near_ns = NEAR_NS.max(length_ns / NEAR_PART);
        (point.time_ns.abs_diff(time_ns) <= near_ns).then_some(point.bytes)
    }

    /// Adds to the record of a section that has ended what samples say of it, where nobody has read more exactly.
    pub(crate) fn complete(&self, record: &mut SectionRecord) {
        let length_ns = record.end_ns.saturating_sub(record.start_ns);
        if length_ns < SHORTEST_NS {
            return;
        }
        let exact_start =
            record.rss_bytes.zip(record.rss_delta_bytes).map(|(end, delta)| end.wrapping_sub(delta));
        let start = exact_start.or_else(|| self.at(record.start_ns, length_ns, Tier::last_before));
        let end = record.rss_bytes.or_else(|| self.at(record.end_ns, length_ns, Tier::first_after));
        let Some((start, end)) = start.zip(end) else { return };
        record.rss_delta_bytes = Some(end.wrapping_sub(start));
        let inside = self.tiers.iter().filter_map(|tier| tier.most(record.start_ns, record.end_ns)).max();
        record.rss_peak_bytes = Some(start.max(end).max(inside.unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Every 20 ms what a function of the time in milliseconds says.
    fn sampled(until_ms: u64, bytes: impl Fn(u64) -> u64) -> Resident {
        let mut resident = Resident::default();
        for time_ms in (0..=until_ms).step_by(20) {
            assert!(
                resident.is_due(time_ms * MS) && !resident.is_due((time_ms * MS).saturating_sub(11 * MS))
                    || time_ms == 0
            );
            resident.add(time_ms * MS, bytes(time_ms));
        }
        resident
    }

    fn figures(resident: &Resident, start_ms: u64, end_ms: u64) -> Option<(i64, u64)> {
        let mut record =
            SectionRecord { start_ns: start_ms * MS, end_ns: end_ms * MS, ..SectionRecord::default() };
        resident.complete(&mut record);
        Some((record.rss_delta_bytes?.cast_signed(), record.rss_peak_bytes?))
    }

    #[test]
    fn a_section_has_the_change_over_it_and_the_most_inside_of_it() {
        // Rises from 1 s on, falls back to half of that at 2 s, and is highest before and after.
        let bytes = |ms| match ms {
            500 => 90_000,
            ..1_000 => 1_000,
            1_000..2_000 => 1_000 + (ms - 1_000),
            2_000..2_400 => 1_500,
            _ => 80_000,
        };
        let resident = sampled(3_000, bytes);
        assert_eq!(figures(&resident, 900, 2_300), Some((500, 1_980)));
        assert_eq!(figures(&resident, 1_101, 1_159), Some((60, 1_160)), "those around it");
        assert_eq!(figures(&resident, 1_100, 1_149), None, "too short");
        assert_eq!(figures(&resident, 3_000, 3_600), None, "nothing was read at its end");
    }

    #[test]
    fn what_was_read_more_exactly_stays() {
        let resident = sampled(1_000, |ms| if ms == 500 { 900 } else { 100 });
        let mut record = SectionRecord {
            end_ns: 1_000 * MS,
            rss_bytes: Some(130),
            rss_delta_bytes: Some(5_u64.wrapping_neg()),
            ..SectionRecord::default()
        };
        resident.complete(&mut record);
        assert_eq!(
            (record.rss_bytes, record.rss_delta_bytes, record.rss_peak_bytes),
            (Some(130), Some(5_u64.wrapping_neg()), Some(900))
        );
    }

    #[test]
    fn of_a_long_section_the_most_is_known_however_long_ago_it_was_and_memory_is_bounded() {
        const HOUR_MS: u64 = 3_600_000;
        // A peak of one sample in the first of 25 hours.
        let resident = sampled(25 * HOUR_MS, |ms| if ms == HOUR_MS / 2 { 7_000 } else { ms / HOUR_MS });
        let (delta, most) = figures(&resident, 0, 25 * HOUR_MS).unwrap();
        assert_eq!((delta, most), (25, 7_000));
        assert_eq!(figures(&resident, HOUR_MS * 3 / 2, 25 * HOUR_MS).unwrap(), (24, 25));
        assert!(resident.tiers.iter().all(|tier| tier.points.len() <= POINTS));
    }
}
