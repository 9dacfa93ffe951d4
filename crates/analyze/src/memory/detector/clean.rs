//! Attempts of a series: points in the order of their steps, without what is no measurement. What they mean is not told here.

use super::LARGEST_BYTES;

/// Points of one process that did no step twice, each list by step.
pub(super) fn attempts(gauge: &[(u64, f64)]) -> Vec<Vec<(u64, f64)>> {
    let is_measured =
        |&&(_, bytes): &&(u64, f64)| bytes.is_finite() && (0.0..LARGEST_BYTES as f64).contains(&bytes);
    let mut all: Vec<Vec<(u64, f64)>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut latest = None;
    for &(step, bytes) in gauge.iter().filter(is_measured) {
        if latest == Some(step) {
            continue;
        }
        // A step that was done before belongs to another attempt; one that only comes late does not.
        if all.is_empty() || !seen.insert(step) {
            all.push(Vec::new());
            seen.clear();
            seen.insert(step);
        }
        latest = Some(step);
        if let Some(attempt) = all.last_mut() {
            attempt.push((step, bytes));
        }
    }
    for attempt in &mut all {
        attempt.sort_unstable_by_key(|point| point.0);
    }
    all
}
