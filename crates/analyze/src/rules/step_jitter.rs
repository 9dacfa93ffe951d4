//! Rule `step_jitter`: steps that should take the same time do not. What makes single steps slow is told where a phase or a
//! section explains it.

use super::{Config, Judged, Rule, Same, Steps, ToldBy, fine, no_duration, slow_rank, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::units::{count, percent, when};
use crate::sections::tail::FEW;
use crate::steps::jitter::{Cause, SlowCalls, Usual, rare};
use crate::steps::run_queue_delay::{ADVICE, RunQueueDelay, capped, most_of};
use crate::summary::{EXPLAINED_SHARE, PeriodicSteps, SlowStep, Summary};

pub(super) const RULE: Rule = Rule {
    yields_to: &[
        ToldBy { rule: "slow_calls", same: Same::Phase },
        ToldBy { rule: "slower_since", same: Same::Phase },
    ],
    ..Rule::new("Step jitter", FindingType::Variability)
};

thresholds! {
    /// p95 / p50 from which the steps have a tail.
    min_p95_ratio: f64 = 2.0;
    /// p99 / p50 from which the steps have a tail.
    min_p99_ratio: f64 = 3.0;
    /// Share of the step time, above the median, from which a tail is a finding.
    min_share: f64 = 0.05;
    /// Share of the excess of the slowest steps from which a phase explains them.
    explained_share: f64 = EXPLAINED_SHARE;
}

/// Steps below which percentiles are single ones of them.
const MEAN_LITTLE: u64 = 100;

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.step_jitter;
    let steps = Steps::read(summary)?;
    steps.all_read("their spread")?;
    steps.tell_warmup()?;
    let mode = steps.mode;
    let periodic = summary.periodic.iter().find(|row| row.mode == mode.mode);
    let stats = periodic.map_or(&mode.steady, |row| &row.usual);
    let (Some(p50), Some(p95), Some(p99), Some(mean)) = (stats.p50, stats.p95, stats.p99, stats.mean) else {
        return unknown("steps have no durations");
    };
    if p50 == 0 {
        return unknown("the median step takes no time");
    }
    let usual = Usual::of(summary, mode, p50);
    let ratio = |ns: u64| ns as f64 / usual.ns as f64;
    let (mean_ns, above_ns) = (mean.round() as u64, (mean.round() as u64).saturating_sub(usual.mean_ns));
    let gain = match periodic {
        None => Gain::upper_bound(above_ns, mean_ns),
        Some(row) => {
            let all = stats.count.saturating_add(row.steps()).max(1);
            let saved = u128::from(above_ns) * u128::from(stats.count) / u128::from(all);
            let steady = mode.steady.mean.unwrap_or(0.0).round() as u64;
            Gain::upper_bound(u64::try_from(saved).unwrap_or(u64::MAX), steady)
        }
    };
    let gain = gain.ok_or_else(no_duration)?;
    let has_tail = ratio(p95) >= thresholds.min_p95_ratio || ratio(p99) >= thresholds.min_p99_ratio;
    let (rare, rare_share) = rare(mode, periodic, &usual, thresholds.min_p99_ratio * usual.ns as f64);
    let is_rare = !has_tail && rare_share >= thresholds.min_share;
    let (of, all) = match usual.has_levels {
        true => ("the longest level of the run", "the levels of the run"),
        false => ("the median", "the median"),
    };
    if !(has_tail || is_rare) || gain.share < thresholds.min_share {
        // Only those limits are told that it keeps.
        let limit =
            |limit: String, is_kept: bool| if is_kept { format!(" (limit {limit})") } else { String::new() };
        return fine(format!(
            "p95 is {:.2} times {of}{}, p99 {:.2}{}, {} of the time above {all}{}{}",
            ratio(p95),
            limit(thresholds.min_p95_ratio.to_string(), ratio(p95) < thresholds.min_p95_ratio),
            ratio(p99),
            limit(thresholds.min_p99_ratio.to_string(), ratio(p99) < thresholds.min_p99_ratio),
            percent(gain.share),
            limit(percent(thresholds.min_share), gain.share < thresholds.min_share),
            if periodic.is_some() { ", periodic steps left out" } else { "" },
        ));
    }
    if slow_rank::check(summary, config).is_ok() {
        return unknown(
            "one rank is slower than others (see `slow_rank`): how the steps of each vary is not told apart",
        );
    }
    // Of fewer it is the longest one.
    let by_p95 = ratio(p95) >= thresholds.min_p95_ratio && stats.count >= MEAN_LITTLE;
    let is_few = !by_p95 && (rare.len() as u64) < FEW;
    let few: &[&SlowStep] = if is_few { &rare } else { &[] };
    let (name, tail) = match few {
        [SlowStep { step: Some(step), .. }] => (format!("step {}", count(*step)), stats.max.unwrap_or(p99)),
        _ if by_p95 => ("p95".into(), p95),
        _ if is_rare || stats.count < MEAN_LITTLE => ("the longest".into(), stats.max.unwrap_or(p99)),
        _ => ("p99".into(), p99),
    };
    let cause = Cause::of(mode, periodic).filter(|cause| cause.share >= thresholds.explained_share);
    let excess = (p50, above_ns.saturating_mul(stats.count));
    let slow = if cause.is_none() { SlowCalls::of(summary, mode, excess, periodic.is_some()) } else { None };
    let slow = slow.filter(|slow| slow.share >= thresholds.explained_share);
    let share = cause.as_ref().map(|cause| cause.share).or(slow.as_ref().map(|slow| slow.share));
    let others = RunQueueDelay::of(summary, mode.mode).and_then(|delay| {
        most_of(delay.mean_between(mode.warmup.steady_step.unwrap_or(0), u64::MAX)?, above_ns)
    });
    let advice = match (others, &cause, &slow) {
        (Some(share), ..) => format!("{} of it is time in which {ADVICE}", percent(share)),
        (None, Some(cause), _) => cause.advice(p50),
        (None, None, Some(slow)) => slow.advice(),
        (None, None, None) if mode.whole.steps == 0 => UNKNOWN.into(),
        (None, None, None) => UNEXPLAINED.into(),
    };
    Ok(vec![Finding {
        title: format!(
            "Steps vary: {name} is {:.1} times {of}, which costs {} of the step time.",
            ratio(tail),
            percent(gain.share)
        ),
        severity: capped(&gain, others.is_some() || is_few),
        section: slow.as_ref().map(|slow| slow.row.path.clone()),
        phase: cause.as_ref().map(|cause| cause.phase.clone()),
        evidence: Evidence::new()
            .with("p50_ns", p50)
            .with("p95_ns", p95)
            .with("p99_ns", p99)
            .with_known("max_ns", stats.max)
            .with("p95_to_p50_ratio", rounded(ratio(p95), 3))
            .with("p99_to_p50_ratio", rounded(ratio(p99), 3))
            .with_known("longest_level_ns", Some(usual.ns).filter(|_| usual.has_levels))
            .with("above_median_share", gain.share)
            .with_known("rare_steps", is_rare.then_some(rare.len()))
            .with_known("periodic_steps_left_out", periodic.map(PeriodicSteps::steps))
            .with_known("explained_by", cause.map(|cause| cause.phase))
            .with_known("explained_share", share.map(|share| rounded(share, 6)))
            .with_known("taken_by_others_share", others.map(|share| rounded(share, 6))),
        recommendation: few.iter().map(|step| place(step, summary)).collect::<String>() + &advice,
        predicted_gain: Some(gain),
        ..Finding::default()
    }])
}

const UNKNOWN: &str = "Which part of the steps is slow at times is not known, since none was read with its sections: \
                       record at level `detailed`, or keep what was lost.";

const UNEXPLAINED: &str = "No phase explains the slow steps: all of the step is slower at times, or now one part of it and now \
                           another. Look for clock changes, samples of varying length, and other processes on the machine; and \
                           put sections around what is in none.";

/// Which step it is, a sentence.
fn place(step: &SlowStep, summary: &Summary) -> String {
    let number =
        step.step.map_or_else(|| "A step without a number".into(), |step| format!("Step {}", count(step)));
    let rank = step.rank.filter(|_| summary.instances.len() > 1);
    let rank = rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
    format!("{number}{rank} took {}. ", when(summary.state.first_ns, step.start_ns, step.duration_ns))
}
