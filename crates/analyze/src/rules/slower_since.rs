//! Rule `slower_since`: from some step on steps take longer, and never again as short as before.

use super::{Config, Judged, Rule, Steps, fine, no_duration, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, TimeBase, rounded};
use crate::report::units::{percent, things};
use crate::steps::judged::NUMBERS_REPEAT;
use crate::steps::run_queue_delay::{ADVICE, RunQueueDelay, capped};
use crate::steps::slower::{Lasting, Taken, advice, step_of};
use crate::summary::{ChangeCause, ChangeKind, EXPLAINED_SHARE, StepChange, StepNumbers, Summary};

pub(super) const RULE: Rule = Rule::new("Slower since a step", FindingType::Variability);

thresholds! {
    /// What steps take more than before, as a share of before, from which a change is a finding.
    min_change_share: f64 = 0.05;
    /// Share of the change from which a phase explains it.
    explained_share: f64 = EXPLAINED_SHARE;
    /// What steps take more, as a share of before, up to which it may be the machine's clock where no phase explains it.
    machine_share: f64 = 0.25;
    /// Steps are fine if a change by this share would have been seen, and long steps take no more than this beside them.
    visible_share: f64 = 0.25;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 100;
}

/// Share of the processors that other programs take more since then, from which it may be their doing.
const MORE_SHARE: f64 = 0.15;

/// Share of the step before that the cause of a change took, from which it explains nothing beside other programs.
const NEARLY_ALL: f64 = 0.9;

/// What is said of steps, and of what they take, where the input before them is a part of it.
const WITH_INPUT: &str = " with the input before them";

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.slower_since;
    let steps = Steps::read(summary)?;
    steps.at_least(thresholds.min_steps)?;
    steps.all_read("changes over them")?;
    if steps.mode.step_range.is_none() {
        return unknown("steps have no numbers, so that nothing can be said over them");
    }
    if steps.mode.numbers == StepNumbers::Repeated {
        return unknown(NUMBERS_REPEAT);
    }
    let changes: Vec<&StepChange> =
        summary.changes.iter().filter(|change| change.mode == steps.mode.mode).collect();
    let lasting: Vec<Lasting<'_>> =
        (0..changes.len()).filter_map(|index| Lasting::of(changes.get(index..)?)).collect();
    let found = lasting.iter().filter(|lasting| lasting.share() >= thresholds.min_change_share);
    let found: Vec<Finding> =
        found.map(|lasting| finding(lasting, &steps, thresholds)).collect::<Judged<_>>()?;
    match lasting.first() {
        _ if !found.is_empty() => Ok(found),
        Some(lasting) => fine(format!(
            "since {} steps take {} longer; limit {}",
            step_of(lasting.change),
            percent(lasting.share()),
            percent(thresholds.min_change_share)
        )),
        None if !changes.is_empty() => fine(format!(
            "step times change {}, and do not stay longer",
            things(changes.len() as u64, "time", "times")
        )),
        None => unchanged(&Taken::of(&steps), thresholds.visible_share),
    }
}

/// Fine, if a change would have been seen.
fn unchanged(taken: &Taken<'_>, limit: f64) -> Judged {
    let Some((seen, above)) = taken.visible() else {
        return unknown("steps have no numbers, so that nothing can be said over them");
    };
    let with_input = if taken.has_input { WITH_INPUT } else { "" };
    if seen > limit {
        return unknown(format!(
            "steps{with_input} vary so much that a change of less than {} may go unseen",
            percent(seen)
        ));
    }
    if above > limit {
        return unknown(format!(
            "steps{with_input} are long now and then, which costs {} of the usual one: changes of that go unseen",
            percent(above)
        ));
    }
    fine(format!(
        "step times{with_input} keep their level: a change of the usual step by {} from the middle on would have been seen",
        percent(seen)
    ))
}

fn finding(lasting: &Lasting<'_>, steps: &Steps<'_>, thresholds: &Thresholds) -> Judged<Finding> {
    let change = lasting.change;
    let delay = RunQueueDelay::of(steps.summary, steps.mode.mode);
    let others = delay.and_then(|delay| lasting.share_of_others(delay));
    let taken = Taken::of(steps);
    let base = if taken.has_input { TimeBase::StepsAndInput } else { TimeBase::StepTime };
    let gain = Gain::upper_bound(lasting.all_ns / steps.mode.steady.count.max(1), taken.mean_ns);
    let gain = gain.ok_or_else(no_duration)?.of(base);
    let cause = change.cause.as_ref().filter(|cause| cause.explains(thresholds.explained_share));
    // A slower clock makes all steps longer.
    let may_be_clock = lasting.share() < thresholds.machine_share;
    // What was nearly all of the step before is longer whatever makes it so.
    let is_all = |cause: &ChangeCause| cause.before_ns as f64 >= NEARLY_ALL * cause.step_before_ns as f64;
    let neighbours = Neighbours::of(steps.summary, change).filter(|_| cause.is_none_or(is_all));
    let is_clock = cause.is_none() && change.cause.is_some() && may_be_clock;
    let of_the_machine = others.is_some() || neighbours.is_some() || is_clock;
    let phase = cause.and_then(|cause| cause.phase.as_ref()).map(|phase| phase.as_str().to_owned());
    let section = cause.and_then(ChangeCause::section_that_explains);
    let at_least = if lasting.is_least { "at least " } else { "" };
    let longer = format!("steps take {at_least}{} longer", percent(lasting.share()));
    let with_input = if change.has_input() { format!(",{WITH_INPUT}") } else { String::new() };
    let since = step_of(change);
    let wait = cause.filter(|cause| cause.is_between);
    Ok(Finding {
        title: match change.kind {
            ChangeKind::Sudden => format!("Slower since {since}: {longer} than before{with_input}."),
            ChangeKind::Gradual => format!("Slower bit by bit since {since}: {longer} at last{with_input}."),
        },
        severity: capped(&gain, of_the_machine),
        section: section.map(|section| section.path.clone()),
        evidence: Evidence::new()
            .with("since_step", change.step)
            .with("before_ns", change.before_ns)
            .with("after_ns", lasting.after_ns)
            .with("longer_share", rounded(lasting.share(), 6))
            .with("p_value", change.p_value)
            .with_known("explained_by", phase.clone())
            .with_known("explained_share", cause.map(|cause| rounded(cause.share().min(1.0), 6)))
            .with_known("taken_by_others_share", others.map(|share| rounded(share, 6)))
            .with_known("used_by_others_before", neighbours.map(|used| rounded(used.before, 2)))
            .with_known("used_by_others_since", neighbours.map(|used| rounded(used.since, 2)))
            .with_known("wait_before_ns", wait.map(|wait| wait.before_ns))
            .with_known("wait_after_ns", wait.map(|wait| wait.after_ns))
            .with_known("section_before_ns", section.map(|section| section.before_ns))
            .with_known("section_after_ns", section.map(|section| section.after_ns)),
        phase,
        recommendation: match others {
            Some(share) => format!("{} of it is time in which {ADVICE}", percent(share)),
            None => {
                let told = neighbours.map_or_else(String::new, Neighbours::words);
                told + &advice(change, cause, steps.summary)
            }
        },
        predicted_gain: Some(gain),
        ..Finding::default()
    })
}

/// Other programs that took more of the processors since a change than before it.
#[derive(Debug, Clone, Copy)]
struct Neighbours {
    /// Processors that they used.
    before: f64,
    since: f64,
}

impl Neighbours {
    /// Absent where they did not, or it is not known.
    fn of(summary: &Summary, change: &StepChange) -> Option<Self> {
        let processors = &summary.threads.processors;
        let before = processors.others_between(0, change.step.saturating_sub(1))?;
        let since = processors.others_between(change.step, change.to_step)?;
        let is_more = since - before >= MORE_SHARE * processors.cpus? as f64;
        is_more.then_some(Self { before, since })
    }

    fn words(self) -> String {
        let Self { before, since } = self;
        format!("Other programs used {before:.1} processors before and {since:.1} since. ")
    }
}
