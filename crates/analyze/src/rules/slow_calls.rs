//! Rule `slow_calls`: a section that is called often and takes a multiple of its usual time in few of its calls. Steps
//! that vary are the business of `step_jitter`; here it is one section, whatever the steps do.

use super::{Config, Judged, Rule, Steps, fine, no_duration, unknown};
use crate::ranks::is_waiting;
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::names;
use crate::report::units::{count, duration, percent, things};
use crate::sections::slow_calls::{is_slow, may_be_chance, rare_ns, share};
use crate::sections::tail::{innermost, longest_ns};
use crate::steps::run_queue_delay::{ADVICE, RunQueueDelay, capped, most_of};
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule =
    Rule { may_hold_up_ranks: true, ..Rule::new("Slow calls among many", FindingType::Variability) };

thresholds! {
    /// Slowest call / median call from which calls are slow.
    min_ratio: f64 = 10.0;
    /// 90th percentile / median up to which the other calls are usual.
    max_usual_ratio: f64 = 2.0;
    /// Share of the step time, above the median call, from which the slow calls are a finding.
    min_share: f64 = 0.05;
    /// Calls that are needed.
    min_calls: u64 = 100;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.slow_calls;
    let steps = Steps::read(summary).and_then(Steps::with_sections)?;
    steps.all_read("how rare slow calls are")?;
    let are_several = summary.instances.iter().filter(|row| row.steps.count > 0).count() > 1;
    let waits = |row: &SectionRow| are_several && row.phase.as_ref().is_some_and(is_waiting);
    let is_judged =
        |row: &&SectionRow| row.is_part() && row.stats.count >= thresholds.min_calls && !waits(row);
    let rows: Vec<&SectionRow> = summary.sections.iter().filter(is_judged).collect();
    if rows.is_empty() {
        return unknown(format!(
            "no section has the {} calls that few slow ones are told among",
            thresholds.min_calls
        ));
    }
    let tails = rows
        .iter()
        .copied()
        .filter(|row| is_slow(row, steps.mode, thresholds.min_ratio, thresholds.max_usual_ratio));
    let tails = tails.map(|row| (row, rare_ns(row, summary, &steps))).collect();
    let taken = RunQueueDelay::of(summary, steps.mode.mode);
    let mut most = None;
    let mut findings = Vec::new();
    for (row, above_ns) in innermost(tails) {
        let Some(rare) = share(row, above_ns, &steps) else { continue };
        if most.is_none_or(|(_, share)| rare > share) {
            most = Some((row, rare));
        }
        if rare >= thresholds.min_share {
            let others = taken.and_then(|taken| most_of(taken.between(0, u64::MAX).0, above_ns));
            findings.push(finding(row, above_ns, (rare, others), summary, &steps)?);
        }
    }
    if !findings.is_empty() {
        return Ok(findings);
    }
    fine(match most {
        Some((row, share)) => format!(
            "the slow calls of {} cost most, {} of {}; limit {}",
            names::path(&row.path),
            percent(share),
            steps.looked_at(),
            percent(thresholds.min_share)
        ),
        None => format!(
            "of {} with {} calls and more none has few that take {} times the usual one",
            things(rows.len() as u64, "section", "sections"),
            thresholds.min_calls,
            thresholds.min_ratio
        ),
    })
}

/// `share` is that of the step time, and what others on the machine may have done of it.
fn finding(
    row: &SectionRow,
    above_ns: u64,
    (share, others): (f64, Option<f64>),
    summary: &Summary,
    steps: &Steps<'_>,
) -> Judged<Finding> {
    let mean_ns = steps.mean_ns();
    let gain = Gain::upper_bound((share * mean_ns as f64).round() as u64, mean_ns);
    let gain = gain.ok_or_else(no_duration)?.of(steps.base());
    let stats = &row.stats;
    let (p50, max) = (stats.p50.unwrap_or(0), longest_ns(row, steps.mode).unwrap_or(0));
    let ratio = max as f64 / p50.max(1) as f64;
    Ok(Finding {
        title: format!(
            "Few calls of {} cost {} of {}: the slowest takes {} times the median.",
            names::path(&row.path),
            percent(share),
            steps.base().as_str(),
            count(ratio.round() as u64)
        ),
        severity: capped(&gain, others.is_some() || may_be_chance(row, above_ns, summary, steps)),
        evidence: Evidence::new()
            .with("above_median_share", rounded(share, 6))
            .with("above_median_ns", above_ns)
            .with("max_to_p50_ratio", rounded(ratio, 3))
            .with("calls", stats.count)
            .with("call_p50_ns", p50)
            .with_known("call_p90_ns", stats.p90)
            .with_known("call_p99_ns", stats.p99)
            .with("call_max_ns", max)
            .with_known("taken_by_others_share", others.map(|share| rounded(share, 6))),
        recommendation: match others {
            Some(share) => format!("Up to {} of it is time in which {ADVICE}", percent(share)),
            None => format!(
                "Find what `{}` does in its slowest calls ({}, against {} in the usual one) and not in the others. Do that less \
                 often, in small parts, or in another thread.",
                names::path(&row.path),
                duration(max),
                duration(p50)
            ),
        },
        ..Finding::about(Some(row), gain)
    })
}
