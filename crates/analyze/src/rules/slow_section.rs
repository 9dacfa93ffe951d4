//! Rule `slow_section`: a section that is no stage of training, and whose phase no other rule judges, takes a good part of the step.

use super::{Config, Judged, Rule, Same, Steps, ToldBy, fine, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::names;
use crate::report::units::percent;
use crate::sections::own_time::{OwnTime, is_expected, is_judged};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    may_hold_up_ranks: true,
    yields_to: &[
        ToldBy { rule: "slow_calls", same: Same::Section },
        ToldBy { rule: "step_jitter", same: Same::Section },
    ],
    ..Rule::new("Slow section", FindingType::Compute)
};

thresholds! {
    /// Share of the step time from which a section is a finding.
    min_share: f64 = 0.10;
    /// Own time of one call that is long, seconds.
    long_call_s: f64 = 1.0;
    /// Share of the step time from which a section with long calls is a finding.
    long_call_min_share: f64 = 0.05;
    /// Share of the step time that phases must cover before sections without a phase are judged: below it,
    /// the regular stages of a step cannot be told from helper code.
    min_phase_share: f64 = 0.5;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.slow_section;
    let steps = Steps::of(summary).and_then(Steps::with_sections)?;
    if !summary.sections.iter().any(|row| is_judged(row) && row.in_mode(steps.mode.mode).is_some()) {
        return unknown("steps hold no sections: put some around what they do");
    }
    let mut candidates: Vec<OwnTime<'_>> = summary
        .sections
        .iter()
        .filter(|row| is_judged(row) && !is_expected(row, &steps))
        .filter_map(|row| OwnTime::of(row, &steps))
        .collect();
    // The largest first, of equals the first path.
    candidates.sort_by(|a, b| b.exposed_ns.cmp(&a.exposed_ns).then_with(|| a.row.path.cmp(&b.row.path)));
    let phase_share = match &steps.sums {
        Some(sums) => sums.inside_ns(|_| true) as f64 / sums.steps_ns.max(1) as f64,
        None => 1.0 - steps.mode.unattributed_ns as f64 / steps.mode.whole.total_ns.max(1) as f64,
    };
    let has_phases = phase_share >= thresholds.min_phase_share;
    let findings: Vec<Finding> = candidates
        .iter()
        .filter(|cost| cost.is_slow(thresholds))
        .filter(|cost| has_phases || cost.row.phase.is_some() || cost.is_long(thresholds))
        .filter_map(|cost| cost.finding(&steps))
        .collect();
    if !findings.is_empty() {
        return Ok(findings);
    }
    let is_unjudged = !has_phases && candidates.iter().any(|cost| cost.is_slow(thresholds));
    if is_unjudged {
        return unknown(format!(
            "phases cover only {} of the step time, so that regular stages cannot be told from helper code; give \
             sections their phase",
            percent(phase_share)
        ));
    }
    let looked_at = steps.looked_at();
    fine(match candidates.first() {
        Some(cost) => format!(
            "the costliest section beside the stages of a step, {}, takes {} of {looked_at}{}; limit {}",
            names::path(&cost.row.path),
            percent(cost.share),
            steps.by(),
            percent(cost.limit(thresholds))
        ),
        None => format!(
            "all sections are stages of a step, {} of {looked_at}",
            percent(1.0 - steps.unnamed_share())
        ),
    })
}

impl OwnTime<'_> {
    fn is_long(&self, thresholds: &Thresholds) -> bool {
        self.per_call_ns() as f64 >= thresholds.long_call_s * 1e9
    }

    /// From which share on it is slow.
    fn limit(&self, thresholds: &Thresholds) -> f64 {
        if self.is_long(thresholds) { thresholds.long_call_min_share } else { thresholds.min_share }
    }

    fn is_slow(&self, thresholds: &Thresholds) -> bool {
        self.share >= self.limit(thresholds)
    }

    fn finding(&self, steps: &Steps<'_>) -> Option<Finding> {
        let mean_ns = steps.mean_ns();
        let gain = Gain::upper_bound((self.share * mean_ns as f64).round() as u64, mean_ns)?.of(steps.base());
        Some(Finding {
            title: format!(
                "{} of {} goes into {} itself{}.",
                percent(self.share),
                steps.base().as_str(),
                names::path(&self.row.path),
                steps.by()
            ),
            evidence: Evidence::new()
                .with("exposed_share", rounded(self.share, 6))
                .with("exposed_per_step_ns", gain.saved_ns_per_step)
                .with("exposed_per_call_ns", self.per_call_ns())
                .with("calls", self.calls)
                .with("steps", self.steps)
                .with_known("call_p50_ns", self.row.stats.p50)
                .with_known("call_p95_ns", self.row.stats.p95)
                .with_known("self_alloc_bytes", self.row.memory.and_then(|memory| memory.self_alloc_bytes)),
            recommendation: self.advice(steps),
            ..Finding::about(Some(self.row), gain)
        })
    }
}
