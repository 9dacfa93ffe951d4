//! Spans that the input lacks, by reason, and whether what is not complete is only what was still at work.

use std::collections::BTreeMap;

use stepscope_core::LossReason;

use crate::summary::{LossRow, Summary};

/// What was recorded and did not arrive.
pub(crate) struct Lost {
    /// 0 where only traces are not complete.
    pub(crate) spans: u64,
    /// Of those recorded.
    pub(crate) share: f64,
    pub(crate) by_reason: BTreeMap<Option<LossReason>, u64>,
}

impl Lost {
    /// Nothing where all spans are here that ended.
    pub(crate) fn of(summary: &Summary) -> Option<Self> {
        let (state, losses) = (&summary.state, &summary.losses);
        let spans = summary.lost_spans();
        if spans == 0 && (state.incomplete_traces == 0 || is_open_at_end(summary)) {
            return None;
        }
        let recorded =
            losses.emitted.unwrap_or(0).max(state.spans.saturating_add(state.missing_spans)).max(1);
        let share = (spans as f64 / recorded as f64).min(1.0);
        let mut by_reason: BTreeMap<Option<LossReason>, u64> = BTreeMap::new();
        for row in losses.dropped.iter().filter(|row| counts(row)) {
            let sum = by_reason.entry(row.reason).or_default();
            *sum = sum.saturating_add(row.spans);
        }
        Some(Self { spans, share, by_reason })
    }
}

/// Whether a loss is one that the finding is about. What was chosen to be left out is none.
fn counts(row: &LossRow) -> bool {
    row.is_missing_here && !row.reason.is_some_and(LossReason::is_on_purpose)
}

/// What a sink lost that this input has from another.
pub(crate) fn elsewhere(summary: &Summary) -> impl Iterator<Item = &LossRow> {
    summary.losses.dropped.iter().filter(|row| !row.is_missing_here)
}

/// Whether traces that are not complete are those that were at work at the end, as far as can be known: every
/// span that ended is here, or the run stopped and nobody counted a loss.
fn is_open_at_end(summary: &Summary) -> bool {
    let state = &summary.state;
    // What a process counted and never wrote, because it was stopped, is told by `not_ended`.
    let was_stopped = state.is_ended() == Some(false) && summary.lost_spans() == 0;
    let has_all = summary.losses.absent == Some(0) || was_stopped;
    state.is_ours && has_all && state.missing_spans == 0 && state.dropped_spans == 0
}
