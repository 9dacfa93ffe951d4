//! What the steps' own threads did, as rules judge it: shares of the steps' time, and what is said where they are not known.

use stepscope_core::ThreadState;

use crate::report::finding::{Gain, Verdict};
use crate::report::units::{duration, percent};
use crate::steps::judged::Steps;
use crate::summary::Summary;
use crate::threads::summary::{ModeThreads, SectionThreads, ThreadShares};
use crate::threads::{Own, Round};

/// Rounds of looks below which it is not known what threads did.
const FEW_ROUNDS: u64 = 20;

/// What is missing where no deep step tells it.
pub(crate) const NEEDS_DEEP: &str = "needs deep steps (`STEPSCOPE_DEEP_STEPS` on, on Linux)";

/// The steps of the primary mode and what threads did in them.
pub(crate) struct StepThreads<'a> {
    pub(crate) steps: Steps<'a>,
    pub(crate) shares: &'a ThreadShares,
}

impl<'a> StepThreads<'a> {
    /// Of a run.
    ///
    /// # Errors
    /// With the verdict to give where no step says what its thread did.
    pub(crate) fn of(summary: &'a Summary) -> Result<Self, Verdict> {
        let steps = Steps::read(summary)?;
        let Some(shares) = steps.mode.threads.as_ref().filter(|shares| shares.duration_ns > 0) else {
            return Err(Verdict::unknown(
                "needs the CPU time of steps, which is recorded from level `detailed` on, on Linux",
            ));
        };
        Ok(Self { steps, shares })
    }

    /// The time for which the steps' threads were blocked.
    ///
    /// # Errors
    /// With the verdict to give where only the time off the CPU is known.
    pub(crate) fn blocked_ns(&self) -> Result<u64, Verdict> {
        let rest_ns = self.shares.duration_ns.saturating_sub(self.shares.cpu_ns);
        self.shares.blocked_ns.ok_or_else(|| {
            Verdict::unknown(format!(
                "{} of {} was off the CPU; how much of that was blocked needs the run-queue delay, which this system does \
                 not tell",
                percent(self.shares.share(rest_ns)),
                duration(self.shares.duration_ns)
            ))
        })
    }

    /// What deep steps tell.
    ///
    /// # Errors
    /// With the verdict to give where there is none with looks at threads; `what` is what is not known without.
    pub(crate) fn deep(&self, what: &str) -> Result<&'a ModeThreads, Verdict> {
        let deep = self.steps.summary.threads.of(self.steps.mode.mode);
        deep.filter(|deep| deep.rounds() >= FEW_ROUNDS)
            .ok_or_else(|| Verdict::unknown(format!("{what}: {NEEDS_DEEP}")))
    }

    /// What a share of the step time brings at most.
    pub(crate) fn gain(&self, share: f64) -> Result<Gain, Verdict> {
        let mean_ns = self.steps.per_step(self.steps.mode.steady_ns);
        let gain = Gain::upper_bound((share.clamp(0.0, 1.0) * mean_ns as f64).round() as u64, mean_ns);
        gain.ok_or_else(|| Verdict::unknown("steps have no duration"))
    }

    /// What was looked at: `0.4 % of 3.20 s of steps`.
    pub(crate) fn of_steps(&self, share: f64) -> String {
        format!("{} of {} of steps", percent(share), duration(self.shares.duration_ns))
    }
}

impl ModeThreads {
    /// Rounds of looks.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.iter().fold(0, |sum, (_, times)| sum.saturating_add(*times))
    }

    /// Share of the rounds in which the steps' own threads waited for others that ran in sections of the step, and the part
    /// of the step time that would be saved at most if as many of them ran as there are processors for, `could`. Either of rounds in
    /// which threads waited for each other in a section, or of the others. Of those that are seen running at most `used` have a
    /// processor: who waits for a lock is seen so each time that it is woken in vain.
    pub(crate) fn awaited(&self, could: f64, lock: Lock, used: Option<f64>) -> (f64, f64) {
        let (mut share, mut saved) = (0.0, 0.0);
        let all = self.rounds().max(1) as f64;
        for (round, times) in &self.rounds {
            let is_held = matches!(round.own, Own::Awaits | Own::Contends);
            let is_meant = match lock {
                Lock::Is => round.contended > 0,
                Lock::Else => round.contended == 0,
            };
            if !is_held || !is_meant {
                continue;
            }
            let running = f64::from(round.running);
            let most = match lock {
                Lock::Is => could.min(running + f64::from(round.contended)),
                Lock::Else => could,
            };
            let part = *times as f64 / all;
            share += part;
            let used = running.min(used.map_or(running, |used| used.max(1.0)));
            saved += part * (1.0 - used / most.max(used).max(1.0));
        }
        (share, saved)
    }

    /// Threads that ran in sections of the step beside its own one, on average.
    pub(crate) fn running_beside_own(&self) -> f64 {
        let beside = |round: &Round| u64::from(round.running.saturating_sub((round.own == Own::Runs).into()));
        let running: u64 =
            self.rounds.iter().map(|(round, times)| beside(round).saturating_mul(*times)).sum();
        running as f64 / self.rounds().max(1) as f64
    }

    /// Of the rounds in which the step's own thread waited for others, none of which waited for another, those in which fewer
    /// than `could` ran: their share of all, and how many ran in them on average.
    pub(crate) fn running_while_awaited(&self, could: f64) -> (f64, f64) {
        let is_held = |round: &Round| matches!(round.own, Own::Awaits | Own::Contends);
        let is_meant =
            |round: &Round| is_held(round) && round.contended == 0 && f64::from(round.running) < could;
        let rounds = || self.rounds.iter().filter(|(round, _)| is_meant(round));
        let times: u64 = rounds().map(|(_, times)| times).sum();
        let running: u64 = rounds().map(|(round, times)| u64::from(round.running) * times).sum();
        (times as f64 / self.rounds().max(1) as f64, running as f64 / times.max(1) as f64)
    }

    /// Share of the rounds in which the step's own thread waited for others in its sections.
    pub(crate) fn waiting_share(&self) -> f64 {
        let held = self.rounds.iter().filter(|(round, _)| matches!(round.own, Own::Awaits | Own::Contends));
        held.map(|(_, times)| times).sum::<u64>() as f64 / self.rounds().max(1) as f64
    }
}

/// Which rounds of looks are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Those in which threads waited for each other in a section.
    Is,
    /// The others.
    Else,
}

/// Sections in which threads took turns, one at a time, in most of the steps in which they waited for each other.
pub(crate) fn locked(deep: &ModeThreads) -> impl Iterator<Item = &SectionThreads> {
    deep.sections
        .iter()
        .filter(|row| row.turns_steps > 0 && row.turns_steps.saturating_mul(2) >= row.contended_steps)
}

/// Processors that the steps' threads could use: those that nobody else does. Absent where that is not known.
pub(crate) fn free_cpus(summary: &Summary, deep: &ModeThreads) -> Option<f64> {
    let of = &summary.threads.processors;
    let (cpus, others) = (of.cpus? as f64, of.others? + of.other_ranks.unwrap_or(0.0));
    Some((cpus - others - deep.running_elsewhere).max(1.0))
}

/// What a thread was blocked in, in words.
pub(crate) const fn words(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Running => "running",
        ThreadState::Futex => "a lock, channel or condition variable",
        ThreadState::File => "a file",
        ThreadState::Pipe => "a pipe",
        ThreadState::Network => "the network",
        ThreadState::Poll => "a poll of several descriptors",
        ThreadState::Sleep => "sleep",
        ThreadState::Fault => "page faults",
        ThreadState::Other => "another system call",
    }
}
