//! Where a gauge jumps back to about where it began, as that of a process that begins anew does. What that means for a verdict is
//! told elsewhere.

/// A jump back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    /// The first step after it.
    pub step: u64,
    /// Bytes before it.
    pub from_bytes: f64,
    /// Bytes after it.
    pub to_bytes: f64,
}

/// Falls of a series that is no saw-tooth.
const MOST: usize = 2;

/// Part of what had grown that a fall gives back, and of all that a series goes up and down.
const GIVEN_BACK: f64 = 0.6;

/// Points on either side of a fall.
const AROUND: usize = 5;

/// Where points in the order of their steps fall: place and fall; none where they do so time and again.
pub(super) fn falls(points: &[(u64, f64)], floor_bytes: f64) -> Vec<(usize, Fall)> {
    let bytes = || points.iter().map(|point| point.1);
    let (low, high) = (bytes().fold(f64::MAX, f64::min), bytes().fold(f64::MIN, f64::max));
    let least = (GIVEN_BACK * (high - low)).max(floor_bytes);
    let (mut found, mut lowest, mut next): (Vec<(usize, Fall)>, f64, usize) = (Vec::new(), f64::MAX, 0);
    for at in 1..points.len() {
        let (before, after) = (points[at - 1].1, points[at]);
        lowest = lowest.min(before);
        if before - after.1 < least || at < next {
            continue;
        }
        let level = |from: usize, to: usize| {
            let mut near: Vec<f64> = points[from..to].iter().map(|point| point.1).collect();
            near.sort_unstable_by(f64::total_cmp);
            super::levels::quantile(&near, 0.5)
        };
        let from_bytes = level(at.saturating_sub(AROUND), at);
        let to_bytes = level(at, (at + AROUND).min(points.len()));
        if from_bytes - to_bytes >= least && from_bytes - to_bytes >= GIVEN_BACK * (from_bytes - lowest) {
            found.push((at, Fall { step: after.0, from_bytes, to_bytes }));
            next = at + AROUND;
        }
    }
    if found.len() > MOST { Vec::new() } else { found }
}
