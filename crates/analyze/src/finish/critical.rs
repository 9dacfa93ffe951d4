//! Critical paths: sums by section.

use std::cmp::Reverse;

use stepscope_core::Mode;
use stepscope_core::path::join;

use super::{narrow, share};
use crate::critical::{CriticalAcc, TRACES};
use crate::run::RunAcc;
use crate::summary::{CriticalPath, CriticalSection, SectionRow, WaitParts};

/// The paths of the mode that verdicts are about; of whole traces where there are no steps.
pub(super) fn of(run: &RunAcc, primary: Option<Mode>, rows: &[SectionRow]) -> Option<CriticalPath> {
    let kind = primary.map_or(TRACES, |mode| mode as usize);
    let windows = run.windows.get(kind).filter(|windows| windows.count > 0)?;
    let tree = run.sections.tree();
    let mut sections: Vec<CriticalSection> = run
        .sections
        .sorted()
        .filter_map(|(path, acc)| Some((path, acc.critical.get(kind)?)))
        .filter(|(_, acc)| acc.on_path_ns > 0 || acc.on_path_calls > 0 || acc.beside_calls > 0)
        .map(|(path, acc)| section(join(tree.names(path)), acc, windows.total_ns, rows))
        .collect();
    sections.sort_by(|a, b| (Reverse(a.on_path_ns), &a.path).cmp(&(Reverse(b.on_path_ns), &b.path)));
    Some(CriticalPath {
        window: if primary.is_some() { "step" } else { "trace" },
        mode: primary,
        windows: windows.count,
        total_ns: narrow(windows.total_ns),
        other_ns: narrow(windows.other_ns),
        explained_share: share(windows.total_ns.saturating_sub(windows.other_ns), windows.total_ns),
        sections,
        waits: waits(run),
    })
}

fn section(path: String, acc: &CriticalAcc, total_ns: u128, rows: &[SectionRow]) -> CriticalSection {
    let row = rows.binary_search_by(|row| row.path.as_str().cmp(&path)).ok().and_then(|at| rows.get(at));
    CriticalSection {
        phase: row.and_then(|row| row.phase.clone()),
        path,
        on_path_ns: narrow(acc.on_path_ns),
        share: share(acc.on_path_ns, total_ns),
        on_path_calls: acc.on_path_calls,
        beside_calls: acc.beside_calls,
        slack_mean_ns: acc.slack_ns.checked_div(acc.beside_calls.into()).map(narrow),
        slack_min_ns: acc.min_slack_ns,
    }
}

fn waits(run: &RunAcc) -> Option<WaitParts> {
    let parts = &run.waits.parts;
    (parts.waits > 0).then(|| WaitParts {
        waits: parts.waits,
        behind_ns: narrow(parts.behind_ns),
        making_ns: narrow(parts.making_ns),
        handover_ns: narrow(parts.handover_ns),
    })
}
