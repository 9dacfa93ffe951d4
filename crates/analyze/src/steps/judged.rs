//! The steps that rules judge, and what phases cost them: shares, gains, and the section that takes most.

use stepscope_core::{Mode, Phase, SectionKind};

use crate::report::coverage;
use crate::report::finding::{Gain, TimeBase, Verdict};
use crate::report::units::{count, percent, things};
use crate::run::recorder::Recorder;
use crate::sections::aggregate_view::AggregateView;
use crate::steps::warmup::LARGEST_SHARE;
use crate::summary::{FigureSource, ModeSummary, PhaseName, SectionRow, Summary};

/// Share of a time from which side effects on it are explained.
pub(crate) const TOLD: f64 = 0.005;

/// The part of a share of the steps' time by which the rest may be quicker at most once that share is gone: the caches,
/// which work leaves filled with its own data. Of the demo, which scans its data set for 43 % of the step, the rest is
/// 3 % quicker without it.
const CACHES: f64 = 0.1;

/// A part of a step of `mean_ns` as a share; absent where it is not worth telling.
fn told(ns: u64, mean_ns: u64) -> Option<String> {
    let share = ns as f64 / mean_ns.max(1) as f64;
    (share >= TOLD).then(|| percent(share))
}

/// Why rules that look at steps in their order say nothing.
pub(crate) const NUMBERS_REPEAT: &str = "steps share their numbers, so that nobody knows which comes after which; number \
                                         them through, or open an epoch with `stepscope::epoch!` where their numbers \
                                         begin anew";

/// The steps that rules judge, and what phases cost them.
pub(crate) struct Steps<'a> {
    pub(crate) summary: &'a Summary,
    /// The mode that verdicts are about.
    pub(crate) mode: &'a ModeSummary,
    /// What tells the time of sections where too few steps were read with their own; of all modes, warm-up included.
    pub(crate) sums: Option<AggregateView<'a>>,
}

impl<'a> Steps<'a> {
    /// The steady steps of the primary mode.
    ///
    /// # Errors
    /// With the verdict to give when there are none.
    pub(crate) fn of(summary: &'a Summary) -> Result<Self, Verdict> {
        let Some(mode) = summary.primary() else {
            let how = Recorder::of(summary).mark_steps();
            return Err(Verdict::unknown(format!("no steps were found; {how}")));
        };
        let by_sums = summary.input.source == FigureSource::Aggregates;
        let sums = by_sums.then(|| AggregateView::of(&summary.sections)).flatten();
        let steps = Self { summary, mode, sums };
        steps.at_least(1)?;
        Ok(steps)
    }

    /// The steady steps of the primary mode by their spans alone: the sums do not know single steps, nor what lies
    /// between them.
    ///
    /// # Errors
    /// With the verdict to give when none were read.
    pub(crate) fn read(summary: &'a Summary) -> Result<Self, Verdict> {
        let steps = Self { sums: None, ..Self::of(summary)? };
        steps.at_least(1)?;
        Ok(steps)
    }

    /// The steady steps of another mode than the primary one by their spans alone; absent where there are none.
    pub(crate) fn beside(summary: &'a Summary, mode: Mode) -> Option<Self> {
        let mode = summary.modes.iter().find(|row| row.mode == mode)?;
        Some(Self { summary, mode, sums: None })
    }

    /// Nothing, if there are so many: what happens over time needs more of them than a share of their time does.
    ///
    /// # Errors
    /// With the verdict to give when there are fewer than `min_steps`.
    pub(crate) fn at_least(&self, min_steps: u64) -> Result<(), Verdict> {
        if self.count() >= min_steps {
            return Ok(());
        }
        let steps = things(self.count(), "step", "steps");
        let read = coverage::read_because(&self.summary.coverage)
            .map_or_else(String::new, |read| format!("; {read}"));
        Err(Verdict::unknown(format!("{steps} after warm-up: needs at least {min_steps}{read}")))
    }

    /// Nothing, if the first steps are known to be warm-up or not.
    ///
    /// # Errors
    /// With the verdict to give where steps are too few for that.
    pub(crate) fn tell_warmup(&self) -> Result<(), Verdict> {
        let all = self.mode.all.count;
        if all >= LARGEST_SHARE {
            return Ok(());
        }
        let steps = things(all, "step", "steps");
        Err(Verdict::unknown(format!(
            "{steps}: which of them are warm-up is not known; needs at least {LARGEST_SHARE}"
        )))
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.sums.as_ref().map_or(self.mode.steady.count, |sums| sums.steps)
    }

    /// Time of the steps and of the input between them: what shares refer to.
    pub(crate) fn total_ns(&self) -> u64 {
        self.steps_ns().saturating_add(self.summary.input.between_ns)
    }

    /// Time of the steps.
    fn steps_ns(&self) -> u64 {
        self.sums.as_ref().map_or(self.mode.steady_ns, |sums| sums.steps_ns)
    }

    /// What shares refer to, in words. Input between the steps that changes no figure as shown is not named.
    pub(crate) fn base(&self) -> TimeBase {
        const NAMED_FROM: f64 = 0.005;
        let between = self.share(self.summary.input.between_ns);
        if between < NAMED_FROM { TimeBase::StepTime } else { TimeBase::StepsAndInput }
    }

    /// What figures rest on where it is not the steps' own spans, as the end of a sentence.
    pub(crate) fn by(&self) -> &'static str {
        if self.sums.is_some() { ", by the sums of sections" } else { "" }
    }

    /// What such figures cannot tell, a sentence; empty where spans tell all.
    pub(crate) fn caveat(&self) -> String {
        if self.sums.is_none() {
            return String::new();
        }
        match self.mode.whole.steps {
            0 => " (The steps' sections were not read, only their sums over all modes, warm-up included: on which \
                  thread they ran, and how much of them other work hid, is not recorded.)"
                .into(),
            _ => format!(
                " (These are the sums over {}, all modes and warm-up included, as only {} of them were read with their \
                 sections, which need not be typical.)",
                things(self.count(), "step", "steps"),
                count(self.summary.coverage.whole_steps)
            ),
        }
    }

    /// A time inside steps as a share of what shares refer to; `whole_ns` is the time of the steps that it is of.
    pub(crate) fn share_inside(&self, ns: u64, whole_ns: u64) -> f64 {
        let steps_share = self.share(self.steps_ns());
        (ns as f64 / whole_ns.max(1) as f64).min(1.0) * steps_share
    }

    /// Share of the time that no phase covers, inside steps.
    pub(crate) fn unnamed_share(&self) -> f64 {
        match &self.sums {
            Some(sums) => {
                let unnamed_ns = sums.steps_ns.saturating_sub(sums.inside_ns(|_| true));
                self.share_inside(unnamed_ns, sums.steps_ns)
            }
            None => self.share_inside(self.mode.unattributed_ns, self.mode.whole.total_ns),
        }
    }

    /// What is said where something that is known by its phase takes only `share` of the time, as `because` says: fine, if that
    /// was looked at and all time that no phase covers leaves it below the limit; else unknown.
    pub(crate) fn little(&self, share: f64, min_share: f64, because: &str) -> Verdict {
        let unnamed = self.unnamed_share();
        if share + unnamed >= min_share {
            let unnamed = percent(unnamed);
            return Verdict::unknown(format!("{because}, and {unnamed} has no phase: give sections theirs"));
        }
        Verdict::fine(format!(
            "{because}, {} has a phase; limit {}",
            percent(1.0 - unnamed),
            percent(min_share)
        ))
    }

    /// How much was looked at: `3.20 s of steps`.
    pub(crate) fn looked_at(&self) -> String {
        self.base().looked_at(self.total_ns())
    }

    /// Mean time of a step, the input before it included.
    pub(crate) fn mean_ns(&self) -> u64 {
        self.per_step(self.total_ns())
    }

    /// A time of all steps as the mean of one.
    pub(crate) fn per_step(&self, ns: u64) -> u64 {
        ns / self.count().max(1)
    }

    /// A time of all steps as a share of theirs.
    pub(crate) fn share(&self, ns: u64) -> f64 {
        let total = self.total_ns();
        if total == 0 { 0.0 } else { ns as f64 / total as f64 }
    }

    /// For how long the threads of all steps of this mode neither ran nor could have run, and how long these steps took, warm-up
    /// included; absent where not all of them say how long they ran.
    pub(crate) fn blocked_ns(&self) -> Option<(u64, u64)> {
        let is_step =
            |row: &&SectionRow| row.kind == SectionKind::Step && row.in_mode(self.mode.mode).is_some();
        self.summary
            .sections
            .iter()
            .filter(is_step)
            .try_fold((0u64, 0u64), |(blocked_ns, whole_ns), row| {
                let ran = row.cpu_ns.filter(|ran| ran.spans >= row.stats.count)?;
                let ready_ns = row.run_queue_ns.map_or(0, |ready| ready.sum);
                let blocked = row.stats.total.saturating_sub(ran.sum).saturating_sub(ready_ns);
                Some((blocked_ns.saturating_add(blocked), whole_ns.saturating_add(row.stats.total)))
            })
            .filter(|&(_, whole_ns)| whole_ns > 0)
    }

    /// Nothing, if all steps were read. What a bounded directory keeps goes by how long a step took: the slow ones stay.
    ///
    /// # Errors
    /// With the verdict to give where `what` of those that were read need not be the run's.
    pub(crate) fn all_read(&self, what: &str) -> Result<(), Verdict> {
        match self.summary.coverage.partly_read() {
            None => Ok(()),
            Some((read, all)) => Err(Verdict::unknown(format!(
                "{} of {} were read, perhaps not at random: {what} may not be the run's",
                count(read),
                things(all, "step", "steps")
            ))),
        }
    }

    /// The steps, if something is known about what is in them.
    ///
    /// # Errors
    /// With the verdict to give where no step was read whole.
    pub(crate) fn with_sections(self) -> Result<Self, Verdict> {
        if self.mode.whole.steps == 0 && self.sums.is_none() {
            let coverage = &self.summary.coverage;
            return Err(Verdict::unknown(format!(
                "the steps {}; {}",
                coverage::parts_because(coverage),
                coverage::parts_advice(coverage)
            )));
        }
        Ok(self)
    }

    /// The steps, if something is known about what they spend their time in.
    ///
    /// # Errors
    /// With the verdict to give where no step was read whole, and where no section has a phase.
    pub(crate) fn with_phases(self) -> Result<Self, Verdict> {
        let steps = self.with_sections()?;
        let (mode, summary) = (steps.mode, steps.summary);
        if steps.sums.is_none()
            && !mode.has_phases()
            && summary.between_steps.iter().all(|row| row.phase.is_none())
        {
            return Err(Verdict::unknown(
                "no section names a phase, so it cannot be said what the steps spend their time in; give \
                 sections a phase or a name that implies one",
            ));
        }
        Ok(steps)
    }

    /// Time exposed in these phases, inside steps. Steps whose spans were not all read are taken to be like
    /// the others.
    pub(crate) fn inside_ns(&self, phases: &[Phase]) -> u64 {
        if let Some(sums) = &self.sums {
            return sums.inside_ns(|name| phases.iter().any(|&phase| name.is(phase)));
        }
        let rows = self.mode.phases.iter().filter(|row| phases.iter().any(|&phase| row.phase.is(phase)));
        self.mode.of_all_steps(rows.fold(0, |sum, row| sum.saturating_add(row.exposed_ns)))
    }

    /// Time exposed in these phases between steps.
    pub(crate) fn between_ns(&self, phases: &[Phase]) -> u64 {
        let is_meant = |name: &PhaseName| phases.iter().any(|&phase| name.is(phase));
        if let Some(sums) = &self.sums {
            return sums.between_ns(self.mode.mode, is_meant);
        }
        let rows = self.summary.between_steps.iter().filter(|row| row.phase.as_ref().is_some_and(is_meant));
        rows.fold(0, |sum, row| sum.saturating_add(row.exposed_ns))
    }

    /// Time exposed in these phases, inside steps and between them.
    pub(crate) fn exposed_ns(&self, phases: &[Phase]) -> u64 {
        self.inside_ns(phases).saturating_add(self.between_ns(phases))
    }

    /// What it would bring at most if work on the steps' own threads that takes `ns` of all their time were gone;
    /// `quick_ns` is what the quicker steps take without it.
    ///
    /// What remains is usually less than the mean of what remains today: the work also takes cores, caches and
    /// memory bandwidth from the rest. So a step is granted the time of the quicker ones, but a cause of a small
    /// share no more than that share of the rest. The quicker ones find their caches as cold as all others, so
    /// [`CACHES`] of the cause's share is granted besides. `what` names the cause.
    pub(crate) fn gain_of_work(&self, ns: u64, quick_ns: Option<u64>, what: &str) -> Option<Gain> {
        let mean_ns = self.mean_ns();
        let direct_ns = self.per_step(ns);
        let least_ns = self.least_without_ns(ns, quick_ns);
        let caches_ns = (least_ns as f64 * self.share(ns).min(1.0) * CACHES) as u64;
        let saved_ns = mean_ns.saturating_sub(least_ns.saturating_sub(caches_ns));
        let mut gain = Gain::with_side_effects(direct_ns, saved_ns, mean_ns)?.of(self.base());
        let beside_ns = gain.saved_ns_per_step.saturating_sub(direct_ns);
        let others = Self::quicker(beside_ns.saturating_sub(caches_ns), mean_ns);
        let caches =
            told(caches_ns, mean_ns).map(|part| format!("{part} is what it may cost the rest in caches"));
        if others.is_some() || caches.is_some() {
            let cause = format!("{} is {what}", percent(gain.direct_share));
            let parts: Vec<String> = [Some(cause), others, caches].into_iter().flatten().collect();
            gain.because = Some(parts.join("; "));
        }
        Some(gain)
    }

    /// What the quicker steps do without, of a step that takes `mean_ns`; absent where that is next to nothing.
    pub(crate) fn quicker(ns: u64, mean_ns: u64) -> Option<String> {
        let part = told(ns, mean_ns)?;
        Some(format!("{part} is what the quicker steps (1st percentile) do without besides"))
    }

    /// What a step is granted to take at least without `ns` of all steps' time; see [`Self::gain`].
    pub(crate) fn least_without_ns(&self, ns: u64, quick_ns: Option<u64>) -> u64 {
        let rest = self.mean_ns().saturating_sub(self.per_step(ns));
        let least = (rest as f64 * (1.0 - self.share(ns))) as u64;
        quick_ns.unwrap_or(rest).clamp(least.min(rest), rest)
    }

    /// The section of these phases that holds most of the steps' exposed time; of those outside of steps the
    /// longest, where none is inside.
    pub(crate) fn worst_section(&self, phases: &[Phase]) -> Option<&'a SectionRow> {
        self.worst_section_of(|name| phases.iter().any(|&phase| name.is(phase)))
    }

    /// The same of phases of any name.
    pub(crate) fn worst_section_of(&self, is_meant: impl Fn(&PhaseName) -> bool) -> Option<&'a SectionRow> {
        let cost = |row: &SectionRow| {
            let inside = match &self.sums {
                Some(sums) if sums.inside.contains_key(row.path.as_str()) => row.stats.total,
                Some(_) => 0,
                None => row.in_mode(self.mode.mode).map_or(0, |part| part.exposed_ns),
            };
            (inside, row.self_ns.unwrap_or(row.stats.total))
        };
        self.summary
            .sections
            .iter()
            .filter(|row| row.is_part())
            .filter(|row| row.phase.as_ref().is_some_and(&is_meant))
            .filter(|row| cost(row) > (0, 0))
            // Of equals the first path, whatever the order of the rows.
            .max_by(|a, b| cost(a).cmp(&cost(b)).then_with(|| b.path.cmp(&a.path)))
    }
}
