//! What happened once: a program or its machine that stood still for a while says little of the next run.

use super::tail::{FEW, event_ns};
use super::taken::MOST_OF_CHANCE;
use crate::report::{Gain, severity};
use crate::rules::Steps;
use crate::summary::{PhaseName, SectionRow, Stats};

/// The severity of a finding with this gain, of which `exposed_ns` are time of a section's calls, or of its phase between
/// steps: where more than a quarter of it is what those of one step number take above usual ones, or one section between steps
/// above usual ones of its phase, that of the rest, and no less than chance may have.
pub(in crate::rules) fn severity_beside(
    gain: &Gain,
    section: Option<&SectionRow>,
    exposed_ns: u64,
    steps: &Steps<'_>,
) -> f64 {
    let inside = |row: &SectionRow| {
        row.in_mode(steps.mode.mode)?.longest_steady_ns?;
        event_ns(row, steps.mode)
    };
    let row = section.filter(|_| steps.sums.is_none());
    let between = |row: &SectionRow| between_ns(row.phase.as_ref()?, steps);
    severity_without(gain, exposed_ns, [row.and_then(inside), row.and_then(between)])
}

/// The same, of which some of `events_ns` may be what happened once; those that are longer than all of it are not part of it.
pub(in crate::rules) fn severity_without(
    gain: &Gain,
    exposed_ns: u64,
    events_ns: impl IntoIterator<Item = Option<u64>>,
) -> f64 {
    let events = events_ns.into_iter().flatten().filter(|&ns| ns <= exposed_ns);
    match events.max().filter(|&ns| ns.saturating_mul(FEW) > exposed_ns) {
        None => gain.severity(),
        Some(event_ns) => {
            let rest = 1.0 - event_ns as f64 / exposed_ns.max(1) as f64;
            gain.severity().min(severity(100.0 * gain.direct_share * rest).max(MOST_OF_CHANCE))
        }
    }
}

/// What the longest section of a phase between steps takes above the usual one.
fn between_ns(phase: &PhaseName, steps: &Steps<'_>) -> Option<u64> {
    let row = steps.summary.outside.iter().find(|row| row.phase.as_ref() == Some(phase))?;
    longer_ns(&row.stats)
}

/// What the longest of some durations is above the usual one: all of it where it is the only one. Of two or three nobody knows
/// what is usual.
pub(in crate::rules) fn longer_ns(stats: &Stats) -> Option<u64> {
    match stats.count {
        1 => stats.max,
        ..FEW => None,
        _ => stats.max?.checked_sub(stats.p50?),
    }
}

/// What one of the slowest step numbers has in no phase above what steps have of it on average, on all processes together.
pub(in crate::rules) fn unattributed_ns(steps: &Steps<'_>) -> Option<u64> {
    let mode = steps.mode;
    let usual_ns = mode.unattributed_ns / mode.whole.steps.max(1);
    let of_step = |step: u64| {
        let same = mode.slowest.iter().filter(|slow| slow.step == Some(step));
        same.fold(0u64, |sum, slow| sum.saturating_add(slow.unattributed_ns.saturating_sub(usual_ns)))
    };
    mode.slowest.iter().filter_map(|slow| slow.step).map(of_step).max()
}
