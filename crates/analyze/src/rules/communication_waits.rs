//! Rule `communication_waits`: the training thread stands in communication that nothing of the step hides. Which rank
//! the others wait for is told where it is one and the same.

use stepscope_core::Phase;

use super::{Config, Judged, Rule, loader_bound};
use crate::phases::waits::PhaseWait;
use crate::ranks::Late;
use crate::report::finding::{FindingType, rounded, severity};
use crate::report::units::{bytes, duration, percent};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule::new("Communication waits", FindingType::Communication);

thresholds! {
    /// Share of the step time from which exposed communication is a finding.
    min_share: f64 = 0.10;
    /// Calls a step from which joining messages is advised.
    many_calls: u64 = 16;
}

const WHAT: &str = "communication that nothing hides";

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.communication_waits;
    let wait = PhaseWait::judged(summary, Phase::Communication, WHAT, thresholds.min_share)?;
    let late = Late::of(summary);
    let for_batches_ns = loader_bound::others_ns(summary, config);
    let advice = if for_batches_ns.is_some() {
        format!(
            "Loaders of all ranks are busy all the time, so that most of this may be waiting for the rank whose batch comes last, \
             another one from step to step: see `{}` first.",
            "loader_bound"
        )
    } else {
        late.as_ref().map_or_else(|| advice(&wait, thresholds), |late| late.advice(&wait.steps))
    };
    let between = late.as_ref().and_then(|late| late.between.as_ref());
    let longer = late.as_ref().and_then(|late| late.longer).filter(|_| between.is_none());
    let mut findings = wait.finding(WHAT, &advice, late.as_ref().map(|late| late.rank), |evidence| {
        let moved = wait.throughput();
        evidence
            .with_known("late_rank_per_step_ns", late.as_ref().map(|late| late.own_ns))
            .with_known("other_ranks_per_step_ns", late.as_ref().map(|late| late.others_ns))
            .with_known("lateness_share", late.as_ref().map(|late| rounded(late.share, 3)))
            .with_known("phase_per_step_ns", longer.map(|longer| longer.own_ns))
            .with_known("phase_on_others_ns", longer.map(|longer| longer.others_ns))
            .with_known("late_rank_between_steps_ns", between.map(|between| between.own_ns))
            .with_known("other_ranks_between_steps_ns", between.map(|between| between.others_ns))
            .with_known("bytes", moved.map(|(sum, _)| sum))
            .with_known("bytes_per_s", moved.map(|(_, rate)| rounded(rate, 0)))
    })?;
    for finding in &mut findings {
        // What is waited for batches is the matter of the other finding.
        if let Some(others_ns) = for_batches_ns {
            let rest = finding.predicted_gain.as_ref().map_or(0.0, |gain| {
                let of_ns = gain.saved_ns_per_step.saturating_add(gain.step_time_ns);
                gain.direct_ns.saturating_sub(others_ns) as f64 / of_ns.max(1) as f64
            });
            finding.severity = finding.severity.min(severity(100.0 * rounded(rest, 6)));
        }
        // All do without what the others wait for, the late rank as well.
        if let Some((late, gain)) = late.as_ref().zip(finding.predicted_gain.as_mut()) {
            let more_ns = late.others_ns.saturating_sub(gain.saved_ns_per_step);
            gain.extend(more_ns, "is what the late rank may do without as well");
        }
    }
    Ok(findings)
}

fn advice(wait: &PhaseWait<'_>, thresholds: &Thresholds) -> String {
    let mut advice = format!(
        "Let the exchange run while the backward pass goes on: {} a step is waited for",
        duration(wait.per_step_ns())
    );
    if let Some(hidden) = wait.hidden_share() {
        advice.push_str(&format!(", {} of it is hidden today", percent(hidden)));
    }
    advice.push('.');
    let is_many = wait.calls_per_step().is_some_and(|calls| calls >= thresholds.many_calls);
    match wait.often().filter(|_| is_many) {
        Some(often) => advice.push_str(&format!(" {often}: join the messages to fewer, larger ones.")),
        None => advice.push_str(" Or exchange less often (gradient accumulation), or in a lower precision."),
    }
    if let Some((_, rate)) = wait.throughput() {
        advice.push_str(&format!(" It moves {} a second.", bytes(rate as u64)));
    }
    advice
}
