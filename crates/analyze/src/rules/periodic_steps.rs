//! Rule `periodic_steps`: every so many steps one takes longer, and that is a good part of the step time. What is told of
//! checkpoints, evaluation and waits by their phases is left to the rules on these.

use stepscope_core::Phase;

use super::{Config, Judged, Rule, Same, Steps, ToldBy, fine, no_duration};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::names;
use crate::report::units::{count, duration, every_step, percent, things};
use crate::summary::{StepPeriod, Summary};

pub(super) const RULE: Rule = Rule {
    yields_to: &[ToldBy { rule: "slow_calls", same: Same::Phase }],
    ..Rule::new("Periodic steps", FindingType::Variability)
};

thresholds! {
    /// Share of the step time that these steps take above the usual ones, from which it is a finding.
    min_share: f64 = 0.10;
}

/// Phases that have rules of their own.
const JUDGED: [Phase; 7] = [
    Phase::Checkpoint,
    Phase::Evaluation,
    Phase::DataLoading,
    Phase::DataWait,
    Phase::Communication,
    Phase::Synchronization,
    Phase::Io,
];

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.periodic_steps;
    let steps = Steps::read(summary)?;
    steps.all_read("how often some take longer")?;
    steps.tell_warmup()?;
    let mode = steps.mode;
    let limit = percent(thresholds.min_share);
    let periodic = summary.periodic.iter().find(|row| row.mode == mode.mode);
    let Some((periodic, period)) = periodic.and_then(|row| Some((row, row.periods.first()?))) else {
        return fine(format!(
            "in {} there is no period of slow ones",
            things(mode.steady.count, "step", "steps")
        ));
    };
    let usual_ns = periodic.usual.p50.unwrap_or(0);
    let numbers = periodic.usual.count.saturating_add(periodic.steps()).max(1);
    let usual_total = periodic.usual.total.saturating_add(usual_ns.saturating_mul(periodic.steps()));
    let all_ns = usual_total.saturating_add(periodic.above_ns());
    let gain = Gain::upper_bound(period.above_ns / numbers, all_ns / numbers).ok_or_else(no_duration)?;
    let every = every_step(period.every);
    if let Some(phase) = judged_elsewhere(period) {
        return fine(format!(
            "{every} takes longer for {phase}, which is judged by itself; {} of the time",
            percent(gain.share)
        ));
    }
    if gain.share < thresholds.min_share {
        return fine(format!(
            "{every} takes longer, which is {} of the time of {}; limit {limit}",
            percent(gain.share),
            things(numbers, "step", "steps")
        ));
    }
    let section = period.section(mode, &summary.sections);
    let what = match section {
        Some(row) => format!(
            "`{}` takes {} in {}: do it less often or faster, or let another thread do it",
            names::path(&row.path),
            duration(row.stats.total),
            things(row.stats.count, "call", "calls")
        ),
        None => format!("Give what {every} does a section of its own"),
    };
    Ok(vec![Finding {
        title: format!(
            "{} of the step time is what {every} takes more: {} instead of {}.",
            percent(gain.share),
            duration(period.median_ns),
            duration(usual_ns)
        ),
        evidence: Evidence::new()
            .with("above_usual_share", rounded(gain.share, 6))
            .with("every_steps", period.every)
            .with("periodic_steps", period.steps)
            .with("periodic_step_ns", period.median_ns)
            .with("usual_step_ns", usual_ns)
            .with("first_step", period.first_step),
        recommendation: format!("{what}. The first such step is {}.", count(period.first_step)),
        ..Finding::about(section, gain)
    }])
}

/// The phase that takes the time, where another rule judges it.
fn judged_elsewhere(period: &StepPeriod) -> Option<&str> {
    let phase = period.cause.as_ref()?.phase.as_ref()?;
    JUDGED.iter().any(|&judged| phase.is(judged)).then(|| phase.as_str())
}
