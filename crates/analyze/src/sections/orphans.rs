//! Sections whose parent was not read, because it was still open when the run was killed or because it was lost:
//! which path they had. Other calls of the same sections tell it.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::path::{SEPARATOR, join, split};

use crate::run::RunAcc;
use crate::sections::aggregates::finish::Total;
use crate::sections::paths::ROOT;
use crate::sections::{SectionAcc, Sections};

/// All sections of a run, those without a parent in their places.
pub(crate) struct Grafted {
    pub(crate) sections: Sections,
    /// Sections that could belong to several paths, and are in none.
    pub(crate) unplaced: u64,
}

impl Grafted {
    /// Absent where every section has its parent.
    pub(crate) fn of(run: &RunAcc, totals: &BTreeMap<String, Total>) -> Option<Self> {
        let families: Vec<u32> = run
            .orphans
            .sorted()
            .map(|(path, _)| path)
            .filter(|&path| is_family(&run.orphans, path))
            .collect();
        if families.is_empty() {
            return None;
        }
        let known = Known::of(run, totals);
        let mut grafted = Self { sections: run.sections.clone(), unplaced: 0 };
        for top in families {
            match known.parents(run.orphans.tree().name(top)).as_slice() {
                // Nothing else has such a path, so that its end alone is one of its own.
                [] => grafted.sections.graft(None, &run.orphans, top),
                [only] => {
                    let around = split(only)
                        .iter()
                        .fold(None, |around, name| Some(grafted.sections.child(around, name).path));
                    grafted.sections.graft(around, &run.orphans, top);
                }
                _ => grafted.unplaced = grafted.unplaced.saturating_add(spans_below(&run.orphans, top)),
            }
        }
        Some(grafted)
    }
}

fn is_family(orphans: &Sections, path: u32) -> bool {
    path != ROOT && orphans.tree().depth(path) == 1
}

fn spans(acc: &SectionAcc) -> u64 {
    acc.durations.count().saturating_add(acc.collapsed)
}

fn spans_below(orphans: &Sections, top: u32) -> u64 {
    let tree = orphans.tree();
    let is_below = |mut path: u32| {
        while tree.depth(path) > 1 {
            path = tree.parent(path);
        }
        path == top
    };
    orphans
        .sorted()
        .filter(|&(path, _)| is_below(path))
        .fold(0, |sum, (_, acc)| sum.saturating_add(spans(acc)))
}

/// The paths of all sections that have one, of spans and of the processes' own sums.
struct Known {
    paths: BTreeSet<String>,
    /// Paths around sections, by the sections' names.
    around: BTreeMap<String, BTreeSet<String>>,
}

impl Known {
    fn of(run: &RunAcc, totals: &BTreeMap<String, Total>) -> Self {
        let tree = run.sections.tree();
        let read = run.sections.sorted().filter(|&(path, acc)| path != ROOT && spans(acc) > 0);
        let mut paths: BTreeSet<String> = read.map(|(path, _)| join(tree.names(path))).collect();
        paths.extend(totals.keys().cloned());
        let mut around: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in &paths {
            let names = split(path);
            if let Some((last, rest)) = names.split_last().filter(|(_, rest)| !rest.is_empty()) {
                let rest = join(rest.iter().map(String::as_str));
                around.entry(join([last.as_str()])).or_default().insert(rest);
            }
        }
        Self { paths, around }
    }

    /// The paths that hold sections of all names of a family.
    fn parents(&self, family: &str) -> Vec<&str> {
        let names: Vec<String> = split(family).iter().map(|name| join([name.as_str()])).collect();
        let first = names.first().and_then(|first| self.around.get(first));
        let has_all = |parent: &&String| {
            names.iter().all(|name| self.paths.contains(&format!("{parent}{SEPARATOR}{name}")))
        };
        first.into_iter().flatten().filter(has_all).map(String::as_str).collect()
    }
}
