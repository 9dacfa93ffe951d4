//! Critical paths: sums by section.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Mode;
use stepscope_core::path::join;

use crate::accumulate::saturate::{saturate, share};
use crate::critical_path::{CriticalAcc, TRACES};
use crate::loaders::batches::WaitParts as Parts;
use crate::run::RunAcc;
use crate::summary::{CriticalPath, CriticalSection, SectionRow, ThroughBatches, WaitParts};

/// The paths of the mode that verdicts are about; of whole traces where there are no steps.
///
/// `warmup_other_ns` is what of the windows' own time is warm-up, `parts` what the waits of their threads were for.
pub(crate) fn of(
    run: &RunAcc,
    primary: Option<Mode>,
    rows: &[SectionRow],
    warmup_other_ns: u64,
    parts: &Parts,
) -> Option<CriticalPath> {
    let kind = primary.map_or(TRACES, |mode| mode as usize);
    let windows = run.windows.get(kind).filter(|windows| windows.count > 0)?;
    let tree = run.sections.tree();
    let moved = Moved::of(run, kind, rows);
    let mut sections: Vec<CriticalSection> = run
        .sections
        .sorted()
        .filter_map(|(path, acc)| Some((join(tree.names(path)), acc.critical.get(kind)?)))
        .map(|(path, acc)| (moved.apply(&path, *acc), path))
        .filter(|(acc, _)| acc.on_path_ns > 0 || acc.on_path_calls > 0 || acc.beside_calls > 0)
        .map(|(acc, path)| section(path, &acc, windows.total_ns, rows))
        .collect();
    let other_ns = match primary {
        Some(_) => windows.other_ns,
        // A trace's root is among the sections. Where call paths were cut to none, nothing is.
        None => sections
            .iter()
            .fold(windows.total_ns, |left_ns, row| left_ns.saturating_sub(row.on_path_ns.into())),
    };
    sections.sort_by(|a, b| (Reverse(a.on_path_ns), &a.path).cmp(&(Reverse(b.on_path_ns), &b.path)));
    Some(CriticalPath {
        window: if primary.is_some() { "step" } else { "trace" },
        mode: primary,
        windows: windows.count,
        total_ns: saturate(windows.total_ns),
        other_ns: saturate(other_ns),
        warmup_other_ns,
        explained_share: share(windows.total_ns.saturating_sub(other_ns), windows.total_ns),
        sections,
        waits: waits(parts),
        through_batches: moved.said,
    })
}

/// What of the time of waits for batches was time of the sections that made them.
struct Moved {
    /// By path: away from there, to there, and the batches that were made there.
    by_path: BTreeMap<Box<str>, (u128, u128, u64)>,
    said: Option<ThroughBatches>,
}

impl Moved {
    fn of(run: &RunAcc, kind: usize, rows: &[SectionRow]) -> Self {
        let through = run.linked.through(kind);
        let tree = run.sections.tree();
        // All waits by the section that waits; in the table of rows paths are sorted.
        let linked: BTreeMap<String, u128> = run
            .sections
            .sorted()
            .filter_map(|(path, acc)| Some((path, acc.critical.get(kind)?.linked_ns)))
            .filter(|(_, linked_ns)| *linked_ns > 0)
            .map(|(path, linked_ns)| (join(tree.names(path)), linked_ns))
            .collect();
        let mut by_path: BTreeMap<Box<str>, (u128, u128, u64)> = BTreeMap::new();
        let (mut made_ns, mut is_exact) = (0u128, true);
        for (wait, &linked_ns) in &linked {
            let kept_ns = through.kept_ns.get(wait.as_str()).copied().unwrap_or(0);
            is_exact &= kept_ns == linked_ns;
            // What the waits that are kept tell is taken for all of them.
            let of_all = |part: u128| part.saturating_mul(linked_ns).checked_div(kept_ns).unwrap_or(0);
            let mut left_ns = linked_ns;
            let from: (Box<str>, Box<str>) = (wait.as_str().into(), Box::default());
            let parts = through.making.range(from..).take_while(|((other, _), _)| **other == **wait);
            for ((_, path), &(in_production_ns, batches)) in parts {
                // Where the section is not in the table, the time stays with the wait.
                if rows.binary_search_by(|row| row.path.as_str().cmp(path)).is_err() {
                    continue;
                }
                let in_production_ns = of_all(in_production_ns).min(left_ns);
                left_ns -= in_production_ns;
                let to = by_path.entry(path.clone()).or_default();
                (to.1, to.2) = (
                    to.1.saturating_add(in_production_ns),
                    to.2.saturating_add(saturate(of_all(batches.into()))),
                );
            }
            let gone_ns = linked_ns - left_ns;
            made_ns = made_ns.saturating_add(gone_ns);
            by_path.entry(wait.as_str().into()).or_default().0 = gone_ns;
        }
        let linked_ns = linked.values().fold(0u128, |sum, &linked_ns| sum.saturating_add(linked_ns));
        let said =
            ThroughBatches { linked_ns: saturate(linked_ns), in_production_ns: saturate(made_ns), is_exact };
        Self { by_path, said: (linked_ns > 0).then_some(said) }
    }

    /// A section's sums with what goes away from it and what comes to it.
    fn apply(&self, path: &str, mut acc: CriticalAcc) -> CriticalAcc {
        if let Some(&(away_ns, to_ns, calls)) = self.by_path.get(path) {
            acc.on_path_ns = acc.on_path_ns.saturating_sub(away_ns).saturating_add(to_ns);
            acc.on_path_calls = acc.on_path_calls.saturating_add(calls);
        }
        acc
    }
}

fn section(path: String, acc: &CriticalAcc, total_ns: u128, rows: &[SectionRow]) -> CriticalSection {
    let row = rows.binary_search_by(|row| row.path.as_str().cmp(&path)).ok().and_then(|at| rows.get(at));
    CriticalSection {
        phase: row.and_then(|row| row.phase.clone()),
        path,
        on_path_ns: saturate(acc.on_path_ns),
        share: share(acc.on_path_ns, total_ns),
        on_path_calls: acc.on_path_calls,
        beside_calls: acc.beside_calls,
        slack_mean_ns: acc.slack_ns.checked_div(acc.beside_calls.into()).map(saturate),
        slack_min_ns: acc.min_slack_ns,
    }
}

fn waits(parts: &Parts) -> Option<WaitParts> {
    (parts.waits > 0).then(|| WaitParts {
        waits: parts.waits,
        not_started_ns: saturate(parts.behind_ns),
        in_production_ns: saturate(parts.making_ns),
        in_transit_ns: saturate(parts.handover_ns),
    })
}
