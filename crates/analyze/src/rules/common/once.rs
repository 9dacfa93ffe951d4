//! What happened once: a program or its machine that stood still for a while says little of the next run.

use super::tail::{FEW, event_ns};
use super::taken::MOST_OF_CHANCE;
use crate::report::{Gain, severity};
use crate::rules::Steps;
use crate::summary::SectionRow;

/// The severity of a finding with this gain, of which `exposed_ns` are time of a section's calls: where more than a quarter
/// of it is what those of one step number take above usual ones, that of the rest, and no less than chance may have.
pub(in crate::rules) fn severity_beside(
    gain: &Gain,
    section: Option<&SectionRow>,
    exposed_ns: u64,
    steps: &Steps<'_>,
) -> f64 {
    let event_ns = || {
        let row = section.filter(|_| steps.sums.is_none())?;
        row.in_mode(steps.mode.mode)?.longest_steady_ns?;
        event_ns(row, steps.mode)
    };
    match event_ns().filter(|&ns| ns <= exposed_ns && ns.saturating_mul(FEW) > exposed_ns) {
        None => gain.severity(),
        Some(event_ns) => {
            let rest = 1.0 - event_ns as f64 / exposed_ns.max(1) as f64;
            gain.severity().min(severity(100.0 * gain.direct_share * rest).max(MOST_OF_CHANCE))
        }
    }
}
