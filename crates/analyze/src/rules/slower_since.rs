//! Rule `slower_since`: from some step on steps take longer, and never again as short as before.

use stepscope_core::{Phase, SectionKind};

use super::common::levels::levels_since;
use super::common::taken::{ADVICE, Taken, capped, most_of};
use super::{Config, NUMBERS_REPEAT, Rule, Steps};
use crate::changes::{MIN_FEW, means, shortest_level, smallest_visible, steadiest};
use crate::points::numbers;
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
        (0..changes.len()).filter_map(|index| Lasting::of(summary, changes.get(index..)?)).collect();
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
        (None, true) => unchanged(summary, &steps, thresholds),
    }
}

/// Fine, if a change would have been seen.
fn unchanged(summary: &Summary, steps: &Steps<'_>, thresholds: &Thresholds) -> Verdict {
    let mode = steps.mode.mode;
    let Some(series) = series_of(steps) else {
        return Verdict::fine("step times keep their level");
    };
    let first = steps.mode.warmup.steady_step.unwrap_or(0);
    let points = series.points.iter().filter(|point| point.count > 0 && point.step >= first);
    let (times, input): (Vec<u64>, Vec<u64>) = points
        .map(|point| (point.mean_taken_ns(), point.mean_taken_ns().saturating_sub(point.mean_ns())))
        .unzip();
    let Some(together) = steadiest(&input, &times) else {
        return Verdict::unknown(
            "input before steps comes in bursts, for one step in several: its changes may go unseen, and those that they hide",
        );
    };
    let times = means(&times, together);
    let (mean_ns, input_ns) = taken_by(steps);
    let with_input = if is_input_told(input_ns.unwrap_or(0), mean_ns) { WITH_INPUT } else { "" };
    let together = u64::try_from(together).unwrap_or(u64::MAX);
    let in_bursts = if together > 1 {
        format!(", which comes in bursts ({} steps are taken together),", count(together))
    } else {
        String::new()
    };
    match smallest_visible(&times) {
        Some(seen) if seen as f64 <= thresholds.visible_share * 100.0 => {
            let shortest = u64::try_from(shortest_level(times.len())).unwrap_or(u64::MAX);
            let steps = count(shortest.saturating_mul(together).saturating_mul(numbers(series.shift)));
            // What is tried out are changes of all steps.
            let (periodic, of_all, alone) =
                match summary.periodic.iter().any(|periodic| periodic.mode == mode) {
                    true => (
                        format!(", or in periodic steps alone for less than {MIN_FEW} of them"),
                        " in all steps",
                        ", one in periodic steps alone perhaps not",
                    ),
                    false => (String::new(), "", ""),
                };
            Verdict::fine(format!(
                "step times{with_input}{in_bursts} keep their level (what lasts for less than {steps} steps{periodic}, or comes and goes, may go unseen): a change \
                 of {seen} %{of_all} from the middle on would have been seen{alone}"
            ))
        }
        Some(seen) => Verdict::unknown(format!(
            "steps{with_input}{in_bursts} vary so much that a change of less than {seen} % may go unseen"
        )),
        None => Verdict::unknown(format!(
            "steps{with_input}{in_bursts} vary so much that even a change of 100 % may go unseen"
        )),
    }
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
    fn of(summary: &Summary, changes: &[&'a StepChange]) -> Option<Self> {
        let &change = changes.first()?;
        let after_ns = changes.iter().map(|change| change.after_ns).min()?;
        let more_ns = after_ns.checked_sub(change.before_ns).filter(|&more_ns| more_ns > 0)?;
        let is_least = changes.iter().any(|change| change.after_ns > after_ns);
        // What steps take more later on is what later changes have made.
        let mut most_ns = change.after_ns;
        let mut all_ns = 0u128;
        for (at, level) in levels_since(summary, changes).enumerate() {
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
    let third = change.to_step.saturating_sub(change.from_step) / 3;
    let (before_to, after_from) = match change.kind {
        ChangeKind::Sudden => (change.step.saturating_sub(1), change.step),
        ChangeKind::Gradual => (change.from_step.saturating_add(third), change.to_step.saturating_sub(third)),
    };
    let before_ns = taken.mean_between(change.from_step, before_to)?;
    let after_ns = taken.mean_between(after_from, change.to_step)?;
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
    let may_be_clock = change.in_every.is_none() && lasting.share() < thresholds.machine_share;
    let of_the_machine = others.is_some() || cause.is_none() && change.cause.is_some() && may_be_clock;
    let phase = cause.and_then(|cause| cause.phase.as_ref());
    let section = cause.and_then(ChangeCause::section_that_explains);
    let at_least = if lasting.is_least { "at least " } else { "" };
    let longer = format!("{at_least}{}", percent(lasting.share()));
    let longer = match change.in_every {
        Some(every) => format!("{longer} longer on average, by one in {}", count(every)),
        None if change.means_over.is_some() => format!("{longer} longer on average"),
        None => format!("{longer} longer"),
    };
    let with_input = if change.has_input() { format!(",{WITH_INPUT}") } else { String::new() };
    let title = match change.kind {
        ChangeKind::Sudden if change.in_every.is_none() => {
            format!("Slower since {}: steps take {longer} than before{with_input}.", step_of(change))
        }
        ChangeKind::Sudden => format!("Slower since {}: steps take {longer}{with_input}.", step_of(change)),
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
        .with_known("in_every", change.in_every)
        .with_known("means_over", change.means_over)
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
            compared(lasting, "", *before_ns, *after_ns)
        ),
        (Some(_), Some(ChangeSection { path, before_ns, after_ns })) => {
            let is_step = |row: &SectionRow| row.kind == SectionKind::Step && row.path == *path;
            let grown = if summary.sections.iter().any(is_step) {
                "What the step does outside of its sections".into()
            } else {
                format!("`{path}`")
            };
            grown_advice(&grown, &compared(lasting, OF_STEP, *before_ns, *after_ns), &since)
        }
        (Some(ChangeCause { phase: Some(phase), before_ns, after_ns, .. }), None) => {
            let compared = compared(lasting, OF_STEP, *before_ns, *after_ns);
            grown_advice(&format!("`{phase}`"), &compared, &since)
        }
        (Some(_), None) => format!(
            "What grew is time that no section with a phase covers: give the parts of the step sections, and look \
             for what {since}."
        ),
        (None, _) if change.cause.is_none() => {
            "In which phase is not known: record at level `detailed`, with sections that name a phase.".into()
        }
        (None, _) if change.in_every.is_some() => format!(
            "No phase explains it, all of such a step is slower, and the steps between are not: look for what {since} in what \
             these do."
        ),
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

/// What a part `of` the step takes, beside what it took: both as means, of steps that are named where they are others than
/// those of the times in evidence.
fn compared(lasting: &Lasting<'_>, of: &str, before_ns: u64, after_ns: u64) -> String {
    let change = lasting.change;
    let (before, after) = (duration(before_ns), duration(after_ns));
    let between = |from: u64| format!("steps {} to {}", count(from), count(change.to_step));
    match change.kind {
        ChangeKind::Gradual => format!(
            "{after}{of} on average in the last third of {} instead of {before} in the first third",
            between(change.from_step)
        ),
        ChangeKind::Sudden if lasting.after_ns < change.after_ns => {
            format!("{after}{of} in {} instead of {before}", between(change.step))
        }
        ChangeKind::Sudden => format!("{after}{of} instead of {before}"),
    }
}
