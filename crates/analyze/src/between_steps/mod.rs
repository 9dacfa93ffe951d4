//! What passes between steps: how much of it no section is recorded in, how much other rules judge, and its longest pauses.

pub(crate) mod accumulator;
pub(crate) mod apart;
pub(crate) mod finish;
pub(crate) mod observe;
mod pauses;
pub(crate) mod step_times;

use stepscope_core::Phase;

pub(crate) use pauses::{place, places, what_to_do};

use crate::report::finding::{Evidence, Gain, TimeBase, Verdict, rounded};
use crate::report::units::percent;
use crate::steps::judged::Steps;
use crate::summary::{PhaseName, SectionRow, StepNumbers, Summary};

/// Phases whose time between steps no other rule judges, and which are no work of the model's.
const UNJUDGED: [Phase; 4] = [Phase::Compile, Phase::HostToDevice, Phase::DeviceToHost, Phase::Other];

/// Whether sections of this phase are told here, as those without one are.
fn is_own(phase: Option<&PhaseName>) -> bool {
    match phase {
        Some(PhaseName::Known(phase)) => UNJUDGED.contains(phase),
        Some(PhaseName::Custom(_)) | None => true,
    }
}

/// Read steps and all there were, where some are missing: by what processes counted, or else by their numbers.
pub(crate) fn read_of(summary: &Summary, steps: &Steps<'_>) -> Option<(u64, u64)> {
    let (mode, coverage) = (steps.mode, &summary.coverage);
    let by_numbers = || {
        let (first, last) = mode.step_range.filter(|_| mode.numbers == StepNumbers::Unique)?;
        let all = last.saturating_sub(first).saturating_add(1);
        // Steps of other modes may be counted along.
        let read = summary.modes.iter().fold(0u64, |sum, row| sum.saturating_add(row.all.count));
        (coverage.recorded_steps.is_none() && all > read).then_some((read, all))
    };
    coverage.partly_read().or_else(by_numbers)
}

/// The time between the steady steps, over all processes.
pub(crate) struct Between<'a> {
    /// From the first step to the last one.
    pub(crate) elapsed_ns: u64,
    /// Of it, neither in steps nor in outermost sections of phases that others judge.
    pub(crate) left_ns: u64,
    /// The other outermost sections, some of which may reach beyond the last step.
    pub(crate) outside_ns: u64,
    /// Whether some of these have a phase.
    pub(crate) has_phases: bool,
    /// What they take of `left_ns`.
    pub(crate) unnamed_ns: u64,
    /// In none.
    pub(crate) unrecorded_ns: u64,
    /// All outermost sections, some of which may reach beyond the last step.
    pub(crate) recorded_ns: u64,
    /// The median time from a step to the next one, the longest of all processes; absent where one does not know it.
    pub(crate) usual_gap_ns: Option<u64>,
    /// The section that takes most of `unnamed_ns`.
    pub(crate) section: Option<&'a SectionRow>,
}

impl<'a> Between<'a> {
    pub(crate) fn of(summary: &'a Summary, steps: &Steps<'_>) -> Self {
        let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
        let elapsed_ns = sum(&mut summary.instances.iter().map(|row| row.throughput.elapsed_ns));
        let others_ns = sum(&mut summary.instances.iter().map(|row| row.other_steps_ns));
        let between_ns = elapsed_ns.saturating_sub(steps.mode.steady_ns).saturating_sub(others_ns);
        let outside = |is_meant: bool| {
            let rows = summary.between_steps.iter().filter(move |row| is_own(row.phase.as_ref()) == is_meant);
            sum(&mut rows.map(|row| row.stats.total))
        };
        let (named_ns, unnamed_ns) = (outside(false), outside(true));
        let left_ns = between_ns.saturating_sub(named_ns);
        Self {
            elapsed_ns,
            left_ns,
            outside_ns: unnamed_ns,
            has_phases: summary
                .between_steps
                .iter()
                .any(|row| row.phase.is_some() && is_own(row.phase.as_ref())),
            unnamed_ns: unnamed_ns.min(left_ns),
            unrecorded_ns: left_ns.saturating_sub(unnamed_ns),
            recorded_ns: named_ns.saturating_add(unnamed_ns),
            usual_gap_ns: summary
                .instances
                .iter()
                .map(|row| row.usual_gap_ns)
                .collect::<Option<Vec<_>>>()
                .and_then(|gaps| gaps.into_iter().max()),
            section: longest(summary, unnamed_ns),
        }
    }

    pub(crate) fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.elapsed_ns.max(1) as f64
    }

    pub(crate) fn gain(&self, ns: u64, steps: &Steps<'_>) -> Option<Gain> {
        let gain = Gain::upper_bound(steps.per_step(ns), steps.per_step(self.elapsed_ns))?;
        Some(gain.of(TimeBase::TrainingTime))
    }

    pub(crate) fn evidence(&self, ns: u64, steps: &Steps<'_>) -> Evidence {
        Evidence::new()
            .with("between_share", rounded(self.share(ns), 6))
            .with("between_ns", ns)
            .with("elapsed_ns", self.elapsed_ns)
            .with("steps", steps.count())
    }
}

/// Unknown, where time between steps of which nobody knows whether it is `what` could make this a finding; else nothing.
pub(crate) fn untold(summary: &Summary, steps: &Steps<'_>, min_share: f64, what: &str) -> Option<Verdict> {
    let is_unknown = summary.instances.iter().any(|row| row.steps_overlap);
    if is_unknown || read_of(summary, steps).is_some() {
        return None;
    }
    let between = Between::of(summary, steps);
    let share = between.share(between.unnamed_ns.saturating_add(between.unrecorded_ns));
    (share >= min_share).then(|| {
        Verdict::unknown(format!(
            "{} of {} passes between steps in no phase: what of that is {what} is not known",
            percent(share),
            TimeBase::TrainingTime.looked_at(between.elapsed_ns)
        ))
    })
}

/// The section that no other rule judges, in no step, that takes longest between steps, where that is at least half of
/// `all_ns`: of those around each other the outermost.
fn longest(summary: &Summary, all_ns: u64) -> Option<&SectionRow> {
    let is_meant = |row: &&SectionRow| row.is_part() && is_own(row.phase.as_ref()) && row.in_steps.is_empty();
    let between = |row: &SectionRow| {
        row.stats.total.saturating_sub(summary.not_between_steps_ns.get(&row.path).copied().unwrap_or(0))
    };
    let rows = summary.sections.iter().filter(is_meant).map(|row| (between(row), row));
    let rows = rows.filter(|&(ns, _)| ns <= all_ns && ns >= all_ns / 2 && ns > 0);
    // Of equals the first path, which is the shorter one of two around each other.
    let longest = rows.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.path.cmp(&a.1.path)));
    longest.map(|(_, row)| row)
}
