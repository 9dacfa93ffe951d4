//! How much of the steps was read, and why not more.

use std::cmp::Reverse;

use stepscope_core::{Level, LossReason};

use crate::run::RunAcc;
use crate::sections::finish::StepCounts;
use crate::summary::{Coverage, Losses, Shortfall};

/// Coverage of the steps of all modes.
pub(crate) fn of(run: &RunAcc, counts: StepCounts, losses: &Losses) -> Coverage {
    let steps = run.instances.values().flat_map(|instance| &instance.steps);
    let whole_steps = steps.clone().fold(0u64, |sum, steps| sum.saturating_add(steps.whole()));
    let read_steps = steps.fold(0u64, |sum, steps| sum.saturating_add(steps.count()));
    // Sections of a step's path that are none, as those of loops that ended without work: in the sums, too.
    let no_steps = counts.read.saturating_sub(read_steps);
    let coverage = Coverage {
        recorded_steps: counts.recorded.map(|all| all.saturating_sub(no_steps)),
        read_steps,
        whole_steps: whole_steps.min(read_steps),
        unread_because: None,
        parts_because: None,
    };
    let is_unread = coverage.partly_read().is_some();
    let has_parts = coverage.partly_whole().is_some();
    Coverage {
        // What is left out on purpose leaves the roots.
        unread_because: is_unread.then(|| largest(losses, |reason| !reason.is_on_purpose())),
        parts_because: has_parts
            .then(|| if is_basic(run) { Shortfall::Level } else { largest(losses, |_| true) }),
        ..coverage
    }
}

/// Whether every process that has steps was told to leave sections out.
fn is_basic(run: &RunAcc) -> bool {
    let stepping = run.instances.iter().filter(|(_, acc)| acc.steps.iter().any(|steps| steps.count() > 0));
    let mut levels = stepping.map(|(instance, _)| Level::parse(&instance.0.level)).peekable();
    levels.peek().is_some() && levels.all(|level| level == Some(Level::Basic))
}

/// What took most spans that are not here.
fn largest(losses: &Losses, is_meant: impl Fn(LossReason) -> bool) -> Shortfall {
    let rows = losses.dropped.iter().filter(|row| row.is_missing_here);
    let counted = rows.clone().fold(0u64, |sum, row| sum.saturating_add(row.spans));
    let uncounted = losses.absent.unwrap_or(0).saturating_sub(counted);
    let most = rows
        .filter_map(|row| Some((row.spans, Reverse(row.reason?))))
        .filter(|&(_, Reverse(reason))| is_meant(reason))
        .max();
    match most {
        Some((spans, Reverse(reason))) if spans >= uncounted => Shortfall::Lost(reason),
        _ => Shortfall::NotRead,
    }
}
