//! Sections under their parents, the most expensive first.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::{SectionKind, path};

use crate::document::names::{named, named_path};
use crate::summary::SectionRow;

/// Rows of the tree; of more sections those with the longest total are shown.
const ROWS: usize = 40;

/// A section, how far it stands in, and its name there: without a parent, its whole path.
pub(super) type Branch<'a> = (&'a SectionRow, usize, String);

/// Parents before children.
pub(super) fn rows(sections: &[SectionRow]) -> Vec<Branch<'_>> {
    let mut rows = Vec::new();
    Tree::of(sections).walk("", 0, &mut rows);
    rows
}

struct Tree<'a> {
    /// By parent path; empty for roots and for sections whose parent has no row.
    children: BTreeMap<String, Vec<(&'a SectionRow, bool)>>,
    shown: BTreeSet<&'a str>,
}

impl<'a> Tree<'a> {
    fn of(sections: &'a [SectionRow]) -> Self {
        let paths: BTreeSet<&str> = sections.iter().map(|section| section.path.as_str()).collect();
        let mut largest: Vec<&SectionRow> = sections.iter().collect();
        // Steps are what a reader looks for first.
        let is_other = |section: &SectionRow| section.kind != SectionKind::Step;
        largest.sort_by(|a, b| {
            is_other(a)
                .cmp(&is_other(b))
                .then_with(|| b.stats.total.cmp(&a.stats.total))
                .then_with(|| a.path.cmp(&b.path))
        });
        let shown = largest.iter().take(ROWS).map(|section| section.path.as_str()).collect();
        let mut children: BTreeMap<String, Vec<(&SectionRow, bool)>> = BTreeMap::new();
        for section in largest {
            let mut names = path::split(&section.path);
            names.pop();
            let parent = path::join(names.iter().map(String::as_str));
            let has_parent = paths.contains(parent.as_str()) && parent != section.path;
            let parent = if has_parent { parent } else { String::new() };
            children.entry(parent).or_default().push((section, has_parent));
        }
        Self { children, shown }
    }

    fn walk(&self, parent: &str, depth: usize, rows: &mut Vec<Branch<'a>>) {
        // Paths are bounded in depth, so this recursion is.
        for &(section, has_parent) in self.children.get(parent).into_iter().flatten() {
            let is_shown = self.shown.contains(section.path.as_str());
            if is_shown {
                let name = if has_parent { named(&section.name) } else { named_path(&section.path) };
                rows.push((section, depth, name));
            }
            if !section.path.is_empty() {
                self.walk(&section.path, depth + usize::from(is_shown), rows);
            }
        }
    }
}
