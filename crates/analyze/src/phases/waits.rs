//! Waits by phase: what a phase costs the training thread while nothing else of the step goes on: exposed time inside steps and between
//! them, as a share of both. The rules that judge one such phase say what it means.

use stepscope_core::Phase;

use crate::report::finding::{Evidence, Finding, Gain, TimeBase, Verdict, rounded};
use crate::report::units::{percent, things};
use crate::steps::judged::Steps;
use crate::summary::{FigureSum, SectionRow, Summary};

/// A phase that holds up the training thread.
pub(crate) struct PhaseWait<'a> {
    pub(crate) steps: Steps<'a>,
    phase: Phase,
    pub(crate) between_ns: u64,
    pub(crate) exposed_ns: u64,
    total_ns: u64,
    pub(crate) share: f64,
    /// The section that holds most of it.
    pub(crate) section: Option<&'a SectionRow>,
    /// Time of the phase on any thread; only whole steps know it.
    anywhere_ns: Option<u64>,
}

impl<'a> PhaseWait<'a> {
    /// What the phase costs these steps.
    pub(crate) fn of(steps: Steps<'a>, phase: Phase) -> Self {
        let between_ns = steps.between_ns(&[phase]);
        let exposed_ns = steps.inside_ns(&[phase]).saturating_add(between_ns);
        let total_ns = steps.total_ns().saturating_add(between_ns);
        let row = steps.mode.phases.iter().find(|row| row.phase.is(phase)).filter(|_| steps.sums.is_none());
        Self {
            phase,
            between_ns,
            exposed_ns,
            total_ns,
            share: exposed_ns as f64 / total_ns.max(1) as f64,
            section: steps.worst_section(&[phase]),
            anywhere_ns: row.map(|row| steps.mode.of_all_steps(row.total_ns)),
            steps,
        }
    }

    /// What the phase costs a run, where that is a finding.
    ///
    /// # Errors
    /// With the verdict to give where too little is known, or where `what` takes less than `min_share`.
    pub(crate) fn judged(
        summary: &'a Summary,
        phase: Phase,
        what: &str,
        min_share: f64,
    ) -> Result<Self, Verdict> {
        let wait = Self::of(Steps::of(summary).and_then(Steps::with_phases)?, phase);
        if wait.exposed_ns > 0 && wait.share >= min_share {
            return Ok(wait);
        }
        Err(wait.little(what, min_share))
    }

    /// What is said where `what` takes less than `min_share`.
    pub(crate) fn little(&self, what: &str, min_share: f64) -> Verdict {
        let (share, of) = (percent(self.share), self.base().looked_at(self.total_ns));
        let because = format!("{share} of {of} goes into {what}{}", self.steps.by());
        self.steps.little(self.share, min_share, &because)
    }

    /// What it brings at most where nobody waited; absent where steps have no duration.
    pub(crate) fn gain(&self) -> Option<Gain> {
        Gain::upper_bound(self.per_step_ns(), self.steps.per_step(self.total_ns))
    }

    /// What the share refers to.
    fn base(&self) -> TimeBase {
        if self.between_ns == 0 { self.steps.base() } else { TimeBase::TrainingTime }
    }

    /// What it takes of a step on average.
    pub(crate) fn per_step_ns(&self) -> u64 {
        self.steps.per_step(self.exposed_ns)
    }

    /// Calls of the section that holds most of it, a step on average; absent where it is outside of steps.
    pub(crate) fn calls_per_step(&self) -> Option<u64> {
        let (calls, steps) = match &self.steps.sums {
            Some(sums) => (self.section?.stats.count, sums.steps),
            None => (self.section?.in_mode(self.steps.mode.mode)?.calls, self.steps.mode.whole_all.steps),
        };
        Some(calls.saturating_add(steps / 2) / steps.max(1)).filter(|&calls| calls > 0)
    }

    /// Share of the phase's time on any thread that other work of the step hid; absent where nobody knows.
    pub(crate) fn hidden_share(&self) -> Option<f64> {
        let anywhere_ns = self.anywhere_ns.filter(|&ns| ns > 0)?;
        let inside_ns = self.exposed_ns.saturating_sub(self.between_ns);
        Some(1.0 - (inside_ns as f64 / anywhere_ns as f64).min(1.0))
    }

    /// Bytes of the section, and what it moves a second; absent where it does not say.
    pub(crate) fn throughput(&self) -> Option<(u64, f64)> {
        let row = self.section?;
        let FigureSum { spans, sum } = row.bytes.filter(|bytes| bytes.spans > 0)?;
        // Of calls that say nothing the time is not counted, as far as the mean tells it.
        let seconds = row.stats.mean? * spans as f64 / 1e9;
        (seconds > 0.0).then(|| (sum, sum as f64 / seconds))
    }

    /// `3 times a step, 1.2 ms each`, of the section that holds most of it.
    pub(crate) fn often(&self) -> Option<String> {
        let calls = self.calls_per_step().filter(|&calls| calls > 1)?;
        Some(format!("`{}` runs {} a step", self.section?.path, things(calls, "time", "times")))
    }

    /// The finding. `what` is what the time goes into; `advice` whole sentences; `rank` the one whose doing it is, where that
    /// is known; `more` adds figures.
    pub(crate) fn finding(
        &self,
        what: &str,
        advice: &str,
        rank: Option<i64>,
        more: impl FnOnce(Evidence) -> Evidence,
    ) -> Result<Vec<Finding>, Verdict> {
        let (steps, of) = (&self.steps, self.base());
        let gain = self.gain().ok_or_else(|| Verdict::unknown("steps have no duration"))?.of(of);
        let stats = self.section.map(|row| row.stats);
        let evidence = Evidence::new()
            .with("exposed_share", rounded(self.share, 6))
            .with("exposed_per_step_ns", self.per_step_ns())
            .with("between_steps_ns", self.between_ns)
            .with_known("hidden_share", self.hidden_share().map(|share| rounded(share, 6)))
            .with_known("calls_per_step", self.calls_per_step())
            .with_known("call_p50_ns", stats.and_then(|stats| stats.p50))
            .with_known("call_p95_ns", stats.and_then(|stats| stats.p95))
            .with_known("call_max_ns", stats.and_then(|stats| stats.max))
            .with("steps", steps.count());
        Ok(vec![Finding {
            title: format!("{} of {} goes into {what}{}.", percent(self.share), of.as_str(), steps.by()),
            phase: Some(self.phase.as_str().into()),
            rank,
            evidence: more(evidence),
            recommendation: format!("{advice}{}", steps.caveat()),
            ..Finding::about(self.section, gain)
        }])
    }
}
