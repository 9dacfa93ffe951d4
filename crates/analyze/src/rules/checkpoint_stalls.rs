//! Rule `checkpoint_stalls`: training stands still while a checkpoint is written or read.

use stepscope_core::Phase;

use super::{Config, Judged, RestsOn, Rule, Steps, no_duration};
use crate::between_steps::untold;
use crate::phases::waits::PhaseWait;
use crate::report::finding::{Evidence, Finding, FindingType, TimeBase, rounded};
use crate::report::units::{duration, percent, things};
use crate::sections::tail::is_inside;
use crate::summary::{PhaseName, SectionRow, Stats, Summary};

pub(super) const RULE: Rule = Rule {
    may_hold_up_ranks: true,
    rests_on: RestsOn::ReadSteps,
    ..Rule::new("Checkpoint stalls", FindingType::Io)
};

thresholds! {
    /// Share of the training time (steps, and input and checkpoints between them) from which checkpoints are a finding.
    min_share: f64 = 0.05;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.checkpoint_stalls;
    let steps = Steps::read(summary);
    let steps = steps.and_then(Steps::with_phases)?;
    let wait = PhaseWait::of(steps, Phase::Checkpoint);
    let PhaseWait { exposed_ns, between_ns, share, section, .. } = wait;
    if share < thresholds.min_share {
        return untold(summary, &wait.steps, thresholds.min_share, "checkpoints")
            .map_or_else(|| Err(wait.little("checkpoints", thresholds.min_share)), Err);
    }
    let gain = wait.gain().ok_or_else(no_duration)?;
    let (gain, steps) = (gain.of(TimeBase::TrainingTime), &wait.steps);
    let (inside, between, stats) = calls(summary, section, steps);
    let checkpoints = inside.saturating_add(between);
    let when = match checkpoints {
        0 => String::new(),
        _ => format!("in {} ", things(checkpoints, "checkpoint", "checkpoints")),
    };
    Ok(vec![Finding {
        title: format!("{} of the training time goes into checkpoints.", percent(share)),
        phase: Some(Phase::Checkpoint.as_str().into()),
        evidence: Evidence::new()
            .with("checkpoint_share", rounded(share, 6))
            .with("checkpoint_total_ns", exposed_ns)
            .with("checkpoint_between_steps_ns", between_ns)
            .with("checkpoints", checkpoints)
            .with("checkpoints_between_steps", between)
            .with_known("checkpoint_p50_ns", stats.p50)
            .with_known("checkpoint_max_ns", stats.max)
            .with("steps", steps.count()),
        recommendation: format!(
            "Copy the parameters in memory and write them in another thread: {when}the steps stand still for {} in all. Or \
             write less often.",
            duration(exposed_ns)
        ),
        ..Finding::about(section, gain)
    }])
}

/// The checkpoints after warm-up: those of the section that takes most of the steps, on threads that wait for them, and those
/// between steps; and the calls of either, whichever take longer.
fn calls(summary: &Summary, section: Option<&SectionRow>, steps: &Steps<'_>) -> (u64, u64, Stats) {
    let is_checkpoint = |phase: Option<&PhaseName>| phase.is_some_and(|phase| phase.is(Phase::Checkpoint));
    let between = summary.between_steps.iter().find(|row| is_checkpoint(row.phase.as_ref()));
    let between = between.map(|row| row.stats).unwrap_or_default();
    // Of a checkpoint with parts the whole.
    let is_whole = |row: &&SectionRow| {
        let is_its = section.is_some_and(|part| part.path == row.path || is_inside(&part.path, &row.path));
        is_its && is_checkpoint(row.phase.as_ref())
    };
    let whole = summary.sections.iter().filter(is_whole).min_by_key(|row| row.depth);
    let inside = whole.and_then(|row| Some((row.in_mode(steps.mode.mode)?.after_warmup(), row.stats)));
    match inside.filter(|(part, _)| part.driving_ns > 0) {
        Some((part, stats)) if part.driving_ns >= between.total => (part.calls, between.count, stats),
        Some((part, _)) => (part.calls, between.count, between),
        None => (0, between.count, between),
    }
}
