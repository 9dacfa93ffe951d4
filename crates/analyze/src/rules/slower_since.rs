//! Rule `slower_since`: from some step on steps take longer, and never again as short as before.

use stepscope_core::{Phase, SectionKind};

use super::common::levels::levels_since;
use super::common::taken::{ADVICE, Taken, capped, most_of};
use super::{Config, NUMBERS_REPEAT, Rule, Steps};
use crate::changepoints::visible_share;
use crate::ranks::Late;
use crate::report::finding::{Evidence, Finding, FindingType, Gain, TimeBase, Verdict, rounded};
use crate::report::units::{count, duration, percent, things};
use crate::summary::{
    ChangeCause, ChangeKind, ChangeSection, EXPLAINED_SHARE, SectionRow, StepChange, StepNumbers, StepSeries,
    Summary, is_input_told,
};

pub(super) const RULE: Rule = Rule {
    id: "slower_since",
    since: "0.1.0",
    name: "Slower since a step",
    kind: FindingType::Variability,
    may_hold_up_ranks: false,
    page: include_str!("slower_since.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// What steps take more than before, as a share of before, from which a change is a finding.
    min_change_share: f64 = 0.05;
    /// Share of the change from which a phase explains it.
    explained_share: f64 = EXPLAINED_SHARE;
    /// What steps take more, as a share of before, up to which it may be the machine's clock where no phase explains it.
    machine_share: f64 = 0.25;
    /// Steps are fine if a change by this share would have been seen.
    visible_share: f64 = 0.25;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 100;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.slower_since;
    let steps = match Steps::read(summary, thresholds.min_steps) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    // What a bounded directory keeps goes by how long a step took.
    if let Some((read, all)) = summary.coverage.partly_read() {
        return Verdict::unknown(format!(
            "{} of {} were read, perhaps not at random: changes over them may not be the run's",
            count(read),
            things(all, "step", "steps")
        ));
    }
    if steps.mode.step_range.is_none() {
        return Verdict::unknown("steps have no numbers, so that nothing can be said over them");
    }
    if steps.mode.numbers == StepNumbers::Repeated {
        return Verdict::unknown(NUMBERS_REPEAT);
    }
    let changes: Vec<&StepChange> =
        summary.changes.iter().filter(|change| change.mode == steps.mode.mode).collect();
    let lasting: Vec<Lasting<'_>> =
        (0..changes.len()).filter_map(|index| Lasting::of(changes.get(index..)?)).collect();
    let least = |lasting: &Lasting<'_>| lasting.share() >= thresholds.min_change_share;
    let taken = Taken::of(summary, steps.mode.mode);
    let found: Vec<Finding> = lasting
        .iter()
        .filter(|lasting| least(lasting))
        .filter_map(|lasting| finding(lasting, &steps, thresholds, taken))
        .collect();
    if !found.is_empty() {
        return Verdict::Found(found);
    }
    match (lasting.first(), changes.is_empty()) {
        (Some(lasting), _) => Verdict::fine(format!(
            "since {} steps take {} longer",
            step_of(lasting.change),
            percent(lasting.share())
        )),
        (None, false) => Verdict::fine("step times change, but do not stay longer"),
        (None, true) => unchanged(&steps, thresholds),
    }
}

/// Fine, if a change would have been seen.
fn unchanged(steps: &Steps<'_>, thresholds: &Thresholds) -> Verdict {
    let Some(series) = series_of(steps) else {
        return Verdict::fine("step times keep their level");
    };
    let first = steps.mode.warmup.steady_step.unwrap_or(0);
    let points = series.points.iter().filter(|point| point.count > 0 && point.step >= first);
    let seen = visible_share(&points.map(|point| point.mean_taken_ns()).collect::<Vec<u64>>());
    let (mean_ns, input_ns) = taken_by(steps);
    let with_input = if is_input_told(input_ns.unwrap_or(0), mean_ns) { WITH_INPUT } else { "" };
    if seen > thresholds.visible_share {
        return Verdict::unknown(format!(
            "steps{with_input} vary so much that a change of less than {} may go unseen",
            percent(seen)
        ));
    }
    Verdict::fine(format!(
        "step times{with_input} keep their level: a change of the usual step by {} from the middle on would have been seen",
        percent(seen)
    ))
}

/// What is said of steps, and of what they take, where the input before them is a part of it.
const WITH_INPUT: &str = " with the input before them";

fn series_of<'a>(steps: &Steps<'a>) -> Option<&'a StepSeries> {
    steps.summary.series.iter().find(|series| series.mode == steps.mode.mode)
}

/// What a step takes on average after warm-up, and what of that is the input before it, if any step says it.
fn taken_by(steps: &Steps<'_>) -> (u64, Option<u64>) {
    let first = steps.mode.warmup.steady_step.unwrap_or(0);
    let input_ns = series_of(steps).and_then(|series| series.mean_input_ns(first));
    let alone_ns = steps.mode.steady_ns / steps.mode.steady.count.max(1);
    (alone_ns.saturating_add(input_ns.unwrap_or(0)), input_ns)
}

/// A change to longer steps, as far as it lasts to the end.
struct Lasting<'a> {
    change: &'a StepChange,
    /// The lowest level since.
    after_ns: u64,
    /// What it takes more than the level before.
    more_ns: u64,
    /// Whether some level since is a longer one.
    is_least: bool,
    /// What all steps since take more than the level before because of it.
    all_ns: u128,
}

impl<'a> Lasting<'a> {
    /// Of the first of these changes; the others follow it.
    fn of(changes: &[&'a StepChange]) -> Option<Self> {
        let &change = changes.first()?;
        let after_ns = changes.iter().map(|change| change.after_ns).min()?;
        let more_ns = after_ns.checked_sub(change.before_ns).filter(|&more_ns| more_ns > 0)?;
        let is_least = changes.iter().any(|change| change.after_ns > after_ns);
        // What steps take more later on is what later changes have made.
        let mut most_ns = change.after_ns;
        let mut all_ns = 0u128;
        for (at, level) in levels_since(changes).enumerate() {
            let more_ns = level.mean_ns.min(most_ns).saturating_sub(change.before_ns);
            all_ns = all_ns.saturating_add(u128::from(level.steps) * u128::from(more_ns));
            // The first level is the change itself, which may be on its way.
            most_ns = if at > 0 { most_ns.min(level.mean_ns) } else { most_ns };
        }
        Some(Self { change, after_ns, more_ns, is_least, all_ns })
    }

    fn share(&self) -> f64 {
        self.more_ns as f64 / self.change.before_ns.max(1) as f64
    }
}

/// Where a change is: `step 812`, or `about step 400,016` where a point holds several numbers.
fn step_of(change: &StepChange) -> String {
    let about = if change.step_numbers > 1 { "about " } else { "" };
    format!("{about}step {}", count(change.step))
}

/// The share of a change that others on the machine have made, where that is most of it.
fn share_of_others(change: &StepChange, taken: Taken<'_>) -> Option<f64> {
    let before_ns = taken.mean_between(change.from_step, change.step.saturating_sub(1))?;
    let after_ns = taken.mean_between(change.step, change.to_step)?;
    most_of(after_ns.checked_sub(before_ns)?, change.after_ns.saturating_sub(change.before_ns))
}

fn finding(
    lasting: &Lasting<'_>,
    steps: &Steps<'_>,
    thresholds: &Thresholds,
    taken: Option<Taken<'_>>,
) -> Option<Finding> {
    let change = lasting.change;
    let others = taken.and_then(|taken| share_of_others(change, taken));
    let all_ns = u64::try_from(lasting.all_ns).unwrap_or(u64::MAX);
    let (mean_ns, input_ns) = taken_by(steps);
    let is_told = is_input_told(input_ns.unwrap_or(0), mean_ns);
    let base = if is_told { TimeBase::StepsAndInput } else { TimeBase::StepTime };
    let gain = Gain::upper_bound(all_ns / steps.mode.steady.count.max(1), mean_ns)?.of(base);
    let is_explained = |cause: &&ChangeCause| cause.explains(thresholds.explained_share);
    let cause = change.cause.as_ref().filter(is_explained);
    // A slower clock makes all steps longer.
    let may_be_clock = lasting.share() < thresholds.machine_share;
    let of_the_machine = others.is_some() || cause.is_none() && change.cause.is_some() && may_be_clock;
    let phase = cause.and_then(|cause| cause.phase.as_ref());
    let section = cause.and_then(ChangeCause::section_that_explains);
    let at_least = if lasting.is_least { "at least " } else { "" };
    let longer = format!("{at_least}{} longer", percent(lasting.share()));
    let with_input = if change.has_input() { format!(",{WITH_INPUT}") } else { String::new() };
    let title = match change.kind {
        ChangeKind::Sudden => {
            format!("Slower since {}: steps take {longer} than before{with_input}.", step_of(change))
        }
        ChangeKind::Gradual => {
            format!("Slower bit by bit since {}: steps take {longer} at last{with_input}.", step_of(change))
        }
    };
    let wait = cause.filter(|cause| cause.is_between);
    let evidence = Evidence::new()
        .with("since_step", change.step)
        .with("before_ns", change.before_ns)
        .with("after_ns", lasting.after_ns)
        .with("longer_share", rounded(lasting.share(), 6))
        .with("p_value", change.p_value)
        .with_known("explained_by", phase.map(|phase| phase.as_str().to_owned()))
        .with_known("explained_share", cause.map(|cause| rounded(cause.share().min(1.0), 6)))
        .with_known("taken_by_others_share", others.map(|share| rounded(share, 6)))
        .with_known("wait_before_ns", wait.map(|wait| wait.before_ns))
        .with_known("wait_after_ns", wait.map(|wait| wait.after_ns))
        .with_known("section_before_ns", section.map(|section| section.before_ns))
        .with_known("section_after_ns", section.map(|section| section.after_ns));
    Some(Finding {
        title,
        severity: capped(&gain, of_the_machine),
        section: section.map(|section| section.path.clone()),
        phase: phase.map(|phase| phase.as_str().to_owned()),
        rank: None,
        evidence,
        recommendation: match others {
            Some(share) => format!("{} of it is time in which {ADVICE}", percent(share)),
            None => advice(lasting, cause, steps.summary),
        },
        predicted_gain: Some(gain),
    })
}

fn advice(lasting: &Lasting<'_>, cause: Option<&ChangeCause>, summary: &Summary) -> String {
    let change = lasting.change;
    let since = match change.kind {
        ChangeKind::Sudden => format!("began at {}", step_of(change)),
        ChangeKind::Gradual => "grows with the steps".into(),
    };
    let section = cause.and_then(ChangeCause::section_that_explains);
    let is_exchange =
        cause.and_then(|cause| cause.phase.as_ref()).is_some_and(|phase| phase.is(Phase::Communication));
    if let Some(late) = Late::of(summary).filter(|_| is_exchange) {
        return format!(
            "In communication the others wait for rank {}: look for what {since} in what that rank does before it.",
            late.rank
        );
    }
    match (cause, section) {
        (Some(ChangeCause { is_between: true, before_ns, after_ns, .. }), _) => format!(
            "Before a step its thread waits {} for input: look for what {since} in what makes the batches, such as files that \
             are read from a slower place, larger or other samples, a thread of the loader that ended.",
            compared("", *before_ns, *after_ns)
        ),
        (Some(_), Some(ChangeSection { path, before_ns, after_ns })) => {
            let is_step = |row: &SectionRow| row.kind == SectionKind::Step && row.path == *path;
            let grown = if summary.sections.iter().any(is_step) {
                "What the step does outside of its sections".into()
            } else {
                format!("`{path}`")
            };
            grown_advice(&grown, &compared(OF_STEP, *before_ns, *after_ns), &since)
        }
        (Some(ChangeCause { phase: Some(phase), before_ns, after_ns, .. }), None) => {
            let compared = compared(OF_STEP, *before_ns, *after_ns);
            grown_advice(&format!("`{phase}`"), &compared, &since)
        }
        (Some(_), None) => format!(
            "What grew is time that no section with a phase covers: give the parts of the step sections, and look \
             for what {since}."
        ),
        (None, _) if change.cause.is_none() => {
            "In which phase is not known: record at level `detailed`, with sections that name a phase.".into()
        }
        (None, _) => format!(
            "No phase explains it, all of the step is slower: look for clock speed and heat, other programs that \
             {}, and memory that runs short.",
            if change.kind == ChangeKind::Sudden { "began then" } else { "take more and more" }
        ),
    }
}

fn grown_advice(what: &str, compared: &str, since: &str) -> String {
    format!(
        "{what} takes {compared}: look for what {since} in it, such as a collection that is searched, a cache that is \
         full, larger input."
    )
}

/// What a part of the step takes a time of.
const OF_STEP: &str = " of a step";

/// What a part `of` the step takes, beside what it took, both as means.
fn compared(of: &str, before_ns: u64, after_ns: u64) -> String {
    format!("{}{of} instead of {}", duration(after_ns), duration(before_ns))
}
