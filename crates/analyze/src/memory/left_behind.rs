//! What sections leave behind: bytes that they themselves allocate and do not free, a step.

use std::cmp::Ordering;

use crate::summary::{Coverage, FigureSource, SectionRow, Summary};

/// What a section itself allocated and did not free over the run, where it says so.
pub(super) fn left_bytes(row: &SectionRow) -> Option<i64> {
    row.memory?.self_net_bytes
}

/// Sections that leave memory behind, net bytes a step of the share of the steps in which they did; nearest to the growth
/// first, then by path.
pub(super) fn candidates(
    summary: &Summary,
    steps: u64,
    numbers: u64,
    share: f64,
    slope: f64,
) -> Vec<(String, i64)> {
    let all = numbers.saturating_mul(summary.state.instances.max(1));
    let a_step = |row: &SectionRow| Some(left_bytes(row)? / behind(row, &summary.coverage, steps, all));
    let net = |row: &SectionRow| a_step(row).map(|net| (net as f64 / share) as i64);
    let mut candidates: Vec<(String, i64)> = summary
        .sections
        .iter()
        .filter_map(|row| Some((row.path.clone(), net(row)?)))
        .filter(|&(_, net)| net > 0)
        .collect();
    let distance = |net: i64| (net as f64 - slope).abs();
    candidates.sort_by(|a, b| {
        distance(a.1).partial_cmp(&distance(b.1)).unwrap_or(Ordering::Equal).then_with(|| a.0.cmp(&b.0))
    });
    candidates
}

/// The steps that a section's sums are about: of `steps` that were read, or of `all` that there were by their numbers.
fn behind(row: &SectionRow, coverage: &Coverage, steps: u64, all: u64) -> i64 {
    let about = match row.source {
        FigureSource::Aggregates if coverage.partly_read().is_some() => {
            return i64::try_from(all.max(1)).unwrap_or(i64::MAX);
        }
        FigureSource::Aggregates => coverage.recorded_steps.unwrap_or(coverage.read_steps),
        FigureSource::Spans if row.is_part() => coverage.whole_steps,
        FigureSource::Spans => coverage.read_steps,
    };
    let read = u128::from(coverage.read_steps.max(1));
    let steps = u128::from(steps).saturating_mul(about.into()) / read;
    i64::try_from(steps.max(1)).unwrap_or(i64::MAX)
}
