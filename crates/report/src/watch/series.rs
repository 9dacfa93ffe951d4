//! Memory over steps as a watch keeps it: bounded, and coarser the longer a run is. What it means is not told here.

use stepscope_analyze::memory::detector::{Judgment, Memory, judge};

/// Points that are kept.
const MOST: usize = 512;

/// Memory at a moment; NaN where it is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Steps that had ended.
    pub(super) steps: u64,
    /// Since the watch began.
    pub(super) seconds: f64,
    pub(super) live_bytes: f64,
    pub(super) rss_bytes: f64,
}

impl Point {
    /// What moments are compared by: a step in its middle holds more than memory that stays.
    fn floor(&self) -> f64 {
        if self.live_bytes.is_nan() { self.rss_bytes } else { self.live_bytes }
    }
}

/// Of so many moments in a row the lowest.
#[derive(Debug)]
pub(super) struct Series {
    points: Vec<Point>,
    stride: u32,
    /// Moments that the last point stands for.
    in_last: u32,
    /// Where there is no room, the older half goes; else points become coarser.
    forgets: bool,
}

impl Series {
    /// Of all that there was.
    pub(super) fn whole() -> Self {
        Self { points: Vec::with_capacity(MOST), stride: 1, in_last: 0, forgets: false }
    }

    /// Of the latest moments, of which `stride` make a point.
    pub(super) fn latest(stride: u32) -> Self {
        Self { stride, forgets: true, ..Self::whole() }
    }

    pub(super) fn push(&mut self, point: Point) {
        if self.in_last < self.stride
            && let Some(last) = self.points.last_mut()
        {
            self.in_last += 1;
            if point.floor() < last.floor() {
                *last = point;
            }
            return;
        }
        if self.points.len() >= MOST {
            if self.forgets {
                self.points.drain(..MOST / 2);
            } else {
                self.halve();
            }
        }
        self.points.push(point);
        self.in_last = 1;
    }

    /// Moments that a point stands for.
    pub(super) const fn stride(&self) -> u32 {
        self.stride
    }

    /// The verdict of the detector.
    pub(super) fn judge(&self) -> Judgment {
        let (live, rss) = (self.gauge(|point| point.live_bytes), self.gauge(|point| point.rss_bytes));
        judge(&Memory { live: &live, rss: &rss, ..Memory::default() })
    }

    /// The later half.
    pub(super) fn later(&self) -> Self {
        let points = self.points.get(self.points.len() / 2..).unwrap_or_default().to_vec();
        Self { points, ..*self }
    }

    /// Whether memory came lately to what it was never before: else it falls back now and then.
    pub(super) fn is_high(&self) -> bool {
        let most = |points: &[Point]| points.iter().map(Point::floor).fold(f64::MIN, f64::max);
        let (before, lately) = self.points.split_at(self.points.len() * 2 / 3);
        most(lately) > most(before)
    }

    /// Whether memory goes beyond all that it came to before, by half of what it grew by in this series.
    pub(super) fn is_beyond(&self, whole: &Self) -> bool {
        let Some((first, last)) = self.points.first().zip(self.points.last()) else { return false };
        let before = whole.points.iter().take_while(|point| point.steps < first.steps);
        let most = before.map(Point::floor).fold(f64::MIN, f64::max);
        last.floor() > most + 0.5 * (last.floor() - first.floor())
    }

    fn halve(&mut self) {
        let lower = |pair: &[Point]| {
            pair.iter().copied().reduce(|one, other| if other.floor() < one.floor() { other } else { one })
        };
        self.points = self.points.chunks(2).filter_map(lower).collect();
        self.points.reserve_exact(MOST - self.points.len());
        self.stride = self.stride.saturating_mul(2);
    }

    /// A gauge over steps, where it is known.
    fn gauge(&self, of: fn(&Point) -> f64) -> Vec<(u64, f64)> {
        let gauge = self.points.iter().map(|point| (point.steps, of(point)));
        gauge.filter(|(_, bytes)| bytes.is_finite()).collect()
    }

    /// Time that a step takes lately: in the later half of the points.
    pub(super) fn seconds_per_step(&self) -> Option<f64> {
        let (from, to) = (self.points.get(self.points.len() / 2)?, self.points.last()?);
        let steps = to.steps.checked_sub(from.steps).filter(|steps| *steps > 0)?;
        Some((to.seconds - from.seconds) / steps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_bounded_and_keeps_what_memory_falls_back_to() {
        let mut series = Series::whole();
        // Every second moment is in the middle of a step, which holds 1,000 bytes more.
        for number in 0..100_000_u64 {
            let live_bytes = (number + 1_000 * (number % 2)) as f64;
            series.push(Point {
                steps: number,
                seconds: number as f64 / 4.0,
                live_bytes,
                rss_bytes: f64::NAN,
            });
        }
        let live = series.gauge(|point| point.live_bytes);
        assert!((MOST / 2..=MOST).contains(&live.len()), "{}", live.len());
        assert!(live.iter().all(|&(step, bytes)| bytes == step as f64), "a middle of a step was kept");
        assert_eq!(series.gauge(|point| point.rss_bytes), []);
        assert_eq!(series.seconds_per_step(), Some(0.25));
        assert!(series.points.last().unwrap().steps >= 99_000);
    }
}
