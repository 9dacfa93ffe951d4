//! Rule `sync_waits`: the training thread waits for threads, locks, or a device.

use stepscope_core::Phase;

use super::{Config, Judged, Rule, Steps, fine, unknown};
use crate::phases::waits::PhaseWait;
use crate::report::finding::{FindingType, TimeBase};
use crate::report::units::{duration, percent};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule::new("Synchronization waits", FindingType::Synchronization);

thresholds! {
    /// Share of the step time from which waiting is a finding.
    min_share: f64 = 0.10;
}

const WHAT: &str = "waiting for threads, locks or devices";

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.sync_waits;
    let is_declared = summary
        .sections
        .iter()
        .any(|row| row.phase.as_ref().is_some_and(|phase| phase.is(Phase::Synchronization)));
    if !is_declared {
        return undeclared(&Steps::of(summary)?, thresholds.min_share);
    }
    let wait = PhaseWait::judged(summary, Phase::Synchronization, WHAT, thresholds.min_share)?;
    wait.finding(WHAT, &advice(&wait), None, |evidence| evidence)
}

/// Any section may wait for a lock: only what threads did can tell.
fn undeclared(steps: &Steps<'_>, min_share: f64) -> Judged {
    match steps.blocked_ns() {
        Some((blocked_ns, whole_ns)) if (blocked_ns as f64) < min_share * whole_ns as f64 => fine(format!(
            "the steps' own threads were blocked for {} of {}; limit {}",
            percent(blocked_ns as f64 / whole_ns.max(1) as f64),
            TimeBase::StepTime.looked_at(whole_ns),
            percent(min_share)
        )),
        _ => unknown(
            "no section has the phase `synchronization`, and others may wait inside: needs that phase, or level \
             `comprehensive`",
        ),
    }
}

fn advice(wait: &PhaseWait<'_>) -> String {
    let each = duration(wait.per_step_ns());
    if wait.section.is_some_and(|row| is_for_a_device(&row.path)) {
        return format!(
            "The device may work all of the {each} a step: then the gain is nothing, and only less work for it helps \
             (lower precision, fused kernels). Else synchronise only where a result is read, and more seldom."
        );
    }
    match wait.often() {
        Some(often) => format!("{often}, {each} in all: wait once a step at most, or every so many steps."),
        None => format!(
            "Synchronise only where a result is really read, and read it less often: {each} a step is waited for."
        ),
    }
}

/// Whether the last name of a path is a call of CUDA or HIP that waits for what a device was given.
fn is_for_a_device(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["cuda", "hip"].iter().any(|of| name.starts_with(of)) && name.ends_with("Synchronize")
}
