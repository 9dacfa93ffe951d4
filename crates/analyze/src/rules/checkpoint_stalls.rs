//! Rule `checkpoint_stalls`: training stands still while a checkpoint is written or read.

use stepscope_core::Phase;

use super::common::once::severity_beside;
use super::common::tail::is_inside;
use super::{Config, Doc, Rule, Steps};
use crate::report::units::{duration, percent, things};
use crate::report::{BottleneckType, Evidence, Finding, Gain, TimeBase, Verdict, rounded};
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "checkpoint_stalls",
    since: "0.1.0",
    name: "Checkpoint stalls",
    kind: BottleneckType::Io,
    may_hold_up_ranks: true,
    doc: Doc {
        finds: "Time during which the training thread itself is in a checkpoint, inside steps (what saves in the optimizer \
                included) or between them.",
        why: "No training happens meanwhile, on any rank that waits for this one.",
        how: "The exposed time of phase `checkpoint` on threads that drive steps, divided by the time of the steps \
              plus that of the input and of the checkpoints between them, warm-up excluded: what the finding calls the \
              training time. What else runs between steps (evaluation, logging) is no part of it, nor is time in no \
              section. What a checkpoint copies from the device, waits for, reads and writes (sections inside \
              of it) is a part of it. Checkpoints that another thread writes cost only what the training thread waits for them. \
              Where those in one step, on all ranks, or one between steps take more than a quarter of it above usual ones, which \
              may be chance, the severity is that of the rest, or 9.",
        advice: "Copy the parameters in memory and let another thread write them; write less often, or less \
                 (no optimizer state in every one, a denser format); use a faster disk.",
        example: "14 % of the training time goes into checkpoints.\n\
                  \x20   checkpoint: 30 times, 310 ms each, 640 ms at most\n\
                  Written by a thread of its own, the run took 53 s instead of 62 s.",
    },
    check,
};

thresholds! {
    /// Share of the training time (steps, and input and checkpoints between them) from which checkpoints are a finding.
    min_share: f64 = 0.05;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

const CHECKPOINT: &[Phase] = &[Phase::Checkpoint];

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.checkpoint_stalls;
    let steps = Steps::read(summary, thresholds.min_steps);
    let steps = match steps.and_then(Steps::with_phases) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let between_ns = steps.between_ns(CHECKPOINT);
    let exposed_ns = steps.inside_ns(CHECKPOINT).saturating_add(between_ns);
    if exposed_ns == 0 {
        return Verdict::fine("no time of the training thread goes into checkpoints");
    }
    let total_ns = steps.total_ns().saturating_add(between_ns);
    let share = exposed_ns as f64 / total_ns.max(1) as f64;
    if share < thresholds.min_share {
        let read =
            summary.coverage.partly_read().map_or("", |_| ", as far as steps and checkpoints were read");
        return Verdict::fine(format!("{} of the training time goes into checkpoints{read}", percent(share)));
    }
    let Some(gain) = Gain::upper_bound(steps.per_step(exposed_ns), steps.per_step(total_ns)) else {
        return Verdict::unknown("steps have no duration");
    };
    let gain = gain.of(TimeBase::TrainingTime);
    let section = steps.worst_section(CHECKPOINT);
    let outside = summary
        .outside
        .iter()
        .find(|row| row.phase.as_ref().is_some_and(|phase| phase.is(Phase::Checkpoint)));
    let calls = outside.map(|row| row.stats).or(section.map(|row| outermost(summary, row).stats));
    Verdict::Found(vec![Finding {
        title: format!("{} of the training time goes into checkpoints.", percent(share)),
        severity: severity_beside(&gain, section, exposed_ns, &steps),
        section: section.map(|row| row.path.clone()),
        phase: Some(Phase::Checkpoint.as_str().into()),
        rank: None,
        evidence: Evidence::new()
            .with("checkpoint_share", rounded(share, 6))
            .with("checkpoint_total_ns", exposed_ns)
            .with("checkpoint_between_steps_ns", between_ns)
            .with_known("checkpoints", calls.map(|stats| stats.count))
            .with_known("checkpoint_p50_ns", calls.and_then(|stats| stats.p50))
            .with_known("checkpoint_max_ns", calls.and_then(|stats| stats.max))
            .with("steps", steps.count()),
        recommendation: format!(
            "Copy the parameters in memory and write them in another thread: {}stand still for {} in all. Or \
             write less often.",
            calls.map_or("the steps ".into(), |stats| format!(
                "in {} the steps ",
                things(stats.count, "checkpoint", "checkpoints")
            )),
            duration(exposed_ns)
        ),
        predicted_gain: Some(gain),
    }])
}

/// The checkpoint that a section of one is inside of, as a whole.
fn outermost<'a>(summary: &'a Summary, section: &'a SectionRow) -> &'a SectionRow {
    let is_checkpoint =
        |row: &&SectionRow| row.phase.as_ref().is_some_and(|phase| phase.is(Phase::Checkpoint));
    let around = summary.sections.iter().filter(|row| is_inside(&section.path, &row.path));
    around.filter(is_checkpoint).min_by_key(|row| row.path.len()).unwrap_or(section)
}
