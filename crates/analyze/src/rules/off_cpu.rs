//! Rule `off_cpu`: the step's thread is blocked in a section, and no phase says for what. Waits for threads that run in
//! sections of the step are the business of `low_parallelism` and `lock_contention`.

use stepscope_core::{Phase, ThreadState};

use super::{Config, Judged, RestsOn, Rule, fine};
use crate::report::finding::{Evidence, Finding, FindingType, rounded};
use crate::report::units::percent;
use crate::summary::{PhaseName, SectionThreads, Summary};
use crate::threads::judged::{StepThreads, words};

pub(super) const RULE: Rule = Rule {
    rests_on: RestsOn::ReadSteps,
    ..Rule::new("Blocked without a known wait", FindingType::Synchronization)
};

thresholds! {
    /// Share of the step time for which a section is blocked from which it is a finding.
    min_share: f64 = 0.05;
}

/// Phases that say what their sections wait for, and have rules of their own.
const KNOWN: [Phase; 8] = [
    Phase::DataLoading,
    Phase::DataWait,
    Phase::HostToDevice,
    Phase::DeviceToHost,
    Phase::Communication,
    Phase::Synchronization,
    Phase::Checkpoint,
    Phase::Io,
];

/// Sections that are told of.
const MOST: usize = 3;

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.off_cpu;
    let threads = StepThreads::of(summary)?;
    let share = threads.shares.share(threads.blocked_ns()?);
    let looked_at = format!("{} blocked", threads.of_steps(share));
    if share < thresholds.min_share {
        return fine(looked_at);
    }
    let deep = threads.deep(&format!("{looked_at}, and in which sections is not known"))?;
    let all_ns = deep.sections.iter().fold(0u64, |sum, row| sum.saturating_add(row.own_blocked_ns)).max(1);
    let is_known = |phase: &PhaseName| KNOWN.iter().any(|&known| phase.is(known));
    // Deep steps say where, all steps how much.
    let blocked = deep
        .sections
        .iter()
        .filter(|row| !row.phase.as_ref().is_some_and(is_known))
        .map(|row| (row, share * row.own_blocked_ns as f64 / all_ns as f64 * unexplained(row)));
    let mut blocked: Vec<(&SectionThreads, f64)> =
        blocked.filter(|&(_, share)| share >= thresholds.min_share).collect();
    blocked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.path.cmp(&b.0.path)));
    if blocked.is_empty() {
        return fine(format!("{looked_at}, all but a little of it in waits that other rules judge"));
    }
    let finding = |(row, share): (&SectionThreads, f64)| {
        let state = state(row);
        let what = state.map_or("on what was not seen", words);
        let gain = threads.gain(share)?;
        Ok(Finding {
            title: format!("{} of the step time is blocked: {what}.", percent(share)),
            severity: gain.severity(),
            section: Some(row.path.clone()),
            evidence: Evidence::new()
                .with("blocked_share", rounded(share, 6))
                .with_known("blocked_on", state.map(ThreadState::as_str))
                .with("steps_blocked_share", rounded(threads.shares.share(threads.blocked_ns()?), 6))
                .with("looks", row.own_blocked())
                .with("deep_steps", deep.steps),
            recommendation: advice(state, &row.path),
            predicted_gain: Some(gain),
            ..Finding::default()
        })
    };
    blocked.into_iter().take(MOST).map(finding).collect()
}

/// The part of a section's blocked time in which no other thread ran in sections of the step.
fn unexplained(row: &SectionThreads) -> f64 {
    let looks = row.own_blocked();
    if looks == 0 { 1.0 } else { looks.saturating_sub(row.awaiting) as f64 / looks as f64 }
}

/// What it was blocked in most of that time; absent where nobody looked then.
fn state(row: &SectionThreads) -> Option<ThreadState> {
    let blocked = ThreadState::ALL.iter().copied().filter(|&state| state != ThreadState::Running);
    let looks = |state| match state {
        ThreadState::Futex => row.own(state).saturating_sub(row.awaiting),
        _ => row.own(state),
    };
    blocked.map(|state| (looks(state), state)).filter(|&(looks, _)| looks > 0).max().map(|(_, state)| state)
}

fn advice(state: Option<ThreadState>, section: &str) -> String {
    match state {
        Some(ThreadState::Futex) => format!(
            "`{section}` waits for another thread, which is in no section that begins and ends in the step: see what that one \
             does, and let the step go on meanwhile. Look for it among the sections outside of steps."
        ),
        Some(ThreadState::File) => format!(
            "`{section}` waits for the disk: read and write in another thread, in larger pieces, and sync less often."
        ),
        Some(ThreadState::Pipe) => format!(
            "The other end of the pipe of `{section}` is slow: write from another thread, or write less."
        ),
        Some(ThreadState::Network) => format!(
            "`{section}` waits for the network: send and receive in another thread, ahead of time, or less."
        ),
        Some(ThreadState::Sleep) => format!(
            "`{section}` sleeps: wait for what it is for instead (a channel, a condition variable), or do without."
        ),
        Some(ThreadState::Fault) => format!(
            "`{section}` waits for pages: read files ahead, keep the memory that it uses, and look for swapping."
        ),
        Some(ThreadState::Poll) => format!(
            "`{section}` waits for any of several descriptors: see which is late, and do other work meanwhile."
        ),
        Some(ThreadState::Running | ThreadState::Other) | None => {
            format!("See what `{section}` waits for; give its parts sections of their own.")
        }
    }
}
