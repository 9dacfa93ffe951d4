//! Rule `lock_contention`: the step waits while threads take turns in a section: one runs in it, others are in a futex in it.
//! Where they are not seen to take turns it may be a channel or a condition variable, and nothing is said of a lock.

use super::{Config, Judged, RestsOn, Rule, fine, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, rounded};
use crate::report::units::{count, percent};
use crate::summary::{SectionThreads, Summary};
use crate::threads::judged::{Lock, NEEDS_DEEP, StepThreads, free_cpus, locked};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::ReadSteps, ..Rule::new("Lock contention", FindingType::Synchronization) };

thresholds! {
    /// Share of the step time that threads could save if none waited for another, from which it is a finding.
    min_share: f64 = 0.05;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.lock_contention;
    let threads = StepThreads::of(summary)?;
    // The step loses no more than it is blocked.
    let blocked = threads.shares.share(threads.blocked_ns()?);
    if blocked < thresholds.min_share {
        return fine(format!("{} blocked", threads.of_steps(blocked)));
    }
    let deep = threads.deep("what threads wait for in sections is not known")?;
    // More than one for each processor cannot run, whoever has the others.
    let cpus = summary.threads.processors.cpus.map(|cpus| cpus as f64);
    let could = free_cpus(summary, deep).or(cpus).unwrap_or(1_024.0);
    let contended = |row: &SectionThreads| row.contended;
    // Of equals the first path.
    let hot = locked(deep).max_by(|a, b| contended(a).cmp(&contended(b)).then_with(|| b.path.cmp(&a.path)));
    let (share, saved) = deep.awaited(could, Lock::Is, hot.and_then(SectionThreads::turns_cpus));
    let looks = format!("{} looks at threads in {} deep steps", count(deep.looks), count(deep.steps));
    if saved < thresholds.min_share {
        // Who holds what they wait for may be in another section.
        let waiting = |row: &SectionThreads| row.others_in_futex().saturating_sub(row.contended);
        let waiting = deep.sections.iter().map(waiting).fold(0, u64::saturating_add);
        if waiting as f64 >= thresholds.min_share * deep.rounds() as f64 {
            return unknown(format!(
                "other threads wait in sections for a lock, channel or condition variable ({} of {looks}) and none runs in \
                 the same one: for whom they wait is not known",
                count(waiting)
            ));
        }
        return fine(format!(
            "the step waits for threads that wait for each other for {} of its time, and there are processors for {could:.1} of \
             them, by {looks}",
            percent(share)
        ));
    }
    let Some(hot) = hot else {
        return unknown(format!(
            "for {} of the step time threads are blocked in sections in which another one runs, in a lock, channel or \
             condition variable: that they take turns was not seen in {looks}; {NEEDS_DEEP}",
            percent(share)
        ));
    };
    let all = deep.sections.iter().map(contended).fold(0u64, u64::saturating_add).max(1);
    let part = hot.contended as f64 / all as f64;
    let gain = threads.gain(saved * part)?.estimated();
    if gain.direct_share < thresholds.min_share {
        return fine(format!(
            "threads take turns for {} of the step time, by {looks}",
            percent(share * part)
        ));
    }
    Ok(vec![Finding {
        title: format!(
            "Lock contention: for {} of the step time threads take turns in `{}`, one at a time.",
            percent(share * part),
            hot.path
        ),
        severity: gain.severity(),
        section: Some(hot.path.clone()),
        evidence: Evidence::new()
            .with("turns_share", rounded(share * part, 6))
            .with("threads", hot.turns_threads)
            .with("waiting_looks", hot.contended)
            .with("looks", deep.looks)
            .with("deep_steps", deep.steps),
        recommendation: format!(
            "Hold the lock in `{}` for less: work outside of it, split what it guards, or give each thread its own and join \
             them at the end.",
            hot.path
        ),
        predicted_gain: Some(gain),
        ..Finding::default()
    }])
}
