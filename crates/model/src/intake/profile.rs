//! What a profiler's file is told to have been read as otherwise than it is written, so that it can be compared. Damage is told
//! elsewhere.

use super::Intake;
use crate::IssueKind;
use crate::chrome::Gathered;
use crate::issues::{FileId, Issues};

/// Tells how many names became how many others.
pub(super) fn names_folded(issues: &mut Issues, file: FileId, (names, folded): (u64, u64)) {
    issues.add(file, IssueKind::NamesFolded, None, names.saturating_sub(folded), || {
        format!(
            "{names} names folded to {folded}: they differ in addresses, or with at least 99 others beside them in \
             numbers alone"
        )
    });
}

impl Intake {
    /// Tells what of a file's times, steps and processes was taken otherwise than written.
    pub(super) fn profile(&mut self, gathered: &Gathered, file: FileId, offset: u64) {
        let issues = &mut self.state.issues;
        if let Some(by_ns) = gathered.shifted_ns {
            issues.add(file, IssueKind::TimesMoved, Some(offset), 1, || {
                format!("times begin before 0; all are moved by {by_ns} ns, so that the first is 0")
            });
        }
        if let Some((count, first)) = gathered.unfinished() {
            issues.add(file, IssueKind::UnfinishedStep, None, count, || {
                format!("step {first} has no end, or no length: it was not finished, and counts as none")
            });
        }
        if let Some(processes) = gathered.counted_ranks() {
            issues.add(file, IssueKind::RanksCounted, Some(offset), 1, || {
                format!(
                    "{processes} processes do the same steps and do not say their ranks; they count as ranks 0 to {}, in \
                     the order of the file",
                    processes - 1
                )
            });
        }
    }
}
