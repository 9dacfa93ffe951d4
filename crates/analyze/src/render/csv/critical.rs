//! Tables of the critical path: what held up the end of the steps, section by section, and what waits were for.

use super::table::Table;
use crate::report::Report;
use crate::summary::{CriticalPath, CriticalSection, PhaseName};

/// One row, or none where no step was read whole.
pub(super) fn path(report: &Report) -> String {
    Table::<&CriticalPath>::new()
        .column("window", |row| row.window.into())
        .column("mode", |row| row.mode.map(stepscope_core::Mode::as_str).into())
        .column("windows", |row| row.windows.into())
        .column("total_ns", |row| row.total_ns.into())
        .column("other_ns", |row| row.other_ns.into())
        .column("warmup_other_ns", |row| row.warmup_other_ns.into())
        .column("explained_share", |row| row.explained_share.into())
        .column("waits", |row| row.waits.map(|waits| waits.waits).into())
        .column("waits_behind_ns", |row| row.waits.map(|waits| waits.behind_ns).into())
        .column("waits_making_ns", |row| row.waits.map(|waits| waits.making_ns).into())
        .column("waits_handover_ns", |row| row.waits.map(|waits| waits.handover_ns).into())
        .column("linked_waits_ns", |row| row.through_batches.map(|through| through.linked_ns).into())
        .column("linked_making_ns", |row| row.through_batches.map(|through| through.making_ns).into())
        .of(&report.critical_path)
}

pub(super) fn sections(report: &Report) -> String {
    Table::<&CriticalSection>::new()
        .column("path", |row| row.path.as_str().into())
        .column("phase", |row| row.phase.as_ref().map(PhaseName::as_str).into())
        .column("on_path_ns", |row| row.on_path_ns.into())
        .column("on_path_share", |row| row.share.into())
        .column("on_path_calls", |row| row.on_path_calls.into())
        .column("beside_calls", |row| row.beside_calls.into())
        .column("slack_mean_ns", |row| row.slack_mean_ns.into())
        .column("slack_min_ns", |row| row.slack_min_ns.into())
        .of(report.critical_path.iter().flat_map(|critical| &critical.sections))
}
