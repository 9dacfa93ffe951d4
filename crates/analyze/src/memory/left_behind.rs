//! What sections leave behind: bytes that they themselves allocate and do not free, a step.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::summary::{Coverage, FigureSource, SectionRow, Summary, Trend};

/// What a section itself allocated and did not free over the run, where it says so.
pub(super) fn left_bytes(row: &SectionRow) -> Option<i64> {
    row.memory?.self_net_bytes
}

/// What sections hold more from step to step since one, bytes a step of a process: of those that are told apart over the steps.
fn held_since(summary: &Summary, since_step: u64) -> BTreeMap<&str, f64> {
    let Some(held) = summary.memory.by_section.as_ref().filter(|_| summary.coverage.partly_read().is_none())
    else {
        return BTreeMap::new();
    };
    let first = held.points.iter().find(|point| point.step >= since_step);
    let Some((first, last)) = first.zip(held.points.last()).filter(|(first, last)| first.step < last.step)
    else {
        return BTreeMap::new();
    };
    let steps = (last.step - first.step).saturating_mul(summary.state.instances.max(1)) as f64;
    let rate = |at: usize| Some((*last.sections.get(at)? as f64 - *first.sections.get(at)? as f64) / steps);
    let alone = held.sections.iter().enumerate().filter(|(_, section)| !section.includes_nested);
    alone.filter_map(|(at, section)| Some((section.path.as_str(), rate(at)?))).collect()
}

/// Sections that leave memory behind, net bytes a step of the share of the steps in which they did; nearest to the growth
/// first, then by path.
pub(super) fn candidates(
    summary: &Summary,
    steps: u64,
    numbers: u64,
    (share, of_processes): (f64, f64),
    trend: &Trend,
) -> Vec<(String, i64)> {
    let slope = trend.slope_per_step;
    let held = held_since(summary, trend.from_step);
    let all = numbers.saturating_mul(summary.state.instances.max(1));
    let a_step = |row: &SectionRow| Some(left_bytes(row)? / behind(row, &summary.coverage, steps, all));
    let net = |row: &SectionRow| {
        let held = held.get(row.path.as_str()).copied();
        let net = held.or_else(|| a_step(row).map(|net| net as f64 / share))?;
        Some((net / of_processes) as i64)
    };
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
