//! What calls take above the usual one: time above the median call, in which section, and how much of it is warm-up.

use stepscope_core::path::split;

use crate::summary::{InSteps, ModeSummary, SectionRow, Stats};

/// Slow steps or calls that are fewer than this may be chance.
pub(in crate::rules) const FEW: u64 = 4;

/// Time above that of calls which all take as long as the median one. Calls below the median make it less.
pub(in crate::rules) fn above_usual_ns(stats: &Stats) -> u64 {
    stats.p50.map_or(0, |p50| stats.total.saturating_sub(p50.saturating_mul(stats.count)))
}

/// What the steps at the start took above the usual step.
pub(in crate::rules) fn warmup_excess_ns(mode: &ModeSummary) -> u64 {
    let usual_ns = mode.steady.p50.unwrap_or(0);
    mode.warmup.total_ns.saturating_sub(usual_ns.saturating_mul(mode.warmup.steps))
}

/// Whether a section's calls in steps run on the steps' thread, all but a few.
pub(in crate::rules) fn is_driving(part: &InSteps) -> bool {
    const MOSTLY: f64 = 0.9;
    part.total_ns > 0 && part.driving_ns as f64 >= MOSTLY * part.total_ns as f64
}

/// Share of a section's time above the usual from which a section inside it explains it.
const EXPLAINS: f64 = 0.5;

/// Of sections with their time above the usual those that none inside them explains; the largest first, of equals the
/// first path.
pub(in crate::rules) fn innermost(mut tails: Vec<(&SectionRow, u64)>) -> Vec<(&SectionRow, u64)> {
    let all = tails.clone();
    tails.retain(|&(row, ns)| {
        let explains = |&&(inner, inner_ns): &&(&SectionRow, u64)| {
            is_inside(&inner.path, &row.path) && inner_ns as f64 >= EXPLAINS * ns as f64
        };
        !all.iter().any(|inner| explains(&inner))
    });
    tails.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.path.cmp(&b.0.path)));
    tails
}

pub(in crate::rules) fn is_inside(inner: &str, outer: &str) -> bool {
    let (inner, outer) = (split(inner), split(outer));
    inner.len() > outer.len() && inner.starts_with(&outer)
}

#[cfg(test)]
mod tests {
    use super::is_inside;

    #[test]
    fn names_that_begin_alike_are_not_inside() {
        assert!(is_inside("step/forward/layer", "step/forward"));
        assert!(!is_inside("step/forward_loss", "step/forward"));
        assert!(!is_inside("step/forward", "step/forward"));
    }
}
