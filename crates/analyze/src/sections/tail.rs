//! What calls take above the usual one: time above the median call, in which section, and how much of it is warm-up.

use stepscope_core::path::split;
use stepscope_core::{Phase, PhaseClass};

use crate::summary::{InSteps, ModeSummary, SectionRow, Stats};

/// Slow steps or calls that are fewer than this may be chance.
pub(crate) const FEW: u64 = 4;

/// Time above that of calls which all take as long as the median one. Calls below the median make it less.
pub(crate) fn above_usual_ns(stats: &Stats) -> u64 {
    stats.p50.map_or(0, |p50| stats.total.saturating_sub(p50.saturating_mul(stats.count)))
}

/// What the steps at the start took above usual ones.
pub(crate) fn warmup_excess_ns(mode: &ModeSummary) -> u64 {
    mode.warmup.total_ns.saturating_sub(mode.warmup.usual_ns)
}

/// What a section's slow calls take above the median one, without what its own calls of the steps at the start do; where
/// it is not known which calls these are, without all that these steps take above the usual. Absent without calls.
pub(crate) fn slow_ns(row: &SectionRow, mode: &ModeSummary) -> Option<u64> {
    let usual_ns = row.stats.p50.unwrap_or(0);
    let own_ns = row
        .in_mode(mode.mode)
        .map_or(0, |part| part.warmup_total_ns.saturating_sub(usual_ns.saturating_mul(part.warmup_calls)));
    let warmup_ns = if mode.whole_warmup.steps > 0 { own_ns } else { warmup_excess_ns(mode) };
    Some(row.slow_excess_ns?.saturating_sub(warmup_ns))
}

/// The longest call of a section in the steps after warm-up; of all its calls where steps have no numbers.
pub(crate) fn longest_ns(row: &SectionRow, mode: &ModeSummary) -> Option<u64> {
    row.in_mode(mode.mode).and_then(|part| part.longest_steady_ns).or(row.stats.max)
}

/// A section runs in few of the steps of another one where it runs in one of so many, or fewer.
const FEW_STEPS: u64 = 10;

/// Whether a section runs in few of so many steps.
pub(crate) fn is_in_few(part: &InSteps, steps: u64) -> bool {
    part.steps.saturating_mul(FEW_STEPS) <= steps
}

/// What a section's calls take on the steps' thread in sections inside it that run in few of its steps and are some rule's
/// business, or their own name's, warm-up apart: calls that hold such a section are slow because of it.
pub(crate) fn seldom_inside_ns(row: &SectionRow, rows: &[SectionRow], mode: &ModeSummary) -> u64 {
    let Some(part) = row.in_mode(mode.mode) else { return 0 };
    let is_untold = |phase: Phase| phase.class() == PhaseClass::CpuOperation || phase == Phase::Compile;
    let is_seldom = |inner: &&SectionRow| {
        let inner_part = inner.in_mode(mode.mode);
        let phase = inner.phase.as_ref().and_then(|name| Phase::parse(name.as_str()));
        is_inside(&inner.path, &row.path)
            && !phase.is_some_and(is_untold)
            && inner_part.is_some_and(|inner| is_in_few(inner, part.steps))
    };
    let seldom: Vec<&SectionRow> = rows.iter().filter(is_seldom).collect();
    let is_outermost = |inner: &&&SectionRow| !seldom.iter().any(|other| is_inside(&inner.path, &other.path));
    let parts = seldom.iter().filter(is_outermost).filter_map(|inner| inner.in_mode(mode.mode));
    parts.fold(0, |sum, part| sum.saturating_add(part.after_warmup().driving_ns))
}

/// Whether a section's calls in steps run on the steps' thread, all but a few.
pub(crate) fn is_driving(part: &InSteps) -> bool {
    const MOSTLY: f64 = 0.9;
    part.total_ns > 0 && part.driving_ns as f64 >= MOSTLY * part.total_ns as f64
}

/// Share of a section's time above the usual from which a section inside it explains it.
const EXPLAINS: f64 = 0.5;

/// Of sections with their time above the usual those that none inside them explains; the largest first, of equals the
/// first path.
pub(crate) fn innermost(mut tails: Vec<(&SectionRow, u64)>) -> Vec<(&SectionRow, u64)> {
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

pub(crate) fn is_inside(inner: &str, outer: &str) -> bool {
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
