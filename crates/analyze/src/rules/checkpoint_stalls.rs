//! Rule `checkpoint_stalls`: training stands still while a checkpoint is written or read.

use stepscope_core::Phase;

use super::{Config, Rule, Steps};
use crate::phases::waits::PhaseWait;
use crate::report::finding::{Evidence, Finding, FindingType, TimeBase, Verdict, rounded};
use crate::report::units::{count, duration, percent, things};
use crate::sections::tail::is_inside;
use crate::summary::{PhaseName, SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "checkpoint_stalls",
    since: "0.1.0",
    name: "Checkpoint stalls",
    kind: FindingType::Io,
    may_hold_up_ranks: true,
    page: include_str!("checkpoint_stalls.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the training time (steps, and input and checkpoints between them) from which checkpoints are a finding.
    min_share: f64 = 0.05;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.checkpoint_stalls;
    let steps = Steps::read(summary, thresholds.min_steps);
    let steps = match steps.and_then(Steps::with_phases) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let wait = PhaseWait::of(steps, Phase::Checkpoint);
    let PhaseWait { exposed_ns, between_ns, share, section, .. } = wait;
    if exposed_ns == 0 {
        return Verdict::fine("no time of the training thread goes into checkpoints");
    }
    if share < thresholds.min_share {
        let read =
            summary.coverage.partly_read().map_or("", |_| ", as far as steps and checkpoints were read");
        return Verdict::fine(format!("{} of the training time goes into checkpoints{read}", percent(share)));
    }
    let Some(gain) = wait.gain() else {
        return Verdict::unknown("steps have no duration");
    };
    let (gain, steps) = (gain.of(TimeBase::TrainingTime), &wait.steps);
    let calls = Calls::of(summary, section, steps);
    Verdict::Found(vec![Finding {
        title: format!("{} of the training time goes into checkpoints.", percent(share)),
        severity: gain.severity(),
        section: section.map(|row| row.path.clone()),
        phase: Some(Phase::Checkpoint.as_str().into()),
        rank: None,
        evidence: Evidence::new()
            .with("checkpoint_share", rounded(share, 6))
            .with("checkpoint_total_ns", exposed_ns)
            .with("checkpoint_between_steps_ns", between_ns)
            .with_known("checkpoints", calls.all())
            .with_known("checkpoints_between_steps", calls.both().map(|(_, between)| between))
            .with_known("checkpoint_p50_ns", calls.p50_ns)
            .with_known("checkpoint_max_ns", calls.max_ns)
            .with("steps", steps.count()),
        recommendation: format!(
            "Copy the parameters in memory and write them in another thread: {}the steps stand still for {} in all. Or \
             write less often.",
            calls.words(),
            duration(exposed_ns)
        ),
        predicted_gain: Some(gain),
    }])
}

/// The checkpoints after warm-up, each as a whole.
struct Calls {
    /// In steps, on threads that wait for them.
    inside: u64,
    between: u64,
    /// Of those that take most, in the steps or between them.
    p50_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Calls {
    /// `section` is the one that takes most of the steps.
    fn of(summary: &Summary, section: Option<&SectionRow>, steps: &Steps<'_>) -> Self {
        let is_checkpoint =
            |phase: Option<&PhaseName>| phase.is_some_and(|phase| phase.is(Phase::Checkpoint));
        let between = summary.between_steps.iter().find(|row| is_checkpoint(row.phase.as_ref()));
        let between = between.map(|row| row.stats).filter(|stats| stats.count > 0);
        let rows: Vec<&SectionRow> =
            summary.sections.iter().filter(|row| is_checkpoint(row.phase.as_ref())).collect();
        let is_outermost = |row: &&&SectionRow| !rows.iter().any(|other| is_inside(&row.path, &other.path));
        let inside = rows.iter().filter(is_outermost).filter_map(|row| {
            let part = row.in_mode(steps.mode.mode)?.after_warmup();
            (part.driving_ns > 0).then_some((row, part))
        });
        let inside: Vec<_> = inside.collect();
        let of_steps = inside.iter().filter(|(row, _)| {
            section.is_some_and(|section| section.path == row.path || is_inside(&section.path, &row.path))
        });
        let of_steps = of_steps.map(|(row, part)| (part.driving_ns, row.stats)).next();
        let times = [between.map(|stats| (stats.total, stats)), of_steps];
        let most = times.into_iter().flatten().max_by_key(|&(ns, _)| ns);
        Self {
            inside: inside.iter().fold(0, |sum, (_, part)| sum.saturating_add(part.calls)),
            between: between.map_or(0, |stats| stats.count),
            p50_ns: most.and_then(|(_, stats)| stats.p50),
            max_ns: inside
                .iter()
                .map(|(row, _)| row.stats.max)
                .chain([between.and_then(|stats| stats.max)])
                .max()
                .flatten(),
        }
    }

    fn all(&self) -> Option<u64> {
        Some(self.inside.saturating_add(self.between)).filter(|&calls| calls > 0)
    }

    /// Those in steps and those between them, where there are both.
    fn both(&self) -> Option<(u64, u64)> {
        (self.inside > 0 && self.between > 0).then_some((self.inside, self.between))
    }

    /// `in 2 checkpoints `, as the beginning of a sentence's part; empty where none is known by itself.
    fn words(&self) -> String {
        let checkpoints = |calls| things(calls, "checkpoint", "checkpoints");
        match (self.both(), self.all()) {
            (Some((inside, between)), _) => {
                format!("in {} in steps and {} between them ", checkpoints(inside), count(between))
            }
            (None, Some(calls)) => format!("in {} ", checkpoints(calls)),
            (None, None) => String::new(),
        }
    }
}
