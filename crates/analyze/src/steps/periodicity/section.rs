//! Which section takes what steps of a period take more.

use crate::summary::{InSteps, ModeSummary, SectionRow, StepPeriod};

impl StepPeriod {
    /// The section of the phase that takes what they take more: of those that run in at most half of the steps the one that
    /// takes most. Absent where no phase is known to take it.
    pub(crate) fn section<'a>(&self, mode: &ModeSummary, rows: &'a [SectionRow]) -> Option<&'a SectionRow> {
        let phase = self.cause.as_ref()?.phase.as_ref();
        let rows = rows.iter().filter(|row| row.is_part() && row.phase.as_ref() == phase);
        let parts = rows.filter_map(|row| Some((row, row.in_mode(mode.mode)?)));
        let is_rare = |part: &InSteps| part.steps.saturating_mul(2) <= mode.whole_all.steps;
        let rare: Vec<(&SectionRow, &InSteps)> =
            parts.filter(|(_, part)| is_rare(part) && part.driving_ns > 0).collect();
        // Of equals the first path.
        rare.into_iter().rev().max_by_key(|(_, part)| part.driving_ns).map(|(row, _)| row)
    }
}
