//! Changes to longer steps that last to the end of a run: by how much, and what they cost all steps. Where step times
//! change, `changepoints` tells.

use stepscope_core::{Phase, SectionKind};

use crate::changepoints::visible_share;
use crate::ranks::Late;
use crate::report::units::{count, duration};
use crate::steps::judged::Steps;
use crate::steps::run_queue_delay::{RunQueueDelay, most_of};
use crate::summary::{
    ChangeCause, ChangeKind, ChangeSection, SectionRow, StepChange, StepSeries, Summary, is_input_told,
};

/// A change to longer steps, as far as it lasts to the end.
pub(crate) struct Lasting<'a> {
    pub(crate) change: &'a StepChange,
    /// The lowest level since.
    pub(crate) after_ns: u64,
    /// What it takes more than the level before.
    more_ns: u64,
    /// Whether some level since is a longer one.
    pub(crate) is_least: bool,
    /// What all steps since take more than the level before because of it.
    pub(crate) all_ns: u64,
}

impl<'a> Lasting<'a> {
    /// Of the first of these changes; the others follow it.
    pub(crate) fn of(changes: &[&'a StepChange]) -> Option<Self> {
        let &change = changes.first()?;
        let after_ns = changes.iter().map(|change| change.after_ns).min()?;
        let more_ns = after_ns.checked_sub(change.before_ns).filter(|&more_ns| more_ns > 0)?;
        let is_least = changes.iter().any(|change| change.after_ns > after_ns);
        // What steps take more later on is what later changes have made.
        let (mut most_ns, mut all_ns) = (change.after_ns, 0u64);
        for (at, (steps, level_ns)) in levels_since(changes).enumerate() {
            let more_ns = level_ns.min(most_ns).saturating_sub(change.before_ns);
            all_ns = all_ns.saturating_add(steps.saturating_mul(more_ns));
            // The first level is the change itself, which may be on its way.
            most_ns = if at > 0 { most_ns.min(level_ns) } else { most_ns };
        }
        Some(Self { change, after_ns, more_ns, is_least, all_ns })
    }

    /// Of the level before.
    pub(crate) fn share(&self) -> f64 {
        self.more_ns as f64 / self.change.before_ns.max(1) as f64
    }

    /// The share of it that others on the machine have made, where that is most of it.
    pub(crate) fn share_of_others(&self, delay: RunQueueDelay<'_>) -> Option<f64> {
        let change = self.change;
        let before_ns = delay.mean_between(change.from_step, change.step.saturating_sub(1))?;
        let after_ns = delay.mean_between(change.step, change.to_step)?;
        most_of(after_ns.checked_sub(before_ns)?, change.after_ns.saturating_sub(change.before_ns))
    }
}

/// Steps and what each takes on average, by level, since the first of these changes, which follow each other; of a gradual
/// one halfway between its ends.
pub(crate) fn levels_since<'a>(changes: &'a [&StepChange]) -> impl Iterator<Item = (u64, u64)> + 'a {
    changes.iter().map(|change| match change.kind {
        ChangeKind::Sudden => (change.steps_after, change.after_ns),
        ChangeKind::Gradual => (change.steps_after, change.before_ns.midpoint(change.after_ns)),
    })
}

/// What a step after warm-up takes on average, with the input before it, if any step says that.
pub(crate) struct Taken<'a> {
    series: Option<&'a StepSeries>,
    first: u64,
    pub(crate) mean_ns: u64,
    /// Whether the input before steps is worth telling.
    pub(crate) has_input: bool,
}

impl<'a> Taken<'a> {
    pub(crate) fn of(steps: &Steps<'a>) -> Self {
        let first = steps.mode.warmup.steady_step.unwrap_or(0);
        let series = steps.summary.series_of(steps.mode.mode);
        let input_ns = series.and_then(|series| series.mean_input_ns(first)).unwrap_or(0);
        let alone_ns = steps.mode.steady_ns / steps.mode.steady.count.max(1);
        let mean_ns = alone_ns.saturating_add(input_ns);
        Self { series, first, mean_ns, has_input: is_input_told(input_ns, mean_ns) }
    }

    /// About by which share the usual step has to change to be seen, and what share of the usual step lies above it in
    /// others: such as are long now and then, whose changes nobody sees. Absent without step numbers.
    pub(crate) fn visible(&self) -> Option<(f64, f64)> {
        let points = self.series?.points.iter().filter(|point| point.count > 0 && point.step >= self.first);
        let taken: Vec<u64> = points.map(|point| point.mean_taken_ns()).collect();
        let usual_ns = crate::accumulate::median::median(&taken);
        let above_ns = self.mean_ns.saturating_sub(usual_ns);
        Some((visible_share(&taken), above_ns as f64 / usual_ns.max(1) as f64))
    }
}

/// Where a change is: `step 812`, or `about step 400,016` where a point holds several numbers.
pub(crate) fn step_of(change: &StepChange) -> String {
    let about = if change.step_numbers > 1 { "about " } else { "" };
    format!("{about}step {}", count(change.step))
}

/// What to do about a change, which `cause` explains.
pub(crate) fn advice(change: &StepChange, cause: Option<&ChangeCause>, summary: &Summary) -> String {
    let (since, began) = match change.kind {
        ChangeKind::Sudden => (format!("began at {}", step_of(change)), "began then"),
        ChangeKind::Gradual => ("grows with the steps".into(), "take more and more"),
    };
    let Some(cause) = cause else {
        return match change.cause {
            None => {
                "In which phase is not known: record at level `detailed`, with sections that name a phase."
                    .into()
            }
            Some(_) => format!(
                "No phase explains it, all of the step is slower: look for clock speed and heat, other programs that {began}, \
                 and memory that runs short."
            ),
        };
    };
    let is_exchange = cause.phase.as_ref().is_some_and(|phase| phase.is(Phase::Communication));
    if let Some(late) = Late::of(summary).filter(|_| is_exchange) {
        return format!(
            "In communication the others wait for rank {}: look for what {since} in what that rank does before it.",
            late.rank
        );
    }
    let of_step =
        |before_ns, after_ns| format!("{} of a step instead of {}", duration(after_ns), duration(before_ns));
    let (what, times) = match (cause.section_that_explains(), &cause.phase) {
        _ if cause.is_between => {
            return format!(
                "Before a step its thread waits {} instead of {} for input: look for what {since} in what makes the batches, \
                 such as files that are read from a slower place, larger or other samples, a thread of the loader that ended.",
                duration(cause.after_ns),
                duration(cause.before_ns)
            );
        }
        (Some(ChangeSection { path, before_ns, after_ns }), _) => {
            let is_step = |row: &SectionRow| row.kind == SectionKind::Step && row.path == *path;
            let is_of_step = summary.sections.iter().any(is_step);
            let what = if is_of_step {
                "What the step does outside of its sections".into()
            } else {
                format!("`{path}`")
            };
            (what, of_step(*before_ns, *after_ns))
        }
        (None, Some(phase)) => (format!("`{phase}`"), of_step(cause.before_ns, cause.after_ns)),
        (None, None) => {
            return format!(
                "What grew is time that no section with a phase covers: give the parts of the step sections, and look for \
                 what {since}."
            );
        }
    };
    format!(
        "{what} takes {times}: look for what {since} in it, such as a collection that is searched, a cache that is full, \
         larger input."
    )
}
