//! The verdict on one gauge: of its attempts, and of what is between its falls. How one course is judged is told in `verdict`.

use super::clean::attempts;
use super::falls::falls;
use super::judgment::{Judgment, Verdict, steps_of};
use super::verdict::course_of;

/// Part of a fall by which memory has to come to more than before it, where a leak goes on through it.
const BEYOND: f64 = 0.3;

/// The verdict on one gauge, of the attempt that tells most.
pub(super) fn of(gauge: &[(u64, f64)], floor_bytes: f64) -> Judgment {
    let mut attempts = attempts(gauge);
    attempts.sort_by_key(|attempt| std::cmp::Reverse(attempt.len()));
    let mut judged = attempts.iter().take(8).map(|attempt| attempt_of(attempt, floor_bytes));
    let longest = judged.next().unwrap_or_default();
    if longest.is_leak() {
        return longest;
    }
    judged.find(|judgment| judgment.is_leak() && judgment.points * 4 >= longest.points).unwrap_or(longest)
}

fn attempt_of(points: &[(u64, f64)], floor_bytes: f64) -> Judgment {
    let whole = course_of(points, floor_bytes, true);
    let falls = falls(points, floor_bytes);
    let Some(&(at, fall)) = falls.last() else { return whole };
    let before = falls.iter().rev().nth(1).map_or(0, |(at, _)| *at);
    let (grown, since) = (points.get(before..at).unwrap_or_default(), points.get(at..).unwrap_or_default());
    // What leaks through a fall comes to more than ever before.
    let lowest = grown.iter().map(|point| point.1).fold(f64::MAX, f64::min);
    let beyond = fall.from_bytes + BEYOND * (fall.from_bytes - lowest);
    if whole.is_leak() && since.iter().any(|point| point.1 > beyond)
        || !course_of(grown, floor_bytes, false).is_leak()
    {
        return whole;
    }
    let told = Judgment { fell: Some(fall), ..whole };
    if !whole.is_leak() && !course_of(since, floor_bytes, false).is_leak() {
        return told;
    }
    // Twice the same growth leaks over a restart, and is healthy where each stage of a program clears what it kept.
    let again = grown.len().saturating_sub(since.len()).max(1);
    let more_steps = Some(steps_of(again, points.len(), told.steps));
    Judgment { verdict: Verdict::Undecided, more_steps, ..told }
}
