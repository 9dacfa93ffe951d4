//! Rule `slow_calls`: a section that is called often and takes a multiple of its usual time in few of its calls. Steps
//! that vary are the business of `step_jitter`; here it is one section, whatever the steps do.

use stepscope_core::Phase;

use super::common::coarse;
use super::common::tail::{
    Business, FEW, event_ns, innermost, is_driving, longest_ns, seldom_inside_ns, slow_ns,
};
use super::common::taken::{ADVICE, Taken, capped, most_of};
use super::{Config, Rule, Steps, TOLD};
use crate::narrow::narrow;
use crate::report::finding::{BottleneckType, Evidence, Finding, Gain, Verdict, rounded};
use crate::report::names;
use crate::report::ranks::is_waiting;
use crate::report::units::{count, duration, every_step, percent};
use crate::steps::WAITING;
use crate::summary::{ModeSummary, SectionRow, StepPeriod, Summary};

pub(super) const RULE: Rule = Rule {
    id: "slow_calls",
    since: "0.1.0",
    name: "Slow calls among many",
    kind: BottleneckType::Variability,
    may_hold_up_ranks: true,
    notes: |summary, _, found| coarse::note(summary, RULE.id, found),
    page: include_str!("slow_calls.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Slowest call / median call from which calls are slow.
    min_ratio: f64 = 10.0;
    /// 90th percentile / median up to which the other calls are usual.
    max_usual_ratio: f64 = 2.0;
    /// Share of the step time, above the median call, from which the slow calls are a finding.
    min_share: f64 = 0.05;
    /// Calls that are needed.
    min_calls: u64 = 100;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.slow_calls;
    let steps = match Steps::read(summary, thresholds.min_steps).and_then(Steps::with_sections) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    // What a bounded directory keeps goes by how long a step took: the slow calls stay.
    if let Some((read, all)) = summary.coverage.partly_read() {
        return Verdict::unknown(format!(
            "{} of {} steps were read, perhaps not at random: how rare slow calls are is not known",
            count(read),
            count(all)
        ));
    }
    let are_several = summary.instances.iter().filter(|row| row.steps.count > 0).count() > 1;
    let waits = |row: &SectionRow| are_several && row.phase.as_ref().is_some_and(is_waiting);
    let is_judged =
        |row: &&SectionRow| row.is_part() && row.stats.count >= thresholds.min_calls && !waits(row);
    let tails = summary.sections.iter().filter(is_judged).filter(|row| is_slow(row, steps.mode, thresholds));
    let rare_ns = |row| {
        let seldom_ns = seldom_inside_ns(row, &summary.sections, steps.mode, Business::OfOthers);
        let above_ns = above_ns(row, &steps);
        let of_others_ns = if is_own_work(row) { 0 } else { periodic_ns(row, above_ns, summary, &steps) };
        above_ns.saturating_sub(of_others_ns.max(seldom_ns))
    };
    let tails = tails.map(|row| (row, rare_ns(row))).collect();
    let taken = Taken::of(summary, steps.mode.mode);
    let mut most = None;
    let mut findings = Vec::new();
    for (row, above_ns) in innermost(tails) {
        let Some(rare) = share(row, above_ns, &steps) else { continue };
        let periodic = share(row, periodic_part_ns(row, summary, &steps), &steps).unwrap_or(0.0);
        if most.is_none_or(|(_, share, of_periods)| (rare, periodic) > (share, of_periods)) {
            most = Some((row, rare, periodic));
        }
        if rare >= thresholds.min_share {
            let others = taken.and_then(|taken| most_of(taken.between(0, u64::MAX).0, above_ns));
            let every = every(row, above_ns, summary, &steps);
            findings.extend(finding(row, above_ns, (rare, others), every, &steps));
        }
    }
    if !findings.is_empty() {
        return Verdict::Found(findings);
    }
    Verdict::fine(match most {
        Some((row, share, periodic)) => {
            let told = (periodic >= TOLD && !is_own_work(row)).then(|| {
                format!("; those in periodic steps, which are listed as such, cost {}", percent(periodic))
            });
            format!(
                "the slow calls of {} cost most, {} of the step time{}",
                names::path(&row.path),
                percent(share),
                told.unwrap_or_default()
            )
        }
        None => "no section has a few calls that take a multiple of the others".into(),
    })
}

fn is_slow(row: &SectionRow, mode: &ModeSummary, thresholds: &Thresholds) -> bool {
    let of_other_rules = |phase: Phase| WAITING.contains(&phase) || phase == Phase::Checkpoint;
    let phase = row.phase.as_ref().and_then(|name| Phase::parse(name.as_str()));
    let stats = &row.stats;
    let (Some(p50), Some(p90), Some(max)) = (stats.p50, stats.p90, longest_ns(row, mode)) else {
        return false;
    };
    p50 > 0
        && !phase.is_some_and(of_other_rules)
        && max as f64 >= thresholds.min_ratio * p50 as f64
        && p90 as f64 <= thresholds.max_usual_ratio * p50 as f64
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

/// What of a section's slow calls is in periodic steps, no more than all of them take above usual ones.
fn periodic_part_ns(row: &SectionRow, summary: &Summary, steps: &Steps<'_>) -> u64 {
    let above_ns = above_ns(row, steps);
    periodic_ns(row, above_ns, summary, steps).min(above_ns)
}

/// In every how many steps the slow calls of the model's own work are, where most of `above_ns` is in those of one period.
fn every(row: &SectionRow, above_ns: u64, summary: &Summary, steps: &Steps<'_>) -> Option<u64> {
    let periodic = summary.periodic.iter().find(|periodic| periodic.mode == steps.mode.mode)?;
    let is_its = |period: &&StepPeriod| period.cause.as_ref().is_some_and(|cause| cause.phase == row.phase);
    let longest = periodic.periods.iter().filter(is_its).max_by_key(|period| period.above_ns)?;
    (is_own_work(row) && longest.above_ns.saturating_mul(2) >= above_ns).then_some(longest.every)
}

/// What of `above_ns` is the work of periodic steps: what they take above the others where the section's phase is the cause, or,
/// where that is more, as large a part as of its longest calls, and no more than all of them take above the others.
fn periodic_ns(row: &SectionRow, above_ns: u64, summary: &Summary, steps: &Steps<'_>) -> u64 {
    let Some(periodic) = summary.periodic.iter().find(|periodic| periodic.mode == steps.mode.mode) else {
        return 0;
    };
    let is_its = |period: &&StepPeriod| period.cause.as_ref().is_none_or(|cause| cause.phase == row.phase);
    let its = periodic.periods.iter().filter(is_its);
    let its_ns = its.fold(0, |sum: u64, period| sum.saturating_add(period.above_ns));
    let of_longest = row.in_mode(steps.mode.mode).and_then(|part| {
        let (slow_ns, periodic_ns) = part.longest_slow_ns.zip(part.longest_periodic_ns)?;
        (u128::from(above_ns) * u128::from(periodic_ns)).checked_div(slow_ns.into())
    });
    let of_longest_ns = of_longest.map_or(0, narrow).min(periodic.above_ns());
    // What no other rule tells is not left to the period, whose cause it is.
    let untold_ns = seldom_inside_ns(row, &summary.sections, steps.mode, Business::Untold);
    its_ns.max(of_longest_ns.saturating_sub(untold_ns))
}

/// What `above_ns` of a section's time are of the step time; absent where it runs elsewhere than on the steps' thread.
fn share(row: &SectionRow, above_ns: u64, steps: &Steps<'_>) -> Option<f64> {
    let part = row.in_mode(steps.mode.mode).filter(|part| is_driving(part))?;
    let steady = part.after_warmup();
    let inside = steps.share_inside(steady.driving_ns, steps.mode.whole_after_warmup().total_ns);
    let all_ns = match row.in_steps.len() {
        0 | 1 => row.stats.total.saturating_sub(part.warmup_total_ns),
        _ => steady.total_ns,
    };
    Some(inside * (above_ns as f64 / all_ns.max(1) as f64).min(1.0))
}

/// Whether the slow calls of one step are a good part of what all take, so that there are fewer than four such steps or one that
/// is unlike the others: such a run says little of the next one.
fn may_be_chance(row: &SectionRow, mode: &ModeSummary, above_ns: u64) -> bool {
    event_ns(row, mode).is_some_and(|event_ns| event_ns.saturating_mul(FEW) > above_ns)
}

/// `share` is that of the step time, and what others on the machine may have done of it; `every` in how many steps they are,
/// where these are periodic.
fn finding(
    row: &SectionRow,
    above_ns: u64,
    (share, others): (f64, Option<f64>),
    every: Option<u64>,
    steps: &Steps<'_>,
) -> Option<Finding> {
    let mean_ns = steps.mean_ns();
    let gain = Gain::upper_bound((share * mean_ns as f64).round() as u64, mean_ns)?.of(steps.base());
    let stats = &row.stats;
    let (p50, max) = (stats.p50?, longest_ns(row, steps.mode)?);
    let ratio = max as f64 / p50.max(1) as f64;
    Some(Finding {
        title: format!(
            "Few calls of {}{} cost {} of {}: the slowest takes {} times the median.",
            names::path(&row.path),
            every.map_or_else(String::new, |every| format!(", in {},", every_step(every))),
            percent(share),
            steps.base().as_str(),
            count(ratio.round() as u64)
        ),
        severity: capped(&gain, others.is_some() || may_be_chance(row, steps.mode, above_ns)),
        section: Some(row.path.clone()),
        phase: row.phase.as_ref().map(|phase| phase.as_str().to_owned()),
        rank: None,
        evidence: Evidence::new()
            .with("above_median_share", rounded(share, 6))
            .with("above_median_ns", above_ns)
            .with("max_to_p50_ratio", rounded(ratio, 3))
            .with_known("every_steps", every)
            .with("calls", stats.count)
            .with("call_p50_ns", p50)
            .with_known("call_p90_ns", stats.p90)
            .with_known("call_p99_ns", stats.p99)
            .with("call_max_ns", max)
            .with_known("taken_by_others_share", others.map(|share| rounded(share, 6))),
        recommendation: match (others, every) {
            (Some(share), _) => format!("Up to {} of it is time in which {ADVICE}", percent(share)),
            (None, Some(every)) => format!(
                "Find what `{}` does in {} ({} at most, against {} in the usual call) and not in the others. If it is meant \
                 to, give it a section of its own; do it less often, in small parts, or in another thread.",
                names::path(&row.path),
                every_step(every),
                duration(max),
                duration(p50)
            ),
            (None, None) => format!(
                "Find what `{}` does in its slowest calls ({}, against {} in the usual one) and not in the others: the \
                 traces of the slowest steps below show it. Do that in small parts, or in another thread.",
                names::path(&row.path),
                duration(max),
                duration(p50)
            ),
        },
        predicted_gain: Some(gain),
    })
}
