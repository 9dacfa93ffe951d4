//! What slow calls of a section cost the steps: time above the median call, without what warm-up, periodic steps and rare
//! sections inside it explain.

use stepscope_core::Phase;

use super::tail::{FEW, is_driving, longest_ns, seldom_inside_ns, slow_ns};
use crate::steps::WAITING;
use crate::steps::judged::Steps;
use crate::summary::{ModeSummary, SectionRow, StepPeriod, Summary};

/// What slow calls of a section take of the steps above usual ones, other explanations apart.
pub(crate) fn rare_ns(row: &SectionRow, summary: &Summary, steps: &Steps<'_>) -> u64 {
    let seldom_ns = seldom_inside_ns(row, &summary.sections, steps.mode);
    above_ns(row, steps).saturating_sub(periodic_ns(row, summary, steps).max(seldom_ns))
}

/// What a section's slow calls take above usual ones. Where steps of other modes call it, too, no more than its calls in
/// those that are judged take above as many usual ones: a long call of an evaluation is not a slow one of training.
fn above_ns(row: &SectionRow, steps: &Steps<'_>) -> u64 {
    let slow_ns = slow_ns(row, steps.mode).unwrap_or(0);
    match row.in_mode(steps.mode.mode).filter(|_| row.in_steps.len() > 1) {
        Some(part) => {
            let part = part.after_warmup();
            let usual_ns = row.stats.p50.unwrap_or(0).saturating_mul(part.calls);
            slow_ns.min(part.total_ns.saturating_sub(usual_ns))
        }
        None => slow_ns,
    }
}

/// Whether it is the model's own work, which is alike in every step: where it takes long every so often, that is not what the
/// steps are periodic for, as saving and logging are, and no other rule tells it. (Optimizers work once in so many steps
/// where gradients are accumulated.)
fn is_own_work(row: &SectionRow) -> bool {
    row.phase.as_ref().is_some_and(|phase| phase.is(Phase::Forward) || phase.is(Phase::Backward))
}

/// What is the work of periodic steps: what they take above the others where the section's phase is the cause, if that is not
/// the model's own work.
fn periodic_ns(row: &SectionRow, summary: &Summary, steps: &Steps<'_>) -> u64 {
    let periodic = summary.periodic.iter().filter(|periodic| periodic.mode == steps.mode.mode);
    let is_its = |period: &&StepPeriod| period.cause.as_ref().is_none_or(|cause| cause.phase == row.phase);
    let its = periodic.flat_map(|periodic| &periodic.periods).filter(is_its).filter(|_| !is_own_work(row));
    its.fold(0, |sum, period| sum.saturating_add(period.above_ns))
}

/// What `above_ns` of a section's time are of the step time; absent where it runs elsewhere than on the steps' thread.
pub(crate) fn share(row: &SectionRow, above_ns: u64, steps: &Steps<'_>) -> Option<f64> {
    let part = row.in_mode(steps.mode.mode).filter(|part| is_driving(part))?;
    let steady = part.after_warmup();
    let inside = steps.share_inside(steady.driving_ns, steps.mode.whole_after_warmup().total_ns);
    let all_ns = match row.in_steps.len() {
        0 | 1 => row.stats.total.saturating_sub(part.warmup_total_ns),
        _ => steady.total_ns,
    };
    Some(inside * (above_ns as f64 / all_ns.max(1) as f64).min(1.0))
}

/// Whether the slowest call, as if all processes were held up by what slowed it, is a good part of what all take, so that
/// there are fewer than four such steps or one that is unlike the others: such a run says little of the next one.
pub(crate) fn may_be_chance(row: &SectionRow, above_ns: u64, summary: &Summary, steps: &Steps<'_>) -> bool {
    let processes = summary.instances.iter().filter(|instance| instance.steps.count > 0).count() as u64;
    let longest_ns = longest_ns(row, steps.mode).unwrap_or(0).saturating_sub(row.stats.p50.unwrap_or(0));
    longest_ns.saturating_mul(processes.max(1)).saturating_mul(FEW) > above_ns
}

/// Whether its slowest call takes `min_ratio` times the median one, and nine of ten at most `max_usual_ratio` times that; of
/// phases that have no rule for it.
pub(crate) fn is_slow(row: &SectionRow, mode: &ModeSummary, min_ratio: f64, max_usual_ratio: f64) -> bool {
    let of_other_rules = |phase: Phase| WAITING.contains(&phase) || phase == Phase::Checkpoint;
    let phase = row.phase.as_ref().and_then(|name| Phase::parse(name.as_str()));
    let stats = &row.stats;
    let (Some(p50), Some(p90), Some(max)) = (stats.p50, stats.p90, longest_ns(row, mode)) else {
        return false;
    };
    p50 > 0
        && !phase.is_some_and(of_other_rules)
        && max as f64 >= min_ratio * p50 as f64
        && p90 as f64 <= max_usual_ratio * p50 as f64
}
