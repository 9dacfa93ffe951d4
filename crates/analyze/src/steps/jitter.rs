//! What makes single steps slow: those that take a multiple of the usual, and the phase or the section that explains them.
//! Steps that are slow every so often, and levels that last, are told apart and no part of it.

use std::collections::BTreeMap;

use stepscope_core::Phase;

use crate::report::names;
use crate::report::units::{duration, percent, things};
use crate::sections::tail::{innermost, is_driving, is_in_few, longest_ns, slow_ns};
use crate::steps::slower::levels_since;
use crate::summary::{
    ModeSummary, PeriodicSteps, SectionRow, SlowStep, StepChange, StepNumbers, Summary, stands_out,
};

/// What steps usually take.
pub(crate) struct Usual {
    /// What a step is slow against.
    pub(crate) ns: u64,
    /// The mean over all steps.
    pub(crate) mean_ns: u64,
    /// Whether the run changed its level: then the first is the longest of them.
    pub(crate) has_levels: bool,
}

impl Usual {
    /// Beside periodic steps the times are the longest of all processes, with a median of `p50_ns`; so are the levels then, by
    /// what that is above the median of all steps.
    pub(crate) fn of(summary: &Summary, mode: &ModeSummary, p50_ns: u64) -> Self {
        // Jitter is of the steps alone.
        let its = summary.changes.iter().filter(|change| change.mode == mode.mode);
        let changes: Vec<StepChange> = its.filter_map(StepChange::of_steps_alone).collect();
        let changes: Vec<&StepChange> = changes.iter().collect();
        let Some(first) = changes.first() else {
            return Self { ns: p50_ns, mean_ns: p50_ns, has_levels: false };
        };
        let highest_ns = changes.iter().map(|change| change.after_ns).fold(first.before_ns, u64::max);
        let levels = std::iter::once((first.steps_before, first.before_ns)).chain(levels_since(&changes));
        let (steps, all_ns) = levels.fold((0u128, 0u128), |(steps, all_ns), (count, ns)| {
            (steps + u128::from(count), all_ns.saturating_add(u128::from(count) * u128::from(ns)))
        });
        let mean_ns = u64::try_from(all_ns / steps.max(1)).unwrap_or(u64::MAX);
        let longer_ns = p50_ns.saturating_sub(mode.steady.p50.unwrap_or(p50_ns));
        Self { ns: highest_ns.max(p50_ns), mean_ns: mean_ns.saturating_add(longer_ns), has_levels: true }
    }
}

/// The slowest steps of no period that take `least_ns` or more, and what they take above the usual, as a share of the steps'
/// time.
pub(crate) fn rare<'a>(
    mode: &'a ModeSummary,
    periodic: Option<&PeriodicSteps>,
    usual: &Usual,
    least_ns: f64,
) -> (Vec<&'a SlowStep>, f64) {
    // What other processes wait for at first is no rare step; numbers that begin anew do not tell it.
    let (first, is_unique) = (mode.warmup.steady_step.unwrap_or(0), mode.numbers == StepNumbers::Unique);
    let is_rare = |step: &&SlowStep| {
        step.step.is_none_or(|step| !is_unique || step >= first) && step.duration_ns as f64 >= least_ns
    };
    // What the other processes took in the same steps: that they waited, too, is not said by their numbers.
    let known = mode.slowest_together.iter().copied().map(Some).chain(std::iter::repeat(None));
    let all =
        mode.slowest.iter().zip(known).filter(|(step, _)| !is_of_period(step, periodic) && is_rare(step));
    let (steps, known): (Vec<&SlowStep>, Vec<_>) = all.unzip();
    let above = steps.iter().zip(known).map(|(step, known)| {
        let (processes, ns) = known.unwrap_or((1, step.duration_ns));
        ns.saturating_sub(usual.ns.saturating_mul(processes))
    });
    let share = above.fold(0, u64::saturating_add) as f64 / mode.steady_ns.max(1) as f64;
    (steps, share)
}

fn is_of_period(step: &SlowStep, periodic: Option<&PeriodicSteps>) -> bool {
    periodic.zip(step.step).is_some_and(|(all, step)| all.every(step).is_some())
}

/// The phase in which the slowest steps exceed the usual one most, and the rest of the step less.
pub(crate) struct Cause {
    pub(crate) phase: String,
    /// Of what these steps take above the usual.
    pub(crate) share: f64,
}

impl Cause {
    /// Of the slowest steps that are of no period.
    pub(crate) fn of(mode: &ModeSummary, periodic: Option<&PeriodicSteps>) -> Option<Self> {
        let usual_ns = mode.steady.p50?;
        let excess = |step: &SlowStep| step.duration_ns.saturating_sub(usual_ns);
        let slowest = || mode.slowest.iter().filter(|step| !is_of_period(step, periodic));
        let all_excess = slowest().map(excess).fold(0, u64::saturating_add);
        // Of the others it is not known what took them.
        let known: Vec<&SlowStep> = slowest().filter(|step| !step.phases.is_empty()).collect();
        let (steps, usual) = (known.len() as f64, usual_ns as f64);
        let slow = known.iter().map(|step| step.duration_ns as f64).sum::<f64>() / steps;
        let mean = |total_ns: u64| total_ns as f64 / mode.whole.steps.max(1) as f64;
        // All steps are a mix of usual ones and of such as these, which gives their share from step times, and with it the
        // usual time of a phase from its mean.
        let mixed = ((mean(mode.whole.total_ns) - usual) / (slow - usual)).clamp(0.0, 0.9);
        let mut exposed: BTreeMap<&str, f64> = BTreeMap::new();
        for part in known.iter().flat_map(|step| &step.phases) {
            *exposed.entry(part.phase.as_str()).or_default() += part.exposed_ns as f64 / steps;
        }
        let causes = exposed.into_iter().map(|(phase, took)| {
            let row = mode.phases.iter().find(|row| row.phase.as_str() == phase);
            let all = row.map_or(0.0, |row| mean(row.exposed_ns));
            (phase, (((all - mixed * took) / (1.0 - mixed)).max(0.0), took))
        });
        let above = |part: (f64, f64)| part.1 - part.0;
        // Of equals the first name.
        let longest = |a: &(&str, (f64, f64)), b: &(&str, (f64, f64))| {
            above(a.1).total_cmp(&above(b.1)).then_with(|| b.0.cmp(a.0))
        };
        let (phase, part) = causes.max_by(longest)?;
        let is_it = above(part) > 0.0 && all_excess > 0 && stands_out((usual, slow), part);
        let share = (above(part) * steps / all_excess as f64).min(1.0);
        is_it.then(|| Self { phase: phase.to_owned(), share })
    }

    /// What to do about it; the usual step takes `p50`.
    pub(crate) fn advice(&self, p50: u64) -> String {
        let what = match Phase::parse(&self.phase) {
            Some(Phase::Checkpoint) => "write checkpoints in a thread of their own, or less often",
            Some(Phase::DataWait) => {
                "deepen the queue or add loader threads, so that slow batches are bridged"
            }
            Some(phase) if phase.is_input() => {
                "let loader threads do this, so that a full queue bridges the inputs that take long"
            }
            Some(Phase::Evaluation) => "evaluate outside of training steps, where it does not count as one",
            Some(Phase::Communication | Phase::Synchronization) => {
                "find the rank or thread that the others wait for"
            }
            _ => "look at what this phase does differently in the slowest steps listed below",
        };
        format!(
            "The slow steps are explained by `{}` ({} of their excess over the usual {}): {what}.",
            self.phase,
            percent(self.share),
            duration(p50)
        )
    }
}

/// A section that takes most of what steps take above the usual: in its slow calls, or in all of them where few steps run it.
pub(crate) struct SlowCalls<'a> {
    pub(crate) row: &'a SectionRow,
    pub(crate) longest_ns: Option<u64>,
    pub(crate) share: f64,
    /// The steps that run it, where they are few.
    pub(crate) few: Option<u64>,
}

impl<'a> SlowCalls<'a> {
    /// The one that takes most, of `above_ns` that all steps take above the usual; of those around each other the innermost.
    /// None where its calls grow no more than the rest of the step does, which is usually `usual_ns`: then all of it is slower.
    /// What periodic steps run is in few steps as well, and what takes longer there is not told here.
    pub(crate) fn of(
        summary: &'a Summary,
        mode: &ModeSummary,
        (usual_ns, above_ns): (u64, u64),
        has_periods: bool,
    ) -> Option<Self> {
        let steps = mode.whole_all.steps;
        let few = |row: &'a SectionRow| {
            row.in_mode(mode.mode).filter(|part| !has_periods && is_in_few(part, steps))
        };
        let cost_ns = |row: &'a SectionRow| match few(row) {
            Some(part) => Some(part.after_warmup().driving_ns),
            None => slow_ns(row, mode),
        };
        let is_inside = |row: &&SectionRow| row.is_part() && row.in_mode(mode.mode).is_some_and(is_driving);
        let slow = summary.sections.iter().filter(is_inside);
        let slow = slow.filter_map(|row| Some((row, cost_ns(row)?)));
        let (row, slow_ns) = innermost(slow.collect()).into_iter().next()?;
        let few = few(row).map(|part| part.steps);
        let (slow, above) = (slow_ns as f64, above_ns as f64);
        // As if all of it were one step's: how many of them it is does not matter.
        let calls = row.in_mode(mode.mode).map_or(0, |part| part.calls) as f64;
        let usual = match few {
            Some(_) => 0.0,
            None => row.stats.p50? as f64 * calls / steps.max(1) as f64,
        };
        let step = (usual_ns as f64, usual_ns as f64 + above);
        let is_it = above_ns > 0 && stands_out(step, (usual, usual + slow.min(above)));
        is_it.then(|| Self { row, longest_ns: longest_ns(row, mode), share: (slow / above).min(1.0), few })
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> String {
        let known = |ns: Option<u64>| ns.map_or_else(|| "unknown".into(), duration);
        let (path, share) = (names::path(&self.row.path), percent(self.share));
        match self.few {
            Some(few) => format!(
                "The slow steps are explained by `{path}` ({share} of what steps take above the usual), which {} {}: let it do its \
                 work beside the steps, or in smaller parts.",
                things(few, "step", "steps"),
                if few == 1 { "runs" } else { "run" }
            ),
            None => format!(
                "The slow steps are explained by slow calls of `{path}` ({share} of what steps take above the usual): look at what it \
                 does in calls that take up to {} and not in the usual one, {}.",
                known(self.longest_ns),
                known(self.row.stats.p50)
            ),
        }
    }
}
