//! Rule `low_parallelism`: the step waits for work that fewer threads do than there are free processors.

use super::{Config, Judged, RestsOn, Rule, fine, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, rounded};
use crate::report::units::percent;
use crate::summary::{SectionThreads, Summary};
use crate::threads::judged::{Lock, StepThreads, free_cpus};

pub(super) const RULE: Rule = Rule {
    rests_on: RestsOn::ReadSteps,
    ..Rule::new("Too few threads at work", FindingType::Synchronization)
};

thresholds! {
    /// Share of the step time that as many threads as there are free processors could save, from which it is a finding.
    min_share: f64 = 0.1;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.low_parallelism;
    let threads = StepThreads::of(summary)?;
    // Who is not blocked waits for nobody.
    let blocked = threads.shares.share(threads.blocked_ns()?);
    if blocked < thresholds.min_share {
        return fine(format!("{} blocked", threads.of_steps(blocked)));
    }
    let deep = threads.deep("how many threads work while the step waits is not known")?;
    // Who waits for a lock, as it seems, is not helped by more threads.
    let (share, _) = deep.awaited(1.0, Lock::Else, None);
    let looked_at = format!("the step waits for other threads of its own for {}", threads.of_steps(share));
    if share < thresholds.min_share {
        return fine(looked_at);
    }
    let Some(free) = free_cpus(summary, deep) else {
        return unknown(format!(
            "{looked_at}; how many processors are free needs the CPU time of all processes at two deep steps"
        ));
    };
    let (_, saved) = deep.awaited(free, Lock::Else, None);
    if saved < thresholds.min_share {
        return fine(format!("{looked_at}: {}", run(deep.running_while_awaited(f64::MAX).1, free)));
    }
    // Where more could run than there are processors for, no more are wanted.
    let (share, running) = deep.running_while_awaited(free);
    // Of equals the first path.
    let most = |of: fn(&SectionThreads) -> u64| {
        let rows = deep.sections.iter().filter(|row| of(row) > 0);
        rows.max_by(|a, b| of(a).cmp(&of(b)).then_with(|| b.path.cmp(&a.path)))
    };
    let (waits, works) = (most(|row| row.awaiting), most(|row| row.awaited));
    let work = works.map_or_else(String::new, |row| format!(" in `{}`", row.path));
    let gain = threads.gain(saved)?.estimated();
    Ok(vec![Finding {
        title: format!(
            "For {} of the step time the step waits for other threads: {}.",
            percent(share),
            run(running, free)
        ),
        severity: gain.severity(),
        section: waits.map(|row| row.path.clone()),
        evidence: Evidence::new()
            .with("waiting_share", rounded(share, 6))
            .with("threads_at_work", rounded(running, 2))
            .with("free_processors", rounded(free, 2))
            .with_known("working_section", works.map(|row| row.path.clone()))
            .with("deep_steps", deep.steps),
        recommendation: format!(
            "Give the work{work} to as many threads as there are free processors, in pieces of about the same length, and let \
             the step's thread do a part. Where there are as many, see what they wait for: an async lock, one long piece."
        ),
        predicted_gain: Some(gain),
        ..Finding::default()
    }])
}

fn run(running: f64, free: f64) -> String {
    format!("{running:.1} run at a time, and there are processors for {free:.1}")
}
