//! Rule `sync_waits`: the training thread waits for threads, locks, or a device.

use stepscope_core::Phase;

use super::{Config, Judged, Rule};
use crate::phases::waits::PhaseWait;
use crate::report::finding::FindingType;
use crate::report::units::duration;
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule::new("Synchronization waits", FindingType::Synchronization);

thresholds! {
    /// Share of the step time from which waiting is a finding.
    min_share: f64 = 0.10;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

const WHAT: &str = "waiting for threads, locks or devices";

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.sync_waits;
    let wait =
        PhaseWait::judged(summary, Phase::Synchronization, WHAT, thresholds.min_share, thresholds.min_steps)?;
    wait.finding(WHAT, &advice(&wait), None, |evidence| evidence)
}

fn advice(wait: &PhaseWait<'_>) -> String {
    let each = duration(wait.per_step_ns());
    match wait.often() {
        Some(often) => format!("{often}, {each} in all: wait once a step at most, or every so many steps."),
        None => format!(
            "Synchronise only where a result is really read, and read it less often: {each} a step is waited for."
        ),
    }
}
